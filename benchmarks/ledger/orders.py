"""Figures over seeds, and whether the order of two systems is more than chance."""

from __future__ import annotations

import dataclasses
import fnmatch
import math
import statistics
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax.evaluate import agreement
from clwe_jax.runs import record

YES, NO, SAME = "yes", "no", "not significant"
ABSENT = "not in the ledger yet"

_LEVEL = 0.05  # of p

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure of a system.

    Attributes:
      value: the mean over the seeds.
      error: half of the 95% interval: over seeds where there are several, else over test items;
        None where neither is known.
      seeds: number of seeds.
    """

    value: float
    error: float | None
    seeds: int


def figure(rows: Sequence[Row], metric: str) -> Figure | None:
    """The figure of a system's rows, one a seed; None where no row has it.

    Args:
      rows: rows that differ in the seed.
      metric: a metric; a pattern with stars, which stands for the mean of all that fit it; or several with
        ' + ' between them, of which the sum of those that the row has counts.
    """
    known = [x for x in (_value_and_error(row, metric) for row in rows) if x is not None]
    if not known:
        return None
    values = [value for value, _ in known]
    if len(values) == 1:
        return Figure(*known[0], 1)
    return Figure(statistics.fmean(values), agreement.half_interval(values), len(values))


def _value_and_error(row: Row, metric: str) -> tuple[float, float | None] | None:
    """The value and half of its interval; of a pattern the mean.

    Test sets share sentences and words: the interval of a mean is that of the items, or where they are not
    known the mean of the intervals, which is too wide rather than too narrow.
    """
    figures = row["figures"]
    if len(summands := metric.split(" + ")) > 1:
        known = [x for x in (_value_and_error(row, name) for name in summands) if x is not None]
        return (sum(value for value, _ in known), None) if known else None
    names = [metric] if metric in figures else fnmatch.filter(figures, metric)
    if not names:
        return None
    values, errors = [], []
    for name in names:
        value = figures[name]
        values.append(value[0] if isinstance(value, list) else value)
        if isinstance(value, list):
            errors.append((value[2] - value[1]) / 2)
    error = statistics.fmean(errors) if len(errors) == len(names) else None
    tested = [x for x in (record.outcomes(row, name) for name in names) if x]
    if len(names) > 1 and len(tested) == len(names):
        error = agreement.half_interval_of_items(tested)
    return statistics.fmean(values), error


def verdict(better: Sequence[Row], worse: Sequence[Row], metric: str, other: str = "") -> str:
    """Whether the first system's figure is the higher one.

    With two common seeds or more, the differences by seed are tested (t, paired). With one seed, the
    test items are (sign test: of which sentence or word one system has more right, over all parts of a
    pattern) where rows keep them; else the intervals over test items, as of independent samples, which errs towards
    'not significant'.

    Args:
      better, worse: the systems' rows, one a seed.
      metric: the metric, as of `figure`.
      other: the metric of the second system; '': the same.

    Returns:
      'yes', 'no' (the order is reversed), 'not significant', or that a row is absent.
    """
    one, two = figure(better, metric), figure(worse, other or metric)
    if one is None or two is None:
        return ABSENT
    difference, error = one.value - two.value, None
    sides = [
        {row.get("seed", 0): _value_and_error(row, name) for row in rows}
        for rows, name in ((better, metric), (worse, other or metric))
    ]
    common = [seed for seed in sides[0] if sides[0][seed] and sides[1].get(seed)]
    if len(common) > 1:
        apart = [sides[0][seed][0] - sides[1][seed][0] for seed in common]
        difference = statistics.fmean(apart)
        error = agreement.half_interval(apart)
    elif common and (apart := _sign_test(better, worse, common[0], metric, other or metric)):
        return apart
    elif one.error is not None and two.error is not None:
        error = math.hypot(one.error, two.error)
    if error is None or abs(difference) <= error:
        return SAME
    return YES if difference > 0 else NO


def _sign_test(
    better: Sequence[Row], worse: Sequence[Row], seed: int, metric: str, other: str
) -> str:
    """The verdict of a sign test on the items of one seed; '' where their outcomes are not known."""
    sides = []
    chosen = [next(x for x in rows if x.get("seed", 0) == seed) for rows in (better, worse)]
    if chosen[0].get("data") != chosen[1].get("data"):
        return ""  # perhaps other test items
    for row, name in zip(chosen, (metric, other)):
        names = sorted(fnmatch.filter(row["figures"], name))
        outcomes = [record.outcomes(row, x) for x in names]
        if not names or None in outcomes:
            return ""
        sides.append((outcomes, np.concatenate([x.items for x in outcomes])))
    if not np.array_equal(sides[0][1], sides[1][1]):
        return ""
    ours, theirs = (
        np.bincount(items, np.concatenate([x.right for x in parts])).astype(np.int64)
        for parts, items in sides
    )
    tested = agreement.sign_test(ours, theirs)
    if tested.p >= _LEVEL:
        return SAME
    return YES if tested.more > tested.less else NO
