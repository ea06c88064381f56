"""The methods of a loaded model that only some kinds of model have: senses, translation, pivots, labels."""

from __future__ import annotations

import functools
from typing import Sequence

from clwe_jax.api.capabilities import Capabilities, lacks
from clwe_jax.encoders import loaded as kinds
from clwe_jax.encoders import translate
from clwe_jax.encoders.checks import check_strings
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.encoders.sense_view import Sense, SenseView, Translated


class SpecialMethods:
    """The part of `api.model.Model` whose methods most kinds of model lack."""

    loaded: kinds.LoadedEncoder | kinds.LabelsText
    _can: Capabilities

    @functools.cached_property
    def sense_view(self) -> SenseView:
        """The model's senses, also the removed ones; ValueError for a model without senses."""
        return self._can.need(kinds.OpensSenses, "senses").open_senses()

    def senses(
        self,
        word: str,
        lang: str,
        context: str | None = None,
        k: int = 5,
        direction: str | None = None,
        examples: int = 3,
    ) -> list[Sense] | Sense:
        """The enabled senses of a word, the most used ones first, or its sense in a context.

        Args:
          context: a text that contains the word; None: all senses of the word are returned.
          word: a word of the vocabulary.
          lang: its language.
          k: number of nearest senses in each language.
          direction: one of the model's directions, such as 'forward'; None: all.
          examples: number of lines of text for each sense; 0: no text is read. A context needs none.

        Raises:
          ValueError: no senses, an unknown language or direction, or a word that is not in the
            vocabulary or not in the context.
        """
        if context is not None:
            return self.sense_view.pick(word, lang, context, k, direction)
        senses = self.sense_view.all(word, lang, k, direction, examples)
        return [sense for sense in senses if sense.enabled]

    def translate_in_context(
        self, word: str, context: str, to: str, lang: str | None = None
    ) -> Translated:
        """The dictionary's translation whose sense fits the context best (A8-A11, section 3.2).

        A word can translate to itself, through the senses that occur in the language `to`
        (`config.objective.senses.translated_share`).

        Args:
          word, context: a word, and a text that contains it.
          to: the target language.
          lang: language of the word; None: the model's other language, or the only other language
            whose list of frequent words has the word.

        Raises:
          ValueError: no senses, a model without a dictionary, an unknown language, a word that is not
            in the vocabulary or not in the context, or that has no translation.
        """
        self._can.need(kinds.OpensSenses, "translate_in_context")
        return self.sense_view.translate_in_context(word, context, to, lang)

    def translate_sentence(
        self, text: str, lang: str, to: str, width: int = 5, penalty: float = 1.0
    ) -> str:
        """The translation of a sentence, in normalised words with spaces between them.

        Args:
          text, lang, to: a sentence, its language and that of the translation.
          width: number of beams; 1: greedy search.
          penalty: exponent of the length by which a beam's score is divided.

        Raises:
          ValueError: a model that writes no text, an unknown language, or the same one twice.
        """
        encoder = self._can.encoder("translate_sentence", lang=lang, to=to)
        check_strings(text=text)
        if not translate.generates(encoder):
            raise lacks(self.loaded, "translate_sentence")
        return translate.translate(encoder, [text], lang, to, width, penalty, batch_size=1)[0]

    def reduced(
        self, extract: bool = True, reorder: bool = True, threshold: float | None = None
    ) -> Encoder:
        """The encoder of pivots alone, in one language's order: CLCR's steps E and R.

        Args:
          extract: whether only the pivots are kept, the words that T aligns one to one.
          reorder: whether words are in the order of the first language.
          threshold: least probability of a pivot; None: the run's.

        Raises:
          ValueError: a model that is no CLCR.
        """
        return self._can.need(kinds.Reduces, "reduced").reduced(extract, reorder, threshold)

    def tag(self, texts: Sequence[str], lang: str) -> list[list[tuple[str, str]]]:
        """The words of texts with their labels.

        Args:
          texts: sentences, which are cut into words as the encoder cuts text, in their own spelling;
            or sequences of words, which are not cut.
          lang: their language.

        Returns:
          For each text its pairs of a word and a label.

        Raises:
          ValueError: a model without labels, or with labels of texts; an unknown language.
        """
        return self._can.need(kinds.LabelsText, "tag").tag(texts, lang)

    def classify(self, texts: Sequence[str] | Sequence[Sequence[str]], lang: str) -> list[str]:
        """The labels of texts; for a task of pairs, of pairs of texts.

        Raises:
          ValueError: a model without labels, or with labels of words; an unknown language; texts where
            the task has pairs.
        """
        return self._can.need(kinds.LabelsText, "classify").classify(texts, lang)

    def label_spans(
        self, rows: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], lang: str
    ) -> list[tuple[str, ...]]:
        """The labels of spans, or of pairs of spans.

        Args:
          rows: words of a sentence, and its spans: one, or for a task of pairs two, each (first word,
            word after the last one).
          lang: their language.

        Returns:
          For each row its labels, of which there may be none.

        Raises:
          ValueError: a model without labels of spans, an unknown language, or a span that is empty or
            outside the sentence.
        """
        return self._can.need(kinds.LabelsText, "label_spans").label_spans(rows, lang)
