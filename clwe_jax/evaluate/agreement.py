"""Statistics of labels over several seeds: intervals, the sign test, confusions."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple, Sequence

import numpy as np
from scipy import stats

MARKS = ("B", "I", "O")


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean of figures in [0, 1] of several seeds, and its 95% interval by Student's t.

    The interval of one figure is the figure.
    """
    found = np.asarray(values, np.float64)
    mean = float(found.mean())
    if len(found) < 2:
        return mean, mean, mean
    half = stats.t.ppf(0.975, len(found) - 1) * found.std(ddof=1) / len(found) ** 0.5
    return mean, max(0.0, mean - half), min(1.0, mean + half)


def named_interval(path: str, values: Sequence[float]) -> dict[str, float]:
    """The mean under `path`; of several seeds also its interval, under `path` with _low and _high."""
    mean, low, high = mean_interval(values)
    if len(values) < 2:
        return {path: mean}
    return {path: mean, f"{path}_low": low, f"{path}_high": high}


class SignTest(NamedTuple):
    """A two-sided sign test of paired observations.

    Attributes:
      more, less: number of pairs in which the first or the second observation is larger.
      p: probability of a difference as large or larger if both were equally good.
    """

    more: int
    less: int
    p: float


def sign_test(first: np.ndarray, second: np.ndarray) -> SignTest:
    """The sign test of pairs of observations, [N] each; equal pairs do not count (C8)."""
    more, less = int((first > second).sum()), int((first < second).sum())
    p = stats.binomtest(more, more + less).pvalue if more + less else 1.0
    return SignTest(more, less, float(p))


def right_share(gold: Sequence[Any], predicted: Sequence[Any], words: bool) -> np.ndarray:
    """The share of right labels of each row, float32 [N]; 1 for a row without words.

    Args:
      gold, predicted: labels of each row.
      words: whether each word of a row has a label; else the labels of a row are right as a whole.
    """
    if not words:
        return np.array([a == b for a, b in zip(gold, predicted)], np.float32)
    return np.array(
        [np.mean([x == y for x, y in zip(a, b)] or 1) for a, b in zip(gold, predicted)], np.float32
    )


def marks_confusion(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> np.ndarray:
    """Counts of B, I and O in the gold tags (rows) against the predicted ones, int [3, 3] (C8, Fig. 5)."""
    pairs = collections.Counter(
        (x[:1], y[:1]) for a, b in zip(gold, predicted) for x, y in zip(a, b)
    )
    return np.array([[pairs[x, y] for y in MARKS] for x in MARKS])


def label_confusion(
    gold: Sequence[Any], predicted: Sequence[Any], labels: Sequence[str]
) -> np.ndarray:
    """Counts of labels (rows: gold) against the predicted ones, int [K, K].

    Args:
      gold, predicted: a label or a sequence of labels a row.
      labels: names in the order of the rows; other labels are left out.
    """
    index = {label: place for place, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for a, b in zip(gold, predicted):
        for x, y in [(a, b)] if isinstance(a, str) else zip(a, b):
            if x in index and y in index:
                counts[index[x], index[y]] += 1
    return counts
