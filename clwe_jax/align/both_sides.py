"""The nearest of all vectors of two sets, exactly, in both directions: by cosine and by CSLS.

One product yields the nearest vectors by cosine, and r, the mean cosine of a vector with its nearest
vectors of the other side, for both sides; one more the nearest by CSLS. Scores are computed in pieces
of bounded size. Of equal scores the lowest index comes first.
"""

from __future__ import annotations

from typing import Iterator, Sequence

import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array


def best(
    x: Array, y: Array, neighbourhoods: Sequence[int] = (), memory_bytes: int = search.MEMORY_BYTES
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The best vector of the other side, by cosine and by CSLS.

    Args:
      x, y: vectors of any length, [N, D] and [M, D].
      neighbourhoods: numbers of neighbours over which r is a mean, each of one CSLS.
      memory_bytes: limit for the scores that are in memory at once.

    Returns:
      For the cosine, then for each CSLS: the row of y for each x, int32 [N], and the row of x for each
      y, int32 [M].
    """
    near = _by_cosine(x, y, max(neighbourhoods, default=1), memory_bytes)
    best_keys = [tuple(rows[:, 0] for _, rows in near)]
    for count in neighbourhoods:
        means = (cosines[:, :count].mean(1) for cosines, _ in near)
        # CSLS is 2 c - r(x) - r(y), and the r of the vector that chooses is the same for all.
        ahead, back = _nearest(x, y, *means, 2.0, (1, 1), memory_bytes)
        best_keys.append((ahead[1][:, 0], back[1][:, 0]))
    return best_keys


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
    rows = search.piece(len(x), search.rows_that_fit(keys.size, memory_bytes))
    ahead = []
    back: list[search.Best | None] = [None] * len(keys.bias)
    for start in range(0, len(x), rows):
        part = search.unit(search.pad_rows(x[start : start + rows], rows))
        # A row of padding is no key's best: its scores are minus infinity.
        subtracted = search.pad_rows(np.float32(of_x[start : start + rows]), rows, np.inf)
        best = None
        for number, chunk in enumerate(zip(*keys)):
            best_y, best_x = _best_of_both(part, subtracted, *chunk, scale, k=k)
            best = search.merge(best, best_y, number * keys.size, k[1])
            back[number] = search.merge(back[number], best_x, start, k[0])
        ahead.append([np.asarray(values) for values in best])  # one part is in memory
    yield tuple(np.concatenate(values)[: len(x)] for values in zip(*ahead))
    yield tuple(np.concatenate(values)[: len(y)] for values in zip(*back))


@search.on_device("k")
def _best_of_both(
    queries: Array, subtracted: Array, vectors: Array, bias: Array, scale: float, k: tuple[int, int]
) -> tuple[search.Best, search.Best]:
    """The best keys of the queries, and the best queries of the keys.

    Args:
      queries: [q, D], of length 1.
      subtracted: number to subtract from a query's scores, where keys choose, [q].
      vectors, bias: a chunk of `search.Keys`.
      scale: factor of the cosine.
      k: numbers of queries for a key and of keys for a query.
    """
    # Cosines without a number to subtract serve both sides, which subtract different ones.
    cosines = search.products(queries, vectors, 0.0, scale)
    near = search.top_k(cosines - bias, min(k[1], len(bias)))
    return near, search.top_k((cosines - subtracted[:, None]).T, min(k[0], len(subtracted)))
