"""Exact searches over pieces of bounded size: the k best keys of each query, and sums over all.

What the retrieval methods and their bounds are made of. Rows are scaled to length 1 (`unit`) where
they are used, piece by piece, so that no second copy of all queries is needed. Of equal scores the
lowest index comes first.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from clwe_jax.types import Array

MEMORY_BYTES = 128 * 2**20
_CHUNK = 8_192  # keys scored at once, at least (where there are as many); at most twice that
_COPIES = 3  # of a piece of scores that are alive at once


@jax.jit
def unit(x: Array) -> Array:
    """The rows scaled to length 1, float32; rows of zeros stay as they are."""
    x = jnp.asarray(x, jnp.float32)
    # The largest entry is divided out first, so that no square over- or underflows.
    top = jnp.abs(x).max(-1, keepdims=True, initial=0.0)
    x = x / jnp.where(top > 0, top, 1.0)
    length = jnp.sqrt(jnp.square(x).sum(-1, keepdims=True))
    return x / jnp.where(length > 0, length, 1.0)


def check(queries: Array, keys: Array, k: int) -> None:
    """Raises ValueError for vectors of unlike sizes or a k that they cannot give."""
    if queries.ndim != 2 or keys.ndim != 2 or queries.shape[1] != keys.shape[1]:
        raise ValueError(
            f"Expected [N, D] and [M, D] vectors of one size; got {queries.shape} and {keys.shape}"
        )
    if not 1 <= k <= len(keys):
        raise ValueError(f"k={k} nearest of {len(keys)} vectors: k must be in [1, {len(keys)}]")


class Keys(NamedTuple):
    """Keys cut into C chunks of m, the last one filled up with keys that are never found."""

    vectors: Array  # [C, m, D]
    bias: Array  # [C, m], subtracted from the scores
    block: int  # divides m


def chunked(keys: Array, bias: Array | float, k: int, scaled: bool = True) -> Keys:
    """Keys [M, D] made ready to be searched for their k best; `scaled` to length 1, or as they are."""
    count = len(keys)
    chunks = max(1, count // max(_CHUNK, k))
    size = math.ceil(count / chunks)
    block = _block(size, k, jax.default_backend())
    size = math.ceil(size / block) * block
    fill = chunks * size - count
    bias = jnp.broadcast_to(jnp.asarray(bias, jnp.float32), (count,))
    return Keys(
        _cut(keys, chunks, size, scaled),
        jnp.pad(bias, (0, fill), constant_values=jnp.inf).reshape(chunks, size),
        block,
    )


def _cut(keys: Array, chunks: int, size: int, scaled: bool) -> Array:
    """[C, m, D]; beside the keys and the result no more than a chunk is ever alive."""
    cut = jnp.zeros((chunks, size, keys.shape[1]), jnp.float32)
    for number in range(chunks):
        part = keys[number * size : (number + 1) * size]
        cut = _place(cut, jnp.pad(part, ((0, size - len(part)), (0, 0))), number, scaled)
        cut.block_until_ready()  # or all parts wait in memory at once
    return cut


@functools.partial(jax.jit, static_argnames=("scaled",), donate_argnums=(0,))
def _place(cut: Array, part: Array, number: Array, scaled: bool) -> Array:
    part = unit(part) if scaled else jnp.asarray(part, jnp.float32)
    return jax.lax.dynamic_update_index_in_dim(cut, part, number, 0)


def _block(size: int, k: int, platform: str) -> int:
    """A power of two near sqrt(size / k), where both steps of `_top_k` are short.

    XLA's top-k for CPUs selects in one pass over the row; that for accelerators sorts it.
    """
    return 1 if platform == "cpu" else 2 ** max(0, math.floor(math.log2(size / k) / 2))


def rows_that_fit(size: int, memory_bytes: int) -> int:
    """Queries whose scores against `size` keys fit the memory."""
    return max(1, memory_bytes // (4 * _COPIES * size))


def _by_rows(function, queries: Array, rows: int):
    """function(queries[i : i + rows]) for all i, put together; equal shapes, one compilation."""
    count = len(queries)
    if count <= rows:
        return function(queries)
    rows = math.ceil(count / math.ceil(count / rows))
    parts = []
    for start in range(0, count, rows):
        part = queries[start : start + rows]
        parts.append(function(jnp.pad(part, ((0, rows - len(part)), (0, 0)))))
        jax.block_until_ready(parts[-2:-1])  # one is computed, one waits; not all in memory at once
    return jax.tree.map(lambda *found: jnp.concatenate(found)[:count], *parts)


def search(
    queries: Array, keys: Keys, scale: float, k: int, memory_bytes: int
) -> tuple[Array, Array]:
    """Indices int32 [N, k] and scores `scale` c(x, y) - bias(y) of the k best keys, best first."""
    step = functools.partial(
        _best, vectors=keys.vectors, bias=keys.bias, scale=scale, k=k, block=keys.block
    )
    return _by_rows(step, queries, rows_that_fit(keys.vectors.shape[1], memory_bytes))


def means(queries: Array, keys: Array, neighbourhood: int, memory_bytes: int) -> Array:
    """The mean cosine of each query with its nearest keys; float32 [N]."""
    k = min(neighbourhood, len(keys))
    return search(queries, chunked(keys, 0.0, k), 1.0, k, memory_bytes)[1].mean(1)


def log_mass(keys: Array, pool: Array, beta: float, memory_bytes: int) -> Array:
    """log sum_x exp(beta c(x, y)) over the pool, for each key y; float32 [M]."""
    pool = chunked(pool, 0.0, 1)
    total = functools.partial(_log_sum, vectors=pool.vectors, bias=pool.bias, scale=beta)
    return _by_rows(total, keys, rows_that_fit(pool.vectors.shape[1], memory_bytes))


def _scores(queries: Array, vectors: Array, bias: Array, scale: Array) -> Array:
    # The full precision of float32 also where matrix units would round their input.
    return scale * jnp.dot(queries, vectors.T, precision=jax.lax.Precision.HIGHEST) - bias


@functools.partial(jax.jit, static_argnames=("k", "block"))
def _best(queries, vectors, bias, scale, k, block) -> tuple[Array, Array]:
    """The k best of all chunks: indices int32 [q, k] and scores [q, k]."""
    queries = unit(queries)

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
    queries = unit(queries)

    def step(total, chunk):
        more = jax.nn.logsumexp(_scores(queries, *chunk, scale), axis=1)
        return jnp.logaddexp(total, more), None

    nothing = jnp.full((len(queries),), -jnp.inf)
    return jax.lax.scan(step, nothing, (vectors, bias))[0]


def top_k(scores: Array, k: int) -> tuple[Array, Array]:
    """The k largest of each row of [q, m], best first, and their places int32 [q, k]; traceable."""
    block = _block(scores.shape[1], k, jax.default_backend())
    fill = -scores.shape[1] % block
    if fill:
        scores = jnp.pad(scores, ((0, 0), (0, fill)), constant_values=-jnp.inf)
    return _top_k(scores, k, block)


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
