"""95% intervals of measured figures."""

from __future__ import annotations

import math

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
