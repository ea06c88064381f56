"""Use a trained model: vectors of sentences and of words in context, and nearest words.

    from clwe_jax import api

    model = api.load("runs/dict_mlm_50")
    vectors = model.encode(["Die Bank ist geschlossen."], lang="de")
    for word, vector in model.words("The bank is closed.", lang="en"):
        ...
    for word, language, score in model.neighbours("bank", lang="en", to="de"):
        ...

A model with senses also has the methods `senses` and `translate` (see `encoders.sense_view`).
"""

from __future__ import annotations

import functools
from typing import Sequence

import numpy as np

from clwe_jax.api.base import Loaded, lacks_counts
from clwe_jax.encoders import translate
from clwe_jax.encoders.checks import check_strings
from clwe_jax.encoders.encode import Layer, select
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.model import POOLS
from clwe_jax.encoders.sense_view import Sense, Translated
from clwe_jax.types import Generates


class Model(LanguageModel, Loaded):
    """A trained language model; see `LanguageModel` for its attributes."""

    @functools.cached_property
    def dim(self) -> int:
        """The number of dimensions of a vector; the first call encodes a text."""
        return self.encode(["a"], self.languages[0]).shape[-1]

    def _encode(
        self,
        texts: Sequence[str],
        lang: str,
        layer: Layer | None,
        pool: str | None,
        batch_size: int,
    ) -> np.ndarray | list[np.ndarray]:
        encoder = self._of_size(batch_size)
        if pool is None:
            return [select(vectors, layer) for vectors in encoder.pieces(texts, lang)]
        if pool not in POOLS:
            raise ValueError(
                f"pool={pool!r}: expected 'mean', 'sif', or None for a vector of each piece"
            )
        chosen = functools.partial(select, layer=layer)
        if pool == "mean":
            return encoder.sentences(texts, lang, chosen)
        if pool not in encoder.pools:
            raise lacks_counts(pool)
        return encoder.pooled(texts, lang, chosen)[pool]

    def words(
        self, text: str, lang: str, layer: Layer | None = None
    ) -> list[tuple[str, np.ndarray]]:
        """The words of a text, each with its vector in context: the mean over its pieces.

        A text longer than the model's rows is read in parts; nothing is left out.

        Args:
          text: a text of any length.
          lang: its language.
          layer: as for `encode`.

        Returns:
          Pairs of a normalised word and its vector, float32 [D] (with layer='all' [layers + 1, D]).

        Raises:
          ValueError: an unknown language or layer.
        """
        self._check_languages(lang=lang)
        check_strings(text=text)
        [(words, vectors)] = self._encoder.in_context([text], lang)
        return list(zip(words, select(vectors, layer)))

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D].

        Raises:
          ValueError: an unknown language or layer, or a word without letters.
        """
        self._check_languages(lang=lang)
        own = self.normalised_word(word, lang)
        return self.encode([own], lang, layer)[0]

    def senses(
        self,
        word: str,
        lang: str,
        context: str | None = None,
        k: int = 5,
        direction: str | None = None,
        examples: int = 3,
    ) -> list[Sense] | Sense:
        """The senses of a word, or its sense in a context.

        Args:
          word: one word of the vocabulary.
          lang: its language.
          context: a text that contains the word; None: all senses of the word are returned.
          k: number of nearest senses in each language.
          direction: 'forward' or 'backward' for a bidirectional model, whose directions have
            separate senses; None: both, or in a context the direction with the larger margin.
          examples: number of lines for each sense, if the run's text is found; 0: no text is read,
            and senses have no translations. Ignored in a context.

        Returns:
          The enabled senses, by direction, the most used ones first; with a context one of them.

        Raises:
          ValueError: a model without senses, an unknown language or direction, a word that is not
            in the vocabulary or not in the context.
        """
        if context is not None:
            return self.sense_view.pick(word, lang, context, k, direction)
        senses = self.sense_view.all(word, lang, k, direction, examples)
        return [sense for sense in senses if sense.enabled]

    def translate(self, word: str, context: str, to: str, lang: str | None = None) -> Translated:
        """The translation of a word in a context; see `SenseView.translate`."""
        return self.sense_view.translate(word, context, to, lang)

    def translate_sentence(
        self, text: str, lang: str, to: str, width: int = 5, penalty: float = 1.0
    ) -> str:
        """The translation of a sentence, in normalised words with spaces between them.

        Args:
          text: a sentence.
          lang, to: its language, and that of the translation.
          width: number of beams; 1: greedy search.
          penalty: exponent of the length in a beam's scores, see `models.decode.beam`.

        Raises:
          ValueError: a model that writes no text, an unknown language, or the same one twice.
        """
        self._check_languages(lang=lang, to=to)
        check_strings(text=text)
        if not isinstance(self.objective, Generates):
            return super().translate_sentence(text, lang, to)
        return translate.translate(self._encoder, [text], lang, to, width, penalty, batch_size=1)[0]
