"""Confidence intervals of measured figures."""

from __future__ import annotations

import math

import numpy as np


def wilson_interval(share: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95% score interval of a proportion (Wilson 1927).

    The share may be a mean of several proportions of the same observations, such as accuracies of
    several layers; scipy.stats.binomtest takes whole numbers of successes alone. For such a mean
    the interval is conservative: numbers in [0, 1] vary at most as zeros and ones of their mean do.

    Args:
      share: the proportion, in [0, 1].
      count: independent observations; at least 1.
      z: quantile of the normal distribution.

    Returns:
      Lower and upper end, in [0, 1].
    """
    spread = z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    # At 0 and 1 an end equals the share, except for rounding.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def bootstrap_interval(
    values: np.ndarray, rounds: int = 1_000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The percentile bootstrap interval of a mean (Efron 1979).

    scipy.stats.bootstrap draws the same samples at the same speed, but refuses a single observation
    and rounds the percentiles differently.

    Args:
      values: [N], one per observation; N at least 1.
      rounds: samples of N values, drawn with replacement.
      seed: seed of the draws.
      level: coverage of the interval.

    Returns:
      Lower and upper end.
    """
    values = np.asarray(values, np.float64)
    draw = np.random.default_rng(seed)
    # rounds x N numbers of a large test set at once would fill the memory.
    at_once = max(1, 4_000_000 // len(values))
    means = np.empty(rounds)
    for first in range(0, rounds, at_once):
        part = means[first : first + at_once]
        part[:] = values[draw.integers(0, len(values), (len(part), len(values)))].mean(1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
