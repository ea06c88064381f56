"""CSLS of few queries without the hubness of every key.

r(y), the mean cosine of a key with its nearest vectors of the queries' side, costs a product of all
keys with that whole side; for a test dictionary nearly all of it is spent on keys that no query
finds. The mean over the nearest vectors of any PART of that side is at most r(y), so that it bounds
a key's score from above. Every key is compared with a small part; then only keys that are among the
best of some query by their bound are compared with more of it, part by part, until the best of
every query are known exactly (a threshold algorithm; Fagin et al. 2003, Optimal Aggregation
Algorithms for Middleware). The answers are those of the whole product.
"""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

_FIRST = 8_192  # vectors of the pool, the most frequent, that every key is compared with
_GROWTH = 4  # how many times more the next bound is of
_CANDIDATES = 256  # keys a query that are looked at, beyond the k that are asked for
_SLABS = (1_024, 256, 64)  # keys that are compared with a part at once; few shapes are compiled
_LEAST_KEYS = 20_000  # with fewer the whole product is quicker


def pays(queries: int, keys: int) -> bool:
    """Whether `nearest` is worth its overhead over the whole product."""
    return keys >= _LEAST_KEYS and queries * 16 <= keys


def nearest(
    queries: Array, keys: Array, pool: Array, k: int, neighbourhood: int, memory_bytes: int
) -> tuple[Array, Array]:
    """The k best keys by CSLS.

    Args:
      queries: [N, D]; keys: [M, D]; pool: [P, D], the vectors that r(y) is over, the most frequent
        words first for good bounds.
      k: at most M.
      neighbourhood: of r; cut to the number of vectors there.
      memory_bytes: what the scores that are alive at once may take.

    Returns:
      int32 [N, k], float32 [N, k]: as `csls.nearest`.
    """
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
      bound: float32 [M], the mean of `best`; at most r.
      best: float32 [M, neighbourhood], the cosines with the nearest vectors seen so far.
      seen: int [M], how many parts of the pool a key was compared with.
    """

    def __init__(self, keys: Array, pool: Array, neighbourhood: int, memory_bytes: int) -> None:
        self.keys, self._pool = keys, pool
        self.neighbourhood, self.memory_bytes = neighbourhood, memory_bytes
        edges = [0, min(len(pool), max(_FIRST, neighbourhood))]
        while edges[-1] < len(pool):
            edges.append(min(len(pool), edges[-1] * _GROWTH))
        self._parts = list(itertools.pairwise(edges))
        self._ready: tuple[int, search.Keys] | None = None
        self.best = self._cosines(keys, 0)
        self.bound = self.best.mean(1)
        self.seen = np.ones(len(keys), np.int32)

    def exact(self, wanted: np.ndarray) -> np.ndarray:
        """Whether the bounds of some keys are r itself."""
        return self.seen[wanted] == len(self._parts)

    def raise_bounds(self, wanted: np.ndarray) -> None:
        """Compares the least known of some keys (int [n], distinct) with one more part of the pool.

        The others wait: what is learnt of these may spare them, and the parts grow.
        """
        part = self.seen[wanted].min()
        some = wanted[self.seen[wanted] == part]
        start = 0
        while start < len(some):
            left = len(some) - start
            slab = next((size for size in _SLABS if size <= left), _SLABS[-1])
            self._compare(some[start : start + slab], part, slab)
            start += slab
        self.seen[some] += 1

    def _compare(self, rows: np.ndarray, part: int, slab: int) -> None:
        padded = np.pad(rows, (0, slab - len(rows)), mode="edge")
        more = self._cosines(self.keys[padded], part)[: len(rows)]
        both = np.concatenate([self.best[rows], more], 1)
        self.best[rows] = -np.sort(-both, axis=1)[:, : self.neighbourhood]
        self.bound[rows] = self.best[rows].mean(1)

    def _cosines(self, keys: Array, number: int) -> np.ndarray:
        """The largest cosines with a part of the pool, which may be smaller than the neighbourhood."""
        start, end = self._parts[number]
        k = min(self.neighbourhood, end - start)
        if self._ready is None or self._ready[0] != number:
            self._ready = None  # only one part is held, made ready: they are asked for in turn
            self._ready = number, search.chunked(self._pool[start:end], 0.0, k)
        return np.array(search.search(keys, self._ready[1], 1.0, k, self.memory_bytes)[1])


def _search(
    queries: Array, hubness: _Hubness, k: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best of the `width` keys with the best bounds.

    Returns:
      int32 [N, k], float32 [N, k] (own neighbourhood not subtracted), and bool [N]: whether no
      other key can be among them.
    """
    chunks = search.chunked(hubness.keys, jnp.asarray(hubness.bound), width)
    candidates, limits = search.search(queries, chunks, 2.0, width, hubness.memory_bytes)
    candidates, limits = np.asarray(candidates), np.asarray(limits)
    cosines = limits + hubness.bound[candidates]  # times two
    beyond = limits[:, -1] if width < len(hubness.keys) else np.full(len(queries), -np.inf)
    while True:
        values = cosines - hubness.bound[candidates]
        order = np.lexsort((candidates, -values))[:, :k]
        best = np.take_along_axis(candidates, order, 1)
        unknown = np.unique(best)
        unknown = unknown[~hubness.exact(unknown)]
        if not len(unknown):
            break
        hubness.raise_bounds(unknown)
    values = np.take_along_axis(values, order, 1)
    # A tie with what was left out would have to be settled by its place.
    return best, values, values[:, -1] > beyond
