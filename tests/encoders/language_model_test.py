"""A loaded language model, of a model small enough to be computed again in NumPy."""

import dataclasses

import numpy as np
import pytest

from clwe_jax.encoders.language_model import LanguageModel

WORDS = ["a", "b", "c", "d", "e"]


@pytest.fixture
def loaded(toy_objective, make_tokenizer, make_variables):
    tokenizer = make_tokenizer(WORDS)
    variables = make_variables(tokenizer)
    return LanguageModel(None, tokenizer, toy_objective(), variables, {"en": WORDS})


def test_near_words_are_those_of_the_centered_cosines(loaded):
    vectors = loaded.vectors("en").vectors
    np.testing.assert_allclose(vectors, loaded.sentences(WORDS, "en", None), atol=1e-6)
    x = vectors - vectors.mean(0)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    cosines = x @ x[0]
    found = loaded.neighbours("a", "en", k=2, method="cosine")
    assert [near.word for near in found] == [WORDS[i] for i in np.argsort(-cosines)[1:3]]
    np.testing.assert_allclose([near.score for near in found], sorted(cosines)[-2:-4:-1], atol=1e-5)
    assert loaded.index("en", 0) is loaded.index("en", 0)
    with pytest.raises(ValueError, match="'de'"):
        loaded.neighbours("a", "de")


def test_other_parameters_make_another_model(loaded):
    assert loaded.tunable and loaded.segmenter("en").words("a b", "en") == ["a", "b"]
    first = loaded.vectors("en")
    pieces = np.asarray(loaded.variables["pieces"])
    other = dataclasses.replace(
        loaded, variables={**loaded.variables, "pieces": pieces[::-1].copy()}
    )
    assert not np.allclose(other.vectors("en").vectors, first.vectors)
    assert loaded.with_parameters({"w": 1}).variables.keys() == {*loaded.variables, "params"}


def test_neighbours_are_shown_as_they_are_written(loaded):
    spelled = dataclasses.replace(loaded, spellings={"en": {"b": "ɓ’"}})
    words = {near.word for near in spelled.neighbours("a", "en", k=4)}
    assert words == {"ɓ’", "c", "d", "e"}
    vectors = spelled.vectors("en")
    assert vectors.words == ["a", "ɓ’", "c", "d", "e"] and vectors.index["b"] == 1
