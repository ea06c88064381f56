"""CSLS of few queries without the hubness of every key.

r(y), the mean cosine of a key with its nearest vectors of the queries' side, costs a product of all
keys with that whole side; for a test dictionary nearly all of it is spent on keys that no query
finds. The mean over the nearest vectors of any PART of that side is at most r(y), so that it bounds
a key's score from above. Every key is compared with the part that lies around it: those vectors
that are nearest to the same of many centers, and to the centers next to that one. Then r
is computed for keys that are among the best of some query by their bound, until the best of every
query are known exactly (a threshold algorithm; Fagin et al. 2003, Optimal Aggregation Algorithms
for Middleware). The answers are those of the whole product.
"""

from __future__ import annotations

from typing import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

_CENTERS = 2_048  # of the pool, at most
_MEMBERS = 96  # of a center, at least, on average
_ROUNDS = 3  # of the spherical k-means that finds them
_SAMPLE = 20_000  # vectors of the pool that it goes over
_PART = 2_048  # vectors of the pool that a key is compared with for its bound
_CANDIDATES = 256  # keys a query that are looked at, beyond the k that are asked for
_SLABS = (1_024, 256, 64)  # keys that are compared at once; few shapes are compiled
_ROUNDING = 1e-6  # of cosines: what a bound may be too high by
_LEAST_KEYS = 20_000  # with fewer the whole product is quicker


def pays(queries: int, keys: int) -> bool:
    """Whether `nearest` is quicker than the whole product, which accelerators do in a second."""
    return jax.default_backend() == "cpu" and keys >= _LEAST_KEYS and 4 * queries <= keys


def nearest(
    queries: Array, keys: Array, pool: Array, k: int, neighbourhood: int, memory_bytes: int
) -> tuple[Array, Array]:
    """The k best keys by CSLS.

    Args:
      queries: [N, D]; keys: [M, D]; pool: [P, D], the vectors that r(y) is over.
      k: at most M.
      neighbourhood: of r; cut to the number of vectors there.
      memory_bytes: what the scores that are alive at once may take.

    Returns:
      int32 [N, k], float32 [N, k]: as `csls.nearest`.
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
      exact: bool [M], whether it is r.
    """

    def __init__(self, keys: Array, pool: Array, neighbourhood: int, memory_bytes: int) -> None:
        self.keys, self._pool = keys, pool
        self.neighbourhood, self.memory_bytes = neighbourhood, memory_bytes
        self.exact = np.zeros(len(keys), bool)
        self.bound = np.zeros(len(keys), np.float32)
        self._look_around()
        self.bound -= _ROUNDING

    def whole(self) -> search.Keys:
        """The pool made ready for `settle`: as much memory again."""
        return search.chunked(self._pool, 0.0, self.neighbourhood)

    def settle(self, wanted: np.ndarray, whole: search.Keys) -> None:
        """Computes r of some keys (int [n], distinct)."""
        self._raise(wanted, whole)
        self.exact[wanted] = True

    def _look_around(self) -> None:
        """Bounds all keys by the part of the pool around each."""
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
      int32 [N, k], float32 [N, k] (own neighbourhood not subtracted), and bool [N]: whether no
      other key can be among them.
    """
    keys = search.chunked(hubness.keys, hubness.bound, width)
    candidates, limits = search.search(queries, keys, 2.0, width, hubness.memory_bytes)
    del keys  # the pool takes its place in memory
    whole = hubness.whole()
    candidates, limits = np.asarray(candidates), np.asarray(limits)
    cosines = limits + hubness.bound[candidates]  # times two
    beyond = limits[:, -1] if width < len(hubness.keys) else np.full(len(queries), -np.inf)
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
    # A tie with what was left out would have to be settled by its place.
    return best, values, values[:, -1] > beyond


def _slabs(rows: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Cuts rows into pieces, each with the size that it is to be filled up to."""
    start = 0
    while start < len(rows):
        left = len(rows) - start
        slab = next((size for size in _SLABS if size <= left), _SLABS[-1])
        yield rows[start : start + slab], slab
        start += slab


def _centers(pool: np.ndarray, memory_bytes: int) -> np.ndarray:
    """Directions in the midst of the pool's: float32 [C, D]."""
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
    """int [N]: the center nearest to each."""
    keys = search.chunked(centers, 0.0, 1)
    return np.asarray(search.search(x, keys, 1.0, 1, memory_bytes)[0])[:, 0]
