"""Exact searches over pieces of bounded size: the k best keys of a query, and sums over all keys.

The retrieval methods and their bounds use these searches. Rows are scaled to length 1 piece by
piece, without a second copy of all queries. Of equal scores the lowest index comes first.

The functions of a piece are written once, for NumPy and for JAX. On a CPU they are NumPy's: XLA takes
longer to compile a search than BLAS to do it.
"""

from __future__ import annotations

import functools
import math
from types import ModuleType
from typing import Any, Callable, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.types import Array

MEMORY_BYTES = 128 * 2**20  # limit for the scores that are in memory at once
_CHUNK = 16_384  # most keys of a chunk
_FEW_ROWS = 8_192  # up to so many rows are cut into pieces of a power of two
_FEW_ROWS_PIECE = 2_048  # rows of such a piece, at most
_COPIES = 3  # copies of a piece of scores that are in memory at once

Best = tuple[Array, Array]  # scores of the best, best first, and their indices: [n, k]


def uses_numpy() -> bool:
    """Whether the searches run in NumPy, without a program to compile."""
    return jax.default_backend() == "cpu"


def module_of(x: Array) -> ModuleType:
    """The module, numpy or jax.numpy, with the functions of an array."""
    return np if isinstance(x, np.ndarray) else jnp


def on_device(*static: str) -> Callable[[Callable], Callable]:
    """Decorates a function of arrays, which is compiled unless searches run in NumPy.

    Args:
      static: names of the arguments that are part of the program.
    """

    def decorate(function: Callable) -> Callable:
        program = jax.jit(function, static_argnames=static)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if uses_numpy():
                return function(*jax.tree.map(_on_host, arguments), **named)
            # Accelerators' matrix units would round the input.
            with jax.default_matmul_precision("highest"):
                return program(*arguments, **named)

        return call

    return decorate


def _on_host(x: Any) -> Any:
    """An array as NumPy's, if searches run in NumPy."""
    return np.asarray(x) if uses_numpy() and isinstance(x, jax.Array) else x


@on_device()
def unit(x: Array) -> Array:
    """Scales rows to length 1, float32; rows of zeros stay zero."""
    xp = module_of(x)
    x = xp.asarray(x, np.float32)
    # Dividing by the largest entry keeps squares from over- and underflowing.
    top = abs(x).max(-1, keepdims=True, initial=0.0)
    x = x / xp.where(top > 0, top, 1.0)
    length = xp.sqrt((x * x).sum(-1, keepdims=True))
    return x / xp.where(length > 0, length, 1.0)


def check(queries: Array, keys: Array, k: int) -> None:
    """Raises ValueError for vectors of different widths or a k outside [1, number of keys]."""
    if queries.ndim != 2 or keys.ndim != 2 or queries.shape[1] != keys.shape[1]:
        raise ValueError(
            f"Expected [N, D] and [M, D] vectors of one width; got {queries.shape} and {keys.shape}"
        )
    if not 1 <= k <= len(keys):
        raise ValueError(f"k={k} nearest of {len(keys)} vectors: k must be in [1, {len(keys)}]")


class Keys(NamedTuple):
    """Keys in chunks; padding may fill up the last chunk and is never found."""

    vectors: list[Array]  # [m, D] each
    bias: list[Array]  # [m] each, subtracted from the scores

    @property
    def size(self) -> int:
        """The number of keys of a chunk, at most."""
        return len(self.bias[0])


def chunk_keys(keys: Array, bias: Array | float, k: int, scaled: bool = True) -> Keys:
    """Prepares keys for a search.

    Args:
      keys: key vectors, [M, D].
      bias: number to subtract from every score of a key, a scalar or [M].
      k: number of keys that will be searched for.
      scaled: whether keys are scaled to length 1.
    """
    keys = _on_host(keys)
    # A chunk has at least k keys, of which its own top-k is taken.
    size = max(k, piece(len(keys), _CHUNK))
    biases = np.broadcast_to(np.asarray(bias, np.float32), len(keys))
    chunks = Keys([], [])
    for start in range(0, len(keys), size):
        part = pad_rows(keys[start : start + size], size)
        # An infinite bias gives padding the score minus infinity.
        chunks.bias.append(pad_rows(biases[start : start + size], size, np.inf))
        chunks.vectors.append(unit(part) if scaled else part)
    return chunks


