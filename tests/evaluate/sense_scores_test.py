"""Purity, V-measure and translation accuracy against the formulas written out by hand."""

import math

import numpy as np
import pytest

from clwe_jax.evaluate import sense_scores as senses


def brute_v(assigned, gold):
    """Rosenberg & Hirschberg's definitions, pair by pair of cluster and class."""
    n = len(gold)

    def entropy(xs):
        return -sum(xs.count(x) / n * math.log(xs.count(x) / n) for x in set(xs))

    def conditional(xs, given):
        total = 0.0
        for y in set(given):
            own = [x for x, z in zip(xs, given) if z == y]
            for x in set(own):
                total -= own.count(x) / n * math.log(own.count(x) / len(own))
        return total

    def part(xs, given):
        return 1.0 if entropy(xs) == 0 else 1 - conditional(xs, given) / entropy(xs)

    h, c = part(gold, assigned), part(assigned, gold)
    return h, c, 2 * h * c / (h + c) if h + c else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_v_measure_is_its_definition(seed):
    r = np.random.RandomState(seed)
    assigned, gold = r.randint(0, 4, 40).tolist(), r.randint(0, 3, 40).tolist()
    gold = [g if r.rand() < 0.5 else a % 3 for a, g in zip(assigned, gold)]
    table = senses.contingency(assigned, gold)
    np.testing.assert_allclose(senses.v_measure(table), brute_v(assigned, gold), atol=1e-12)
    pure = sum(
        max(gold_in.count(g) for g in range(3))
        for gold_in in ([g for a, g in zip(assigned, gold) if a == k] for k in range(4))
    )
    assert senses.purity(table) == pytest.approx(pure / 40)


def test_known_values():
    # V-measure of [0, 0, 1, 2] against [0, 0, 1, 1] is .8 (scikit-learn's documentation).
    table = senses.contingency([0, 0, 1, 2], [0, 0, 1, 1])
    assert senses.v_measure(table) == pytest.approx((1.0, 2 / 3, 0.8))
    assert senses.v_measure(senses.contingency("xxxx", [0, 0, 1, 1])) == (0.0, 1.0, 0.0)
    assert senses.v_measure(senses.contingency([0, 1, 0, 1], "xxxx")) == (1.0, 0.0, 0.0)
    assert senses.purity(senses.contingency([0, 0, 0, 1], list("aabb"))) == 0.75


def test_balanced_purity_weighs_rare_senses_as_frequent_ones():
    table = senses.contingency([0] * 10, ["a"] * 9 + ["b"])
    assert senses.purity(table) == 0.9 and senses.balanced_purity(table) == 0.5
    table = senses.contingency([0] * 9 + [1], ["a"] * 9 + ["b"])
    assert senses.balanced_purity(table) == 1.0


def test_clusters_are_a_words_own():
    # The same slot of two words is two clusters; words weigh as often as they occur.
    words = ["bank"] * 4 + ["may"] * 8 + ["old"] * 9
    assigned = [0, 0, 1, 1] + [0] * 8 + [0] * 9
    gold = ["money", "money", "river", "river"] + ["month"] * 6 + ["can"] * 2 + [None] + ["age"] * 8
    found = senses.score(words, assigned, gold)
    assert found.words == 2 and found.occurrences == 12
    assert found.by_word == {"bank": 1.0, "may": 0.75}
    assert found.purity == pytest.approx((4 * 1 + 8 * 0.75) / 12)
    assert found.one_sense_purity == pytest.approx((4 * 0.5 + 8 * 0.75) / 12)
    assert found.v_measure == pytest.approx(4 / 12)
    assert found.senses_used == pytest.approx((4 * 2 + 8 * 1) / 12)
    assert found.metrics()["balanced_purity"] == pytest.approx((4 + 8 * 0.5) / 12)


def test_chance_grows_with_the_number_of_clusters():
    r = np.random.RandomState(0)
    gold = r.randint(0, 2, 200).tolist()
    words = ["w"] * 200
    few = senses.score(words, r.randint(0, 2, 200), gold)
    many = senses.score(words, np.arange(200) // 2, gold)
    assert 0.5 <= few.chance_purity < 0.6 and 0.7 < many.chance_purity < 0.8
    assert abs(few.purity - few.chance_purity) < 0.06
    perfect = senses.score(words, gold, gold)
    assert perfect.purity == 1 and perfect.chance_purity < 0.6
    assert perfect == senses.score(words, gold, gold)  # seeded


def test_rare_words_and_words_of_one_sense_are_passed_over():
    found = senses.score(list("aabbbb"), [0] * 6, ["x", "y", "x", "y", "x", "y"], min_uses=3)
    assert found.words == 1 and found.occurrences == 4
    with pytest.raises(ValueError, match="1 words occurs 2 times"):
        senses.score(list("aaa"), [0, 1, 2], ["x"] * 3)


def test_lists_of_different_lengths():
    with pytest.raises(ValueError, match="2 words, 3 assigned"):
        senses.score(list("ab"), [0, 1, 2], list("xy"))
    with pytest.raises(ValueError, match="1 assigned senses, but 2"):
        senses.contingency([0], [0, 1])


def test_a_slot_means_its_most_frequent_gold_sense():
    found = senses.meanings(
        ["ufer", "bank", "bank", "bank", "bank"], [0, 0, 0, 0, 1], [None, "a", "b", "b", "a"]
    )
    assert found == {("bank", 0): "b", ("bank", 1): "a"}


CONCEPTS = {"ufer": ["river"], "bank": ["money", "bench"], "geld": ["cash"]}
ONLY = {"ufer": "river", "geld": "cash"}
LEARNED = {("bank", 0): "bench", ("bank", 2): "money"}


def test_translations_are_right_when_their_sense_is():
    chosen = [("bank", 2), ("bank", 0), ("bank", 1), ("ufer", 5), ("geld", 0), None, ("ufer", 0)]
    gold = ["money", "money", "money", "river", "river", "river", None]
    found = senses.score_translations(chosen, gold, CONCEPTS, ONLY, LEARNED)
    assert found.occurrences == 5
    assert found.accuracy == pytest.approx(2 / 5)
    assert found.word_accuracy == pytest.approx(4 / 5)
    assert found.ambiguous_accuracy == pytest.approx(1 / 3)
    assert math.isnan(found.chance)


def test_a_word_of_one_concept_in_this_text_means_it_with_every_sense():
    """Even if a dictionary lists other meanings, and none of its senses is labelled."""
    chosen, gold = [("bank", 1), ("bank", 0)], ["money", "bench"]
    found = senses.score_translations(chosen, gold, CONCEPTS, {"bank": "money"}, {})
    assert (found.accuracy, found.word_accuracy) == (0.5, 1.0)
    assert math.isnan(found.ambiguous_accuracy)


def test_occurrences_that_no_candidate_fits_are_passed_over():
    found = senses.score_translations(
        [("bank", 2), ("geld", 0)],
        ["money", "river"],
        CONCEPTS,
        ONLY,
        LEARNED,
        candidates=[["bank", "geld", "ufer"], ["geld"]],
    )
    assert found.occurrences == 1 and found.accuracy == 1
    assert found.chance == pytest.approx(1 / 3)
    assert senses.score_translations([None], ["money"], CONCEPTS, ONLY, LEARNED) is None
