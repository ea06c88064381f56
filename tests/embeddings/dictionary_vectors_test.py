"""Vectors of a dictionary alone are means of translations."""

import numpy as np
import pytest

from clwe_jax.embeddings.dictionary_vectors import hub, vectors
from clwe_jax.text.dictionary.merged import Dictionary

_PAIRS = {
    ("de", "en"): [("haus", "house"), ("schloss", "castle"), ("schloss", "lock")],
    ("de", "fr"): [("haus", "maison"), ("burg", "château")],
    ("en", "fr"): [("castle", "château"), ("dog", "chien")],
}


def _table(dictionary, languages, **options):
    options = dict(dim=16, seed=3) | options
    found = vectors(dictionary, languages, **options)
    return {name: dict(zip(words, rows)) for name, (words, rows) in found.items()}


def test_a_word_is_the_mean_of_its_translations_into_the_hub():
    found = _table(Dictionary.from_pairs(_PAIRS), ("en", "de", "fr"))
    en, de, fr = found["en"], found["de"], found["fr"]
    assert list(en) == ["house", "castle", "lock", "dog"]
    both = en["castle"] + en["lock"]
    np.testing.assert_allclose(de["schloss"], both / np.linalg.norm(both), atol=1e-6)
    np.testing.assert_allclose(de["haus"], en["house"], atol=1e-6)
    np.testing.assert_allclose(fr["chien"], en["dog"], atol=1e-6)
    # château has an English translation, which alone counts; burg and maison reach English by others.
    np.testing.assert_allclose(fr["château"], en["castle"], atol=1e-6)
    np.testing.assert_allclose(de["burg"], en["castle"], atol=1e-6)
    np.testing.assert_allclose(fr["maison"], en["house"], atol=1e-6)


def test_the_hub_is_english_or_the_language_with_most_pairs():
    assert hub(Dictionary.from_pairs(_PAIRS)) == "en"
    several = {("eu", "hu"): [("a", "b")], ("eu", "ka"): [("a", "c"), ("d", "e")]}
    assert hub(Dictionary.from_pairs(several)) == "eu"


def test_a_word_without_a_way_to_the_hub_is_left_out():
    apart = _PAIRS | {("ja", "zh"): [("山", "山"), ("犬", "狗")], ("en", "zh"): [("dog", "狗")]}
    found = _table(Dictionary.from_pairs(apart), ("ja", "zh", "ru"))
    assert list(found["ja"]) == ["犬"] and list(found["zh"]) == ["狗"] and not found["ru"]


@pytest.mark.parametrize("languages", [("de",), ("fr", "de")])
def test_the_same_seed_gives_a_language_the_same_vectors_whatever_others_are_asked_for(languages):
    dictionary = Dictionary.from_pairs(_PAIRS)
    some, other = _table(dictionary, languages), _table(dictionary, ("de", "en"), seed=4)
    np.testing.assert_array_equal(
        list(some["de"].values()), list(_table(dictionary, ("de", "en"))["de"].values())
    )
    assert not np.allclose(list(some["de"].values()), list(other["de"].values()))
    assert next(iter(some["de"].values())).dtype == np.float32


def test_all_vectors_have_unit_length_and_random_ones_are_far_apart():
    pairs = {("de", "en"): [(f"d{i}", f"e{i + k}") for i in range(300) for k in range(i % 4 + 1)]}
    found = vectors(Dictionary.from_pairs(pairs), ("en", "de"), 64, 0)
    for _, rows in found.values():
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    cosines = found["en"][1] @ found["en"][1].T - np.eye(len(found["en"][0]))
    assert np.abs(cosines).max() < 0.7 and abs(cosines.mean()) < 0.01
