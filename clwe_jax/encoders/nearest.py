"""What a search for the nearest words among frequent words takes and gives."""

from __future__ import annotations

import dataclasses
from typing import Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax.align.retriever import Retriever
from clwe_jax.embeddings.vectors import Vectors


class Neighbour(NamedTuple):
    """A word near another word.

    `score` is that of the chosen method; where none is chosen, the cosine of their vectors. A language model
    centers these by language.
    """

    word: str
    language: str
    score: float


# Neighbours sort by the first part: entries of a dictionary before other words.
Ranked = tuple[tuple[bool, float], Neighbour]


def rank(
    retriever: Retriever,
    query: np.ndarray,
    k: int,
    searched: Vectors,
    language: str,
    entries: Iterable[str],
    rejected: Iterable[str],
    own_row: int | None,
) -> list[Ranked]:
    """The entries of a word in a dictionary by their cosine, then the k nearest words by score.

    Args:
      retriever: searches the words.
      query: the word's vector [D].
      searched, language: the words and their language.
      entries: keys of the word's translations.
      rejected: keys of words that are none, which are left out.
      own_row: the row of the word itself, which is left out; None: it is not among those that are searched.
    """
    never = {*searched.rows(rejected).tolist(), own_row}
    places, scores = retriever.nearest(query, min(k, len(searched)))
    while len({*places.tolist()} - never) < k and len(places) < len(searched):
        # Few are left out as a rule, and each more costs an exact score.
        places, scores = retriever.nearest(query, min(2 * len(places), len(searched)))
    score_of = dict(zip(places.tolist(), scores.tolist()))
    cosines: dict[int, float] = {}
    entry_rows = searched.rows(entries)
    entry_rows = entry_rows[entry_rows >= 0]
    if len(entry_rows):
        scores, nearness = retriever.compare(query, entry_rows)
        score_of |= zip(entry_rows.tolist(), scores.tolist())
        cosines = dict(zip(entry_rows.tolist(), nearness.tolist()))
    ranked = [
        (
            (row not in cosines, -cosines.get(row, score)),
            Neighbour(searched.words[row], language, score),
        )
        for row, score in score_of.items()
        if row not in never
    ]
    return sorted(ranked, key=lambda x: x[0])


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
