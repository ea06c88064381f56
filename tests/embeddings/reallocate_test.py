"""Vocabulary reallocation: Eqs 5-6 by hand, disjoint sets that cover all, learned sharing."""

import collections
import fractions

import numpy as np
import pytest

from clwe_jax.embeddings import reallocate as module
from clwe_jax.embeddings.reallocate import agreement, chance_level, reallocate
from clwe_jax.embeddings.vectors import Vectors

GAMMAS = (0.5, 0.7, 0.8, 0.9, 0.95)


def random_counts(languages="ab", words=300, seed=0):
    random = np.random.default_rng(seed)
    counts = {}
    for language in languages:
        numbers = random.integers(0, 12, words) * (random.random(words) < 0.8)
        counts[language] = {f"w{i}": int(n) for i, n in enumerate(numbers) if n}
        counts[language][f"only-{language}"] = 7
    return counts


def by_the_paper(counts, gamma) -> dict:
    """Eqs 5 and 6 of joint-align for two languages, in exact arithmetic."""
    (one, first), (two, second) = counts.items()
    total_1, total_2 = sum(first.values()), sum(second.values())
    gamma = fractions.Fraction(str(gamma))
    sets = {"shared": set(), one: set(), two: set()}
    for word in {*first, *second}:
        count_1, count_2 = first.get(word, 0), second.get(word, 0)
        if not count_2:
            sets[one].add(word)
            continue
        ratio = fractions.Fraction(total_2, total_1) * fractions.Fraction(count_1, count_2)
        if (1 - gamma) / gamma <= ratio <= gamma / (1 - gamma):
            sets["shared"].add(word)
        else:
            sets[one if ratio > 1 else two].add(word)
    return sets


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("seed", range(3))
def test_two_languages_are_split_as_the_paper_says(gamma, seed):
    counts = random_counts(seed=seed)
    found = reallocate(counts, gamma)
    wanted = by_the_paper(counts, gamma)
    assert set(found.shared) == wanted["shared"]
    assert {x: set(words) for x, words in found.own_words.items()} == {x: wanted[x] for x in "ab"}
    # Equivalently, gamma bounds the share r / (1 + r).
    totals = {x: sum(counts[x].values()) for x in "ab"}
    for word in found.shared:
        one, two = (fractions.Fraction(counts[x].get(word, 0), totals[x]) for x in "ab")
        share = one / (one + two)
        assert 1 - fractions.Fraction(str(gamma)) <= share <= fractions.Fraction(str(gamma))


@pytest.mark.parametrize(
    "gamma, edge", [(0.7, (7, 3)), (0.8, (4, 1)), (0.9, (9, 1)), (0.95, (19, 1))]
)
def test_a_word_at_exactly_gamma_is_shared(gamma, edge):
    high, low = edge
    rest = 10_000

    def split(one, two):
        counts = {"a": {"w": one, "x": rest - one}, "b": {"w": two, "y": rest - two}}
        return reallocate(counts, gamma)

    for factor in (1, 7, 100):
        assert "w" in split(high * factor, low * factor).shared
        assert "w" in split(low * factor, high * factor).shared
        assert "w" in split(high * factor + 1, low * factor).own_words["a"]
        assert "w" in split(low * factor, high * factor + 1).own_words["b"]


def test_the_size_of_the_corpora_is_taken_out():
    counts = random_counts()
    larger = {"a": {word: 1_000 * n for word, n in counts["a"].items()}, "b": counts["b"]}
    assert reallocate(larger, 0.8).sharers == reallocate(counts, 0.8).sharers


