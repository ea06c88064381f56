"""Retrieval of one query at a time among keys that stay: all that does not depend on the query is kept.

The results are those of `csls.nearest`, which is faster for many queries.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import bounded, csls, search
from clwe_jax.options import section

_TOGETHER = 8  # keys whose numbers are computed together
_AROUND = 256  # pool vectors nearest to a query, which bound the numbers of its candidates better
_CANDIDATES = 1_024  # keys that get this better bound
_ROUNDING = 1e-6  # of a mean cosine


class Retriever:
    """The keys nearest to a query by a method of `csls`."""

    def __init__(
        self,
        keys: np.ndarray,
        pool: np.ndarray,
        method: str = "csls",
        neighbourhood: int = 10,
        beta: float = 30.0,
    ) -> None:
        """Prepares keys and pool; the number that a key's scores lack is computed when a query needs it.

        It is the mean cosine with the key's nearest vectors of the pool (CSLS), or its log mass. Of a part of
        the pool it is at most that, and a bound suffices for most keys. Arguments as of `csls.nearest`.

        Raises:
          ValueError: an unknown method, or vectors of different widths.
        """
        if method not in csls.METHODS:
            raise ValueError(
                f"Unknown retrieval method {method!r}. {section.nearest(method, csls.METHODS)}"
            )
        self._keys, self._pool = (np.asarray(x, np.float32) for x in (keys, pool))
        search.check(self._pool, self._keys, k=1)
        self._inverse = _inverse(self._keys)
        self._pool_inverse = _inverse(self._pool)
        self._on_device = jnp.asarray(self._keys)
        self._method = method
        self._neighbourhood = neighbourhood
        self._beta = beta
        self._scale = {"cosine": 1.0, "csls": 2.0, "inverted_softmax": beta}[method]
        self._first = bounded.first_equals(self._keys)
        # The number of each key, or less, and whether it is the number.
        self._numbers = np.full(len(self._keys), 0.0 if method == "cosine" else -beta, np.float32)
        self._exact = np.full(len(self._keys), method == "cosine")

    def nearest(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best keys of a query [D], best first: places int [k] and scores float32 [k].

        Raises:
          ValueError: a k outside [1, number of keys], or a query that is not finite.
        """
        query = np.asarray(query, np.float32)
        search.check(query[None], self._keys, k)
        if not np.isfinite(query).all():
            raise ValueError("the query holds NaN or infinity")
        query = query * _inverse(query[None])
        cosines = self._cosines(query)
        scores = self._scale * cosines - self._numbers
        if self._method != "cosine" and not self._exact[_best(scores, k)].all():
            self._look_around(query, cosines, k)
            scores = self._scale * cosines - self._numbers
        # Bounds make scores too high: k leaders with exact numbers are the best.
        while not self._exact[best := _best(scores, k)].all():
            wider = _best(scores, min(k + _TOGETHER, len(scores)))
            fresh = self._complete(wider[~self._exact[wider]][:_TOGETHER])
            scores[fresh] = self._scale * cosines[self._first[fresh]] - self._numbers[fresh]
        values = scores[best]
        if self._method == "csls":
            values = values - _mean_of_largest(cosines[None], self._neighbourhood)
        return best, values

    def compare(self, query: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A query [D] beside some keys.

        Args:
          places: int [n], of keys.

        Returns:
          float32 [n] each: their scores, as of `nearest`, and their cosines.
        """
        query = np.asarray(query, np.float32)
        cosines = self._cosines(query * _inverse(query[None]))
        self._complete(places[~self._exact[places]])
        key_cosines = cosines[self._first[places]]
        scores = self._scale * key_cosines - self._numbers[places]
        if self._method == "csls":
            scores -= _mean_of_largest(cosines[None], self._neighbourhood)
        return scores, key_cosines

    def _complete(self, wanted: np.ndarray) -> np.ndarray:
        """Computes the numbers of keys: int [n], these and their equals.

        Equal keys get one number: rounding would set them apart.
        """
        wanted = np.unique(self._first[wanted])
        self._numbers[wanted] = self._numbers_of(wanted, slice(None))
        completed = np.flatnonzero(np.isin(self._first, wanted))
        self._numbers[completed] = self._numbers[self._first[completed]]
        self._exact[completed] = True
        return completed

    def _look_around(self, query: np.ndarray, cosines: np.ndarray, k: int) -> None:
        """Bounds the numbers of all keys, and better those of the candidates of a query.

        Both by the vectors of the pool that are nearest to the query, which are near the candidates: of all
        keys by the mean of a few of them, which is at most the mean of as many that are nearest to the key.
        """
        near = self._pool @ query * self._pool_inverse
        part = _best(near, min(max(_AROUND, self._neighbourhood), len(near)))
        closest = part[: self._neighbourhood]
        bounds = self._cosines((self._pool[closest] * self._pool_inverse[closest, None]).mean(0))
        if self._method != "csls":
            bounds = self._beta * bounds + np.log(len(closest), dtype=np.float32)  # Jensen
        self._raise(np.arange(len(bounds)), bounds)
        candidates = _best(self._scale * cosines - self._numbers, min(k + _CANDIDATES, len(bounds)))
        candidates = candidates[~self._exact[candidates]]
        self._raise(candidates, self._numbers_of(candidates, part))

    def _raise(self, wanted: np.ndarray, bounds: np.ndarray) -> None:
        """Takes the better bounds of keys; one that rounding has raised would hide a key."""
        better = np.maximum(self._numbers[wanted], bounds - _ROUNDING * max(1.0, self._beta))
        self._numbers[wanted] = np.where(self._exact[wanted], self._numbers[wanted], better)

    def _cosines(self, query: np.ndarray) -> np.ndarray:
        """float32 [M]: the products of a vector with all keys at length 1."""
        return np.asarray(_product(self._on_device, query.astype(np.float32))) * self._inverse

    def _numbers_of(self, wanted: np.ndarray, part: np.ndarray | slice) -> np.ndarray:
        """The numbers of keys by a part of the pool: float32 [n]."""
        pool = self._pool[part]
        lengths = self._pool_inverse[part]
        numbers = np.empty(len(wanted), np.float32)
        for start in range(0, len(wanted), _CANDIDATES):
            block = wanted[start : start + _CANDIDATES]
            # Zeros are equally far from all.
            keys = self._keys[block] * self._inverse[block, None]
            cosines = (pool @ keys.T).T * lengths
            if self._method == "csls":
                of_block = _mean_of_largest(cosines, self._neighbourhood)
            else:
                of_block = np.logaddexp.reduce(self._beta * cosines, 1)
            numbers[start : start + len(block)] = of_block
        return numbers


# XLA takes half the time of BLAS for one query; HIGHEST keeps float32 on accelerators.
@jax.jit
def _product(keys: jax.Array, query: jax.Array) -> jax.Array:
    """Inner products of keys [N, D] with a query [D]."""
    return jnp.dot(query[None], keys.T, precision=jax.lax.Precision.HIGHEST)[0]


def _inverse(x: np.ndarray) -> np.ndarray:
    """One over the lengths of rows [N, D]; 0 for rows of zeros."""
    lengths = np.sqrt(np.einsum("nd,nd->n", x, x, dtype=np.float64))
    return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    """The k largest scores, the largest first; of equal ones the lowest index."""
    lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
    places = np.flatnonzero(scores >= lowest)
    return places[np.lexsort((places, -scores[places]))][:k]


def _mean_of_largest(cosines: np.ndarray, k: int) -> np.ndarray:
    """The mean of the k largest values of each row, or of all."""
    k = min(k, cosines.shape[1])
    if cosines.shape[1] <= _CANDIDATES:
        return np.partition(cosines, -k, 1)[:, -k:].mean(1)
    largest = np.empty((len(cosines), k), np.float32)
    for row, values in enumerate(cosines):
        # The k-th largest of a tenth is at most that of all: few values are above it.
        tenth = values[: max(k, len(values) // 10)]
        above = values[values >= np.partition(tenth, -k)[-k]]
        largest[row] = np.partition(above, -k)[-k:]
    return largest.mean(1)
