"""Induced dictionaries of two aligned vocabularies, and how well the vocabularies are aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

from clwe_jax.align import csls, search
from clwe_jax.types import Array

MAX_WORDS = 15_000
CRITERION_WORDS = 10_000


def induce(
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
      x: [N, D] and
      y: [M, D], vectors in the common space, most frequent words first.
      method: of retrieval, see `csls.nearest`.
      max_words: most frequent words of each side whose pairs are returned; retrieval runs over all
        words, as in the authors' program MUSE. None: all.
      mutual: only pairs where either word is the other's best (the intersection of both
        directions in Conneau et al. 2018, section 2.2); else the best target of every source
        word.
      neighbourhood: of CSLS.
      beta: of the inverted softmax.

    Returns:
      int32 [P, 2], rows of x and of y, by row of x.
    """
    x, y = search.unit(x), search.unit(y)
    options = {"neighbourhood": neighbourhood, "beta": beta}
    pairs = _best(x, y, max_words, method, **options)
    if not mutual or not len(pairs):
        return pairs
    # A target word that no source word chose cannot be mutual, so that its search is left out.
    chosen = np.unique(pairs[:, 1])
    back = np.asarray(csls.nearest(y[chosen], x, 1, method, pool=y, **options)[0])[:, 0]
    answers = np.full(len(y), -1, np.int32)
    answers[chosen] = back
    return pairs[answers[pairs[:, 1]] == pairs[:, 0]]


def criterion(
    x: Array, y: Array, max_words: int | None = CRITERION_WORDS, neighbourhood: int = 10
) -> float:
    """The criterion by which maps are chosen without a dictionary.

    The mean cosine of each of the most frequent source words with its nearest target word by CSLS
    (Conneau et al. 2018, section 3.5). As in the authors' program MUSE, retrieval runs over all
    words, and only pairs of two frequent words count.

    Args:
      x: [N, D] and
      y: [M, D], vectors in the common space, most frequent words first.
      max_words: most frequent words of each side whose pairs count; None: all.
      neighbourhood: of CSLS.

    Returns:
      A number in [-1, 1]; -1 where no pair counts.
    """
    x, y = search.unit(x), search.unit(y)
    pairs = _best(x, y, max_words, "csls", neighbourhood=neighbourhood)
    if not len(pairs):
        return -1.0
    x, y = np.asarray(x[pairs[:, 0]]), np.asarray(y[pairs[:, 1]])
    return float(np.einsum("nd,nd->n", x, y).mean(dtype=np.float64))


def _best(x: Array, y: Array, max_words: int | None, method: str, **options: Any) -> np.ndarray:
    """The best target of each of the most frequent source words, where it is frequent too.

    Returns:
      int32 [P, 2], rows of x and of y, all below `max_words`.
    """
    best = np.asarray(csls.nearest(x[:max_words], y, 1, method, pool=x, **options)[0])[:, 0]
    pairs = np.stack([np.arange(len(best), dtype=np.int32), best.astype(np.int32)], 1)
    return pairs if max_words is None else pairs[best < max_words]