@pytest.mark.parametrize("languages", ["ab", "abc", "abcde"])
@pytest.mark.parametrize("gamma", GAMMAS)
def test_any_number_of_languages(languages, gamma):
    counts = random_counts(languages)
    found = reallocate(counts, gamma)
    sets = [set(found.shared), *(set(words) for words in found.own_words.values())]
    everything = set().union(*(set(counter) for counter in counts.values()))
    assert sum(map(len, sets)) == len(everything) and set().union(*sets) == everything
    totals = {x: sum(counts[x].values()) for x in languages}
    gamma = fractions.Fraction(str(gamma))
    kept = {x: set(found.vocabulary(x)) for x in languages}
    for word in everything:
        rates = {x: fractions.Fraction(counts[x].get(word, 0), totals[x]) for x in languages}
        top = max(rates.values())
        wanted = {x for x in languages if rates[x] and rates[x] / top >= (1 - gamma) / gamma}
        keepers = {x for x in languages if word in kept[x]}
        assert keepers == wanted, word
        assert keepers == set(found.sharers.get(word, keepers)) and len(keepers) >= 1


def test_the_order_of_the_languages_does_not_matter():
    counts = random_counts("abc")
    turned = {x: counts[x] for x in "cab"}
    one, two = reallocate(counts, 0.8), reallocate(turned, 0.8)
    assert one.own_words == two.own_words and one.shared == two.shared
    assert {w: set(x) for w, x in one.sharers.items()} == {
        w: set(x) for w, x in two.sharers.items()
    }


def test_a_larger_gamma_shares_more():
    counts = random_counts("abc")
    before: set = set()
    for gamma in GAMMAS:
        now = {(w, x) for w, shared in reallocate(counts, gamma).sharers.items() for x in shared}
        assert before <= now
        before = now


def test_words_come_by_frequency_and_only_those_asked_for():
    counts = random_counts()
    words = [f"w{i}" for i in range(100)] + ["nowhere"]
    found = reallocate(counts, 0.8, words=words)
    kept = [*found.shared, *found.own_words["a"], *found.own_words["b"]]
    assert set(kept) <= set(words) - {"nowhere"} and "only-a" not in kept
    # The split of a word does not depend on which others are asked for.
    assert set(found.shared) == set(reallocate(counts, 0.8).shared) & set(words)
    totals = {x: sum(counts[x].values()) for x in "ab"}
    for listed in (found.shared, found.own_words["a"], found.own_words["b"]):
        rates = [sum(counts[x].get(w, 0) / totals[x] for x in "ab") for w in listed]
        assert rates == sorted(rates, reverse=True)
    assert found.vocabulary("a") == found.own_words["a"] + found.shared


def test_examples_are_words_with_letters():
    counts = {"a": {"die": 30, ".": 60, "uno": 10}, "b": {"die": 5, ".": 90, "dos": 5}}
    found = reallocate(counts, 0.9)
    assert found.examples() == {"shared": ["die"], "a": ["uno"], "b": ["dos"]}
    assert found.examples(0) == {"shared": [], "a": [], "b": []}


