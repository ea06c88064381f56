"""Translation word by word."""

import pytest

from clwe_jax.text.dictionary import glossary
from clwe_jax.text.dictionary.merged import Dictionary

PAIRS = {
    ("de", "en"): [
        ("haus", "home"),
        ("haus", "house"),
        ("rot", "red"),
        ("bank", "river bank"),
        ("zug", "train"),
    ]
}


@pytest.fixture(scope="module")
def german():
    dictionary = Dictionary.from_pairs(PAIRS)
    return glossary.of_dictionary(dictionary, "de", "en", {"house": 3, "home": 1})


def test_the_most_frequent_translation_of_one_word_is_chosen(german):
    assert german.entries == {"haus": "house", "rot": "red", "zug": "train"}


def test_words_keep_their_number_and_capital_and_unknown_words_stay(german):
    assert german.words(["Das", "rote", "Haus", "rot", ",", "Berlin"]) == (
        "Das",
        "rote",
        "House",
        "red",
        ",",
        "Berlin",
    )
    assert german.text("Das Haus, rot.") == "Das House , red ."


def test_coverage_is_a_share_of_running_words(german):
    assert german.coverage([["Haus", ",", "7"], ["rot", "Berlin", "HAUS"]]) == 0.75
    assert german.coverage([]) == 0


def test_text_without_spaces_is_cut_by_the_entries():
    dictionary = Dictionary.from_pairs({("zh", "en"): [("银行", "bank")]})
    found = glossary.of_dictionary(dictionary, "zh", "en", {})
    assert found.text("去银行") == "去 bank"


def test_languages_without_pairs_are_named(german):
    dictionary = Dictionary.from_pairs(PAIRS)
    with pytest.raises(ValueError, match="'fr'.*add fr-en.txt"):
        glossary.of_dictionary(dictionary, "fr", "en", {})
