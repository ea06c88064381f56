"""Vectors of a dictionary for a text's words: translations, synonyms, equal strings, spelling."""

import numpy as np

from clwe_jax.embeddings import dictionary_text, word_rows
from clwe_jax.embeddings.word_graph import CountedLinks, WordGraph
from clwe_jax.options.embeddings import WordsOptions
from clwe_jax.text.dictionary.merged import Dictionary

_PAIRS = {
    ("de", "en"): [
        ("haus", "house"),
        ("haus", "home"),
        ("heim", "home"),
        ("hund", "dog"),
        ("laufen", "run"),
        ("wasser", "water"),
    ],
    ("de", "fr"): [("hund", "chien"), ("wasser", "eau")],
    ("fr", "ja"): [("eau", "水")],
}
_COUNTS = {
    "en": {"home": 80, "dog": 15, "house": 0, "tom": 9, "houses": 3, "dogma": 2, "running": 1},
    "de": {"haus": 40, "tom": 8, "hauses": 2, "laufend": 2, "xylophon": 5},
    "fr": {"eau": 3},
    "ja": {"水": 4, "水道": 1},
}

_BEGINNINGS = WordsOptions(unknown="beginnings", spelling_dim=0)


def _made(counts=_COUNTS, **options):
    options = dict(dim=64, seed=1) | options
    graph = WordGraph(Dictionary.from_pairs(_PAIRS), counts, _BEGINNINGS)
    found = dict(dictionary_text.vectors(word_rows.rows(graph, **options)))
    return {x: dict(zip(v.words, v.vectors)) for x, v in found.items()}, found


def _unit(x):
    return x / np.linalg.norm(x)


def test_the_vectors_are_those_of_the_definition():
    """A slow computation from the description: weighted means there, back, and there again."""
    found, _ = _made()
    en, de = found["en"], found["de"]
    hub = ["house", "home", "dog", "run", "water"]
    draws = np.random.default_rng(1).standard_normal((5, 64), np.float32)
    draws = dict(zip(hub, np.linalg.qr(draws.T)[0].T))  # at right angles
    weight = lambda language, word: (_COUNTS[language].get(word, 0) + 1) ** 0.25

    def into_german(rows):
        german = {}
        for word in ("haus", "heim", "hund", "laufen", "wasser"):
            to = [b for a, b in _PAIRS["de", "en"] if a == word]
            german[word] = _unit(sum(weight("en", x) * rows[x] for x in to))
        return german

    first = into_german(draws)
    moved = {}
    for word in hub:
        back = [a for a, b in _PAIRS["de", "en"] if b == word]
        moved[word] = _unit(draws[word] + _unit(sum(weight("de", x) * first[x] for x in back)))
    for word in hub:
        np.testing.assert_allclose(en[word], moved[word], atol=1e-5)
    for word, row in into_german(moved).items():
        np.testing.assert_allclose(de[word], row, atol=1e-5)


def test_words_without_a_hub_translation_are_reached_by_others():
    found, _ = _made()
    np.testing.assert_allclose(found["fr"]["chien"], found["de"]["hund"], atol=1e-5)
    np.testing.assert_allclose(found["ja"]["水"], found["fr"]["eau"], atol=1e-5)


def test_synonyms_approach_each_other():
    found, _ = _made()
    en = found["en"]
    assert en["house"] @ en["home"] > 0.3 > abs(en["house"] @ en["dog"])


def test_a_string_of_two_texts_is_one_word_and_one_of_a_single_text_is_none():
    found, _ = _made()
    np.testing.assert_allclose(found["en"]["tom"], found["de"]["tom"], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found["en"]["tom"]), 0.6, atol=1e-5)
    assert "xylophon" not in found["de"]


def test_an_entry_of_the_hub_is_no_word_of_a_text_that_spells_alike():
    """Short words of two languages are often false friends, such as the Galician "son", are."""
    found, _ = _made({**_COUNTS, "fr": {"eau": 3, "dog": 1}})
    assert abs(found["fr"]["dog"] @ found["en"]["dog"]) < 0.4


def test_other_words_are_near_those_that_begin_alike():
    found, _ = _made()
    en, de = found["en"], found["de"]
    np.testing.assert_allclose(de["laufend"], 0.7 * de["laufen"], atol=1e-5)
    np.testing.assert_allclose(de["hauses"], 0.7 * de["haus"], atol=1e-5)
    assert "dogma" not in en  # 3 of 5 letters, but a word of 3 letters is not compared
    assert "running" not in en  # 3 of 7 letters
    assert "水道" not in found["ja"]  # a half


def test_words_are_in_the_order_of_the_text_and_have_their_counts():
    _, found = _made()
    for language, vectors in found.items():
        assert list(vectors.counts) == sorted(vectors.counts, reverse=True)
        assert list(vectors.counts) == [_COUNTS[language].get(x, 0) for x in vectors.words]
    assert list(found["en"].words)[:2] == ["home", "dog"]


def test_without_text_only_the_dictionary_has_vectors():
    found, _ = _made({x: {} for x in _COUNTS})
    assert set(found["de"]) == {"haus", "heim", "hund", "laufen", "wasser"}
    assert all(
        abs(np.linalg.norm(row) - 1) < 1e-5 for part in found.values() for row in part.values()
    )


def test_the_seed_decides():
    same, again, other = _made()[0], _made()[0], _made(seed=2)[0]
    for language in same:
        for word, row in same[language].items():
            np.testing.assert_array_equal(row, again[language][word])
    assert not np.allclose(same["en"]["dog"], other["en"]["dog"])


def test_the_entries_are_made_alone_and_the_hub_is_fitted_once(monkeypatch):
    graph = WordGraph(Dictionary.from_pairs(_PAIRS), _COUNTS, WordsOptions(spelling_dim=0))
    links = CountedLinks(["haus", "xylophon"], ["dog", "tom"], np.array([2, 3]))
    made = word_rows.rows(graph, 64, 1, {("de", "en"): links})
    fitted = []
    fit = WordGraph.regression
    monkeypatch.setattr(
        WordGraph, "regression", lambda *given: fitted.append(given[1]) or fit(*given)
    )
    entries = {language: made.of_entries(language) for language in _COUNTS}
    assert not set(fitted) - {"en"}  # the others guess nothing for their entries
    dictionary_text.make_spelling(made)
    for language, rows in entries.items():
        np.testing.assert_array_equal(rows, made.of(language)[: len(rows)])
    assert fitted.count("en") == 1 and fitted.count("de") == 2
