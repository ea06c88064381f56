"""Exact CSLS for few queries, without the hubness of every key.

CSLS needs r(y), the mean cosine of a key y with its nearest vectors of the queries' side (the
pool). For a test dictionary nearly all of this computation concerns keys that no query finds. The
mean over the nearest vectors in any PART of the pool is at most r(y), which bounds the key's score
from above. The part for a key holds the vectors around it: k-means groups the pool, and the part
joins the groups nearest to the key's own center. r is then computed only for keys that are among
the best of some query by their bound, until the best keys of every query are known (a threshold
algorithm; Fagin et al. 2003, Optimal Aggregation Algorithms for Middleware).
"""

from __future__ import annotations

from typing import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

_CENTERS = 2_048  # maximum number of centers
_MEMBERS = 96  # least mean number of pool vectors per center
_ROUNDS = 3  # rounds of spherical k-means
_SAMPLE = 20_000  # pool vectors that k-means clusters
_PART = 2_048  # pool vectors that bound a key's score
_CANDIDATES = 256  # keys per query that are examined beyond the k requested keys
_SLABS = (1_024, 256, 64)  # keys compared at once: three shapes to compile
_ROUNDING = 1e-6  # largest rounding error of a mean cosine
_LEAST_KEYS = 20_000  # keys below which all cosines are faster


def pays(queries: int, keys: int) -> bool:
    """Whether `nearest` is faster than all cosines, which accelerators compute quickly."""
    return jax.default_backend() == "cpu" and keys >= _LEAST_KEYS and 4 * queries <= keys


def nearest(
    queries: Array, keys: Array, pool: Array, k: int, neighbourhood: int, memory_bytes: int
) -> tuple[Array, Array]:
    """The k best keys by CSLS.

    Args:
      queries: query vectors, [N, D].
      keys: key vectors, [M, D].
      pool: vectors [P, D] of the queries' side, among which r(y) finds neighbours.
      k: number of keys per query, at most M.
      neighbourhood: neighbours that r averages, at most as many as there are vectors.
      memory_bytes: limit for the scores that are in memory at once.

    Returns:
      Indices int32 [N, k] and scores float32 [N, k], as `csls.nearest`.
    """
    keys, pool = np.asarray(keys), np.asarray(pool)
    own = search.means(queries, keys, neighbourhood, memory_bytes)
    hubness = _Hubness(keys, pool, min(neighbourhood, len(pool)), memory_bytes)
    found = np.zeros((len(queries), k), np.int32)
    scores = np.zeros((len(queries), k), np.float32)
    left = np.arange(len(queries))
    width = k + _CANDIDATES
    while len(left):
        indices, values, proven = _search(queries[left], hubness, k, min(width, len(keys)))
        found[left], scores[left] = indices, values
        left, width = left[~proven], 4 * width
    return jnp.asarray(found), jnp.asarray(scores) - own[:, None]


