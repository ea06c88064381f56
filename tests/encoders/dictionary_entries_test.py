"""A word's entries in the dictionary go before its neighbours."""

import dataclasses

import numpy as np
import pytest

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import spaces
from clwe_jax.encoders.dictionary_entries import DictionaryEntries
from clwe_jax.encoders.protocols import WordSample
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.runs import lexica
from clwe_jax.text.dictionary.merged import Dictionary

ENGLISH = ["water", "water closet", "boiling water", "river", "Kyiv"]
# The phrase is nearer to the Ukrainian word than the word itself, as it is in vectors of dictionaries.
ROWS = [[1, 0.4, 0], [1, 0.1, 0], [1, 0.2, 0.2], [0, 1, 0], [0, 0, 1]]
PAIRS = {
    ("en", "uk"): [("water", "вода"), ("river", "вода"), ("river", "ріка"), ("unseen", "ріка")],
    ("fa", "uk"): [("ab", "вода")],
}


def model_of(pairs, languages=("en", "uk", "fa")):
    raw = {
        "en": Vectors(ENGLISH, np.float32(ROWS)),
        "uk": Vectors(
            ["ріка", "Вода"], np.float32([[0.1, 1, 0], [1, 0, 0]]), keys=["ріка", "вода"]
        ),
        "fa": Vectors(["ab"], np.float32([[0, 0, 1]])),
    }
    raw = {language: raw[language] for language in languages}
    made = DictionaryEntries().with_dictionary(Dictionary.from_pairs(pairs), raw)
    return StaticSpaces(raw, {}, {}, languages[0], entries=made)


def words(near):
    return [x.word for x in near]


@pytest.mark.parametrize("method", ["csls", "cosine", "inverted_softmax"])
def test_entries_come_first_by_cosine_in_a_run_and_in_its_folder(method, tmp_path):
    model = model_of(PAIRS)
    model.save(str(tmp_path))
    for some in (model, spaces.load(tmp_path)):
        near = some.neighbours("вода", "uk", 4, "en", method=method)
        assert words(near[:2]) == ["water", "river"] and len(near) == 4
        assert near[2].score >= near[3].score
        assert words(some.neighbours("вода", "uk", 1, "en", method=method)) == ["water"]
        back = some.neighbours("water", "en", 2, "uk", method=method)
        assert words(back) == ["Вода", "ріка"]
    # Of all languages too; a language's own words are no entries.
    near = model.neighbours("вода", "uk", 9)
    assert words(near[:3]) == ["water", "river", "ab"] and "Вода" not in words(near)
    scores = {x.word: x.score for x in near}
    plain = model_of({}).neighbours("вода", "uk", 9)
    assert {x.word: pytest.approx(x.score, abs=1e-6) for x in plain} == scores
    assert words(plain)[0] == "water closet"


def test_a_folder_without_entries_answers_as_before_and_measurements_do_not_read_them(tmp_path):
    model_of(PAIRS).save(str(tmp_path))
    with_entries = spaces.load(tmp_path)
    (tmp_path / "entries.npy").unlink()
    old = spaces.load(tmp_path)
    assert words(old.neighbours("вода", "uk", 5, "en")) == words(
        model_of({}).neighbours("вода", "uk", 5, "en")
    )
    for language in ("en", "uk"):
        found = [
            x.encoder().vocabulary(language, (), WordSample(max_words=3))
            for x in (with_entries, old)
        ]
        assert found[0].words == found[1].words
        np.testing.assert_array_equal(found[0].vectors, found[1].vectors)
    model_of({}).save(str(tmp_path))
    assert not (tmp_path / "entries.npy").exists()


def test_pairs_of_two_languages_and_of_languages_that_are_added():
    model = model_of(PAIRS)
    assert model.entries.accepted.pairs_between("uk", "en").tolist() == [[0, 3], [1, 0], [1, 3]]
    assert model.entries.accepted.pairs_between("en", "fa").tolist() == []
    first = model_of({("en", "uk"): PAIRS["en", "uk"]}, ("en", "uk"))
    grown = dict(model.raw)
    grown["en"] = Vectors([*ENGLISH, "new"], np.float32([*ROWS, [1, 1, 1]]))
    more = Dictionary.from_pairs({("en", "fa"): [("new", "ab")], ("en", "uk"): [("water", "вода")]})
    both = first.entries.with_dictionary(more, grown)
    assert both.accepted.of("new", "en", "fa") == ["ab"]
    assert both.accepted.of("вода", "uk", "en") == ["water", "river"]
    assert len(both.accepted.pairs) == 4
    assert first.entries.with_dictionary(None, grown).accepted.of("ріка", "uk", "en") == ["river"]


def test_induced_pairs_are_the_best_entries_and_other_words_are_as_before():
    random = np.random.default_rng(0)
    own = random.standard_normal((6, 16)).astype(np.float32)
    source = Vectors([f"s{x}" for x in "abcdef"], own)
    target = Vectors([f"t{x}" for x in "abcdef"], own + 0.01)
    none = np.empty((0, 2), np.int32)
    pairs = [(f"s{x}", f"t{x}") for x in "abcdef"]
    assert lexica.induce_pairs(source, target, none, none) == pairs
    # a: the entry b; b: its entry f; the pair of c is out of reach.
    entries = np.array([[0, 1], [1, 5], [2, 9]])
    found = lexica.induce_pairs(source, target, entries, none)
    assert found == [("sa", "tb"), ("sb", "tf"), *pairs[2:5]]
    entries = np.array([[3, 4], [3, 3], [4, 3]])
    assert lexica.induce_pairs(source, target, entries, none) == [*pairs[:4], pairs[5]]


@pytest.mark.parametrize("method", ["csls", "cosine"])
def test_a_rejected_pair_is_no_answer_in_a_run_and_in_its_folder(method, tmp_path):
    model = model_of({})
    rejected = [("en", "water closet", "uk", "вода"), ("en", "unseen", "uk", "вода")]
    judged = Dictionary.empty(["en", "uk"], rejected)
    model = dataclasses.replace(
        model, entries=DictionaryEntries().with_dictionary(judged, model.raw)
    )
    model.save(str(tmp_path))
    before = words(model_of({}).neighbours("вода", "uk", 5, "en", method=method))
    for some in (model, spaces.load(tmp_path)):
        near = words(some.neighbours("вода", "uk", 4, "en", method=method))
        assert near == [x for x in before if x != "water closet"]
        assert words(some.neighbours("water closet", "en", 3, "uk", method=method)) == ["ріка"]
    both = model.word_space("uk", "en")
    rows = model.entries.rejected.pairs_between("uk", "en")
    assert rows.tolist() == [[1, 1]]
    pairs = lexica.induce_pairs(*both, np.empty((0, 2), int), rows)
    assert ("Вода", "water closet") not in pairs
