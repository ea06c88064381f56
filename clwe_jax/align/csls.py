"""Nearest-neighbour retrieval between two sets of vectors: cosine, CSLS, inverted softmax.

Exact. The scores are computed in pieces of bounded size, so that a million vectors on either side
need no more memory than the vectors themselves and one piece. Of equal scores the lowest index
comes first.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from clwe_jax import registry
from clwe_jax.types import Array

METHODS = ("cosine", "csls", "inverted_softmax")
MEMORY_BYTES = 256 * 2**20
_CHUNK = 8_192  # keys scored at once, at least (where there are as many); at most twice that
_COPIES = 3  # of a piece of scores that are alive at once


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
    queries, keys = unit(queries), unit(keys)
    pool = queries if pool is None else unit(pool)
    _check(queries, keys, k)
    if method == "cosine":
        return _search(queries, _chunks(keys, 0.0, k), 1.0, k, memory_bytes)
    _check(pool, keys, k=1)
    if method == "csls":
        hubness = _means(keys, pool, neighbourhood, memory_bytes)
        found = _search(queries, _chunks(keys, hubness, k), 2.0, k, memory_bytes)
        own = _means(queries, keys, neighbourhood, memory_bytes)
        return found[0], found[1] - own[:, None]
    mass = _log_mass(keys, pool, beta, memory_bytes)
    return _search(queries, _chunks(keys, mass, k), beta, k, memory_bytes)


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
    queries, keys = unit(queries), unit(keys)
    _check(queries, keys, k=1)
    return _means(queries, keys, neighbourhood, memory_bytes)


def unit(x: Array) -> Array:
    """The rows scaled to length 1, float32; rows of zeros stay as they are."""
    x = jnp.asarray(x, jnp.float32)
    # The largest entry is divided out first, so that no square over- or underflows.
    top = jnp.abs(x).max(-1, keepdims=True, initial=0.0)
    x = x / jnp.where(top > 0, top, 1.0)
    length = jnp.sqrt(jnp.square(x).sum(-1, keepdims=True))
    return x / jnp.where(length > 0, length, 1.0)


def _check(queries: Array, keys: Array, k: int) -> None:
    if queries.ndim != 2 or keys.ndim != 2 or queries.shape[1] != keys.shape[1]:
        raise ValueError(
            f"Expected [N, D] and [M, D] vectors of one size; got {queries.shape} and {keys.shape}"
        )
    if not 1 <= k <= len(keys):
        raise ValueError(f"k={k} nearest of {len(keys)} vectors: k must be in [1, {len(keys)}]")


class _Keys(NamedTuple):
    """Keys cut into C chunks of m, the last one filled up with keys that are never found."""

    vectors: Array  # [C, m, D]
    bias: Array  # [C, m], subtracted from the scores
    block: int  # divides m


def _chunks(keys: Array, bias: Array | float, k: int) -> _Keys:
    count = len(keys)
    chunks = max(1, count // max(_CHUNK, k))
    size = math.ceil(count / chunks)
    block = _block(size, k, jax.default_backend())
    size = math.ceil(size / block) * block
    fill = chunks * size - count
    bias = jnp.broadcast_to(jnp.asarray(bias, jnp.float32), (count,))
    return _Keys(
        jnp.pad(keys, ((0, fill), (0, 0))).reshape(chunks, size, -1),
        jnp.pad(bias, (0, fill), constant_values=jnp.inf).reshape(chunks, size),
        block,
    )


def _block(size: int, k: int, platform: str) -> int:
    """A power of two near sqrt(size / k), where both steps of `_top_k` are short.

    XLA's top-k for CPUs selects in one pass over the row; that for accelerators sorts it.
    """
    return 1 if platform == "cpu" else 2 ** max(0, math.floor(math.log2(size / k) / 2))


def _rows(size: int, memory_bytes: int) -> int:
    """Queries whose scores against `size` keys fit the memory."""
    return max(1, memory_bytes // (4 * _COPIES * size))


def _by_rows(function, queries: Array, rows: int):
    """function(queries[i : i + rows]) for all i, put together; equal shapes, one compilation."""
    count = len(queries)
    if count <= rows:
        return function(queries)
    rows = math.ceil(count / math.ceil(count / rows))
    queries = jnp.pad(queries, ((0, -count % rows), (0, 0)))
    parts = [function(queries[start : start + rows]) for start in range(0, count, rows)]
    return jax.tree.map(lambda *found: jnp.concatenate(found)[:count], *parts)


def _search(
    queries: Array, keys: _Keys, scale: float, k: int, memory_bytes: int
) -> tuple[Array, Array]:
    search = functools.partial(
        _best, vectors=keys.vectors, bias=keys.bias, scale=scale, k=k, block=keys.block
    )
    return _by_rows(search, queries, _rows(keys.vectors.shape[1], memory_bytes))


def _means(queries: Array, keys: Array, neighbourhood: int, memory_bytes: int) -> Array:
    k = min(neighbourhood, len(keys))
    return _search(queries, _chunks(keys, 0.0, k), 1.0, k, memory_bytes)[1].mean(1)


def _log_mass(keys: Array, pool: Array, beta: float, memory_bytes: int) -> Array:
    """log sum_x exp(beta c(x, y)) over the pool, for each key y; float32 [M]."""
    pool = _chunks(pool, 0.0, 1)
    total = functools.partial(_log_sum, vectors=pool.vectors, bias=pool.bias, scale=beta)
    return _by_rows(total, keys, _rows(pool.vectors.shape[1], memory_bytes))


def _scores(queries: Array, vectors: Array, bias: Array, scale: Array) -> Array:
    # The full precision of float32 also where matrix units would round their input.
    return scale * jnp.dot(queries, vectors.T, precision=jax.lax.Precision.HIGHEST) - bias


@functools.partial(jax.jit, static_argnames=("k", "block"))
def _best(queries, vectors, bias, scale, k, block) -> tuple[Array, Array]:
    """The k best of all chunks: indices int32 [q, k] and scores [q, k]."""

    def step(best, chunk):
        start, vectors, bias = chunk
        values, found = _top_k(_scores(queries, vectors, bias, scale), k, block)
        values = jnp.concatenate([best[0], values], 1)
        found = jnp.concatenate([best[1], found + start], 1)
        values, order = jax.lax.top_k(values, k)
        return (values, jnp.take_along_axis(found, order, 1)), None

    chunks, size = bias.shape
    rows = len(queries)
    none = jnp.full((rows, k), -jnp.inf), jnp.zeros((rows, k), jnp.int32)
    starts = size * jnp.arange(chunks, dtype=jnp.int32)
    (values, found), _ = jax.lax.scan(step, none, (starts, vectors, bias))
    return found, values


@jax.jit
def _log_sum(queries, vectors, bias, scale) -> Array:
    def step(total, chunk):
        more = jax.nn.logsumexp(_scores(queries, *chunk, scale), axis=1)
        return jnp.logaddexp(total, more), None

    nothing = jnp.full((len(queries),), -jnp.inf)
    return jax.lax.scan(step, nothing, (vectors, bias))[0]


def _top_k(scores: Array, k: int, block: int) -> tuple[Array, Array]:
    """The k largest of each row and their places, without sorting the rows.

    The k largest lie in the k blocks whose maxima are largest: were one of them elsewhere, these
    maxima would be k numbers that come before it.

    Args:
      scores: [q, m], m a multiple of block.
      k: how many; m / block >= k unless block is 1.
      block: neighbouring scores that are first compared among themselves.

    Returns:
      Values [q, k] and places int32 [q, k].
    """
    if block == 1:
        return jax.lax.top_k(scores, k)
    rows = len(scores)
    blocks = scores.reshape(rows, -1, block)
    _, chosen = jax.lax.top_k(blocks.max(-1), k)
    chosen = jnp.sort(chosen, axis=1)  # so that of equal scores the lowest place stays first
    left = jnp.take_along_axis(blocks, chosen[:, :, None], axis=1).reshape(rows, k * block)
    values, place = jax.lax.top_k(left, k)
    return values, jnp.take_along_axis(chosen, place // block, axis=1) * block + place % block
