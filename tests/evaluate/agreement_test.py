"""Intervals over seeds, the sign test, confusions: against hand computations."""

import itertools

import numpy as np
import pytest

from clwe_jax.evaluate import agreement


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


def test_shares_of_right_labels():
    found = agreement.right_share([("A", "B"), (), ("A",)], [("A", "A"), (), ("A",)], True)
    assert found.tolist() == [0.5, 1.0, 1.0]
    assert agreement.right_share(["x", "y"], ["x", "x"], False).tolist() == [1.0, 0.0]
    assert agreement.right_share([("A",), ()], [(), ()], False).tolist() == [0.0, 1.0]


def test_confusions():
    gold = [("B-PER", "I-PER", "O"), ("O", "B-LOC")]
    found = [("B-LOC", "O", "O"), ("B-LOC", "B-LOC")]
    expected = [[2, 0, 0], [0, 0, 1], [1, 0, 1]]  # rows B, I, O
    assert agreement.marks_confusion(gold, found).tolist() == expected
    counts = agreement.label_confusion(["a", "b", "b"], ["a", "a", "b"], ("a", "b"))
    assert counts.tolist() == [[1, 0], [1, 1]]
