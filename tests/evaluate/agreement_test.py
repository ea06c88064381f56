"""Intervals over seeds, tests of two runs, confusions: against hand computations."""

import itertools

import numpy as np
import pytest

from clwe_jax.evaluate import agreement, significance


def test_interval_of_three_seeds():
    mean, low, high = agreement.mean_interval([0.5, 0.6, 0.7])
    half = 4.302653 * 0.1 / 3**0.5  # quantile of Student's t with two degrees of freedom
    assert (mean, low, high) == pytest.approx((0.6, 0.6 - half, 0.6 + half), abs=1e-6)
    assert agreement.mean_interval([0.4]) == (0.4, 0.4, 0.4)
    assert agreement.mean_interval([0.0, 1.0])[1:] == (0.0, 1.0)


def test_sign_test_is_that_of_enumeration():
    first, second = np.array([3, 2, 5, 4, 1, 9, 7]), np.array([1, 2, 3, 5, 0, 2, 3])
    found = agreement.sign_test(first, second)
    assert (found.more, found.less) == (5, 1)
    heads = [sum(x) for x in itertools.product((0, 1), repeat=6)]
    assert found.p == pytest.approx(sum(n <= 1 or n >= 5 for n in heads) / len(heads))
    assert agreement.sign_test(first, first).p == 1.0


def gain(ours, theirs):
    """The gain of one run's counts over another's."""
    rows = np.arange(ours.shape[1])
    return significance.compare(*(significance.sample([(x, rows)]) for x in (ours, theirs)))


def counts(right, words):
    """Counts of words: `right` [seeds, N] of `words` [N]."""
    return np.stack([right, *2 * [np.broadcast_to(words, right.shape)]], axis=-1)


@pytest.mark.parametrize("seeds, others", [([0] * 3, [0] * 5), ([0, 1, 2], [2, 1, 0])])
def test_equal_predictions_are_no_gain(seeds, others):
    """Means of float shares of 7 words differ by rounding, and the sign test counted that."""
    rng = np.random.default_rng(0)
    words = rng.integers(1, 12, 1_000)
    right = rng.binomial(words, 0.7, (3, 1_000))
    ours, theirs = counts(right[seeds], words), counts(right[others], words)
    assert agreement.fewer_errors(ours, theirs, np.arange(1_000)) == (0, 0, 1.0)
    found = gain(ours, theirs)
    assert (found.value, found.p) == (0.0, 1.0) and found.low == -found.high


def test_items_with_fewer_errors():
    ours = np.array([[[1, 1, 1], [0, 1, 0], [1, 2, 2]]])
    theirs = np.array([[[1, 1, 2], [0, 1, 1], [1, 2, 2]], [[1, 1, 1], [0, 1, 0], [2, 2, 2]]])
    assert agreement.fewer_errors(ours, theirs, np.arange(3))[:2] == (2, 1)
    assert agreement.fewer_errors(theirs, ours, np.arange(3))[:2] == (1, 2)
    assert agreement.fewer_errors(ours, theirs, np.array([0, 1, 0]))[:2] == (1, 1)


def test_the_figure_itself_is_tested():
    """A run that finds no name has more right words than one with wrong names, and F1 0."""
    rng = np.random.default_rng(0)
    wanted = rng.integers(0, 2, 300)
    right = rng.binomial(wanted, 0.2)
    ours = np.stack([right, wanted, right + 1], axis=-1)[None]
    theirs = np.stack([0 * right, wanted, 0 * right], axis=-1)[None]
    found = gain(ours, theirs)
    f1 = 2 * right.sum() / (wanted + right + 1).sum()
    assert found.value == pytest.approx(f1)
    assert found.low < f1 < found.high and found.p < 0.01
    sign = agreement.fewer_errors(ours, theirs, np.arange(300))  # a wrong name more a row
    assert sign.less > sign.more
    back = gain(theirs, ours)
    assert (back.value, back.p) == (-found.value, found.p)


def test_the_interval_of_a_gain_is_that_of_paired_rows():
    """For accuracies of one row each the spread is that of the paired difference."""
    rng = np.random.default_rng(1)
    ours, theirs = (counts(rng.binomial(1, p, (1, 900)), 1) for p in (0.6, 0.5))
    found = gain(ours, theirs)
    difference = (ours - theirs)[0, :, 0]
    half = 1.96 * difference.std() / 30
    assert found.value == pytest.approx(difference.mean())
    assert found.low == pytest.approx(difference.mean() - half, abs=0.01)
    assert found.high == pytest.approx(difference.mean() + half, abs=0.01)


def test_confusions():
    gold = [("B-PER", "I-PER", "O"), ("O", "B-LOC")]
    found = [("B-LOC", "O", "O"), ("B-LOC", "B-LOC")]
    expected = [[2, 0, 0], [0, 0, 1], [1, 0, 1]]  # rows B, I, O
    assert agreement.marks_confusion(gold, found).tolist() == expected
    counts = agreement.label_confusion(["a", "b", "b"], ["a", "a", "b"], ("a", "b"))
    assert counts.tolist() == [[1, 0], [1, 1]]
