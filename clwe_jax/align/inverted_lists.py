"""Approximate nearest neighbours among millions of vectors: inverted lists (Johnson et al. 2021).

    lists = inverted_lists.learn([x, y], seed=0)
    ahead, back = inverted_lists.nearest(x, y, lists.nearest_lists(x), lists.nearest_lists(y)[:, 0], k=4)

K-means divides the space into lists. A key is in the list of the nearest centroid, and a query is
compared with the keys of the lists of several near centroids. All products of a list are one product
of matrices, and serve both directions: the nearest queries of a key are those that probe its list.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Iterator, Sequence

import numpy as np

from clwe_jax.align.mining import Nearest

_LISTS = 2  # times the root of the mean number of vectors
_PROBED = 8  # lists that a query is compared with
_POINTS = 32  # vectors of a list that k-means learns from
_STEPS = 6  # of k-means
_ROWS = 4_096  # vectors that are multiplied at once


@dataclasses.dataclass(frozen=True, eq=False)
class Lists:
    """Centroids of unit length, float32 [lists, D]."""

    centroids: np.ndarray

    def nearest_lists(self, vectors: np.ndarray) -> np.ndarray:
        """The nearest lists of unit vectors [N, D], best first: int32 [N, lists that are probed]."""
        count = min(_PROBED, len(self.centroids))
        parts = [_top(part @ self.centroids.T, count)[0] for part in _parts(vectors)]
        return np.concatenate([np.zeros((0, count), np.int32), *parts])


def learn(sides: Sequence[np.ndarray], seed: int) -> Lists:
    """Learns lists from several sets of unit vectors [N, D], by spherical k-means."""
    random = np.random.default_rng(seed)
    total = sum(map(len, sides))
    count = max(1, int(_LISTS * math.sqrt(total / len(sides))))
    share = min(1, _POINTS * count / max(1, total))
    sample_rows = [random.permutation(len(x))[: math.ceil(share * len(x))] for x in sides]
    points = np.concatenate([x[rows] for x, rows in zip(sides, sample_rows)])
    centroids = points[random.permutation(len(points))[:count]].astype(np.float32)
    for _ in range(_STEPS):
        sums = np.zeros_like(centroids)
        for part in _parts(points):
            nearest = (part @ centroids.T).argmax(1)
            # Sorted by their centroid, the vectors of one centroid are a run, which reduceat sums.
            order = np.argsort(nearest, kind="stable")
            filled, starts = np.unique(nearest[order], return_index=True)
            sums[filled] += np.add.reduceat(part[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centroids = np.where(lengths > 1e-6, sums / np.maximum(lengths, 1e-6), centroids)
    return Lists(centroids)


def nearest(
    queries: np.ndarray, keys: np.ndarray, probed: np.ndarray, lists: np.ndarray, k: int
) -> tuple[Nearest, Nearest]:
    """The k nearest keys of the queries in the lists that they probe, and the k nearest queries of
    the keys among those that probe their lists.

    Args:
      queries, keys: unit vectors [N, D] and [M, D].
      probed: lists of each query, int [N, P].
      lists: list of each key, int [M].
      k: number of neighbours.
    """
    sides = _empty((*probed.shape, k)), _empty((len(keys), k))
    # The keys of list n are members[starts[n] : starts[n + 1]].
    members = np.argsort(lists, kind="stable")
    starts = np.searchsorted(lists[members], np.arange(probed.max(initial=0) + 2))
    asking = np.argsort(probed, axis=None, kind="stable")  # places in `probed`, list by list
    begins = np.searchsorted(probed.ravel()[asking], np.arange(len(starts)))
    for number in np.flatnonzero((np.diff(starts) > 0) & (np.diff(begins) > 0)).tolist():
        list_members = members[starts[number] : starts[number + 1]]
        list_keys = keys[list_members].astype(np.float32)
        places = asking[begins[number] : begins[number + 1]]
        for start in range(0, len(places), _ROWS):
            block = places[start : start + _ROWS]
            # A place in the raveled [N, P] array belongs to a query, P places each.
            rows = block // probed.shape[1]
            cosines = queries[rows].astype(np.float32) @ list_keys.T
            # The copy is for `_top`, which overwrites what it reads.
            _merge(sides[1], list_members, rows, cosines.T.copy())
            best, values = _top(cosines, k)
            sides[0].keys.reshape(-1, k)[block] = np.where(best < 0, -1, list_members[best])
            sides[0].cosines.reshape(-1, k)[block] = values
    # A key is in one list, so that no key occurs twice among those of a query's lists.
    best, values = _top(sides[0].cosines.reshape(len(queries), -1), k)
    best_keys = np.take_along_axis(sides[0].keys.reshape(len(queries), -1), np.maximum(best, 0), 1)
    return Nearest(np.where(best < 0, -1, best_keys), values), sides[1]


def _empty(shape: tuple[int, ...]) -> Nearest:
    return Nearest(np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32))


def _merge(nearest: Nearest, rows: np.ndarray, keys: np.ndarray, cosines: np.ndarray) -> None:
    """Merges the cosines of some rows with some keys into the nearest keys of these rows."""
    k = nearest.keys.shape[1]
    best, values = _top(cosines, k)
    candidates = np.concatenate([nearest.keys[rows], np.where(best < 0, -1, keys[best])], 1)
    best, values = _top(np.concatenate([nearest.cosines[rows], values], 1), k)
    nearest.keys[rows] = np.take_along_axis(candidates, np.maximum(best, 0), 1)
    nearest.cosines[rows] = values


def _top(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k best columns of each row, best first, and their scores; it overwrites `scores`.

    Columns are int32, -1 for a score of minus infinity: where there are fewer.
    """
    best = np.full((len(scores), k), -1, np.int32)
    values = np.full((len(scores), k), -np.inf, np.float32)
    rows = np.arange(len(scores))
    for place in range(min(k, scores.shape[1])):  # for few k faster than a partition
        columns = scores.argmax(1)
        values[:, place] = scores[rows, columns]
        best[:, place] = np.where(values[:, place] > -np.inf, columns, -1)
        scores[rows, columns] = -np.inf
    return best, values


def _parts(vectors: np.ndarray) -> Iterator[np.ndarray]:
    """The vectors as float32, some rows at a time."""
    for start in range(0, len(vectors), _ROWS):
        yield vectors[start : start + _ROWS].astype(np.float32)
