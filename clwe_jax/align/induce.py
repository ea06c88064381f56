"""Induced dictionaries of two aligned vocabularies, and how well the vocabularies are aligned."""

from __future__ import annotations

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
      max_words: most frequent words of each side that take part; None: all.
      mutual: only pairs where either word is the other's best (the intersection of both
        directions in Conneau et al. 2018, section 2.2); else the best target of every source
        word.
      neighbourhood: of CSLS.
      beta: of the inverted softmax.

    Returns:
      int32 [P, 2], rows of x and of y, by row of x.
    """
    x, y = search.unit(x[:max_words]), search.unit(y[:max_words])
    options = {"neighbourhood": neighbourhood, "beta": beta}
    best = np.asarray(csls.nearest(x, y, 1, method, **options)[0])[:, 0]
    pairs = np.stack([np.arange(len(x), dtype=np.int32), best.astype(np.int32)], 1)
    if not mutual:
        return pairs
    # A target word that no source word chose cannot be mutual, so that its search is left out.
    chosen = np.unique(best)
    back = np.asarray(csls.nearest(y[chosen], x, 1, method, pool=y, **options)[0])[:, 0]
    answers = np.full(len(y), -1, np.int32)
    answers[chosen] = back
    return pairs[answers[pairs[:, 1]] == pairs[:, 0]]


def criterion(
    x: Array, y: Array, max_words: int | None = CRITERION_WORDS, neighbourhood: int = 10
) -> float:
    """The criterion by which maps are chosen without a dictionary.

    The mean cosine of each of the most frequent source words with its nearest target word by CSLS
    (Conneau et al. 2018, section 3.5).

    Args:
      x: [N, D] and
      y: [M, D], vectors in the common space, most frequent words first.
      max_words: most frequent words of each side that take part; None: all.
      neighbourhood: of CSLS.

    Returns:
      A number in [-1, 1].
    """
    x, y = search.unit(x[:max_words]), search.unit(y[:max_words])
    best = np.asarray(csls.nearest(x, y, 1, "csls", neighbourhood=neighbourhood)[0])[:, 0]
    return float(np.einsum("nd,nd->n", np.asarray(x), np.asarray(y)[best]).mean(dtype=np.float64))
