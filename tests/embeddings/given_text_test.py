"""Given sentences as words, and as text beside other text."""

import numpy as np
import pytest

from clwe_jax.embeddings import corpus as corpora
from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.text.corpus.parallel import Given
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

_TOOLS = Normalizer(), Segmenter()


@pytest.fixture
def given():
    made = Given(
        sentences={
            "en": ["The dog barks", "  ", "A cat sleeps", "The dog barks A cat sleeps"],
            "xx": ["Barka dogo", "Katu dormo"],
        },
        texts={"en": 3, "xx": 2},
        pairs={("en", "xx"): np.array([[0, 0], [2, 1]])},
        skipped={},
        files=(),
    )
    return GivenText.cut(made, *_TOOLS)


def _sentences(text, language):
    words = [text.words[i] for i in text.ids[language]]
    ends = text.splits[language].tolist()
    return [words[a:b] for a, b in zip(ends[:-1], ends[1:])]


def test_rows_of_words_by_sentence(given):
    index = {"the": 5, "dog": 2, "cat": 0}
    rows = [some.tolist() for some in given.word_rows("en", index)]
    assert rows == [[5, 2], [], [0], [5, 2, 0]]


def test_without_other_text_the_sentences_are_the_text_and_joined_ones_are_not(given):
    text = given.append_to(None, ["xx", "en"])
    assert _sentences(text, "en") == [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    assert text.counts("xx") == {"barka": 1, "dogo": 1, "katu": 1, "dormo": 1}


def test_a_sentence_that_the_text_has_counts_once(given):
    own = corpora.of_sentences({"en": ["a bird", "a cat sleeps"], "xx": ["birdo"]}, *_TOOLS)
    text = given.append_to(own, ["en", "xx"])
    assert _sentences(text, "en") == [
        ["a", "bird"],
        ["a", "cat", "sleeps"],
        ["the", "dog", "barks"],
    ]
    assert _sentences(text, "xx") == [["birdo"], ["barka", "dogo"], ["katu", "dormo"]]
    assert (np.diff(text.places["en"]) > 0).all()
    assert text.places["en"][2] - text.places["en"][1] >= corpora.APART


def test_a_language_that_has_no_given_sentence_keeps_its_text(given):
    own = corpora.of_sentences({"en": ["a bird"], "yy": ["birdu"]}, *_TOOLS)
    assert _sentences(given.append_to(own, ["en", "yy"]), "yy") == [["birdu"]]
