"""Trained vectors beside those of a dictionary: what both know of a word, in one vector.

Dictionary vectors are exact for the words of the dictionary, and trained vectors have a place for
the words that it lacks. The cosine of two concatenated vectors is a weighted mean of both
cosines. The method is this project's own.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.lazy_vectors import LazyVectors
from clwe_jax.embeddings.vectors import Vectors


_ROWS = 10_000  # that are copied at once


def vectors(
    dictionary: Mapping[str, Vectors], trained: Mapping[str, Vectors], length: float
) -> LazyVectors[Vectors]:
    """The vectors of both, one behind the other, for every word that either has.

    Each language's mean is subtracted from its trained vectors, because languages differ in it even
    after an alignment and the dictionary's vectors do not.

    Args:
      dictionary: language -> vectors of unit length or shorter; all of one width D.
      trained: the same languages' vectors, in one space of another width T.
      length: of a trained vector beside the dictionary's, > 0.

    Returns:
      language -> float16 [words, D + T], most frequent word first, made when they are asked for;
      zeros stand for a part that a word lacks. Words are equal by their keys, and written as `trained` has them.
    """
    return LazyVectors(trained, lambda x: _of_language(dictionary[x], trained[x], length))


def _of_language(dictionary: Vectors, trained: Vectors, length: float) -> Vectors:
    keys = list(dict.fromkeys([*trained.own_keys, *dictionary.own_keys]))
    counts = np.zeros(len(keys), np.int64)
    for vectors in (dictionary, trained):
        if vectors.counts is not None:
            rows = vectors.rows(keys)
            # The trained vectors' counts may be of a sample of the text, the dictionary's of the whole text.
            counts[rows >= 0] = np.maximum(counts[rows >= 0], vectors.counts[rows[rows >= 0]])
    order = np.argsort(-counts, kind="stable")
    keys = [keys[row] for row in order.tolist()]
    joined = np.zeros((len(keys), dictionary.dim + trained.dim), np.float16)
    # With the mean, trained vectors cost 5 points of retrieval; without it they add 3 to 6.
    mean = trained.vectors.mean(0) if len(trained) else 0
    centered = length * unit(trained.vectors - mean)
    for vectors, part_vectors, part in (
        (dictionary, dictionary.vectors, slice(dictionary.dim)),
        (trained, centered, slice(dictionary.dim, None)),
    ):
        rows = vectors.rows(keys)
        present = np.flatnonzero(rows >= 0)
        for start in range(0, len(present), _ROWS):
            block = present[start : start + _ROWS]
            joined[block, part] = part_vectors[rows[block]]
    trained_rows = trained.rows(keys).tolist()
    words = [key if row < 0 else trained.words[row] for key, row in zip(keys, trained_rows)]
    return Vectors(words, joined, counts[order], keys=None if words == keys else keys)
