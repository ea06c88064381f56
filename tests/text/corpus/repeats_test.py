"""Sentences that count once."""

import pytest

from clwe_jax.text.corpus.repeats import drop_repeats, find_distinct


@pytest.mark.parametrize(
    "copy",
    ["The house is old!", "the  house is OLD", "- The house is old.", "“The house is old.”"]
    + ["2. The house is old.", "(13) The house is old", "The house, is old…"],
)
def test_small_differences_make_a_copy_to_mine(copy):
    assert find_distinct(["The house is old.", copy, "The house is new."]).tolist() == [0, 2]


def test_words_and_numbers_make_another_sentence():
    texts = [
        "In 1990 it rained.",
        "In 1991 it rained.",
        "On the 3. of May it rained.",
        "On the 5. of May it rained.",
        "See Luke 4: 1",
        "See Luke 5: 1",
        "2.5 litres",
        "3.5 litres",
        "!",
        "?",
        "१",
        "क",
    ]
    assert find_distinct(texts).tolist() == list(range(len(texts)))
    assert find_distinct(["ক", "কি", "কি!"]).tolist() == [0, 1]


def test_a_test_set_loses_equal_sentences_alone():
    source = ["Really?", "Really!", "really?"]
    assert drop_repeats(source, ["a", "b", "c"], "x") == (source[:2], ["a", "b"])