def spaces(words=400, false_friends=40, dim=30, seed=0):
    """Two spaces that are rotations of each other, except for words with another meaning."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(words, dim)) + 3 * random.normal(size=(words // 10, dim)).repeat(10, 0)
    rotation = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    y = x + 0.3 * random.normal(size=x.shape)
    friends = random.choice(words, false_friends, replace=False)
    y[friends] = y[np.roll(friends, 1)]
    names = [f"w{i}" for i in range(words)]
    return (
        Vectors(names, x.astype(np.float32)),
        Vectors(names, (y @ rotation).astype(np.float32)),
        {names[i] for i in friends},
    )


def agreement_by_hand(source, target, words, others, anchors, neighbours):
    values = []
    for word, other in zip(words, others):
        near = []
        for space, name in ((source, word), (target, other)):
            query = space.vectors[space.index[name]]
            cosines = {
                anchor: float(
                    space.vectors[space.index[anchor]]
                    @ query
                    / np.linalg.norm(space.vectors[space.index[anchor]])
                )
                for anchor in anchors
                if anchor not in (word, other)
            }
            near.append(set(sorted(cosines, key=cosines.get, reverse=True)[:neighbours]))
        values.append(len(near[0] & near[1]) / neighbours)
    return values


def test_agreement_is_the_overlap_of_neighbours(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 17)
    monkeypatch.setattr(module, "_ANCHORS", 60)
    source, target, _ = spaces(120, 20, seed=6)  # no near ties
    words = list(source.words)
    found = agreement(source, target, words, neighbours=5)
    np.testing.assert_allclose(
        found, agreement_by_hand(source, target, words, words, words[:60], 5), atol=1e-12
    )
    others = words[3:] + words[:3]
    found = agreement(source, target, words, others, words, neighbours=5)
    np.testing.assert_allclose(
        found, agreement_by_hand(source, target, words, others, words[:60], 5), atol=1e-12
    )


def test_chance_level_is_what_different_words_reach():
    source, target, _ = spaces()
    level = chance_level(source, target, list(source.words), chance=0.95)
    assert 0 <= level < 0.5
    assert level == chance_level(source, target, list(source.words), chance=0.95)
    assert level <= chance_level(source, target, list(source.words), chance=0.999)
    random = np.random.default_rng(1).permutation(400)
    shuffled = [source.words[i] for i in random]
    values = agreement(source, target, list(source.words), shuffled, list(source.words))
    assert np.mean(values > level) < 0.1


def test_neighbours_separate_false_friends_from_words_of_similar_use():
    source, target, friends = spaces()
    counts = {x: dict.fromkeys(source.words, 5) for x in "ab"}
    counts["a"] |= dict.fromkeys(friends, 9)  # by frequency they would be shared all the same
    found = reallocate(counts, rule="neighbours", vectors={"a": source, "b": target})
    shared = set(found.shared)
    assert len(friends & shared) <= 0.1 * len(friends)
    assert len(shared) >= 0.9 * (400 - len(friends))
    assert friends - shared <= set(found.own_words["a"])  # where they are more frequent
    assert len(friends & set(reallocate(counts, 0.9).shared)) == len(friends)


def test_neighbours_of_three_languages_and_of_rare_words():
    source, target, friends = spaces()
    third = Vectors(source.words, source.vectors[:, ::-1].copy())
    counts = {x: collections.Counter(dict.fromkeys(source.words, 5)) for x in "abc"}
    counts["a"].update(source.words)
    counts["a"]["rare"] = counts["b"]["rare"] = 1  # without a vector
    vectors = {"a": source, "b": target, "c": third}
    found = reallocate(counts, rule="neighbours", vectors=vectors)
    assert "rare" not in found.shared
    three = [word for word, languages in found.sharers.items() if set(languages) == set("abc")]
    two = [word for word, languages in found.sharers.items() if set(languages) == set("ac")]
    assert len(three) > 0.85 * 360 and len(friends & set(two)) > 0.8 * len(friends)
    kept = [*found.shared, *(word for words in found.own_words.values() for word in words)]
    assert len(kept) == len(set(kept)) == 401


def test_spaces_without_common_words_share_nothing():
    one = Vectors(["a", "b", "x"], np.eye(3, dtype=np.float32))
    two = Vectors(["c", "d", "x"], np.eye(3, dtype=np.float32))
    counts = {"a": {"a": 1, "b": 1, "x": 2}, "b": {"c": 1, "d": 1, "x": 1}}
    found = reallocate(counts, rule="neighbours", vectors={"a": one, "b": two})
    assert not found.shared and found.own_words == {"a": ["x", "a", "b"], "b": ["c", "d"]}


def test_bad_arguments_are_named():
    counts = random_counts()
    for gamma in (0.4, 1.0):
        with pytest.raises(ValueError, match=rf"gamma={gamma}: must be in"):
            reallocate(counts, gamma)
    with pytest.raises(ValueError, match="rule='ratios': expected 'ratio' or 'neighbours'"):
        reallocate(counts, rule="ratios")
    with pytest.raises(ValueError, match="for b"):
        reallocate(counts, rule="neighbours", vectors={"a": spaces()[0]})
