"""Use a tagger, classifier or probe: labels of words, of texts and of spans.

from clwe_jax import api

model = api.load("runs/ner_bilstm_crf")
model.tag(["Anna wohnt in Berlin."], lang="de")       # [[('Anna', 'B-PER'), ...]]
model = api.load("runs/finetune_xnli")
model.classify([("He sleeps.", "He is awake.")], lang="en")
model = api.load("runs/edge_probing")
model.label_spans([(["Er", "schläft", "."], [(1, 2), (0, 1)])], lang="de")   # [('agent',)]
"""

from __future__ import annotations

import dataclasses
from typing import Self, Sequence

from clwe_jax.api.loaded import LoadedModel
from clwe_jax.api.wrap import wrap_loaded
from clwe_jax.encoders.checks import check_texts
from clwe_jax.encoders.loaded import list_languages
from clwe_jax.text.words.languages import hint
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.transfer.loaded import TrainedLabeller

_CALLS = {
    "tags": ("words", "tag([TEXT]"),
    "texts": ("texts", "classify([TEXT]"),
    "spans": ("spans", "label_spans([(WORDS, SPANS)]"),
}


class TransferModel(TrainedLabeller, LoadedModel):
    """A trained tagger, classifier or probe; see `TrainedLabeller` for its attributes.

    `encoder` is a model of `api.load`.
    """

    described = "Taggers and classifiers"
    lacking = (
        "give labels and no vectors, which the method {method!r} needs: api.load(ENCODER) loads the model "
        "of the run's config.encoder, which has them"
    )

    @classmethod
    def of(cls, loaded: TrainedLabeller) -> Self:
        """The model of a labeller."""
        fields = {x.name: getattr(loaded, x.name) for x in dataclasses.fields(loaded)}
        if loaded.encoder is not None:
            fields["encoder"] = wrap_loaded(loaded.encoder)
        return cls(**fields)

    def __repr__(self) -> str:
        return f"TransferModel({self.config.transfer.task}; {list_languages(self.languages)})"

    def tag(self, texts: Sequence[str], lang: str) -> list[list[tuple[str, str]]]:
        """The words of texts with their labels.

        Args:
          texts: sentences, which are cut into words as the encoder cuts text, in their own spelling;
            or sequences of words, which are not cut.
          lang: their language.

        Returns:
          For each text its pairs of a word and a label.

        Raises:
          ValueError: a run whose labels are those of texts, or an unknown language.
        """
        self._check(lang, "tags")
        if isinstance(texts, str):
            check_texts(texts)
        words = [self._words(text, lang) if isinstance(text, str) else list(text) for text in texts]
        # Encoders take no sentence without words.
        full = [place for place, some in enumerate(words) if some]
        tagged: list[list[tuple[str, str]]] = [[] for _ in words]
        if full:
            given = [words[i] for i in full]
            spoken = lang
            if self.config.transfer.lower_case:
                given = [[word.lower() for word in some] for some in given]
            if lang in self.glossaries:
                glossary = self.glossaries[lang]
                given = list(map(glossary.words, given))
                spoken = glossary.target
            labels = self.predictor.label_sentences(given, spoken)[self.seed]
            for place, mine in zip(full, labels):
                tagged[place] = list(zip(words[place], mine))
        return tagged

    def classify(self, texts: Sequence[str] | Sequence[Sequence[str]], lang: str) -> list[str]:
        """The labels of texts, or of pairs of texts.

        Args:
          texts: texts; for a task of pairs, pairs of texts.
          lang: their language.

        Raises:
          ValueError: a run whose labels are those of words, an unknown language, or texts where the
            task has pairs.
        """
        self._check(lang, "texts")
        rows = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        if isinstance(texts, str) or any(len(row) != self.texts for row in rows):
            expected = "pairs (TEXT, TEXT)" if self.texts == 2 else "texts"
            raise ValueError(f"texts: expected a list of {expected}")
        if not rows:
            return []
        if lang in self.glossaries:
            glossary = self.glossaries[lang]
            rows = [tuple(map(glossary.text, row)) for row in rows]
            lang = glossary.target
        return self.predictor.label_texts(rows, lang)[self.seed]

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
          ValueError: a run whose labels are those of words or texts, an unknown language, or a span
            that is empty or outside the sentence.
        """
        self._check(lang, "spans")
        for words, spans in rows:
            if len(spans) != self.texts or not all(0 <= a < b <= len(words) for a, b in spans):
                raise ValueError(
                    f"{list(spans)}: expected {self.texts} of (first word, word after the last one) "
                    f"in a sentence of {len(words)} words"
                )
        return self.predictor.label_spans(rows, lang)[self.seed] if rows else []

    def _check(self, lang: str, kind: str) -> None:
        if self.kind != kind:
            labelled, call = _CALLS[self.kind]
            raise ValueError(
                f"This run labels {labelled} ({', '.join(self.labels)}): {call}, lang={lang!r})"
            )
        if lang not in self.languages:
            raise ValueError(
                f"lang={lang!r} is not a language of this model. {hint(str(lang), self.languages)}"
            )

    def _words(self, text: str, lang: str) -> list[str]:
        """The words of a text with their own capitals."""
        if lang in self.glossaries:
            return self.glossaries[lang].cut(text)
        return self.segmenter(lang).words(Normalizer(lower_case=False)(text, lang), lang)
