"""The table of translations against a slow reading of the dictionary."""

import numpy as np
import pytest
from absl import logging

from clwe_jax.text.dictionary import translations
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary

LANGUAGES = ("en", "de", "ja")


def random_world(seed=0):
    """A dictionary of three languages that share some forms, and a vocabulary of some of them."""
    rng = np.random.default_rng(seed)
    forms = {x: [f"{x}{i}" for i in range(40)] + [f"both{i}" for i in range(10)] for x in LANGUAGES}
    pairs = {
        (a, b): [(rng.choice(forms[a]), rng.choice(forms[b])) for _ in range(150)]
        for a, b in (("en", "de"), ("en", "ja"), ("de", "ja"))
    }
    words = sorted({word for several in forms.values() for word in several})
    kept = list(rng.permutation(words)[: len(words) * 3 // 4])
    counts = [0.0] * 5 + sorted(rng.integers(1, 99, len(kept)).tolist(), reverse=True)
    return Dictionary.from_pairs(pairs, LANGUAGES), WordVocabulary([*SPECIALS, *kept], counts)


def oracle(dictionary, vocabulary, word, language):
    """The ids of a form's translations into a language, ascending."""
    found = set()
    for source in dictionary.languages:
        for target, synonyms in dictionary.synonyms(word, source).items():
            if language == target:
                found |= {vocabulary.id(x) for x in synonyms} - {vocabulary.unk_id}
    return sorted(found)


@pytest.mark.parametrize("most", [1, 4, 9])
@pytest.mark.parametrize("chosen", [None, ("en", "de"), ("ja", "en"), ("ja", "en", "de")])
def test_equals_a_slow_reading(most, chosen):
    dictionary, vocabulary = random_world()
    found = translations.table(dictionary, vocabulary, chosen, max_translations=most)
    part = dictionary if chosen is None else dictionary.restrict(chosen)
    assert found.languages == (chosen or LANGUAGES) and found.ids.dtype == np.int32
    assert found.ids.shape == (len(vocabulary), len(found.languages), most)
    crowded = itself = 0
    for number, word in enumerate(vocabulary.pieces):
        for place, language in enumerate(found.languages):
            expected = oracle(part, vocabulary, word, language) if number > 4 else []
            crowded += max(0, len(expected) - most)
            itself += number in expected
            padded = (expected + [-1] * most)[:most]
            assert found.ids[number, place].tolist() == padded, (word, language)
    assert itself > 0 or len(found.languages) == 2
    assert found.crowded == crowded and found.pairs == (found.ids >= 0).sum()
    others = found.ids != np.arange(len(vocabulary))[:, None, None]
    has = ((found.ids >= 0) & others).any(axis=(1, 2))
    assert found.words == has.sum()
    assert found.covered == pytest.approx(vocabulary.counts[has].sum() / vocabulary.counts.sum())


def test_senses_and_shared_forms():
    pairs = {
        ("en", "de"): [
            ("bank", "ufer"),
            ("bank", "bank"),
            ("gift", "geschenk"),
            ("poison", "gift"),
            ("taxi", "taxi"),
            ("ice cream", "eis"),
        ]
    }
    words = ["bank", "gift", "ufer", "poison", "geschenk", "eis", "taxi"]
    vocabulary = WordVocabulary([*SPECIALS, *words])
    found = translations.table(Dictionary.from_pairs(pairs), vocabulary, ("en", "de"))
    named = {
        word: [[vocabulary.pieces[i] for i in row if i >= 0] for row in found.ids[number]]
        for word, number in vocabulary.words.items()
    }
    assert named == {  # into English, into German
        "bank": [["bank"], ["bank", "ufer"]],
        "gift": [["poison"], ["geschenk"]],
        "ufer": [["bank"], []],
        "poison": [[], ["gift"]],
        "geschenk": [["gift"], []],
        "eis": [[], []],
        "taxi": [["taxi"], ["taxi"]],
    }
    assert found.absent == 2  # "ice cream" is no word; both directions
    assert found.covered == pytest.approx(5 / 7)  # of the entries: there are no counts


def test_a_dictionary_that_covers_nothing_is_reported(monkeypatch):
    warnings = []
    monkeypatch.setattr(logging, "warning", lambda text, *given: warnings.append(text % given))
    dictionary, _ = random_world()
    other = WordVocabulary([*SPECIALS, "x", "y"], [0.0] * 5 + [2.0, 1.0])
    found = translations.table(dictionary, other)
    assert (found.ids == -1).all() and found.words == found.pairs == 0
    assert "0 of the vocabulary's 7 entries" in warnings[0]
    assert "(en, de, ja)" in warnings[0] and "--config.data.dictionaries" in warnings[0]
    # Names are equal in all languages, so they do not show that the dictionary fits.
    names = Dictionary.from_pairs({("en", "de"): [("x", "x"), ("y", "y")]})
    found = translations.table(names, other)
    assert found.pairs == 4 and found.words == 0 and len(warnings) == 2


def test_tables_that_cannot_be():
    dictionary, vocabulary = random_world()
    with pytest.raises(ValueError, match="at least 1"):
        translations.table(dictionary, vocabulary, max_translations=0)
    with pytest.raises(ValueError, match=" en"):
        translations.table(dictionary, vocabulary, ("en",))
