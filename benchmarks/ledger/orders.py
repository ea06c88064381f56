"""Figures over seeds, and whether the order of two systems is more than chance."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import statistics
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from benchmarks.ledger.rows import value_and_error
from clwe_jax.evaluate import agreement, significance
from clwe_jax.evaluate.agreement import Gain
from clwe_jax.evaluate.significance import Observations
from clwe_jax.runs import record

YES, NO, SAME = "yes", "no", "not significant"
_ONE_SEED = " (one seed)"  # of a verdict that another seed may turn
ABSENT = "not in the ledger yet"

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
      rows: rows that differ in the seed, or one of several seeds.
      metric: a metric; a pattern with stars, which stands for the mean of all that fit it; or several with
        ' + ' between them, of which the sum of those that the row has counts.
    """
    known = [(row, found) for row in rows if (found := _mean_and_error(row, metric))]
    if not known:
        return None
    values = [value for _, (value, _) in known]
    if len(values) == 1:
        [(row, found)] = known
        return Figure(*found, count_seeds([row], metric))
    return Figure(statistics.fmean(values), agreement.half_interval(values), len(values))


def count_seeds(rows: Iterable[Row], metric: str) -> int:
    """The number of seeds of a metric's rows: one each, and of a system in a comparison those that it has."""
    seeds = "/".join([*metric.split("/")[:2], "seeds"])  # of compare/SYSTEM/FIGURE
    return round(sum(row["figures"].get(seeds, 1) for row in rows))


def _mean_and_error(row: Row, metric: str) -> tuple[float, float | None] | None:
    """The value and half of its interval; of a pattern the mean.

    Test sets share sentences and words: the interval of a mean is that of the items, or where they are not
    known the mean of the intervals, which is too wide rather than too narrow.
    """
    figures = row["figures"]
    if len(summands := metric.split(" + ")) > 1:
        known = [x for x in (_mean_and_error(row, name) for name in summands) if x is not None]
        return (sum(value for value, _ in known), None) if known else None
    names = matching(metric, figures)
    if not names:
        return None
    values, errors = zip(*(value_and_error(figures[name]) for name in names))
    error = None if None in errors else statistics.fmean(errors)
    tested = [x for x in (record.outcomes(row, name) for name in names) if x]
    if len(names) > 1 and len(tested) == len(names):
        error = significance.half_interval(significance.sample_of_outcomes(tested))
    return statistics.fmean(values), error


def matching(metric: str, figures: Iterable[str]) -> list[str]:
    """The figures that a metric names, sorted; a star stands for a part of a path between slashes.

    `retrieval/*-*/mean` is of all pairs, and not of `retrieval/sif/de-en/mean`.
    """
    pattern = _pattern(metric)
    return sorted(name for name in figures if pattern.fullmatch(name))


@functools.cache
def _pattern(metric: str) -> re.Pattern[str]:
    return re.compile("[^/]*".join(map(re.escape, metric.split("*"))))


def verdict(better: Sequence[Row], worse: Sequence[Row], metric: str, other: str = "") -> str:
    """Whether the first system's figure is the higher one (`evaluate.significance`).

    Common seeds are pairs, and so are test items where the rows keep their outcomes. Without either the
    intervals over test items decide, as of independent samples, which errs towards 'not significant'.

    Args:
      better, worse: the systems' rows, one a seed.
      metric: the metric, as of `figure`.
      other: the metric of the second system; '': the same.

    Returns:
      'yes', 'no' (the order is reversed), each with '(one seed)' where it rests on one; 'not significant';
      or that a row is absent.
    """
    one, two = figure(better, metric), figure(worse, other or metric)
    if one is None or two is None:
        return ABSENT
    metrics = metric, other or metric
    sides = [
        {row.get("seed", 0): row for row in rows if _mean_and_error(row, name)}
        for rows, name in zip((better, worse), metrics)
    ]
    seeds = sorted(sides[0].keys() & sides[1].keys())
    pairs = [(sides[0][seed], sides[1][seed]) for seed in seeds]
    tested = bool(pairs) and _compare(pairs, metric, other or metric)
    if tested:
        difference, significant = tested.value, tested.p < significance.LEVEL
    else:
        difference, errors = one.value - two.value, (one.error, two.error)
        significant = None not in errors and abs(difference) > math.hypot(*errors)
    if not significant:
        return SAME
    counts = [count_seeds(rows.values(), name) for rows, name in zip(sides, metrics)]
    alone = min(counts) < 2 or bool(tested) and len(seeds) < 2
    return (YES if difference > 0 else NO) + _ONE_SEED * alone


def _compare(pairs: Sequence[tuple[Row, Row]], metric: str, other: str) -> Gain | None:
    """The test of rows of the same seeds; None of one seed whose items are not known."""
    samples = []
    for rows, name in zip(zip(*pairs), (metric, other)):
        values = [_mean_and_error(row, name)[0] for row in rows]
        samples.append(Observations(np.array(values), np.zeros(0), 0))
    items = [_items(pair, metric, other) for pair in pairs]
    if all(items):
        for place in range(2):
            every = [pair[place].influence for pair in items]
            size = max(map(len, every))
            mean = np.mean([np.pad(x, (0, size - len(x))) for x in every], 0)
            count = max(pair[place].items for pair in items)
            samples[place] = samples[place]._replace(influence=mean, items=count)
    elif len(pairs) < 2:
        return None
    return significance.compare(*samples)


def _items(
    pair: tuple[Row, Row], metric: str, other: str
) -> tuple[Observations, Observations] | None:
    """Both rows' outcomes of the same test items; None where they are not known."""
    if pair[0].get("data") != pair[1].get("data"):
        return None  # perhaps other test items
    parts = []
    for row, name in zip(pair, (metric, other)):
        outcomes = [record.outcomes(row, x) for x in matching(name, row["figures"])]
        if not outcomes or None in outcomes:
            return None
        parts.append(outcomes)
    if not np.array_equal(*(np.concatenate([x.items for x in some]) for some in parts)):
        return None
    return tuple(map(significance.sample_of_outcomes, parts))
