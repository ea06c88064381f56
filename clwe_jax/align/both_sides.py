"""The nearest of all vectors of two sets, exactly, in both directions: by cosine and by CSLS.

One product yields the nearest vectors by cosine, and r, the mean cosine of a vector with its nearest
vectors of the other side, for both sides; one more the nearest by CSLS. Scores are computed in pieces
of bounded size. Of equal scores the lowest index comes first.
"""

from __future__ import annotations

import functools
import math
from typing import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

_BLOCK = 16  # rows whose maximum decides whether a column's best scores are among them


def best(
    x: Array, y: Array, neighbourhoods: Sequence[int] = (), memory_bytes: int = search.MEMORY_BYTES
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The best vector of the other side, by several scores (see `csls.nearest`).

    Args:
      x, y: vectors of any length, [N, D] and [M, D].
      neighbourhoods: numbers of neighbours over which r is a mean, each of one CSLS.
      memory_bytes: limit for the scores that are in memory at once.

    Returns:
      For the cosine, then for each CSLS: the row of y for each x, int32 [N], and the row of x for each
      y, int32 [M].
    """
    near = _by_cosine(x, y, max(neighbourhoods, default=1), memory_bytes)
    found = [tuple(rows[:, 0] for _, rows in near)]
    for count in neighbourhoods:
        means = (cosines[:, :count].mean(1) for cosines, _ in near)
        ahead, back = _nearest(x, y, *means, 2.0, (1, 1), memory_bytes)
        found.append((ahead[1][:, 0], back[1][:, 0]))
    return found


def means(
    x: Array, y: Array, neighbourhood: int, memory_bytes: int
) -> tuple[np.ndarray, np.ndarray]:
    """`search.means(x, y)` and `search.means(y, x)` from one product: float32 [N] and [M]."""
    of_x, of_y = (cosines.mean(1) for cosines, _ in _by_cosine(x, y, neighbourhood, memory_bytes))
    return of_x, of_y


def _by_cosine(
    x: Array, y: Array, k: int, memory_bytes: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The cosines and the rows of the k vectors nearest to each x, then to each y."""
    sides = min(k, len(x)), min(k, len(y))
    return [*_nearest(x, y, np.zeros(len(x)), np.zeros(len(y)), 1.0, sides, memory_bytes)]


def _nearest(
    x: Array,
    y: Array,
    of_x: np.ndarray,
    of_y: np.ndarray,
    scale: float,
    k: tuple[int, int],
    memory_bytes: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The k[1] best y of each x by scale * c(x, y) - of_y, then the k[0] best x of each y."""
    keys = search.chunk_keys(y, of_y, 1)
    rows = search.piece(len(x), search.rows_that_fit(keys.vectors.shape[1], memory_bytes))
    # `_columns` cuts the rows into blocks, so that their number is a multiple of _BLOCK.
    rows = math.ceil(rows / _BLOCK) * _BLOCK
    # Of NumPy: a device's array of each shape would be one more program to compile.
    shape = (*keys.bias.shape, k[0])
    slabs = []
    state = (np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int32))
    for start in range(0, len(x), rows):
        part = x[start : start + rows]
        # A row of padding is no key's best: its scores are minus infinity.
        bias = np.full(rows, np.inf, np.float32)
        bias[: len(part)] = of_x[start : start + rows]
        own, state = _step(search.pad_rows(part, rows), bias, start, state, *keys[:2], scale, k[1])
        slabs.append([np.asarray(some)[: len(part)] for some in own])  # one part is in memory
    yield tuple(np.concatenate(some) for some in zip(*slabs))
    yield tuple(np.asarray(some).reshape(-1, k[0])[: len(y)] for some in state)


# The donated state is updated in place instead of being copied for every part.
@functools.partial(jax.jit, static_argnames=("k",), donate_argnums=(3,))
def _step(queries, own, start, state, vectors, bias, scale, k):
    """The best keys of the queries, and the best of these and all earlier queries for each key.

    Args:
      queries: [q, D], q a multiple of _BLOCK.
      own: number to subtract from a query's scores, where keys choose, [q].
      start: index of the first query.
      state: scores and indices of the best queries so far, [C, m, k'].
      vectors, bias: see `search.Keys`.
      scale: factor of the cosine.
      k: number of keys per query.

    Returns:
      Scores and indices of keys, [q, k], and the new state.
    """
    queries = search.unit(queries)

    def step(best, chunk):
        first, vectors, bias, *known = chunk
        # Cosines without a number to subtract serve both sides, which subtract different ones.
        cosines = search.products(queries, vectors, jnp.zeros(()), scale)
        values, places = search.top_k(cosines - bias, min(k, len(bias)))
        columns = _columns(cosines - own[:, None], known[0].shape[1])
        return (
            _merge_best(best, (values, places + first), k),
            _merge_best(known, (columns[0], columns[1] + start), known[0].shape[1]),
        )

    firsts = bias.shape[1] * jnp.arange(len(bias), dtype=jnp.int32)
    nothing = jnp.full((len(queries), k), -jnp.inf), jnp.zeros((len(queries), k), jnp.int32)
    return jax.lax.scan(step, nothing, (firsts, vectors, bias, *state))


def _merge_best(one, other, k: int) -> tuple[Array, Array]:
    """The k best of two lists of scores and indices; of equal scores those of the first list."""
    values, indices = (jnp.concatenate(both, -1) for both in zip(one, other))
    values, order = jax.lax.top_k(values, k)
    return values, jnp.take_along_axis(indices, order, -1)


def _columns(scores: Array, k: int) -> tuple[Array, Array]:
    """The k largest scores of each column of [q, m] and their rows, [m, k], without a transpose.

    They lie in the k blocks of rows with the largest maxima; see `search._top_k`.
    """
    rows, columns = scores.shape
    maxima = scores.reshape(rows // _BLOCK, _BLOCK, columns).max(1).T  # [m, q / _BLOCK]
    _, chosen = jax.lax.top_k(maxima, min(k, maxima.shape[1]))
    chosen = jnp.sort(chosen, axis=1)  # of equal scores the lowest row stays first
    places = (_BLOCK * chosen[:, :, None] + jnp.arange(_BLOCK)).reshape(columns, -1)
    left = scores[places, jnp.arange(columns)[:, None]]  # [m, k _BLOCK]
    values, order = jax.lax.top_k(left, min(k, left.shape[1]))
    return values, jnp.take_along_axis(places, order, 1)
