"""Bitext mining with the margin criterion (Artetxe and Schwenk 2019, Margin-based mining).

The score of x and y is their cosine over the mean cosine of both with their k nearest vectors of the
other side (their Eq. 2 and 3, 'ratio'). Each vector of each side proposes the best of its k nearest;
pairs are taken best first, and each vector once (their 'max. score').
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clwe_jax.align import csls
from clwe_jax.types import Array


class Mined(NamedTuple):
    """Pairs of vectors, the best first.

    Attributes:
      source, target: indices of the vectors, int [P].
      scores: their margins, float [P]; above 1 the vectors are nearer to each other than to others.
    """

    source: np.ndarray
    target: np.ndarray
    scores: np.ndarray


def mine(source: Array, target: Array, neighbourhood: int = 4) -> Mined:
    """The pairs of two sets of vectors, each vector at most once.

    Args:
      source, target: [N, D] and [M, D].
      neighbourhood: k, at most N and M.

    Raises:
      ValueError: as of `csls.nearest`.
    """
    k = min(neighbourhood, len(source), len(target))
    sides = [csls.nearest(source, target, k), csls.nearest(target, source, k)]
    (ahead, of_source), (back, of_target) = (tuple(map(np.asarray, x)) for x in sides)
    around = of_source.mean(1), of_target.mean(1)
    firsts, seconds, scores = [], [], []
    for turned, (near, cosines) in enumerate(((ahead, of_source), (back, of_target))):
        margins = 2 * cosines / np.maximum(around[turned][:, None] + around[1 - turned][near], 1e-9)
        own, best = np.arange(len(near)), margins.argmax(1)
        chosen = near[own, best]
        firsts.append(chosen if turned else own)
        seconds.append(own if turned else chosen)
        scores.append(margins[own, best])
    first, second, score = map(np.concatenate, (firsts, seconds, scores))
    kept, used = [], (set(), set())
    for place in np.argsort(-score, kind="stable"):
        i, j = int(first[place]), int(second[place])
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            kept.append(place)
    return Mined(first[kept], second[kept], score[kept])


def best_threshold(scores: np.ndarray, right: np.ndarray, total: int) -> float:
    """The score from which on pairs have the highest F1.

    Args:
      scores: [P], falling.
      right: whether each pair is a translation, bool [P].
      total: number of translations that there are.
    """
    if not len(scores):
        return 0.0
    found = np.cumsum(right)
    f1 = 2 * found / (np.arange(1, len(scores) + 1) + total)
    return float(scores[f1.argmax()])


def quality(right: np.ndarray, total: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of pairs.

    Args:
      right: whether each pair is a translation, bool [P].
      total: number of translations that there are.
    """
    found = int(np.sum(right))
    return (
        found / max(1, len(right)), found / max(1, total), 2 * found / max(1, len(right) + total)
    )
