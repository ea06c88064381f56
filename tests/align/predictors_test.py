"""Predictors: a learnable rule, weights of noisy labels by hand, features of pairs and places."""

import itertools

import numpy as np
import pytest

from clwe_jax.align import predictors, reorder
from clwe_jax.align.predictors import Classifier

QUICK = Classifier(hidden=16, steps=150, batch_size=64, learning_rate=1e-2, dropout=0.0)


def rows(seed, count=600):
    x = np.random.default_rng(seed).normal(size=(count, 6)).astype("f4")
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


def test_a_rule_that_is_not_linear_is_learned():
    found = QUICK.fit(*rows(0))
    x, labels = rows(1)
    p = found.probabilities(x)
    assert p.shape == (600, 2) and np.allclose(p.sum(1), 1, atol=1e-5)
    assert (p.argmax(1) == labels).mean() > 0.9
    assert found.probabilities(x[:0]).shape == (0, 2)


def test_probabilities_are_a_softmax_of_one_hidden_layer():
    found = QUICK.fit(*rows(0))
    x, w = rows(2, 3)[0], found.params
    hidden = np.maximum(x @ w["inner"] + w["inner_bias"], 0)
    scores = np.exp(hidden @ w["outer"] + w["outer_bias"])
    expected = scores / scores.sum(1, keepdims=True)
    assert np.allclose(found.probabilities(x), expected, atol=1e-5)


def test_rows_of_weight_0_do_not_count():
    x, labels = rows(0)
    broken = np.where(np.arange(600) < 300, labels, 1 - labels)
    found = QUICK.fit(x, broken, weights=np.arange(600) < 300)
    assert (found.probabilities(x).argmax(1) == labels).mean() > 0.9


def test_confident_weights_are_liu_and_taos():
    p, labels = np.array([0.1, 0.4, 0.8, 0.8]), np.array([1, 1, 1, 0])
    # 1 is wrong at the rate min P(1|x) = .1, and 0 at the rate min P(0|x) = .2.
    expected = [0, (0.4 - 0.1) / (0.7 * 0.4), (0.8 - 0.1) / (0.7 * 0.8), 0]
    assert predictors.confident_weights(p, labels, 0) == pytest.approx(expected)


def test_weights_of_labels_that_flip_recover_the_clean_ones():
    r = np.random.default_rng(0)
    clean = (r.random(20_000) < 0.5).astype(int)
    noisy = np.where(r.random(20_000) < np.where(clean == 1, 0.3, 0.1), 1 - clean, clean)
    p = np.where(clean == 1, 0.7, 0.1)
    weights = predictors.confident_weights(p, noisy)
    assert np.average(noisy == clean, weights=weights) > 0.999 > (noisy == clean).mean()


def test_pairs_have_both_vectors_and_their_distance():
    vectors = np.arange(20.0).reshape(10, 2)
    pairs, x = predictors.pair_features(vectors)
    assert pairs.tolist() == [list(p) for p in itertools.combinations(range(10), 2)]
    assert x.shape == (45, 2 + 2 + 8) and x.dtype == np.float32
    for (i, j), row in zip(pairs, x):
        assert row[:4].tolist() == [*vectors[i], *vectors[j]]
        assert row[4:].tolist() == np.eye(8)[min(j - i, 8) - 1].tolist()


def test_places_beyond_the_last_one_count_as_it():
    x = predictors.place_features(np.ones((4, 2)), 3)
    assert x[:, 2:].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_sure_pairs_lead_to_their_order():
    gold = np.array([2, 0, 3, 1])  # the word at each place
    ranks = np.argsort(gold)
    pairs, _ = predictors.pair_features(np.zeros((4, 2)))
    stays = (ranks[pairs[:, 0]] < ranks[pairs[:, 1]]).astype(float)
    costs = predictors.pair_costs(pairs, stays, 4)
    assert (reorder.by_pairs(costs, 1) == gold).all()
    assert not np.diag(costs).any()


def test_the_cost_of_an_order_is_minus_the_logarithm_of_what_it_asserts():
    pairs, _ = predictors.pair_features(np.zeros((3, 2)))
    stays = np.array([0.8, 0.3, 0.6])
    costs = predictors.pair_costs(pairs, stays, 3)
    # 2 0 1: 2 is before 0 (.7) and before 1 (.4), 0 before 1 (.8).
    assert reorder.cost(costs, [2, 0, 1], True) == pytest.approx(-np.log(0.7 * 0.4 * 0.8))
    places = np.array([[0.5, 0.5, 0], [0.45, 0.1, 0.45], [0.6, 0.25, 0.15]])
    found = reorder.by_positions(predictors.place_costs(places))
    likeliest = max(
        itertools.permutations(range(3)), key=lambda o: places[list(o), range(3)].prod()
    )
    assert tuple(found) == likeliest
    assert np.isfinite(predictors.place_costs(places)).all()


def test_the_last_place_stands_for_all_later_ones():
    costs = predictors.place_costs(np.array([[0.2, 0.8]] * 4))
    assert costs.shape == (4, 4)
    assert costs[0].tolist() == pytest.approx([-np.log(0.2), *[-np.log(0.8)] * 3])


def test_a_training_that_diverges_is_an_error():
    options = Classifier(hidden=4, steps=100, batch_size=16, learning_rate=1e30)
    with pytest.raises(
        ValueError, match="diverged before step .*config.clcr.predictor.learning_rate"
    ):
        options.fit(*rows(0))


def test_features_are_made_when_they_are_read():
    vectors = np.arange(12.0).reshape(6, 2)
    pairs = predictors.PairRows(vectors, np.array([[1, 4], [0, 5], [2, 3]]), np.array([3, 20, 1]))
    whole = pairs[:]
    assert whole[0].tolist() == [*vectors[1], *vectors[4], *np.eye(8)[2]]
    assert whole[1][4:].tolist() == np.eye(8)[7].tolist()
    assert (pairs[np.array([2, 0])] == whole[[2, 0]]).all() and len(pairs) == 3
    labels = np.array([0, 1, 1])
    same = [QUICK.fit(x, labels, seed=1).params["outer"] for x in (pairs, whole)]
    np.testing.assert_array_equal(*same)


def test_no_row_is_refused():
    with pytest.raises(ValueError, match="at least one row"):
        QUICK.fit(np.zeros((0, 3)), np.zeros(0, int))
