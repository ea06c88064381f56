"""How sure a measured share is."""

from __future__ import annotations

import math


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
