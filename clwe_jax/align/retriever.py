"""Retrieval of one query at a time among keys that stay: all that does not depend on the query is kept.

The results are those of `csls.nearest`, which is faster for many queries.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import bounded, csls, search
from clwe_jax.options import section

_MORE = 3  # keys beyond k whose numbers are computed together
_TOGETHER = 8  # keys of one product: one shape to compile


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
        """Computes of every key the number that its scores lack; of many keys, a bound of it.

        Args:
          keys, pool, method, neighbourhood, beta: see `csls.nearest`.

        Raises:
          ValueError: an unknown method, or vectors of different widths.
        """
        if method not in csls.METHODS:
            raise ValueError(
                f"Unknown retrieval method {method!r}. {section.nearest(method, csls.METHODS)}"
            )
        self._keys, pool = (np.asarray(x, np.float32) for x in (keys, pool))
        search.check(pool, self._keys, k=1)
        self._inverse = _inverse(self._keys)
        self._on_device = jnp.asarray(self._keys)
        self._method, self._neighbourhood, self._beta = method, neighbourhood, beta
        self._scale = {"cosine": 1.0, "csls": 2.0, "inverted_softmax": beta}[method]
        # The number of each key, or less, and whether it is the number.
        self._numbers = np.zeros(len(self._keys), np.float32)
        self._exact = np.ones(len(self._keys), bool)
        if method == "cosine":
            return
        # [D, P]: XLA multiplies few keys with columns faster than with rows.
        self._pool = jnp.asarray((pool * _inverse(pool)[:, None]).T.copy())
        limits = dict(memory_bytes=search.MEMORY_BYTES)
        if bounded.is_worthwhile(1, len(self._keys)):
            around = bounded.Neighbourhoods(
                self._keys,
                pool,
                methods=(method,),
                neighbourhood=neighbourhood,
                beta=beta,
                **limits,
            )
            self._numbers, self._exact = around.bounds[method], around.exact
        elif method == "csls":
            self._numbers = np.array(search.means(self._keys, pool, neighbourhood, **limits))
        else:
            self._numbers = np.array(search.log_mass(self._keys, pool, beta, **limits))

    def nearest(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best keys of a query [D], best first: places int [k] and scores float32 [k].

        Raises:
          ValueError: a k outside [1, number of keys], or a query that is not finite.
        """
        query = np.asarray(query, np.float32)
        search.check(query[None], self._keys, k)
        if not np.isfinite(query).all():
            raise ValueError("the query holds NaN or infinity")
        cosines = np.asarray(_product(self._on_device, query * _inverse(query[None])))
        cosines = cosines * self._inverse
        scores = self._scale * cosines - self._numbers
        # Bounds make scores too high: k leaders with exact numbers are the best.
        while True:
            best = _best(scores, k)
            if self._exact[best].all():
                break
            wider = _best(scores, min(k + _MORE, len(scores)))
            wanted = wider[~self._exact[wider]]
            self._settle(wanted)
            scores[wanted] = self._scale * cosines[wanted] - self._numbers[wanted]
        values = scores[best]
        if self._method == "csls":
            values = values - _mean_of_largest(cosines[None], self._neighbourhood)
        return best, values

    def _settle(self, wanted: np.ndarray) -> None:
        """Computes the numbers of the keys in these rows."""
        for start in range(0, len(wanted), _TOGETHER):
            some = wanted[start : start + _TOGETHER]
            keys = np.zeros((_TOGETHER, self._keys.shape[1]), np.float32)
            keys[: len(some)] = self._keys[some] * self._inverse[some, None]
            cosines = np.asarray(_products(keys, self._pool))[: len(some)]
            if self._method == "csls":
                self._numbers[some] = _mean_of_largest(cosines, self._neighbourhood)
            else:
                self._numbers[some] = np.logaddexp.reduce(self._beta * cosines, 1)
        self._exact[wanted] = True


# XLA takes half the time of BLAS for one or few keys.
@jax.jit
def _product(keys: jax.Array, query: jax.Array) -> jax.Array:
    """Inner products of keys [N, D] with a query [D]."""
    return jnp.dot(query[None], keys.T, precision=jax.lax.Precision.HIGHEST)[0]


@jax.jit
def _products(keys: jax.Array, pool: jax.Array) -> jax.Array:
    """Cosines of unit vectors: [K, P] of [K, D] and [D, P]."""
    return jnp.dot(keys, pool, precision=jax.lax.Precision.HIGHEST)


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
    found = np.empty((len(cosines), k), np.float32)
    for row, values in enumerate(cosines):
        # The k-th largest of a tenth is at most that of all: few values are above it.
        some = values[: max(k, len(values) // 10)]
        above = values[values >= np.partition(some, -k)[-k]]
        found[row] = np.partition(above, -k)[-k:]
    return found.mean(1)
