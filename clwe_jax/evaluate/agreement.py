"""Statistics of test items and of several seeds: intervals, tests of two runs, confusions."""

from __future__ import annotations

import collections
from typing import Any, Iterable, NamedTuple, Sequence
import zlib

import numpy as np

MARKS = ("B", "I", "O")
_AT_ONCE = 100  # samples drawn at once


class Outcomes(NamedTuple):
    """The result of each item of a test set.

    Attributes:
      right: whether it is right, bool [N].
      items: numbers, uint16 [N]: items of one number, also of two test sets, share a sentence or a word,
        and are no independent observations. A few numbers stand for two; then the test is a little
        less sure than it could be.
    """

    right: np.ndarray
    items: np.ndarray


def numbered(texts: Iterable[str]) -> np.ndarray:
    """A number of each text, for `Outcomes.items`, uint16 [N]."""
    # CRC32, because Python's own hash of a string differs from process to process.
    return np.array([zlib.crc32(x.casefold().encode()) & 0xFFFF for x in texts], np.uint16)


def half_interval(values: Sequence[float]) -> float:
    """Half of the 95% interval of the mean of several values, by Student's t."""
    from scipy import stats  # takes half a second, which a start need not wait for

    array = np.asarray(values, np.float64)
    quantile = stats.t.ppf(0.975, len(array) - 1)
    return float(quantile * array.std(ddof=1) / len(array) ** 0.5)


def half_interval_of_items(parts: Sequence[Outcomes]) -> float:
    """Half of the 95% interval of the mean of several test sets' shares of right items.

    Items of one number are one observation (the variance of a cluster-robust mean).
    """
    from scipy import stats  # as above

    influence = np.zeros(int(max(x.items.max(initial=0) for x in parts)) + 1)
    for right, items in parts:
        # The influence of each item on the mean; those of one number are added before the squares.
        apart = (right - right.mean()) / (len(right) * len(parts))
        influence += np.bincount(items, apart, len(influence))
    return float(stats.norm.ppf(0.975) * np.sqrt((influence**2).sum()))


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
    """The sign test of pairs of observations, integers [N] each; equal pairs do not count (C8)."""
    from scipy import stats  # as above

    more, less = int((first > second).sum()), int((first < second).sum())
    p = stats.binomtest(more, more + less).pvalue if more + less else 1.0
    return SignTest(more, less, float(p))


def fewer_errors(first: np.ndarray, second: np.ndarray) -> SignTest:
    """The sign test of the errors of each row: what was missed, and what was found wrongly.

    Args:
      first, second: counts of two runs, int [seeds, N, 3]; see `text.labelled.scores`. The runs may
        have different numbers of seeds.

    Returns:
      `more` is the number of rows in which the first run has fewer errors.
    """
    # Counts are right, gold, predicted; errors are gold + predicted - 2 right: [seeds, N].
    errors = [counts[..., 1:].sum(-1) - 2 * counts[..., 0] for counts in (first, second)]
    # Both means times both numbers of seeds: integers, so that equal means are equal.
    return sign_test(errors[1].sum(0) * len(first), errors[0].sum(0) * len(second))


class Gain(NamedTuple):
    """A difference of two runs' figures.

    Attributes:
      value: the first run's figure less the second run's.
      low, high: the 95% interval over samples of test rows.
      p: two-sided probability of a difference on this side of 0 or the other.
    """

    value: float
    low: float
    high: float
    p: float


def drawn(items: int, rng: np.random.Generator, samples: int) -> np.ndarray:
    """How often each test item is in each sample, drawn with replacement, uint16 [samples, items]."""
    draws = []
    for start in range(0, samples, _AT_ONCE):
        some = rng.integers(items, size=(min(_AT_ONCE, samples - start), items))
        draws += [np.bincount(x, minlength=items).astype(np.uint16) for x in some]
    return np.stack(draws)


def resampled(counts: np.ndarray, draws: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
    """F1 or accuracy in samples of the test rows, float64 [samples]; a run's figure is its seeds' mean.

    With the same draws the difference of two results is a sample of the paired difference.

    Args:
      counts: of a run, int [seeds, N, 3]; see `text.labelled.scores`.
      draws: how often each row is in each sample, int [samples, N]; see `drawn`.
      seeds: weight of each seed in each sample, [samples, seeds], of sum 1; None: equal weights.
    """
    values, parts = counts.astype(np.float64), []
    for start in range(0, len(draws), _AT_ONCE):
        weights = draws[start : start + _AT_ONCE].astype(np.float64)
        shares = _shares(values, weights)
        part = None if seeds is None else seeds[start : start + len(weights)]
        parts.append(shares.mean(-1) if part is None else (shares * part).sum(-1))
    return np.concatenate(parts)


def figure(counts: np.ndarray) -> float:
    """F1 or accuracy, the mean of the seeds'; see `resampled`."""
    return float(_shares(counts.astype(np.float64), np.ones((1, counts.shape[1]))).mean())


def _shares(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The figure of each seed in each sample, [samples, seeds]."""
    # Without `optimize` einsum is no matrix product but a slow loop.
    sums = np.einsum("bn,snk->bsk", weights, values, optimize=True)
    return 2 * sums[..., 0] / np.maximum(sums[..., 1:].sum(-1), 1)


def gain(value: float, samples: np.ndarray) -> Gain:
    """The gain of a difference and its samples."""
    samples = np.round(samples, 12)  # means of three and of five equal figures differ by rounding
    tail = min((samples <= 0).sum(), (samples >= 0).sum())
    low, high = np.quantile(samples, [0.025, 0.975])
    # The figure itself counts as one more sample, so that p is never 0.
    p = min(1.0, 2 * (tail + 1) / (len(samples) + 1))
    return Gain(float(np.round(value, 12)), float(low), float(high), float(p))


def bootstrap(first: np.ndarray, second: np.ndarray, seed: int = 0, samples: int = 2_000) -> Gain:
    """The paired bootstrap of a gain in F1 or accuracy over test rows (Berg-Kirkpatrick et al. 2012).

    Every sample draws rows with replacement, the same ones for both runs; the figure of a run is the
    mean of its seeds'.

    Args:
      first, second: see `fewer_errors`.
      seed: seed of the draws.
      samples: number of samples.
    """
    draws = drawn(first.shape[1], np.random.default_rng([seed, 11]), samples)
    ours, theirs = (resampled(counts, draws) for counts in (first, second))
    return gain(figure(first) - figure(second), ours - theirs)


def marks_confusion(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> np.ndarray:
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
