"""95% intervals of measured figures."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

_AT_ONCE = 4_000_000  # numbers of the resamplings that are held in memory


def wilson_interval(share: float, count: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927).

    The share may be a mean of any numbers in [0, 1], for which the interval is wider than needed:
    no such numbers vary more than zeros and ones with their mean. (`scipy.stats` takes counts.)

    Args:
      share: in [0, 1].
      count: number of independent observations; at least 1.
      z: quantile of the normal distribution.

    Returns:
      Lower and upper end, in [0, 1].
    """
    spread = z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / count + spread / (4 * count)) / (1 + spread)
    # At the ends of [0, 1] the bound is the share itself, which rounding may miss.
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def bootstrap_interval(
    values: np.ndarray, rounds: int = 1_000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The percentile interval of a mean over resamplings of its observations (Efron 1979).

    Args:
      values: [N], one an observation; N at least 1.
      rounds: resamplings, with replacement.
      seed: of the resampling.
      level: how often such an interval holds the true mean.

    Returns:
      Lower and upper end.
    """
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
