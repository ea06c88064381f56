"""Whether the difference of two systems is more than chance: one test for all pages.

A figure varies with the seed and with the test items. Its interval has both parts: Student's t of the
seeds, which are few, and the spread of the items, which are many. Of one seed only the second part is known,
and what is found holds of these two trained models alone. Where seeds choose the data too, equal ones are pairs;
where they choose the start alone, each system has its own spread (Welch). It is not pooled over the systems:
some vary with the seed ten times as much as others, and equal ones of these would often differ.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.evaluate.agreement import Gain, Outcomes

LEVEL = 0.05
_SMALLEST_P = 1e-9


class Spread(NamedTuple):
    """How much a mean varies with the seeds: its standard error, and the degrees of freedom."""

    error: float
    freedom: float


class Observations(NamedTuple):
    """The figure of a system.

    Attributes:
      values: of each seed, float64 [S].
      influence: how much each item, by its number, moves the mean of the values from what it would be
        otherwise, float64 [N]; empty where the items' outcomes are not known.
      items: how many different items there are; a number below N may be that of none.
    """

    values: np.ndarray
    influence: np.ndarray
    items: int

    @property
    def value(self) -> float:
        return float(self.values.mean())


def sample(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> Observations:
    """The mean over the parts of a test (directions, languages) of accuracy or F1.

    Args:
      parts: of each the counts of the items, int [S, N, 3] (`text.labelled.scores`), and the items'
        numbers, int [N]: items of one number are no independent observations, in one part or several.
    """
    size = 1 + max(int(numbers.max(initial=0)) for _, numbers in parts)
    values = 0.0
    influence = np.zeros(size)
    for counts, numbers in parts:
        right = 2.0 * counts[..., 0]
        sizes = counts[..., 1:].sum(-1)
        total = np.maximum(sizes.sum(1, keepdims=True), 1)
        figures = right.sum(1, keepdims=True) / total
        values = values + figures[:, 0] / len(parts)
        shifts = ((right - figures * sizes) / total).mean(0) / len(parts)
        influence += np.bincount(numbers, shifts, size)
    items = len(np.unique(np.concatenate([numbers for _, numbers in parts])))
    return Observations(np.asarray(values), influence, items)


def sample_of_outcomes(parts: Sequence[Outcomes]) -> Observations:
    """As `sample`, of one seed, of which each item is right or wrong."""
    return sample([(x.counts, x.items) for x in parts])


def apart(first: Observations, second: Observations) -> Spread | None:
    """The spread of a gap over the seeds, where those of the two systems have nothing in common (Welch 1947).

    A system of one seed, such as one that is not trained, is a constant. None where both have one seed.
    """
    sides = [x.values for x in (first, second) if len(x.values) > 1]
    if not sides:
        return None
    errors = np.array([x.var(ddof=1) / len(x) for x in sides])  # squares of standard errors
    freedoms = np.array([len(x) - 1 for x in sides])
    total = errors.sum()
    freedom = total**2 / (errors**2 / freedoms).sum() if total else freedoms.sum()
    return Spread(math.sqrt(total), freedom)


def half_interval(
    values: Observations, level: float = LEVEL, spread: Spread | None = None
) -> float:
    """Half of the interval of a figure: the halves of the seeds and the items, as of independent sums.

    Args:
      spread: of the values over the seeds; None: that of these values alone.
    """
    from scipy import stats  # takes half a second, which a start need not wait for

    seeds = len(values.values)
    of_seeds = of_items = 0.0
    if seeds > 1 and spread is None:
        spread = Spread(values.values.std(ddof=1) / seeds**0.5, seeds - 1)
    if spread:
        of_seeds = stats.t.isf(level / 2, spread.freedom) * spread.error
    if np.count_nonzero(values.influence) > 1:
        error = np.sqrt((values.influence**2).sum())
        of_items = stats.t.isf(level / 2, values.items - 1) * error
    return math.hypot(of_seeds, of_items)


def compare(first: Observations, second: Observations, spread: Spread | None = None) -> Gain:
    """The difference of two figures, its interval, and the level at which the interval ends at 0.

    The seeds are pairs, in their order; a system of one seed is beside all of the other's.

    Args:
      first, second: of the same test items, where the influence of these is known.
      spread: of the gap over the seeds, whose figures are then no pairs; None: that of the pairs.
    """
    sides = [first.values, second.values]
    if (pairs := min(map(len, sides))) > 1:
        sides = [values[:pairs] for values in sides]
    gaps = sides[0] - sides[1]
    size = max(len(first.influence), len(second.influence))
    influence = _pad(first.influence, size) - _pad(second.influence, size)
    gap = Observations(gaps, influence, max(first.items, second.items))
    difference = float(np.round(first.value - second.value, 12))
    # As in McNemar's test: few items that differ are far from a normal distribution.
    step = float(np.abs(influence).max(initial=0.0))
    distance = max(abs(difference) - step, 0.0)
    half = half_interval(gap, spread=spread) + step
    return Gain(difference, difference - half, difference + half, _p(distance, gap, spread))


def _p(distance: float, gap: Observations, spread: Spread | None) -> float:
    """The level at which half of the interval is the distance."""
    from scipy import optimize

    if not distance:
        return 1.0
    if half_interval(gap, _SMALLEST_P, spread) <= distance:
        return _SMALLEST_P

    def excess(log_p: float) -> float:
        return half_interval(gap, math.exp(log_p), spread) - distance

    return math.exp(optimize.brentq(excess, math.log(_SMALLEST_P), 0.0))


def _pad(values: np.ndarray, size: int) -> np.ndarray:
    return np.pad(values, (0, size - len(values)))
