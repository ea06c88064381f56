"""Nearest-neighbour retrieval between two sets of vectors: cosine, CSLS, inverted softmax.

Exact. The scores are computed in pieces of bounded size, so that a million vectors on either side
need no more memory than the vectors themselves and one piece. Of equal scores the lowest index
comes first.
"""

from __future__ import annotations

import jax
import numpy as np

from clwe_jax import registry
from clwe_jax.align import bounded, search
from clwe_jax.align.search import MEMORY_BYTES
from clwe_jax.types import Array

METHODS = ("cosine", "csls", "inverted_softmax")


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
) -> tuple[Array, Array]:
    """The k best keys of every query, best first.

    Args:
      queries: [N, D]; keys: [M, D]. Lengths do not matter, directions do.
      k: at most M.
      method: with c(x, y) the cosine of a query and a key, the score is
        'cosine': c(x, y);
        'csls': 2 c(x, y) - r(x) - r(y), r being the mean cosine with the `neighbourhood` nearest
          vectors of the other side (Conneau et al. 2018, Word Translation Without Parallel Data,
          section 2.3);
        'inverted_softmax': the logarithm of exp(beta c(x, y)) / sum_x' exp(beta c(x', y)) (Smith et
          al. 2017, Offline Bilingual Word Vectors, Eq. 12, without the factor that is common to all
          keys of a query).
      pool: [P, D], the vectors of the queries' side that r(y) and the sum over x' run over; None:
        the queries. For a test dictionary it is the whole vocabulary of the source language.
      neighbourhood: of CSLS; cut to the number of vectors there.
      beta: the inverse temperature of the inverted softmax.
      memory_bytes: what the scores that are alive at once may take.

    Returns:
      int32 [N, k] and float32 [N, k]: indices of keys, and their scores.

    Raises:
      ValueError: an unknown method, k outside [1, M], or vectors of unlike sizes.
    """
    if method not in METHODS:
        raise ValueError(
            f"There is no retrieval method {method!r}. {registry.nearest(method, METHODS)}"
        )
    queries, keys = _array(queries), _array(keys)
    pool = queries if pool is None else _array(pool)
    search.check(queries, keys, k)
    if method == "cosine":
        return search.search(queries, search.chunked(keys, 0.0, k), 1.0, k, memory_bytes)
    search.check(pool, keys, k=1)
    if method == "csls":
        if bounded.pays(len(queries), len(keys)):
            return bounded.nearest(queries, keys, pool, k, neighbourhood, memory_bytes)
        hubness = search.means(keys, pool, neighbourhood, memory_bytes)
        found = search.search(queries, search.chunked(keys, hubness, k), 2.0, k, memory_bytes)
        own = search.means(queries, keys, neighbourhood, memory_bytes)
        return found[0], found[1] - own[:, None]
    mass = search.log_mass(keys, pool, beta, memory_bytes)
    return search.search(queries, search.chunked(keys, mass, k), beta, k, memory_bytes)


def csls_means(
    queries: Array, keys: Array, neighbourhood: int = 10, memory_bytes: int = MEMORY_BYTES
) -> Array:
    """r of CSLS: the mean cosine of each query with its nearest keys.

    Args:
      queries: [N, D]; keys: [M, D].
      neighbourhood: how many keys; cut to M.
      memory_bytes: see `nearest`.

    Returns:
      float32 [N].
    """
    queries, keys = _array(queries), _array(keys)
    search.check(queries, keys, k=1)
    return search.means(queries, keys, neighbourhood, memory_bytes)


def _array(x: Array) -> Array:
    """An array; one in the host's memory stays there, and is sent to the device piece by piece."""
    return x if isinstance(x, (np.ndarray, jax.Array)) else np.asarray(x, np.float32)
