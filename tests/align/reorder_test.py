"""Orders from costs: beam search against exhaustive search, and measures by hand."""

import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from clwe_jax.align import reorder

WIDE = 10_000  # a beam that keeps every partial order


@pytest.mark.parametrize("n", [0, 1, 2, 5, 7])
@pytest.mark.parametrize("pairs", [True, False])
def test_a_wide_beam_finds_the_cheapest_order(n, pairs):
    costs = np.random.default_rng(n).random((n, n))
    search = reorder.by_pairs if pairs else reorder.by_positions
    found = search(costs, WIDE)
    assert sorted(found) == list(range(n))
    best = reorder.exhaustive(costs, pairs)
    assert reorder.cost(costs, found, pairs) == pytest.approx(reorder.cost(costs, best, pairs))


def test_the_cheapest_positions_are_the_best_assignment():
    costs = np.random.default_rng(3).random((7, 7))
    words, places = scipy.optimize.linear_sum_assignment(costs)
    best = costs[words, places].sum()
    assert reorder.cost(costs, reorder.by_positions(costs, WIDE), False) == pytest.approx(best)


def test_a_wider_beam_costs_no_more_and_both_search_the_sum_of_all_pairs():
    r = np.random.default_rng(0)
    total = {1: 0.0, 10: 0.0}
    for costs in r.random((40, 6, 6)):
        for beam in total:
            total[beam] += reorder.cost(costs, reorder.by_pairs(costs, beam), True)
    assert total[10] < total[1]


def test_a_consistent_prediction_is_followed_by_a_beam_of_one():
    gold = np.array([3, 0, 2, 4, 1])
    before = np.argsort(gold)[:, None] < np.argsort(gold)[None]
    assert (reorder.by_pairs(1.0 - before, 1) == gold).all()
    places = 1.0 - np.eye(5)[np.argsort(gold)]
    assert (reorder.by_positions(places, 1) == gold).all()


def test_long_sentences_are_ordered():
    gold = np.random.default_rng(0).permutation(200)
    before = np.argsort(gold)[:, None] < np.argsort(gold)[None]
    assert (reorder.by_pairs(1.0 - before) == gold).all()
    assert (reorder.by_positions(1.0 - np.eye(200)[np.argsort(gold)]) == gold).all()


def test_the_diagonal_and_places_beyond_the_words_do_not_count():
    costs = np.random.default_rng(1).random((4, 4))
    marked = costs + np.diag([5.0, 0, 9, 0])
    for beam in (1, 10):
        assert (reorder.by_pairs(marked, beam) == reorder.by_pairs(costs, beam)).all()
    more = np.concatenate([costs, np.zeros((4, 3))], axis=1)
    assert (reorder.by_positions(more) == reorder.by_positions(costs)).all()


def test_kendalls_tau_is_scipys():
    for gold, found in itertools.product(itertools.permutations(range(4)), repeat=2):
        ranks = np.argsort(gold), np.argsort(found)
        expected = scipy.stats.kendalltau(*ranks).statistic
        assert reorder.kendall_tau(found, gold) == pytest.approx(expected)
    assert reorder.kendall_tau([0], [0]) == 1


def test_ngram_precision_counts_neighbours_in_order():
    found = reorder.figures([np.array([0, 1, 2, 4, 3])], [np.array([0, 1, 2, 3, 4])])
    # 01 12 of 01 12 24 43; 012 of 012 124 243; none of 0124 1243; one of ten pairs is reversed.
    assert found == pytest.approx({"bleu2": 2 / 4, "bleu3": 1 / 3, "bleu4": 0, "tau": 0.8})


def test_ngram_precision_is_over_all_orders_and_short_ones_have_none():
    gold = [np.arange(5), np.arange(1), np.arange(3)]
    found = [np.arange(5), np.arange(1), np.array([2, 1, 0])]
    assert reorder.figures(found, gold) == pytest.approx(
        {"bleu2": 4 / 6, "bleu3": 3 / 4, "bleu4": 1, "tau": 0.0}
    )
    assert reorder.figures([], []) == {"bleu2": 0, "bleu3": 0, "bleu4": 0, "tau": 0}


def test_too_many_words_are_refused():
    with pytest.raises(ValueError, match="8 words.* 7"):
        reorder.exhaustive(np.zeros((8, 8)), True)
