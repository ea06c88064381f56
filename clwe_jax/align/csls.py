"""Nearest-neighbour retrieval between two sets of vectors: cosine, CSLS, inverted softmax.

The retrieval is exact. Scores are computed in pieces of bounded size: a million vectors on either
side need the memory of the vectors and of one piece. Of equal scores the lowest index comes first.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import jax
import numpy as np

from clwe_jax.align import both_sides, bounded, search
from clwe_jax.align.search import MEMORY_BYTES
from clwe_jax.options import section
from clwe_jax.options.aligners import METHODS
from clwe_jax.types import Array


class SharedProducts:
    """The products of two sets that methods share, in both directions: nearly all of their time.

    For few queries one product with the pool serves both methods, for many queries
    a product serves both directions. The object keeps what was computed of the last two sets.
    """

    def __init__(self, methods: Sequence[str] = METHODS) -> None:
        """`methods`: the methods that will be asked for."""
        self._methods = tuple(x for x in bounded.METHODS if x in methods)
        self._kept: list[tuple[tuple, Array, Array, Any]] = []

    def around(self, keys: Array, pool: Array, **options: Any) -> bounded.Neighbourhoods:
        request = ("around", *options.values())
        surroundings = self._find(request, keys, pool)
        if surroundings is None:
            surroundings = bounded.Neighbourhoods(keys, pool, methods=self._methods, **options)
            self._keep(request, keys, pool, surroundings)
        return surroundings

    def means(self, keys: Array, pool: Array, neighbourhood: int, memory_bytes: int) -> Array:
        """The same as `search.means`."""
        return self._find_both(both_sides.means, keys, pool, neighbourhood, memory_bytes)

    def masses(self, keys: Array, pool: Array, beta: float, memory_bytes: int) -> Array:
        """The keys' part of `search.log_masses`."""
        return self._find_both(search.log_masses, keys, pool, beta, memory_bytes)

    def _find_both(self, function: Callable, keys: Array, pool: Array, *options: float) -> Array:
        """The function's array of the keys; that of the pool belongs to the other direction."""
        request = (function, *options)
        of_keys = self._find(request, keys, pool)
        if of_keys is None:
            of_pool, of_keys = function(pool, keys, *options)
            self._keep(request, keys, pool, of_keys)
            # A later call for the other direction names the same sets in the other order.
            self._keep(request, pool, keys, of_pool)
        return of_keys

    def _find(self, asked: tuple, keys: Array, pool: Array) -> Any:
        for kept_for, *sets, value in self._kept:
            if kept_for == asked and all(map(_same, sets, (keys, pool))):
                return value
        return None

    def _keep(self, asked: tuple, keys: Array, pool: Array, value: Any) -> None:
        sets = keys, pool
        entries = (x for x in self._kept if all(any(_same(y, z) for z in sets) for y in x[1:3]))
        self._kept = [*entries, (asked, keys, pool, value)]


def _same(a: Array, b: Array) -> bool:
    return a is b or np.array_equal(a, b)


def nearest(
    queries: Array,
    keys: Array,
    k: int = 1,
    method: str = "cosine",
    *,
    pool: Array | None = None,
    neighbourhood: int = 10,
    beta: float = 30.0,
    memory_bytes: int = MEMORY_BYTES,
    shared: SharedProducts | None = None,
) -> tuple[Array, Array]:
    """The k best keys of every query, best first.

    Args:
      queries: query vectors [N, D] of any length.
      keys: key vectors [M, D] of any length.
      k: number of keys per query, at most M.
      method: name of the score; c(x, y) is the cosine of query x and key y.
        'cosine': c(x, y).
        'csls': 2 c(x, y) - r(x) - r(y), with r the mean cosine with the `neighbourhood` nearest
          vectors of the other side (Conneau et al. 2018, Word Translation Without Parallel Data,
          section 2.3).
        'inverted_softmax': log(exp(beta c(x, y)) / sum_x' exp(beta c(x', y))) (Smith et al. 2017,
          Offline Bilingual Word Vectors, Eq. 12, without the factor that is equal for all keys of a
          query).
      pool: vectors [P, D] of the queries' side, for r(y) and the sum over x'; None: the queries.
        For a test dictionary the pool is the whole source vocabulary.
      neighbourhood: neighbours that r averages, at most as many as there are vectors.
      beta: inverse temperature of the inverted softmax.
      memory_bytes: limit for the scores that are in memory at once.
      shared: for several methods or both directions between the same sets, the same object in all
        calls; None for a single call.

    Returns:
      Indices of keys, int32 [N, k], and their scores, float32 [N, k].

    Raises:
      ValueError: an unknown method, k outside [1, M], vectors of different widths, or a query with
        a value that is not finite.
    """
    if method not in METHODS:
        raise ValueError(f"Unknown retrieval method {method!r}. {section.nearest(method, METHODS)}")
    queries = _array(queries)
    keys = _array(keys)
    pool = queries if pool is None else _array(pool)
    search.check(queries, keys, k)
    check_finite(queries)
    if method == "cosine":
        return search.search(queries, search.chunk_keys(keys, 0.0, k), 1.0, k, memory_bytes)
    search.check(pool, keys, k=1)
    if bounded.is_worthwhile(len(queries), len(keys)):
        shared = shared or SharedProducts((method,))
        around = shared.around(
            keys, pool, neighbourhood=neighbourhood, beta=beta, memory_bytes=memory_bytes
        )
        return bounded.nearest(queries, around, k, method)
    if method == "csls":
        means = shared.means if shared else search.means
        hubness = means(keys, pool, neighbourhood, memory_bytes)
        best = search.search(queries, search.chunk_keys(keys, hubness, k), 2.0, k, memory_bytes)
        # r(x) is the same for all keys of a query: it belongs to the score, not to the choice.
        mean_cosines = search.means(queries, keys, neighbourhood, memory_bytes)
        return best[0], best[1] - mean_cosines[:, None]
    if shared:
        mass = shared.masses(keys, pool, beta, memory_bytes)
    else:
        mass, _ = search.log_masses(keys, pool, beta, memory_bytes)
    return search.search(queries, search.chunk_keys(keys, mass, k), beta, k, memory_bytes)


def _array(x: Array) -> Array:
    """Leaves arrays unchanged: arrays on the host go to the device piece by piece."""
    return x if isinstance(x, (np.ndarray, jax.Array)) else np.asarray(x, np.float32)


def check_finite(queries: Array) -> None:
    """Raises ValueError for queries that hold NaN or infinity; the error names the first row."""
    # A sum of float32 in float64 cannot overflow: it is finite exactly if all its terms are.
    finite = np.isfinite(np.asarray(queries).sum(1, dtype=np.float64))
    if not finite.all():
        raise ValueError(
            f"{np.count_nonzero(~finite)} of {len(finite)} queries hold NaN or infinity, the first "
            f"in row {int(np.argmin(finite))}: leave such vectors out"
        )
