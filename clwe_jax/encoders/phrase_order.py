"""Words before the phrases that hold them.

The vector of a phrase is often the mean of its words', so that a query is near to a word and to all
phrases that hold it. CSLS subtracts what a candidate's neighbours have in common, which is most of a
frequent word's nearness and little of a phrase's: "water closet" then comes before "water". A phrase
that the query is not nearer to than to a word in it counts at most as much as this word.
"""

from __future__ import annotations

import itertools
from typing import Sequence

import numpy as np

from clwe_jax.align.retriever import Retriever
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.words.words import Phrases

MORE = 16  # candidates beyond those that are asked for, as phrases may crowd the first ones


def nearest(
    retriever: Retriever, vectors: Vectors, phrases: Phrases, query: np.ndarray, k: int
) -> tuple[list[int], list[float]]:
    """The rows and scores of the k words nearest to a query [D], best first.

    Args:
      retriever: searches the vectors of `vectors`.
      vectors: words and phrases.
      phrases: those of `vectors`.
    """
    more = MORE if phrases else 0
    places, scores = retriever.nearest(query, min(k + more, len(vectors)))
    found = dict(zip(places.tolist(), scores.tolist()))
    parts = {row: some for row in found if (some := part_rows(vectors, row))}
    if not parts:
        return places[:k].tolist(), scores[:k].tolist()
    rows = list(dict.fromkeys([*found, *itertools.chain.from_iterable(parts.values())]))
    cosines = dict(zip(rows, retriever.cosines(query, rows).tolist()))
    exact = dict(zip(rows, retriever.scores(query, rows).tolist()))
    limits: dict[int, float] = {}
    for phrase, some in parts.items():
        ahead = [part for part in some if cosines[part] >= cosines[phrase]]
        if ahead:
            limits[phrase] = max(exact[part] for part in ahead)
            found |= {part: exact[part] for part in ahead}
    found |= {phrase: min(found[phrase], limit) for phrase, limit in limits.items()}
    best = sorted(found, key=lambda row: (-found[row], row in limits))[:k]
    return best, [found[row] for row in best]


def part_rows(vectors: Vectors, row: int) -> list[int]:
    """The rows of the words in a phrase that have a vector; [] for a word."""
    parts = vectors.own_keys[row].split(" ")
    if len(parts) == 1:
        return []
    return [vectors.index[part] for part in parts if part in vectors.index]


def without_phrases_ahead(
    pairs: np.ndarray, source: Vectors, target: Vectors
) -> list[tuple[int, int]]:
    """Pairs of rows in which a word stands for a phrase that holds it, where it is not farther.

    Args:
      pairs: int [P, 2], rows of `source` and `target`, each in one pair.
    """
    kept: dict[tuple[int, int], None] = {}
    for a, b in pairs.tolist():
        a = _nearer(source, a, target.vectors[b])
        kept[a, _nearer(target, b, source.vectors[a])] = None
    return list(kept)


def _nearer(vectors: Vectors, row: int, query: np.ndarray) -> int:
    """The row of the word in a phrase that a vector is nearest to, or of the phrase if that is nearer."""
    rows = [*part_rows(vectors, row), row]  # of equal cosines the first counts
    return rows[int(np.argmax(_cosines(vectors, rows, query)))] if len(rows) > 1 else row


def _cosines(vectors: Vectors, rows: Sequence[int], query: np.ndarray) -> np.ndarray:
    """Cosines with a vector, without its length."""
    some = np.asarray(vectors.vectors[np.asarray(rows)], np.float32)
    lengths = np.linalg.norm(some, axis=1)
    return np.round(some @ np.asarray(query, np.float32) / np.maximum(lengths, 1e-9), 6)
