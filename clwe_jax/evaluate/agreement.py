"""Statistics of test items and of several seeds: intervals, tests of two runs, confusions."""

from __future__ import annotations

import collections
import itertools
from typing import Any, Iterable, NamedTuple, Sequence
import zlib

import numpy as np

MARKS = ("B", "I", "O")


class Outcomes(NamedTuple):
    """The result of each item of a test set.

    Attributes:
      right: whether it is right, bool [N].
      items: numbers, uint16 [N]: items of one number, also of two test sets, share a sentence or a word,
        and are no independent observations. A few numbers stand for two; then the test is a little
        less sure than it could be.
      keys: of the items' texts, uint32 [N] (`key_texts`); None: equal in two runs are all of them or none.
    """

    right: np.ndarray
    items: np.ndarray
    keys: np.ndarray | None = None

    @property
    def counts(self) -> np.ndarray:
        """Of right, gold and predicted labels of one run, int [1, N, 3]: an item has one of each."""
        ones = np.ones(len(self.right), np.int32)
        return np.stack([self.right.astype(np.int32), ones, ones], -1)[None]


def number_texts(texts: Iterable[str]) -> np.ndarray:
    """A number of each text, for `Outcomes.items`, uint16 [N]."""
    # CRC32, because Python's own hash of a string differs from process to process.
    return np.array([zlib.crc32(x.casefold().encode()) & 0xFFFF for x in texts], np.uint16)


def key_texts(texts: Iterable[str]) -> np.ndarray:
    """A key of each test item, uint32 [N]: of its text, and of how many equal ones stand before it."""
    before: collections.Counter[str] = collections.Counter()
    keys = []
    for text in texts:
        keys.append(zlib.crc32(f"{before[text]} {text}".encode()))
        before[text] += 1
    return np.array(keys, np.uint32)


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95% interval of the mean of several values, by Student's t."""
    from scipy import stats  # takes half a second, which a start need not wait for

    array = np.asarray(values, np.float64)
    quantile = stats.t.ppf(0.975, len(array) - 1)
    return float(quantile * array.std(ddof=1) / len(array) ** 0.5)


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean of figures in [0, 1] of several seeds, and its 95% interval by Student's t.

    The interval of one figure is the figure.
    """
    array = np.asarray(values, np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return mean, mean, mean
    half = half_interval(array)
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
    """The sign test of pairs of observations, whole numbers [N] each; equal pairs do not count (C8)."""
    from scipy import stats  # as above

    more = int((first > second).sum())
    less = int((first < second).sum())
    p = stats.binomtest(more, more + less).pvalue if more + less else 1.0
    return SignTest(more, less, float(p))


def fewer_errors(first: np.ndarray, second: np.ndarray, items: np.ndarray) -> SignTest:
    """The sign test of the errors of each item: what was missed, and what was found wrongly.

    Args:
      first, second: counts of two runs, int [seeds, N, 3]: right, gold and predicted. The runs may
        have different numbers of seeds.
      items: the items' numbers, int [N]: rows of one number are one observation.

    Returns:
      `more` is the number of items in which the first run has fewer errors.
    """
    ours, theirs = ((x[..., 1:].sum(-1) - 2 * x[..., 0]).sum(0) for x in (first, second))
    # Both means times both numbers of seeds: whole numbers, so that equal means are equal.
    ours = np.bincount(items, ours * len(second))
    theirs = np.bincount(items, theirs * len(first))
    return sign_test(theirs, ours)


class Gain(NamedTuple):
    """A difference of two runs' figures.

    Attributes:
      value: the first run's figure less the second run's.
      low, high: the 95% interval.
      p: two-sided probability of a difference as large or larger if both were equally good.
    """

    value: float
    low: float
    high: float
    p: float


def figure(counts: np.ndarray) -> float:
    """F1 or accuracy, the mean of the seeds' counts, int [seeds, N, 3]."""
    sums = counts.astype(np.float64).sum(1)
    return float(np.mean(2 * sums[:, 0] / np.maximum(sums[:, 1:].sum(-1), 1)))


def marks_confusion(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> np.ndarray:
    """Counts of B, I and O in the gold tags (rows) against the predicted ones, int [3, 3] (C8, Fig. 5)."""
    tags = itertools.chain.from_iterable(map(zip, gold, predicted))
    pairs = collections.Counter((x[:1], y[:1]) for x, y in tags)
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