class _Hubness:
    """r of every key, or a lower bound of it.

    Attributes:
      bound: float32 [M], at most r.
      exact: bool [M], whether the bound is r.
    """

    def __init__(self, keys: Array, pool: Array, neighbourhood: int, memory_bytes: int) -> None:
        self.keys, self._pool = keys, pool
        self.neighbourhood, self.memory_bytes = neighbourhood, memory_bytes
        self.exact = np.zeros(len(keys), bool)
        self.bound = np.zeros(len(keys), np.float32)
        self._look_around()
        self.bound -= _ROUNDING

    def whole(self) -> search.Keys:
        """The pool prepared for `settle`, a second copy in memory."""
        return search.chunked(self._pool, 0.0, self.neighbourhood)

    def settle(self, wanted: np.ndarray, whole: search.Keys) -> None:
        """Computes r of the keys in these distinct rows, int [n]."""
        self._raise(wanted, whole)
        self.exact[wanted] = True

    def _look_around(self) -> None:
        """Computes the bound of every key from the part of the pool around it."""
        pool, least = self._pool, max(_PART, self.neighbourhood)
        centers = _centers(pool, self.memory_bytes)
        homes = _homes(pool, centers, self.memory_bytes)
        sizes = np.bincount(homes, minlength=len(centers))
        members = np.split(np.argsort(homes, kind="stable"), sizes.cumsum()[:-1])
        own = _homes(self.keys, centers, self.memory_bytes)
        following = np.argsort(-(centers @ centers.T), axis=1, kind="stable")
        for center in np.unique(own):
            order = following[center]
            enough = 1 + np.searchsorted(sizes[order].cumsum(), min(least, len(pool)))
            part = np.concatenate([members[number] for number in order[:enough]])[:least]
            self._raise(
                np.flatnonzero(own == center), search.chunked(pool[part], 0.0, self.neighbourhood)
            )

    def _raise(self, wanted: np.ndarray, part: search.Keys) -> None:
        for rows, slab in _slabs(wanted):
            padded = np.pad(rows, (0, slab - len(rows)), mode="edge")
            _, cosines = search.search(
                self.keys[padded], part, 1.0, self.neighbourhood, self.memory_bytes
            )
            self.bound[rows] = np.asarray(cosines)[: len(rows)].mean(1)


def _search(
    queries: Array, hubness: _Hubness, k: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best of the `width` keys with the best bounds.

    Returns:
      Indices int32 [N, k], scores float32 [N, k] without the query's own r, and bool [N]: whether
      no other key can be among the k best.
    """
    keys = search.chunked(hubness.keys, hubness.bound, width)
    candidates, limits = search.search(queries, keys, 2.0, width, hubness.memory_bytes)
    del keys  # frees memory for the pool
    whole = hubness.whole()
    candidates, limits = np.asarray(candidates), np.asarray(limits)
    cosines = limits + hubness.bound[candidates]  # twice the cosines
    while True:
        values = cosines - hubness.bound[candidates]
        order = np.lexsort((candidates, -values))[:, :k]
        best = np.take_along_axis(candidates, order, 1)
        unknown = np.unique(best)
        unknown = unknown[~hubness.exact[unknown]]
        if not len(unknown):
            break
        hubness.settle(unknown, whole)
    values = np.take_along_axis(values, order, 1)
    if width == len(hubness.keys):
        return best, values, np.ones(len(queries), bool)
    # A tie is no proof: an unexamined key with the same score may have a lower index.
    return best, values, values[:, -1] > limits[:, -1]


def _slabs(rows: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Yields slices of the rows and the size to which each one is padded."""
    start = 0
    while start < len(rows):
        left = len(rows) - start
        slab = next((size for size in _SLABS if size <= left), _SLABS[-1])
        yield rows[start : start + slab], slab
        start += slab


def _centers(pool: np.ndarray, memory_bytes: int) -> np.ndarray:
    """Centers of the pool's directions, by spherical k-means: float32 [C, D]."""
    sample = np.asarray(search.unit(pool[:: max(1, len(pool) // _SAMPLE)]))
    count = max(1, min(_CENTERS, len(pool) // _MEMBERS))
    centers = sample[:: max(1, len(sample) // count)][:count]
    for _ in range(_ROUNDS):
        homes = _homes(sample, centers, memory_bytes)
        sums = np.zeros_like(centers)
        np.add.at(sums, homes, sample)
        empty = np.bincount(homes, minlength=len(centers)) == 0
        centers = np.asarray(search.unit(np.where(empty[:, None], centers, sums)))
    return centers


def _homes(x: np.ndarray, centers: np.ndarray, memory_bytes: int) -> np.ndarray:
    """The nearest center of each vector, int [N]."""
    keys = search.chunked(centers, 0.0, 1)
    return np.asarray(search.search(x, keys, 1.0, 1, memory_bytes)[0])[:, 0]
