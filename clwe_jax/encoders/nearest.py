"""What a search for the nearest words among frequent words takes and gives."""

from __future__ import annotations

import dataclasses
from typing import Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax.align.retriever import Retriever


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
