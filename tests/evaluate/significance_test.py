"""The one test of orders: coverage over seeds and items, signs, and few items."""

import numpy as np
import pytest
from scipy import stats

from clwe_jax.evaluate import agreement, significance
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.evaluate.significance import compare, sample, sample_of_outcomes


def draw(rng, seeds, items, of_seed=0.05):
    """Counts of a system whose share of right answers varies with the seed."""
    hardness = rng.random(items)
    shares = 0.5 + of_seed * rng.standard_normal(seeds)
    right = rng.random((seeds, items)) < shares[:, None] + 0.5 * (hardness - 0.5)
    ones = np.ones_like(right)
    return np.stack([right, ones, ones], -1).astype(int), np.arange(items)


@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("of_seed", [0.05, 0.003])
def test_equal_systems_are_seldom_called_different(seeds, of_seed):
    rng, trials, wrong, outside = np.random.default_rng(seeds), 200, 0, 0
    for _ in range(trials):
        two = [sample([draw(rng, seeds, 400, of_seed)]) for _ in range(2)]
        wrong += not (gain := compare(*two)).low <= 0 <= gain.high
        outside += abs(two[0].value - 0.5) > significance.half_interval(two[0])
    assert wrong / trials < 0.075 and outside / trials < 0.085


def seeds(values):
    """A figure of which no item is known."""
    return significance.Observations(np.asarray(values), np.zeros(0), 0)


def test_systems_apart_are_compared_as_by_welch():
    rng = np.random.default_rng(0)
    for one, other in ((3, 3), (2, 5)):
        sides = [seeds(rng.normal(size=n) * k + k) for n, k in ((one, 1), (other, 4))]
        gain = compare(*sides, significance.apart(*sides))
        expected = stats.ttest_ind(*(x.values for x in sides), equal_var=False)
        assert gain.p == pytest.approx(expected.pvalue, rel=1e-3)
        assert (gain.low, gain.high) == pytest.approx(tuple(expected.confidence_interval()))
    constant = seeds([0.5])
    gain = compare(sides[1], constant, significance.apart(sides[1], constant))
    assert gain.p == pytest.approx(stats.ttest_1samp(sides[1].values, 0.5).pvalue, rel=1e-3)
    assert significance.apart(constant, constant) is None


@pytest.mark.parametrize("times", [1, 4])
def test_equal_systems_that_vary_more_or_less_than_others_are_seldom_called_different(times):
    """A spread that is pooled over ten systems tells equal ones with four times of it apart in one of three trials."""
    rng, wrong, trials = np.random.default_rng(0), 0, 400
    for _ in range(trials):
        two = [seeds(k * rng.normal(size=3)) for k in (1, times)]
        wrong += not (gain := compare(*two, significance.apart(*two))).low <= 0 <= gain.high
    assert wrong / trials < 0.075


@pytest.mark.parametrize("count", [20, 400])
def test_a_figure_s_items_and_the_value_are_those_of_accuracy(count):
    right = np.arange(count) < count // 4
    numbers = agreement.number_texts(f"sentence {x}" for x in range(count))
    assert len(set(numbers.tolist())) == count < numbers.max()
    found = sample_of_outcomes([Outcomes(right, numbers)])
    assert found.value == pytest.approx(0.25)
    expected = stats.t.ppf(0.975, count - 1) * (0.25 * 0.75 / count) ** 0.5
    assert significance.half_interval(found) == pytest.approx(expected)
    nothing = sample_of_outcomes([Outcomes(np.zeros(count, bool), numbers)])
    gain = compare(found, nothing)
    assert gain.high - gain.value == pytest.approx(expected + 0.75 / count)


def test_a_figure_of_counts_is_f1():
    # F1: right 1 of 2 gold and 1 predicted, and 1 of 1 and 2.
    counts = np.array([[[1, 2, 1], [1, 1, 2]]])
    assert sample([(counts, np.arange(2))]).value == pytest.approx(4 / 6)


def test_the_sign_is_that_of_the_figures_and_not_of_the_items():
    """Of the large part the first system has more right, but of the mean of both parts less."""
    large, small = np.arange(600), 600 + np.arange(60)
    first = [Outcomes(large < 40, large), Outcomes(small < 0, small)]
    second = [Outcomes(large < 0, large), Outcomes(small < 616, small)]
    gain = compare(sample_of_outcomes(first), sample_of_outcomes(second))
    assert gain.value == pytest.approx((40 / 600 - 16 / 60) / 2) and gain.high < 0
    assert gain.p < 0.05


@pytest.mark.parametrize("wins, losses", [(4, 0), (7, 0), (9, 1), (20, 4), (153, 95)])
def test_few_items_are_no_surer_than_a_sign_test(wins, losses):
    items = np.arange(1_000)
    ours, theirs = items < wins, (items >= wins) & (items < wins + losses)
    two = [sample_of_outcomes([Outcomes(x, items)]) for x in (ours, theirs)]
    exact = stats.binomtest(wins, wins + losses).pvalue
    p = compare(*two).p
    assert 0.85 * exact < p < 2.5 * exact + 0.01
    assert (p < 0.05) == (exact < 0.05)


def test_p_is_the_level_at_which_the_interval_ends_at_zero():
    rng = np.random.default_rng(3)
    two = [sample([draw(rng, 5, 300)]) for _ in range(2)]
    gain = compare(*two)
    apart, influence = two[0].values - two[1].values, two[0].influence - two[1].influence
    step = np.abs(influence).max()
    gap = significance.Observations(apart, influence, 300)
    half = significance.half_interval(gap, gain.p)
    assert abs(gain.value) == pytest.approx(half + step, rel=1e-6)
    again = compare(two[1], two[0])
    assert again.p == pytest.approx(gain.p) and again.value == -gain.value


def test_equal_systems_and_repeated_seeds():
    items = np.arange(50)
    one = sample_of_outcomes([Outcomes(items < 20, items)])
    assert compare(one, one) == (0.0, 0.0, 0.0, 1.0)
    # Four parts of the same items are one observation.
    four = sample_of_outcomes([Outcomes(items < 20, items)] * 4)
    assert significance.half_interval(four) == pytest.approx(significance.half_interval(one))
