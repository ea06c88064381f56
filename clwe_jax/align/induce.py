"""Dictionaries that are induced from two aligned spaces, and a criterion of the alignment without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from clwe_jax.align import both_sides, csls, search
from clwe_jax.types import Array

MAX_WORDS = 15_000
CRITERION_WORDS = 10_000


def induce_dictionary(
    x: Array,
    y: Array,
    *,
    method: str = "csls",
    max_words: int | None = MAX_WORDS,
    mutual: bool = True,
    neighbourhood: int = 10,
    beta: float = 30.0,
) -> np.ndarray:
    """Pairs of words whose vectors are each other's nearest.

    Args:
      x, y: vectors in the common space, [N, D] and [M, D], most frequent words first.
      method: 'cosine', 'csls' or another score of `csls.nearest`.
      max_words: most frequent words of each side whose pairs are returned; retrieval searches all
        words, as in the authors' program MUSE. None: all.
      mutual: whether each word of a pair must be the best one of the other (the intersection of
        both directions in Conneau et al. 2018, section 2.2); else every source word is paired with
        its best target word.
      neighbourhood: neighbours of CSLS.
      beta: inverse temperature of the inverted softmax.

    Returns:
      int32 [P, 2], rows of x and of y, by row of x.
    """
    # Where every word of both sides needs its nearest word, two products serve both directions.
    if mutual and method == "csls" and max(len(x), len(y)) <= (max_words or np.inf):
        best, back = both_sides.best(x, y, [neighbourhood])[-1]
        rows = np.arange(len(best), dtype=np.int32)
        return np.stack([rows, best], 1)[back[best] == rows]
    options = {"neighbourhood": neighbourhood, "beta": beta}
    pairs = _best(x, y, max_words, method, **options)
    if not mutual or not len(pairs):
        return pairs
    # Only target words that some source word chose can be mutual.
    target_rows = np.unique(pairs[:, 1])
    back = np.asarray(csls.nearest(y[target_rows], x, 1, method, pool=y, **options)[0])[:, 0]
    answers = np.full(len(y), -1, np.int32)
    answers[target_rows] = back
    return pairs[answers[pairs[:, 1]] == pairs[:, 0]]


def unsupervised_criterion(
    x: Array, y: Array, max_words: int | None = CRITERION_WORDS, neighbourhood: int = 10
) -> float:
    """The criterion that selects maps without a dictionary.

    The mean cosine of each of the most frequent source words with its nearest target word by CSLS
    (Conneau et al. 2018, section 3.5). As in the authors' program MUSE, retrieval searches all
    words, and only pairs of two frequent words count.

    Args:
      x, y: vectors in the common space, [N, D] and [M, D], most frequent words first.
      max_words: most frequent words of each side whose pairs count; None: all.
      neighbourhood: neighbours of CSLS.

    Returns:
      A number in [-1, 1]; -1 where no pair counts.
    """
    x = search.unit(x)
    y = search.unit(y)
    pairs = _best(x, y, max_words, "csls", neighbourhood=neighbourhood)
    if not len(pairs):
        return -1.0
    x = np.asarray(x[pairs[:, 0]])
    y = np.asarray(y[pairs[:, 1]])
    return float(np.einsum("nd,nd->n", x, y).mean(dtype=np.float64))


def _best(x: Array, y: Array, max_words: int | None, method: str, **options: Any) -> np.ndarray:
    """Pairs of a frequent source word and its best target word, if that is frequent too.

    Returns:
      int32 [P, 2], rows of x and of y, all below `max_words`.
    """
    best = np.asarray(csls.nearest(x[:max_words], y, 1, method, pool=x, **options)[0])[:, 0]
    pairs = np.stack([np.arange(len(best), dtype=np.int32), best.astype(np.int32)], 1)
    return pairs if max_words is None else pairs[best < max_words]
