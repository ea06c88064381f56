"""Stochastic dictionary induction of VecMap's self-learning, in both directions at once."""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

MEMORY_BYTES = 2**30  # for similarities: enough for 9,000 words per side at once
_TAIL = 1e-3  # probability of the candidates that are not searched


class Induced(NamedTuple):
    """An induced dictionary and its objective."""

    pairs: np.ndarray  # int32 [N + M, 2], rows of x and y: a pair per word of x, then of y
    objective: float  # mean cosine of all words with the nearest word of the other side


def induce(
    x: Array,
    y: Array,
    *,
    keep: float = 1.0,
    neighbourhood: int = 10,
    rng: np.random.Generator | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> Induced:
    """Pairs every word of either side with a translation that CSLS ranks high.

    Artetxe et al. 2018, A Robust Self-Learning Method for Fully Unsupervised Cross-Lingual Mappings
    of Word Embeddings, section 3.3: each entry of the similarity matrix is kept with probability
    `keep`, and every word takes its best kept entry. This is the n-th best candidate with
    probability keep (1 - keep)^(n - 1), so n is drawn instead of a matrix of random numbers. (Only
    the best ceil(log(0.001) / log(1 - keep)) candidates can be drawn.)

    Args:
      x: source vectors in the common space, [N, D].
      y: target vectors in the common space, [M, D].
      keep: probability in (0, 1]; 1 takes the best candidates.
      neighbourhood: neighbours of CSLS, at most as many as there are words.
      rng: random numbers for keep < 1.
      memory_bytes: limit for similarities. If the whole matrix fits, it is computed once for both
        directions. Else it is computed in slabs, once for the means of CSLS and once for the
        candidates.

    Returns:
      The pairs of both directions (a mutual pair occurs twice), and the objective.
    """
    x = search.unit(x)
    y = search.unit(y)
    count = 1 if keep >= 1 else math.ceil(math.log(_TAIL) / math.log1p(-keep))
    rows = search.rows_that_fit(len(y), memory_bytes)
    slabs = [x[start : start + rows] for start in range(0, len(x), rows)]
    # A single slab's similarities serve both passes.
    similarities = _similarities(slabs[0], y) if len(slabs) == 1 else None
    forward, backward = _best_of_both(slabs, y, similarities, 0.0, 0.0, neighbourhood)
    nearest_x = forward[0]
    nearest_y = backward[0]
    # 2 c(x, y) - r(x) - r(y) ranks y as c(x, y) - r(y) / 2 does.
    penalties = nearest_x.mean(1) / 2, nearest_y.mean(1) / 2
    forward, backward = _best_of_both(slabs, y, similarities, *penalties, count)
    of_x, of_y = (_draw_candidates(np.asarray(side[1]), keep, rng) for side in (forward, backward))
    pairs = np.concatenate(
        [
            np.stack([np.arange(len(x), dtype=np.int32), of_x], 1),
            np.stack([of_y, np.arange(len(y), dtype=np.int32)], 1),
        ]
    )
    sides = (np.asarray(side[:, 0]).mean(dtype=np.float64) for side in (nearest_x, nearest_y))
    return Induced(pairs, float(sum(sides) / 2))


def _best_of_both(
    slabs: Sequence[Array],
    y: Array,
    kept: tuple[Array, Array] | None,
    of_x: Array | float,
    of_y: Array | float,
    k: int,
) -> tuple[search.Best, search.Best]:
    """The k best y of each x by c(x, y) - of_y, and the k best x of each y by c(x, y) - of_x."""
    start = 0
    of_x = np.broadcast_to(np.float32(of_x), sum(map(len, slabs)))
    of_y = np.float32(of_y)
    forward = []
    backward = None
    for slab in slabs:
        scores, transposed = _similarities(slab, y) if kept is None else kept  # [n, M] and [M, n]
        best = _best_rows(scores, of_y, k=min(k, len(y)))
        part = _best_rows(transposed, of_x[start : start + len(slab)], k=min(k, len(slab)))
        backward = search.merge(backward, part, start, k)
        start += len(slab)
        forward.append([np.asarray(x) for x in best])  # keeps the other slabs out of memory
    return tuple(np.concatenate(slabs_best) for slabs_best in zip(*forward)), backward


@search.on_device()
def _similarities(x: Array, y: Array) -> tuple[Array, Array]:
    """Cosines [n, m] and their transpose: top-k over columns would take longer than a copy."""
    scores = x @ y.T
    return scores, scores.T.copy()


@search.on_device("k")
def _best_rows(scores: Array, penalty: Array, k: int) -> search.Best:
    return search.top_k(scores - penalty, k)


def _draw_candidates(
    candidates: np.ndarray, keep: float, rng: np.random.Generator | None
) -> np.ndarray:
    """Draws one candidate per row, the n-th with probability ~ (1 - keep)^n: int32 [N]."""
    count = candidates.shape[1]
    if keep >= 1 or count == 1:
        return candidates[:, 0]
    assert rng is not None
    # Inverse transform of the geometric distribution truncated at `count`.
    tail = (1 - keep) ** count
    uniform = 1 - (1 - tail) * rng.random(len(candidates))
    rank = np.floor(np.log(uniform) / math.log1p(-keep)).astype(np.int64)
    # Rounding may give the rank `count`.
    return candidates[np.arange(len(candidates)), np.minimum(rank, count - 1)]
