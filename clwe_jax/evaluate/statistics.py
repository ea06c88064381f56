"""How sure a measured figure is."""

from __future__ import annotations

import math

import numpy as np


def wilson_interval(share: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927).

    For a mean of numbers in [0, 1] that are not only 0 and 1 it is wider than needed: no such
    numbers vary more than zeros and ones with their mean.

    Args:
      share: in [0, 1].
      count: of how many independent observations; at least 1.
      z: the quantile of the normal distribution.

    Returns:
      Lower and upper end, in [0, 1].
    """
    spread = z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    # At the ends of [0, 1] the bound is the share itself, but for rounding.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def bootstrap_interval(
    values: np.ndarray, rounds: int = 1_000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The percentile interval of a mean over resamplings of what it was taken over (Efron 1979).

    Args:
      values: [N], one an observation; N at least 1.
      rounds: resamplings, with replacement.
      seed: of the resampling.
      level: how often such an interval is to hold the truth.

    Returns:
      Lower and upper end.
    """
    values = np.asarray(values, np.float64)
    draw = np.random.default_rng(seed)
    # Few rounds at a time: rounds x N numbers of a large test set would fill the memory.
    at_once = max(1, 4_000_000 // len(values))
    means = np.empty(rounds)
    for first in range(0, rounds, at_once):
        part = means[first : first + at_once]
        part[:] = values[draw.integers(0, len(values), (len(part), len(values)))].mean(1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
