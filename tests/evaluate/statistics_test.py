"""The intervals against their definitions."""

import numpy as np
import pytest
from scipy import stats

from clwe_jax.evaluate.statistics import bootstrap_interval, wilson_interval


@pytest.mark.parametrize("share, count", [(0.0, 20), (0.3, 10), (0.5, 1000), (1.0, 7)])
def test_its_ends_are_the_shares_that_are_just_not_rejected(share, count):
    # Wilson: the p with |share - p| = z sqrt(p (1 - p) / n).
    ends = wilson_interval(share, count)
    for end in ends:
        z = abs(share - end) / np.sqrt(end * (1 - end) / count) if 0 < end < 1 else None
        assert z is None and end == share or z == pytest.approx(1.959964, rel=1e-6)
    assert 0 <= ends[0] <= share <= ends[1] <= 1 and ends[0] < ends[1]


def test_it_covers_the_truth_as_often_as_it_claims():
    r = np.random.RandomState(0)
    held = [
        low <= 0.2 <= high
        for low, high in (wilson_interval(r.binomial(50, 0.2) / 50, 50) for _ in range(2000))
    ]
    assert 0.92 < np.mean(held) < 0.98


def test_the_bootstrap_is_as_wide_as_theory_says():
    r = np.random.RandomState(0)
    values = r.exponential(size=400)
    low, high = bootstrap_interval(values, rounds=4_000, seed=3)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.15 * half)
    assert bootstrap_interval(values, rounds=4_000, seed=3) == (low, high)
    narrow = bootstrap_interval(values, rounds=4_000, seed=3, level=0.5)
    assert low < narrow[0] < narrow[1] < high


def test_the_bootstrap_of_many_observations_works_in_parts():
    values = np.ones(3_000_000, np.float32)
    assert bootstrap_interval(values, rounds=3) == (1.0, 1.0)


@pytest.mark.parametrize("right, count", [(0, 20), (3, 10), (617, 1000), (7, 7)])
def test_scipys_interval_of_a_whole_number_of_successes_is_the_same(right, count):
    theirs = stats.binomtest(right, count).proportion_ci(0.95, "wilson")
    ours = wilson_interval(right / count, count)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-8)


def test_scipys_bootstrap_is_the_same():
    values = np.random.RandomState(0).rand(300) < 0.4
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=1_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert bootstrap_interval(values, seed=5) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
