"""95% intervals of measured figures."""

from __future__ import annotations

import math

import numpy as np

_AT_ONCE = 4_000_000  # resampled observations in memory at once
_QUANTILE = 1.959964  # 97.5% quantile of the normal distribution


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927).

    The share may be the mean of any numbers in [0, 1]. Their variance is at most that of zeros and
    ones with the same mean, so the interval is wide enough. (`scipy.stats` accepts only counts.)

    Args:
      share: share or mean, in [0, 1].
      count: number of independent observations, at least 1.

    Returns:
      Lower and upper end, in [0, 1].
    """
    z = _QUANTILE
    spread = z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    # At the ends of [0, 1] the bound equals the share, except for rounding.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def bootstrap_interval(
    values: np.ndarray, rounds: int = 1_000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The percentile bootstrap interval of a mean (Efron 1979).

    Args:
      values: observations, [N], at least one.
      rounds: number of resamplings, with replacement.
      seed: seed of the resamplings.
      level: confidence level.

    Returns:
      Lower and upper end.
    """
    from scipy import stats  # takes half a second, which a start need not wait for

    values = np.asarray(values, np.float64)
    if len(values) == 1:
        return float(values[0]), float(values[0])
    means = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=rounds,
        batch=max(1, _AT_ONCE // len(values)),
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).bootstrap_distribution
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
