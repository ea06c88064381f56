"""Exact CSLS and inverted softmax for few queries, without a sum over the pool for every key.

Both methods subtract a number of the key y from its score: CSLS r(y), the mean cosine with its
nearest vectors of the queries' side (the pool), the inverted softmax its log mass, log sum_x
exp(beta c(x, y)) over the pool. For a test dictionary nearly all of this computation concerns keys
that no query finds. Lower bounds of both numbers bound the key's score from above:

- r(y) is at least the mean over the nearest vectors in any PART of the pool. The part for a key holds
  the vectors around it: k-means groups the pool, and the part joins the groups nearest to the key's
  own center.
- The mass is the part's own and that of the other groups. By Jensen's inequality a group of n vectors
  with the mean m has at least n exp(beta m y).

The numbers are then computed only for keys that are among the best of some query by their bounds,
until the best keys of every query are known (a threshold algorithm; Fagin et al. 2003, Optimal
Aggregation Algorithms for Middleware). One product with the pool yields both numbers of a key.
"""

from __future__ import annotations

import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

CSLS, INVERTED_SOFTMAX = METHODS = "csls", "inverted_softmax"
_CENTERS = 2_048  # maximum number of centers
_MEMBERS = 96  # least mean number of pool vectors per center
_ROUNDS = 3  # rounds of spherical k-means
_SAMPLE = 20_000  # pool vectors that k-means clusters
_PART = 2_048  # pool vectors around a key that its bounds are computed with
_CANDIDATES = 64  # keys per query that are examined beyond the k requested keys
_SLAB = 1_024  # keys compared at once
_ROUNDING = 1e-6  # largest rounding error of a mean cosine
_ROWS = 4_096  # vectors that are compared with the centers at once
_MIN_KEYS = 20_000  # keys below which all cosines are faster


def is_worthwhile(queries: int, keys: int) -> bool:
    """Whether `nearest` is faster than all cosines, which accelerators compute quickly."""
    return search.uses_numpy() and keys >= _MIN_KEYS and 4 * queries <= keys


def nearest(queries: Array, around: Neighbourhoods, k: int, method: str) -> tuple[Array, Array]:
    """The k best keys by a method.

    Args:
      queries: query vectors, [N, D].
      around: the keys; it keeps all that is computed of them for further calls.
      k: number of keys per query, at most M.
      method: 'csls' or 'inverted_softmax', one of the methods of `around`.

    Returns:
      Indices int32 [N, k] and scores float32 [N, k], as `csls.nearest`.
    """
    best = np.zeros((len(queries), k), np.int32)
    scores = np.zeros((len(queries), k), np.float32)
    open_queries = np.arange(len(queries))
    width = k + _CANDIDATES
    while len(open_queries):
        searched = min(width, len(around.keys))
        indices, values, proven = _search(queries[open_queries], around, k, searched, method)
        best[open_queries] = indices
        scores[open_queries] = values
        open_queries = open_queries[~proven]
        width = 4 * width
    if method == CSLS:
        mean_cosines = search.means(queries, around.keys, around.neighbourhood, around.memory_bytes)
        scores = scores - mean_cosines[:, None]
    return best, scores


