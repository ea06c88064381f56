"""Dictionaries of VecMap's self-learning: induced at random from both directions at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clwe_jax.align import csls
from clwe_jax.types import Array

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

    Returns:
      The pairs of both directions, one after the other (mutual ones are there twice), and the
      objective.
    """
    x, y = np.asarray(csls.unit(x)), np.asarray(csls.unit(y))
    forward = np.asarray(csls.nearest(x, y, min(neighbourhood, len(y)), "cosine")[1])
    backward = np.asarray(csls.nearest(y, x, min(neighbourhood, len(x)), "cosine")[1])
    of_x = _drawn(_candidates(x, y, backward.mean(1), keep), keep, rng)
    of_y = _drawn(_candidates(y, x, forward.mean(1), keep), keep, rng)
    pairs = np.concatenate(
        [
            np.stack([np.arange(len(x), dtype=np.int32), of_x], 1),
            np.stack([of_y, np.arange(len(y), dtype=np.int32)], 1),
        ]
    )
    sides = (side[:, 0].mean(dtype=np.float64) for side in (forward, backward))
    return Induced(pairs, float(sum(sides) / 2))


def _candidates(queries: np.ndarray, keys: np.ndarray, hubness: np.ndarray, keep: float):
    """The best keys of each query by CSLS, as many as may be drawn: int32 [N, k].

    The mean similarities of both sides are known already, so CSLS is asked for as a cosine: with
    q' = (q, -1, 0) and k' = (k, r/2, sqrt(c^2 - r^2/4)) all keys are of one length, and
    q' k' = q k - r/2 ranks as 2 q k - r does.
    """
    count = 1 if keep >= 1 else math.ceil(math.log(_TAIL) / math.log1p(-keep))
    half = hubness / 2
    rest = np.sqrt(np.maximum(np.square(half).max() - np.square(half), 0))
    ones = np.ones((len(queries), 1), np.float32)
    queries = np.concatenate([queries, -ones, 0 * ones], 1)
    keys = np.concatenate([keys, half[:, None], rest[:, None]], 1)
    return np.asarray(csls.nearest(queries, keys, min(count, len(keys)), "cosine")[0])


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
