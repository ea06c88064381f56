"""Dictionaries of VecMap's self-learning: induced at random from both directions at once."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import search
from clwe_jax.types import Array

MEMORY_BYTES = 2**30  # for similarities: of 9,000 words a side at once
_TAIL = 1e-3  # of the words would be given a candidate beyond the last one that is asked for


class Induced(NamedTuple):
    """A dictionary and how close its two sides are."""

    pairs: np.ndarray  # int32 [N + M, 2], rows of x and y: first one a word of x, then of y
    objective: float  # the mean cosine of all words with the nearest word of the other side


def induce(
    x: Array,
    y: Array,
    *,
    keep: float = 1.0,
    neighbourhood: int = 10,
    rng: np.random.Generator | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> Induced:
    """Every word of either side with a translation that CSLS finds good.

    Stochastic dictionary induction (Artetxe et al. 2018, A Robust Self-Learning Method for Fully
    Unsupervised Cross-Lingual Mappings of Word Embeddings, section 3.3): each entry of the
    similarity matrix is kept with probability `keep`, and every word takes the best entry that is
    left. The first of a list of candidates that such a draw leaves is the n-th best with
    probability keep (1 - keep)^(n - 1), so that n is drawn and no matrix of random numbers. (The
    draws are from the best ceil(log(0.001) / log(1 - keep)) candidates.)

    Args:
      x: [N, D] and
      y: [M, D], vectors in the common space.
      keep: in (0, 1]; 1: the best candidates.
      neighbourhood: of CSLS; cut to the number of words there.
      rng: draws for keep < 1.
      memory_bytes: for similarities. Both directions are read off one matrix; where it fits as a
        whole, it is computed once, else slab by slab and twice: for the neighbourhoods' means, and
        for the candidates.

    Returns:
      The pairs of both directions, one after the other (mutual ones are there twice), and the
      objective.
    """
    x, y = search.unit(x), search.unit(y)
    count = 1 if keep >= 1 else math.ceil(math.log(_TAIL) / math.log1p(-keep))
    rows = search.rows_that_fit(len(y), memory_bytes)
    slabs = [x[start : start + rows] for start in range(0, len(x), rows)]
    # Where there is one slab, its similarities are kept from the first pass to the second.
    kept = _similarities(slabs[0], y) if len(slabs) == 1 else None
    forward, backward = _best_of_both(slabs, y, kept, 0.0, 0.0, neighbourhood)
    nearest_x, nearest_y = forward[0], backward[0]
    # 2 c(x, y) - r(x) - r(y) ranks y as c(x, y) - r(y) / 2 does.
    penalties = nearest_x.mean(1) / 2, nearest_y.mean(1) / 2
    forward, backward = _best_of_both(slabs, y, kept, *penalties, count)
    of_x, of_y = (_drawn(np.asarray(side[1]), keep, rng) for side in (forward, backward))
    pairs = np.concatenate(
        [
            np.stack([np.arange(len(x), dtype=np.int32), of_x], 1),
            np.stack([of_y, np.arange(len(y), dtype=np.int32)], 1),
        ]
    )
    sides = (np.asarray(side[:, 0]).mean(dtype=np.float64) for side in (nearest_x, nearest_y))
    return Induced(pairs, float(sum(sides) / 2))


Best = tuple[Array, Array]  # scores, best first, and their places: [n, k]


def _best_of_both(
    slabs: Sequence[Array],
    y: Array,
    kept: tuple[Array, Array] | None,
    of_x: Array | float,
    of_y: Array | float,
    k: int,
) -> tuple[Best, Best]:
    """The k best y of each x by c(x, y) - of_y, and the k best x of each y by c(x, y) - of_x."""
    total, start = sum(map(len, slabs)), 0
    of_x = jnp.broadcast_to(jnp.float32(of_x), (total,))
    forward = []
    backward = jnp.full((len(y), 0), -jnp.inf), jnp.zeros((len(y), 0), jnp.int32)
    for slab in slabs:
        scores, transposed = _similarities(slab, y) if kept is None else kept
        forward.append(_best_rows(scores, of_y, min(k, len(y))))
        part = _best_rows(transposed, of_x[start : start + len(slab)], min(k, len(slab)))
        backward = _better(backward, part, start, min(k, total))
        start += len(slab)
        jax.block_until_ready(backward)  # or all slabs wait in memory at once
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *forward), backward


@jax.jit
def _similarities(x: Array, y: Array) -> tuple[Array, Array]:
    """[n, m] and [m, n]: selecting in columns would take longer than a second product."""
    scores = jnp.dot(x, y.T, precision=jax.lax.Precision.HIGHEST)
    return scores, scores.T


@functools.partial(jax.jit, static_argnames=("k",))
def _best_rows(scores: Array, penalty: Array, k: int) -> Best:
    return search.top_k(scores - penalty, k)


@functools.partial(jax.jit, static_argnames=("k",))
def _better(best: Best, more: Best, start: Array, k: int) -> Best:
    """The at most k best of those so far and of more, whose places count from `start`."""
    values = jnp.concatenate([best[0], more[0]], 1)
    places = jnp.concatenate([best[1], more[1] + start], 1)
    values, order = jax.lax.top_k(values, min(k, values.shape[1]))
    return values, jnp.take_along_axis(places, order, 1)


def _drawn(candidates: np.ndarray, keep: float, rng: np.random.Generator | None) -> np.ndarray:
    """One of each row, the n-th with a probability in proportion to (1 - keep)^n: int32 [N]."""
    count = candidates.shape[1]
    if keep >= 1 or count == 1:
        return candidates[:, 0]
    assert rng is not None
    # A geometric variable that is less than `count`, from a uniform one.
    least = (1 - keep) ** count
    uniform = 1 - (1 - least) * rng.random(len(candidates))
    rank = np.floor(np.log(uniform) / math.log1p(-keep)).astype(np.int64)
    return candidates[np.arange(len(candidates)), np.minimum(rank, count - 1)]
