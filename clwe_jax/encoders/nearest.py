"""The nearest words of a word among the frequent words of language models."""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple, Protocol, Sequence

import numpy as np

from clwe_jax.align import search
from clwe_jax.align.retriever import Retriever
from clwe_jax.encoders.checks import check_search
from clwe_jax.encoders.encode import MEAN_LAST4, Layer


class Neighbour(NamedTuple):
    """A word near another word.

    Attributes:
      word: the word.
      language: its language.
      score: the cosine of their vectors, which a language model centers by language; for static
        vectors the score of the chosen method.
    """

    word: str
    language: str
    score: float


@dataclasses.dataclass(frozen=True)
class Index:
    """W words of a language, their centered vectors [W, D], and the subtracted mean [D].

    `spellings` are those of the words that are written otherwise.
    """

    words: Sequence[str]
    vectors: np.ndarray
    mean: np.ndarray
    spellings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    _retrievers: dict[str, Retriever] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    def spelling_of(self, word: str) -> str:
        """A word as it is written."""
        return self.spellings.get(word, word)

    def retriever(self, method: str) -> Retriever:
        """The search among the words by a method of `align.csls`, made once."""
        if method not in self._retrievers:
            self._retrievers[method] = Retriever(self.vectors, self.vectors, method)
        return self._retrievers[method]


class Searched(Protocol):
    """A language model whose frequent words are searched."""

    frequent: Mapping[str, Sequence[str]]

    def normalised_word(self, word: str, lang: str) -> str:
        """The word in the spelling that is encoded."""

    def sentences(self, texts: Sequence[str], lang: str, layer: Layer) -> np.ndarray:
        """Vectors of sentences, float32 [N, D]."""

    def index(self, language: str, layer: Layer) -> Index:
        """The frequent words of a language with their vectors."""


def nearest_words(
    models: Mapping[str, Searched],
    word: str,
    lang: str,
    k: int,
    to: str | None,
    layer: Layer | None,
    method: str,
) -> list[Neighbour]:
    """`LanguageModel.neighbours` for models whose vectors lie in one space.

    Args:
      models: language -> the model that encodes it.
      word, lang, k, to, layer, method: as for `LanguageModel.neighbours`.

    Raises:
      ValueError: as for `LanguageModel.neighbours`.
    """
    method = check_search(k, method)
    layer = MEAN_LAST4 if layer is None else layer
    if layer == "all":
        raise ValueError(
            f"layer='all': neighbours are one layer's, by its number or {MEAN_LAST4!r}"
        )
    own = models[lang].normalised_word(word, lang)
    here = models[lang].index(lang, layer)
    query = models[lang].sentences([own], lang, layer) - here.mean
    neighbours = []
    for language in models if to is None else (to,):
        if to is None and not models[language].frequent.get(language):
            continue
        there = models[language].index(language, layer)
        count = min(k + 1, len(there.words))  # one more: the word itself may be among them
        places, _ = there.retriever(method).nearest(query[0], count)
        cosines = np.asarray(search.unit(there.vectors[places]) @ search.unit(query)[0])
        near = [
            Neighbour(there.spelling_of(there.words[place]), language, float(cosine))
            for place, cosine in zip(places, cosines)
            if (there.words[place], language) != (own, lang)
        ]
        neighbours += near[:k]
    return sorted(neighbours, key=lambda near: -near.score)[:k]
