"""Exact searches over pieces of bounded size: the k best keys of a query, and sums over all keys.

The retrieval methods and their bounds use these searches. Rows are scaled to length 1 piece by
piece, without a second copy of all queries. Of equal scores the lowest index comes first.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.types import Array

MEMORY_BYTES = 128 * 2**20  # limit for the scores that are in memory at once
_CHUNK = 16_384  # most keys of a chunk
# rows that are few, and the most of them in a piece
_FEW_ROWS = 8_192
_PIECE = 2_048
_FEW = 32  # keys per query up to which blocks are faster on CPUs
_COPIES = 3  # copies of a piece of scores that are in memory at once


@jax.jit
def unit(x: Array) -> Array:
    """Scales rows to length 1, float32; rows of zeros stay zero."""
    x = jnp.asarray(x, jnp.float32)
    # Dividing by the largest entry keeps squares from over- and underflowing.
    top = jnp.abs(x).max(-1, keepdims=True, initial=0.0)
    x = x / jnp.where(top > 0, top, 1.0)
    length = jnp.sqrt(jnp.square(x).sum(-1, keepdims=True))
    return x / jnp.where(length > 0, length, 1.0)


@jax.jit
def finite(x: Array) -> Array:
    """Whether all values of a row are finite: bool [N] of [N, D]."""
    return jnp.isfinite(x).all(1)


def check(queries: Array, keys: Array, k: int) -> None:
    """Raises ValueError for vectors of different widths or a k outside [1, number of keys]."""
    if queries.ndim != 2 or keys.ndim != 2 or queries.shape[1] != keys.shape[1]:
        raise ValueError(
            f"Expected [N, D] and [M, D] vectors of one width; got {queries.shape} and {keys.shape}"
        )
    if not 1 <= k <= len(keys):
        raise ValueError(f"k={k} nearest of {len(keys)} vectors: k must be in [1, {len(keys)}]")


class Keys(NamedTuple):
    """Keys in C chunks of m; padding fills the last chunk and is never found."""

    vectors: Array  # [C, m, D]
    bias: Array  # [C, m], subtracted from the scores
    block: int  # divides m


def chunk_keys(keys: Array, bias: Array | float, k: int, scaled: bool = True) -> Keys:
    """Prepares keys for a search.

    Args:
      keys: key vectors, [M, D].
      bias: number to subtract from every score of a key, a scalar or [M].
      k: number of keys that will be searched for.
      scaled: whether keys are scaled to length 1.
    """
    count = len(keys)
    # A chunk has at least k keys, of which its own top-k is taken.
    size = max(k, piece(count, _CHUNK))
    chunks = math.ceil(count / size)
    block = _block(size, k, jax.default_backend())
    size = math.ceil(size / block) * block
    # An infinite bias gives padding the score minus infinity.
    biases = np.full(chunks * size, np.inf, np.float32)
    biases[:count] = bias
    return Keys(_cut(keys, chunks, size, scaled), jnp.asarray(biases.reshape(chunks, size)), block)


def _cut(keys: Array, chunks: int, size: int, scaled: bool) -> Array:
    """Copies keys into [C, m, D] with a single chunk as temporary."""
    cut = jnp.zeros((chunks, size, keys.shape[1]), jnp.float32)
    for number in range(chunks):
        cut = _place(cut, pad_rows(keys[number * size : (number + 1) * size], size), number, scaled)
        cut.block_until_ready()  # keeps the other parts out of memory
    return cut


def piece(count: int, most: int) -> int:
    """The size of equal pieces of `count` rows, `most` at most.

    XLA compiles a program for each size, which takes longer than a search of some thousand rows: few
    rows are cut into pieces of a power of two, which zeros fill up.
    """
    if count > _FEW_ROWS:
        return math.ceil(count / math.ceil(count / most))
    return min(most, _PIECE, 1 << max(0, count - 1).bit_length())


def pad_rows(x: Array, rows: int) -> Array:
    """The rows of x, [n, D], and zeros: [rows, D]."""
    pad = jnp.pad if isinstance(x, jax.Array) else np.pad
    return pad(x, ((0, rows - len(x)), (0, 0))) if rows > len(x) else x


# The donated `cut` is written in place, so that the keys exist once.
@functools.partial(jax.jit, static_argnames=("scaled",), donate_argnums=(0,))
def _place(cut: Array, part: Array, number: Array, scaled: bool) -> Array:
    part = unit(part) if scaled else jnp.asarray(part, jnp.float32)
    return jax.lax.dynamic_update_index_in_dim(cut, part, number, 0)


def _block(size: int, k: int, platform: str) -> int:
    """A power of two near sqrt(size / k), which balances both steps of `_top_k`; or 1.

    XLA's top-k sorts the row on accelerators. On CPUs it makes one pass over the row, which blocks
    shorten for few keys.
    """
    if platform == "cpu" and k > _FEW:
        return 1
    return 2 ** max(0, math.floor(math.log2(size / k) / 2))


def rows_that_fit(size: int, memory_bytes: int) -> int:
    """The number of queries whose scores against `size` keys fit the memory."""
    return max(1, memory_bytes // (4 * _COPIES * size))


def _by_rows(function, queries: Array, size: int, memory_bytes: int):
    """Concatenates the function of pieces of queries that are searched among `size` keys."""
    count = len(queries)
    rows = piece(count, rows_that_fit(size, memory_bytes))
    parts = []
    for start in range(0, max(1, count), rows):
        parts.append(function(pad_rows(queries[start : start + rows], rows)))
        jax.block_until_ready(parts[-2:-1])  # at most two parts are in memory
    return jax.tree.map(lambda *some: jnp.asarray(np.concatenate(some)[:count]), *parts)


def search(
    queries: Array, keys: Keys, scale: float, k: int, memory_bytes: int
) -> tuple[Array, Array]:
    """The k best keys of every query, best first.

    Args:
      queries: query vectors, [N, D].
      keys: keys that `chunked` prepared.
      scale: the score is scale * c(x, y) - bias(y), c being the cosine for scaled keys.
      k: number of keys per query.
      memory_bytes: limit for the scores that are in memory at once.

    Returns:
      Indices int32 [N, k] and scores float32 [N, k].
    """
    step = functools.partial(
        _best, vectors=keys.vectors, bias=keys.bias, scale=scale, k=k, block=keys.block
    )
    return _by_rows(step, queries, keys.vectors.shape[1], memory_bytes)


def means(queries: Array, keys: Array, neighbourhood: int, memory_bytes: int) -> Array:
    """The mean cosine of each query with its nearest keys; float32 [N]."""
    k = min(neighbourhood, len(keys))
    # The mean of NumPy: a device's would be one more program for each number of queries.
    return np.asarray(search(queries, chunk_keys(keys, 0.0, k), 1.0, k, memory_bytes)[1]).mean(1)


def log_mass(keys: Array, pool: Array, beta: float, memory_bytes: int) -> Array:
    """log sum_x exp(beta c(x, y)) over the pool, for each key y; float32 [M]."""
    pool = chunk_keys(pool, 0.0, 1)
    total = functools.partial(_log_sum, vectors=pool.vectors, bias=pool.bias, scale=beta)
    return _by_rows(total, keys, pool.vectors.shape[1], memory_bytes)


def log_masses(x: Array, y: Array, beta: float, memory_bytes: int) -> tuple[Array, Array]:
    """`log_mass(x, y)` and `log_mass(y, x)` from one product: float32 [N] and [M]."""
    keys = chunk_keys(y, 0.0, 1)
    rows = piece(len(x), rows_that_fit(keys.vectors.shape[1], memory_bytes))
    of_x = []
    of_y = jnp.full(keys.bias.shape, -jnp.inf)
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        # An infinite number keeps padding of the queries out of the keys' sums.
        absent = np.where(np.arange(rows) < len(part), 0, np.inf).astype(np.float32)
        sums, of_y = _log_sums(pad_rows(part, rows), absent, of_y, *keys[:2], beta)
        of_x.append(np.asarray(sums)[: len(part)])  # one part is in memory
    return np.concatenate(of_x), np.asarray(of_y).reshape(-1)[: len(y)]


def products(queries: Array, vectors: Array, bias: Array, scale: Array) -> Array:
    """scale * queries vectors^T - bias: [q, m] for [q, D], [m, D] and [m]."""
    # HIGHEST keeps float32 on accelerators, whose matrix units would round the input.
    return scale * jnp.dot(queries, vectors.T, precision=jax.lax.Precision.HIGHEST) - bias


@functools.partial(jax.jit, static_argnames=("k", "block"))
def _best(queries, vectors, bias, scale, k, block) -> tuple[Array, Array]:
    """The k best keys of all chunks: indices int32 [q, k] and scores [q, k]."""
    queries = unit(queries)

    def step(best, chunk):
        start, vectors, bias = chunk
        values, columns = _top_k(products(queries, vectors, bias, scale), k, block)  # [q, k]
        # The earlier chunks stand first, because top_k takes the first of equal scores.
        values = jnp.concatenate([best[0], values], 1)
        columns = jnp.concatenate([best[1], columns + start], 1)
        values, order = jax.lax.top_k(values, k)
        return (values, jnp.take_along_axis(columns, order, 1)), None

    chunks, size = bias.shape
    rows = len(queries)
    none = jnp.full((rows, k), -jnp.inf), jnp.zeros((rows, k), jnp.int32)
    starts = size * jnp.arange(chunks, dtype=jnp.int32)
    (values, columns), _ = jax.lax.scan(step, none, (starts, vectors, bias))
    return columns, values


@jax.jit
def _log_sum(queries, vectors, bias, scale) -> Array:
    queries = unit(queries)

    def step(total, chunk):
        more = jax.nn.logsumexp(products(queries, *chunk, scale), axis=1)
        return jnp.logaddexp(total, more), None

    nothing = jnp.full((len(queries),), -jnp.inf)
    return jax.lax.scan(step, nothing, (vectors, bias))[0]


@jax.jit
def _log_sums(queries, absent, of_keys, vectors, bias, scale) -> tuple[Array, Array]:
    """Log sums over the keys, [q], and over these and all earlier queries, [C, m]."""
    queries = unit(queries)

    def step(total, chunk):
        vectors, bias, of_chunk = chunk
        scores = products(queries, vectors, bias, scale)
        total = jnp.logaddexp(total, jax.nn.logsumexp(scores, axis=1))
        below = jax.nn.logsumexp(scores - absent[:, None], axis=0)
        return total, jnp.logaddexp(of_chunk, below)

    nothing = jnp.full((len(queries),), -jnp.inf)
    return jax.lax.scan(step, nothing, (vectors, bias, of_keys))


def top_k(scores: Array, k: int) -> tuple[Array, Array]:
    """The k largest scores of each row of [q, m], best first, and their columns int32 [q, k]."""
    block = _block(scores.shape[1], k, jax.default_backend())
    fill = -scores.shape[1] % block
    if fill:
        scores = jnp.pad(scores, ((0, 0), (0, fill)), constant_values=-jnp.inf)
    return _top_k(scores, k, block)


def _top_k(scores: Array, k: int, block: int) -> tuple[Array, Array]:
    """The k largest scores of each row and their columns, without sorting rows.

    The k largest scores lie in the k blocks with the largest maxima: a score in any other block
    comes after these k maxima.

    Args:
      scores: scores [q, m], m a multiple of block.
      k: number of scores; m / block >= k unless block is 1.
      block: width of a block of neighbouring columns.

    Returns:
      Scores [q, k] and columns int32 [q, k].
    """
    if block == 1:
        return jax.lax.top_k(scores, k)
    rows = len(scores)
    blocks = scores.reshape(rows, -1, block)  # [q, m / block, block]
    _, chosen = jax.lax.top_k(blocks.max(-1), k)
    chosen = jnp.sort(chosen, axis=1)  # of equal scores the lowest column stays first
    left = jnp.take_along_axis(blocks, chosen[:, :, None], axis=1).reshape(rows, k * block)
    # `left` is [q, k block].
    values, place = jax.lax.top_k(left, k)
    return values, jnp.take_along_axis(chosen, place // block, axis=1) * block + place % block