class Neighbourhoods:
    """The numbers of every key that the methods subtract, or lower bounds of them.

    Attributes:
      keys: key vectors, float32 [M, D].
      pool: vectors of the queries' side, float32 [P, D].
      bounds: method -> float32 [M], at most its number of each key.
      exact: bool [M], whether the bounds are the numbers.
      first: the first key that equals each key, int [M]. Equal keys have one number, which rounding
        would set apart, so that the first of them comes first among equal scores.
    """

    def __init__(
        self,
        keys: Array,
        pool: Array,
        *,
        methods: tuple[str, ...] = METHODS,
        neighbourhood: int,
        beta: float,
        memory_bytes: int,
    ) -> None:
        """Args:
        keys: key vectors, [M, D].
        pool: vectors of the queries' side, [P, D].
        methods: the methods that will be asked for.
        neighbourhood: neighbours that r averages, at most as many as there are vectors.
        beta: inverse temperature of the inverted softmax.
        memory_bytes: limit for the scores that are in memory at once.
        """
        self.keys = np.asarray(keys)
        self.pool = np.asarray(pool)
        self.neighbourhood = neighbourhood
        self.beta = beta
        self.memory_bytes = memory_bytes
        self._k = min(neighbourhood, len(self.pool)) if CSLS in methods else 0
        self._has_mass = INVERTED_SOFTMAX in methods
        self.exact = np.zeros(len(self.keys), bool)
        self.first = first_equals(self.keys)
        self._repeated = np.flatnonzero(self.first != np.arange(len(self.first)))
        self.bounds = {method: np.zeros(len(self.keys), np.float32) for method in METHODS}
        self._bound_all()
        self._copy_numbers(self._repeated)
        # A bound that rounding has raised above its number would hide a key that is among the best.
        self.bounds[CSLS] -= _ROUNDING
        self.bounds[INVERTED_SOFTMAX] -= 10 * _ROUNDING * (1 + beta)

    def scale(self, method: str) -> float:
        """The factor of the cosine in a method's score."""
        return 2.0 if method == CSLS else self.beta

    def pool_keys(self) -> search.Keys:
        """The pool prepared for `settle`, a second copy in memory."""
        return search.chunk_keys(self.pool, 0.0, self.neighbourhood)

    def settle(self, wanted: np.ndarray, pool_keys: search.Keys) -> None:
        """Computes the numbers of the keys in these distinct rows, int [n], and of the keys that equal them."""
        wanted = np.unique(self.first[wanted])
        self._write(wanted, pool_keys)
        self.exact[wanted] = True
        if len(self._repeated):
            self._copy_numbers(self._repeated[np.isin(self.first[self._repeated], wanted)])

    def _copy_numbers(self, rows: np.ndarray) -> None:
        """Gives keys the numbers of the first ones that equal them."""
        for values in (*self.bounds.values(), self.exact):
            values[rows] = values[self.first[rows]]

    def _bound_all(self) -> None:
        """Computes the bounds of every key."""
        part_size = min(len(self.pool), max(_PART, self.neighbourhood))
        homes, means, sizes = _group_by_center(self.pool, _centers(self.pool))
        members = np.split(np.argsort(homes, kind="stable"), sizes.cumsum()[:-1])
        centers = search.unit(means)
        following = np.argsort(-(centers @ centers.T), axis=1, kind="stable")
        # The groups whose members are the part of a key in each group; of the last one, some.
        group_counts = 1 + (sizes[following].cumsum(1) < part_size).sum(1)
        is_near = np.zeros((len(sizes), len(sizes)), bool)
        for number, (order, count) in enumerate(zip(following, group_counts)):
            is_near[number, order[:count]] = True
        group_of, far_bounds = self._far(means, centers, sizes, is_near)
        # Keys of one group have the same part of the pool, so that one product bounds them all.
        for number in np.unique(group_of):
            order = following[number, : group_counts[number]]
            part = np.concatenate([members[group] for group in order])[:part_size]
            rows = np.flatnonzero(group_of == number)
            self._write(rows, search.Keys([search.unit(self.pool[part])], [np.zeros(len(part))]))
        np.logaddexp(self.bounds[INVERTED_SOFTMAX], far_bounds, out=self.bounds[INVERTED_SOFTMAX])

    def _far(
        self, means: np.ndarray, centers: np.ndarray, sizes: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The group of each key, int [M], and a bound of the log mass of the groups not near it."""
        groups = []
        bounds = []
        # An empty group has the logarithm minus infinity and adds nothing to the bound.
        with np.errstate(divide="ignore"):
            logs = np.log(sizes).astype(np.float32)
        for start in range(0, len(self.keys), _ROWS):
            cosines = search.unit(self.keys[start : start + _ROWS]) @ centers.T
            group = cosines.argmax(1)
            # Jensen's bound: log(n exp(beta m y)), m y as a cosine times the length of m.
            of_means = self.beta * np.linalg.norm(means, axis=1) * cosines + logs
            groups.append(group)
            bounds.append(search.log_sum(np.where(near[group], -np.inf, of_means), 1))
        return np.concatenate(groups), np.concatenate(bounds)

    def _write(self, wanted: np.ndarray, pool: search.Keys) -> None:
        """Computes the numbers of some keys by vectors of the pool."""
        for start in range(0, len(wanted), _SLAB):
            rows = wanted[start : start + _SLAB]
            keys = search.unit(self.keys[rows])
            best = None
            masses = []
            for vectors in pool.vectors:
                cosines = keys @ vectors.T
                if self._k:
                    near = search.top_k(cosines, min(self._k, len(vectors)))
                    best = search.merge(best, near, 0, self._k)
                if self._has_mass:
                    masses.append(search.log_sum(self.beta * cosines, 1))
            if self._k:
                self.bounds[CSLS][rows] = best[0].mean(1)
            if self._has_mass:
                self.bounds[INVERTED_SOFTMAX][rows] = np.logaddexp.reduce(masses)


def first_equals(rows: np.ndarray) -> np.ndarray:
    """The first row that equals each row, int [N]."""
    first = np.arange(len(rows))
    bits = np.ascontiguousarray(rows, np.float32).view(np.uint32)
    # Few rows have the same exclusive or without being equal.
    _, place, counts = np.unique(
        np.bitwise_xor.reduce(bits, axis=1), return_inverse=True, return_counts=True
    )
    row_of_bits: dict[bytes, int] = {}
    for row in np.flatnonzero(counts[place] > 1).tolist():
        first[row] = row_of_bits.setdefault(bits[row].tobytes(), row)
    return first


def _search(
    queries: Array, around: Neighbourhoods, k: int, width: int, method: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best of the `width` keys with the best bounds.

    Returns:
      Indices int32 [N, k], scores float32 [N, k] without the query's own r, and bool [N]: whether
      no other key can be among the k best.
    """
    bound = around.bounds[method]
    scale = around.scale(method)
    keys = search.chunk_keys(around.keys, bound, width)
    candidates, limits = search.search(queries, keys, scale, width, around.memory_bytes)
    del keys  # frees memory for the pool
    pool_keys = around.pool_keys()
    cosines = limits + bound[candidates]  # times the scale
    # Bounds make scores too high: k leaders with exact numbers are the best.
    while True:
        values = cosines - bound[candidates]
        # Of equal scores the lowest index comes first.
        order = np.lexsort((candidates, -values))[:, :k]
        best = np.take_along_axis(candidates, order, 1)
        unknown = np.unique(best)
        unknown = unknown[~around.exact[unknown]]
        if not len(unknown):
            break
        around.settle(unknown, pool_keys)
    values = np.take_along_axis(values, order, 1)
    # With all keys examined nothing is left to prove; a score of NaN would never pass the proof.
    if width == len(around.keys):
        return best, values, np.ones(len(queries), bool)
    # A tie is no proof: an unexamined key with the same score may have a lower index.
    return best, values, values[:, -1] > limits[:, -1]


def _centers(pool: np.ndarray) -> np.ndarray:
    """Centers of the pool's directions, by spherical k-means: float32 [C, D]."""
    sample = pool[:: max(1, len(pool) // _SAMPLE)]
    count = max(1, min(_CENTERS, len(pool) // _MEMBERS))
    centers = search.unit(sample[:: max(1, len(sample) // count)][:count])
    for _ in range(_ROUNDS):
        _, means, sizes = _group_by_center(sample, centers)
        centers = search.unit(np.where(sizes[:, None] > 0, means, centers))
    return centers


def _group_by_center(
    x: np.ndarray, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nearest center of each vector, and the groups that the centers attract.

    Returns:
      Centers int [N], means of the groups' vectors of length 1, float32 [C, D], and their sizes [C].
    """
    homes = np.empty(len(x), int)
    sums = np.zeros_like(centers)
    for start in range(0, len(x), _ROWS):
        part = search.unit(x[start : start + _ROWS])
        nearest_center = (part @ centers.T).argmax(1)
        homes[start : start + len(part)] = nearest_center
        order = np.argsort(nearest_center)
        groups, starts = np.unique(nearest_center[order], return_index=True)
        sums[groups] += np.add.reduceat(part[order], starts)
    sizes = np.bincount(homes, minlength=len(centers))
    return homes, sums / np.maximum(sizes, 1)[:, None], sizes
