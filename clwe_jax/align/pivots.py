"""Pivots: the words of two sentences that attention matching aligns one to one (CLCR, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clwe_jax.align import word_links


class Mapped(NamedTuple):
    """The words of one sentence in both spaces.

    Attributes:
      own: vectors in the sentence's own space, float32 [M, D].
      mapped: vectors in the other language's space, float32 [M, D'].
    """

    own: np.ndarray
    mapped: np.ndarray


def symmetric_distances(source: Mapped, target: Mapped) -> np.ndarray:
    """Half of D(T(r_i) || r_j) + D(T'(r_j) || r_i), the squared error a dimension, float32 [M, N]."""
    there = _squared(source.mapped, target.own)
    back = _squared(target.mapped, source.own).T
    return (there + back) / 2


def links(distances: np.ndarray, threshold: float = np.inf) -> np.ndarray:
    """Pivots: the pairs of which each is the other's nearest, nearer than a threshold, bool [M, N]."""
    return word_links.mutual_argmax(-distances) & (distances < threshold)


def orders(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pivots of a pair of sentences in the source's order.

    Args:
      found: links, bool [M, N], at most one in each row and column.

    Returns:
      Their places in the source, int [n], rising; and their ranks in the target's order, int [n].
    """
    places, there = np.nonzero(found)
    return places, np.argsort(np.argsort(there))


def _squared(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs of rows a dimension, [M, N]."""
    squares = np.square(x).sum(1)[:, None] + np.square(y).sum(1)[None] - 2 * x @ y.T
    return np.maximum(squares, 0) / x.shape[1]
