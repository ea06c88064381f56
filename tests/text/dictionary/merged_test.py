"""The merged dictionary, against plain dicts and sets."""

import numpy as np
import pytest

from clwe_jax.text.dictionary.merged import Dictionary

LANGUAGES = ("en", "de", "zh", "fi")


def random_pairs(rng, count=300, words=25):
    """{(language, language): [(word, word)]}, with duplicates and both directions."""
    pairs = {}
    for _ in range(count):
        left, right = rng.choice(len(LANGUAGES) - 1, 2, replace=False)
        key = (LANGUAGES[left], LANGUAGES[right])
        # Words that several languages share, and characters of one to four bytes.
        word = [f"{'aé銀🦊'[rng.integers(4)]}{rng.integers(words)}" for _ in range(2)]
        pairs.setdefault(key, []).append(tuple(word))
    return pairs


def as_sets(pairs):
    """{(language, word): {language: {synonyms}}}, in both directions."""
    known = {}
    for (left, right), several in pairs.items():
        for a, b in several:
            known.setdefault((left, a), {}).setdefault(right, set()).add(b)
            known.setdefault((right, b), {}).setdefault(left, set()).add(a)
    return known


def contents(dictionary):
    return {
        (language, word): {
            other: set(several) for other, several in dictionary.synonyms(word, language).items()
        }
        for language in dictionary.languages
        for word in dictionary.language_words(language)
    }


def test_holds_what_it_was_given():
    rng = np.random.default_rng(0)
    for _ in range(20):
        pairs = random_pairs(rng)
        dictionary = Dictionary.from_pairs(pairs, LANGUAGES)
        known = as_sets(pairs)
        assert contents(dictionary) == known
        assert len(dictionary) == len(known)
        directed = sum(len(s) for groups in known.values() for s in groups.values())
        assert dictionary.pair_count == directed // 2
        for source in LANGUAGES:
            for target in LANGUAGES:
                expected = {
                    (word, synonym)
                    for (language, word), groups in known.items()
                    if language == source
                    for synonym in groups.get(target, ())
                }
                got = dictionary.pairs(source, target)
                assert len(got) == len(expected) and set(got) == expected


def test_arrays_spell_out_the_same():
    pairs = random_pairs(np.random.default_rng(1))
    dictionary = Dictionary.from_pairs(pairs, LANGUAGES)
    known = as_sets(pairs)
    names = dictionary.languages
    for number in range(len(dictionary)):
        language = names[dictionary.word_language[number]]
        word = dictionary.word(number)
        assert dictionary.id(word, language) == number
        groups = range(dictionary.entry_splits[number], dictionary.entry_splits[number + 1])
        spelt = {}
        for group in groups:
            first, last = dictionary.group_splits[group : group + 2]
            targets = dictionary.target_ids[first:last]
            name = names[dictionary.group_language[group]]
            assert name not in spelt, "a language has one group"
            assert (dictionary.word_language[targets] == dictionary.group_language[group]).all()
            spelt[name] = {dictionary.word(i) for i in targets}
        assert spelt == known[language, word]
    assert dictionary.pairs_per_word().tolist() == [
        sum(len(s) for s in known[names[dictionary.word_language[i]], dictionary.word(i)].values())
        for i in range(len(dictionary))
    ]


def test_words_are_numbered_by_language_and_first_appearance():
    pairs = {("en", "de"): [("b", "y"), ("a", "x"), ("b", "x")], ("de", "en"): [("z", "a")]}
    dictionary = Dictionary.from_pairs(pairs, ("en", "de", "fi"))
    assert list(dictionary.words()) == ["b", "a", "y", "x", "z"]
    assert dictionary.language_splits.tolist() == [0, 2, 5, 5]
    assert dictionary.pairs("en", "de") == [("b", "y"), ("b", "x"), ("a", "x"), ("a", "z")]


def test_unknown_words_and_languages():
    dictionary = Dictionary.from_pairs({("en", "de"): [("a", "x")]})
    assert dictionary.id("x", "en") == -1 and dictionary.id("a", "fi") == -1
    assert dictionary.synonyms("x", "en") == {} and dictionary.synonyms("a", "fi") == {}
    assert list(dictionary.lexicon("fi")) == [] and dictionary.pairs("en", "fi") == []


def test_restricted_equals_building_from_less():
    rng = np.random.default_rng(2)
    pairs = random_pairs(rng)
    dictionary = Dictionary.from_pairs(pairs, LANGUAGES)
    for chosen in (("zh", "en"), ("de",), ("fi", "de", "zh"), ("en", "xx")):
        less = {key: several for key, several in pairs.items() if set(key) <= set(chosen)}
        restricted = dictionary.restrict(chosen)
        assert restricted.languages == chosen
        assert contents(restricted) == as_sets(less)


def test_crowded_words_lose_their_pairs_both_ways():
    rng = np.random.default_rng(3)
    pairs = {("en", "de"): [(f"e{rng.integers(12)}", f"d{rng.integers(12)}") for _ in range(60)]}
    whole = Dictionary.from_pairs(pairs, ("en", "de"))
    sources = np.array([whole.id(a, "en") for a, _ in whole.pairs("en", "de")])
    targets = np.array([whole.id(b, "de") for _, b in whole.pairs("en", "de")])
    words = [list(whole.lexicon(language)) for language in ("en", "de")]
    known = as_sets(pairs)
    for most in (1, 3, 5, 100):
        filtered = Dictionary.from_edges(("en", "de"), words, sources, targets, most)
        expected = {
            (a, b)
            for a, b in pairs["en", "de"]
            if len(known["en", a]["de"]) <= most and len(known["de", b]["en"]) <= most
        }
        assert set(filtered.pairs("en", "de")) == expected
        assert set(filtered.pairs("de", "en")) == {(b, a) for a, b in expected}


def test_empty():
    dictionary = Dictionary.from_pairs({}, ("en", "de"))
    assert len(dictionary) == 0 and dictionary.pair_count == 0
    assert dictionary.entry_splits.tolist() == [0] and dictionary.group_splits.tolist() == [0]
    assert contents(dictionary.restrict(("de",))) == {}


def test_is_immutable():
    dictionary = Dictionary.from_pairs({("en", "de"): [("a", "x")]})
    with pytest.raises(ValueError):
        dictionary.target_ids[0] = 0