def piece(count: int, most: int) -> int:
    """The size of equal pieces of `count` rows, `most` at most.

    XLA compiles a program for each size, which takes longer than a search of some thousand rows: few
    rows are cut into pieces of a power of two, which zeros fill up.
    """
    if count > _FEW_ROWS or uses_numpy():
        return math.ceil(max(1, count) / math.ceil(max(1, count) / most))
    return min(most, _FEW_ROWS_PIECE, 1 << max(0, count - 1).bit_length())


def pad_rows(x: Array, rows: int, value: float = 0.0) -> Array:
    """The rows of x, [n, ...], and more of one value, if programs are compiled: [rows, ...]."""
    if uses_numpy() or rows <= len(x):
        return x
    return module_of(x).pad(
        x, ((0, rows - len(x)), *((0, 0),) * (x.ndim - 1)), constant_values=value
    )


def rows_that_fit(size: int, memory_bytes: int) -> int:
    """The number of queries whose scores against `size` keys fit the memory."""
    return max(1, memory_bytes // (4 * _COPIES * size))


def _by_rows(function: Callable, queries: Array, size: int, memory_bytes: int) -> Any:
    """Concatenates the function of pieces of queries that are searched among `size` keys."""
    queries = _on_host(queries)
    count = len(queries)
    rows = piece(count, rows_that_fit(size, memory_bytes))
    parts = []
    for start in range(0, max(1, count), rows):
        parts.append(function(unit(pad_rows(queries[start : start + rows], rows))))
        jax.block_until_ready(parts[-2:-1])  # at most two parts are in memory
    return jax.tree.map(lambda *pieces: np.concatenate(pieces)[:count], *parts)


def search(
    queries: Array, keys: Keys, scale: float, k: int, memory_bytes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best keys of every query, best first.

    Args:
      queries: query vectors, [N, D].
      keys: keys that `chunk_keys` prepared.
      scale: the score is scale * c(x, y) - bias(y), c being the cosine for scaled keys.
      k: number of keys per query.
      memory_bytes: limit for the scores that are in memory at once.

    Returns:
      Indices int32 [N, k] and scores float32 [N, k].
    """

    def best(part: Array) -> Best:
        best_keys = None
        for number, chunk in enumerate(zip(*keys)):
            best_keys = merge(best_keys, _best(part, *chunk, scale, k=k), number * keys.size, k)
        return best_keys

    scores, indices = _by_rows(best, queries, keys.size, memory_bytes)
    return indices, scores


def means(queries: Array, keys: Array, neighbourhood: int, memory_bytes: int) -> np.ndarray:
    """The mean cosine of each query with its nearest keys; float32 [N]."""
    k = min(neighbourhood, len(keys))
    return search(queries, chunk_keys(keys, 0.0, k), 1.0, k, memory_bytes)[1].mean(1)


def log_masses(x: Array, y: Array, beta: float, memory_bytes: int) -> tuple[np.ndarray, np.ndarray]:
    """log sum exp(beta c(x, y)) over all y for each x, float32 [N], and over all x for each y, [M]."""
    keys = chunk_keys(y, 0.0, 1)
    rows = piece(len(x), rows_that_fit(keys.size, memory_bytes))
    of_x = []
    of_y = np.full(len(y), -np.inf, np.float32)
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        # An infinite number keeps padding of the queries out of the keys' sums.
        absent = pad_rows(np.zeros(len(part), np.float32), rows, np.inf)
        part_unit = unit(pad_rows(part, rows))
        sums = [_log_sums(part_unit, absent, *chunk, beta) for chunk in zip(*keys)]
        of_x.append(np.logaddexp.reduce([np.asarray(of_part) for of_part, _ in sums])[: len(part)])
        of_keys = np.concatenate([np.asarray(other) for _, other in sums])
        of_y = np.logaddexp(of_y, of_keys[: len(y)])
    return np.concatenate(of_x), of_y


def products(queries: Array, vectors: Array, bias: Array | float, scale: float) -> Array:
    """scale * queries vectors^T - bias: [q, m] for [q, D], [m, D] and [m]."""
    scores = queries @ vectors.T
    scores *= scale  # in place, where it is NumPy's
    scores -= bias
    return scores


@on_device("k")
def _best(queries: Array, vectors: Array, bias: Array, scale: float, k: int) -> Best:
    """The k best keys of a chunk."""
    return top_k(products(queries, vectors, bias, scale), min(k, len(bias)))


def merge(best: Best | None, more: Best, start: int, k: int) -> Best:
    """The k best of earlier ones and of more, whose indices are counted from `start`.

    Of equal scores the earlier come first.
    """
    return more if best is None else _merge(best, more, start, k=k)


@on_device("k")
def _merge(best: Best, more: Best, start: int, k: int) -> Best:
    xp = module_of(best[0])
    values = xp.concatenate([best[0], more[0]], 1)
    indices = xp.concatenate([best[1], more[1] + start], 1)
    values, order = top_k(values, min(k, values.shape[1]))
    return values, xp.take_along_axis(indices, order, 1)


@on_device()
def _log_sums(
    queries: Array, absent: Array, vectors: Array, bias: Array, scale: float
) -> tuple[Array, Array]:
    """Log sums of scores over a chunk of keys, [q], and over the queries, [m]."""
    scores = products(queries, vectors, bias, scale)
    return log_sum(scores, 1), log_sum(scores - absent[:, None], 0)


def log_sum(scores: Array, axis: int) -> Array:
    """log sum exp of the scores along an axis; minus infinity where all of them are."""
    xp = module_of(scores)
    top = xp.maximum(scores.max(axis, keepdims=True), np.finfo(np.float32).min)
    with np.errstate(divide="ignore"):
        return top.squeeze(axis) + xp.log(xp.exp(scores - top).sum(axis))


def top_k(scores: Array, k: int) -> Best:
    """The k largest scores of each row of [q, m], best first, and their columns int32 [q, k]."""
    return (_top_k_of_rows if isinstance(scores, np.ndarray) else _top_k_of_blocks)(scores, k)


def _top_k_of_rows(scores: np.ndarray, k: int) -> Best:
    """Sorts the scores that reach a bound: the k-th of the maxima of some blocks of columns."""
    rows, size = scores.shape
    blocks = min(size, max(k, math.isqrt(4 * k * size)))
    width = size // blocks
    maxima = scores[:, : width * blocks].reshape(rows, width, blocks).max(1)
    least = np.partition(maxima, blocks - k, 1)[:, blocks - k, None]
    # Numbers that are no numbers are among them. Places in the flat array are found faster.
    row, column = np.divmod(np.flatnonzero(~(scores < least)), size)
    values = scores[row, column]
    order = np.lexsort((-values, row))  # is stable: of equal scores the lowest column is first
    best = order[np.searchsorted(row, np.arange(rows))[:, None] + np.arange(k)]
    return values[best], column[best].astype(np.int32)


def _top_k_of_blocks(scores: Array, k: int) -> Best:
    """Sorts blocks of columns instead of rows, which XLA's top-k does.

    The k largest scores lie in the k blocks with the largest maxima: a score in any other block
    comes after these k maxima.
    """
    rows, size = scores.shape
    block = 2 ** max(0, math.floor(math.log2(size / k) / 2))  # near sqrt(size / k)
    if block == 1:
        return jax.lax.top_k(scores, k)
    scores = jnp.pad(scores, ((0, 0), (0, -size % block)), constant_values=-jnp.inf)
    blocks = scores.reshape(rows, -1, block)  # [q, m / block, block]
    _, best_blocks = jax.lax.top_k(blocks.max(-1), k)
    best_blocks = jnp.sort(best_blocks, axis=1)  # of equal scores the lowest column stays first
    entries = jnp.take_along_axis(blocks, best_blocks[:, :, None], axis=1).reshape(rows, k * block)
    values, place = jax.lax.top_k(entries, k)
    return values, jnp.take_along_axis(best_blocks, place // block, axis=1) * block + place % block
