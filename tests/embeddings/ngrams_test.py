"""Vectors from n-grams: the regression, names across languages, the file."""

import dataclasses

import numpy as np
import pytest

from clwe_jax.embeddings import dictionary_text, ngrams, word_rows
from clwe_jax.embeddings.ngrams import Ngrams, Regression, Spelling
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.options.embeddings import WordsOptions
from clwe_jax.text.dictionary.merged import Dictionary

_WORDS = ["dom", "dombe", "kniha", "knihach", "woda", "Թոմ", "水"]
_PAIRS = {
    ("hsb", "en"): [
        ("dom", "house"),
        ("kniha", "book"),
        ("woda", "water"),
        ("dobry dźeń", "good day"),
        ("dobry", "good"),
    ]
}
_COUNTS = {
    "en": {"house": 9, "book": 7, "water": 5, "good": 5, "day": 9},
    "hsb": {"dom": 4, "knihach": 3, "woda": 2, "tom": 2},
}


def _vectors(count, dim=512):
    rows = np.random.default_rng(0).standard_normal((count, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_regression_is_the_ridge_of_its_normal_equations():
    grams, rows = Ngrams.of(_WORDS), _vectors(len(_WORDS))
    found = Regression.fit(grams, _WORDS, rows)
    features = grams.features(_WORDS).toarray()
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)
    solved = np.linalg.solve(features @ features.T + 0.2 * np.eye(len(_WORDS)), rows)
    np.testing.assert_allclose(found.factors, solved, atol=2e-3)
    expected = grams.features(["domach"]).toarray() @ features.T @ solved
    length = np.linalg.norm(expected)
    assert length < 0.7  # little is known of it
    expected *= (length / 0.7) ** 0.5 / length
    np.testing.assert_allclose(found.vectors(grams, ["domach"]), expected, atol=2e-3)


def test_a_loan_has_what_the_prior_knows_and_a_language_without_loans_takes_nothing(tmp_path):
    grams, rows = Ngrams.of(["telefon", "telephone", "dom", "water", "woda"]), _vectors(2)
    prior = Regression.fit(grams, ["telephone", "water"], rows)
    related = Regression.fit(grams, ["telefon"], rows[:1], prior)
    assert related.scale > 0.2 and related.vectors(grams, ["telefony"])[0] @ rows[0] > 0.5
    alien = Regression.fit(grams, ["dom"], -rows[:1], prior)
    assert alien.scale == 0 and not alien.vectors(grams, ["telephone"]).any()
    spelling = Spelling(grams, {"en": prior, "hsb": related}, 0.7, 0, 0.0, 512, 0)
    spelling.save(f"{tmp_path}/spelling.npz")
    loaded = Spelling.load(f"{tmp_path}/spelling.npz")
    some = ["telefony", "waters"]
    np.testing.assert_allclose(
        loaded.vectors(some, "hsb"), spelling.vectors(some, "hsb"), atol=2e-3
    )


def _spelling(compared, dim=1, width=6):
    regression = Regression(["a"], np.zeros((1, 3), np.float32))
    return Spelling(Ngrams.of(_WORDS), {"en": regression}, 0.7, dim, 0.6, width, 0, compared)


def test_where_words_are_compared_a_guess_is_short_beside_a_trained_vector(tmp_path):
    behind, none = [0.6, 0.3, 0.4], [0.6, 0, 0]  # of the n-grams, and what was trained
    entry, guess, longest = [0.6, 0.8, 0], [0.42, 0.56, 0], [0.54, 0.76, 0]
    rows = np.array([entry + behind, guess + behind, longest + behind, guess + none], np.float32)
    shares = np.array([1, 0.25, 0.25, 1])[:, None]
    expected = np.concatenate([rows[:, :3] * shares, rows[:, 3:]], 1)
    _spelling(0.25).save(f"{tmp_path}/spelling.npz")
    for made in (_spelling(0.25), Spelling.load(f"{tmp_path}/spelling.npz")):
        np.testing.assert_allclose(made.as_words(rows), expected, atol=1e-3)
    np.testing.assert_allclose(_spelling(0.5).as_words(rows)[1, :3], rows[1, :3] / 2, rtol=1e-5)
    others = (
        _spelling(1.0),
        _spelling(0.25, dim=3),
        dataclasses.replace(_spelling(0.25), regressions={}),
    )
    for same in others:  # the second one has no trained vectors
        np.testing.assert_array_equal(same.as_words(rows), rows)


def test_a_file_of_earlier_versions_compares_words_as_they_are(tmp_path):
    path = f"{tmp_path}/spelling.npz"
    _spelling(0.25).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, "facts": arrays["facts"][:5]})
    assert Spelling.load(path).compared == 1


def test_a_form_is_near_its_stem_and_a_sign_is_near_nothing():
    grams, rows = Ngrams.of(_WORDS), _vectors(len(_WORDS))
    found = Regression.fit(grams, _WORDS, rows)
    cosines = found.vectors(grams, ["knihami"]) @ rows.T
    assert set(np.argsort(-cosines[0])[:2]) == {2, 3}
    assert not found.vectors(grams, ["!", "…"]).any()


def test_names_meet_across_scripts():
    grams = Ngrams.of(_WORDS)
    tom, here, other = grams.directions(["tom", "Թոմ", "kniha"], 512, seed=0)
    assert tom @ here > 0.9 > 0.3 > abs(tom @ other)
    assert not grams.directions(["?"], 8, seed=0).any()


def test_words_of_unspaced_scripts_keep_their_characters():
    assert not set(ngrams.buckets("水")) & set(ngrams.buckets("shui"))
    assert set(ngrams.buckets("水")) & set(ngrams.buckets("水道"))


def _graph(**options):
    return WordGraph(Dictionary.from_pairs(_PAIRS), _COUNTS, WordsOptions(**options))


def test_any_string_has_the_vector_that_the_text_would_have_given_it():
    graph = _graph(spelling_dim=16)
    table = dictionary_text.vectors(word_rows.rows(graph, 64, 1))["hsb"]
    spelling = dictionary_text.make_spelling(word_rows.rows(graph, 64, 1), behind=3)
    found = spelling.vectors(["knihach", "unseen"], "hsb")
    assert found.shape == (2, 64 + 16 + 3) and found[1].any() and not found[:, -3:].any()
    np.testing.assert_allclose(found[0, :80], table.vectors[table.index["knihach"]], atol=1e-3)


def test_the_english_side_of_a_phrase_is_made_of_its_words():
    rows = dictionary_text.vectors(word_rows.rows(_graph(spelling_dim=0), 256, 1))
    of = lambda language, word: rows[language].vectors[rows[language].index[word]]
    assert of("en", "good day") @ of("en", "good") > 0.5
    assert of("hsb", "dobry dźeń") @ of("en", "good") > 0.5
    apart = dictionary_text.vectors(word_rows.rows(_graph(spelling_dim=0, phrases=False), 256, 1))
    vectors = apart["en"].vectors
    index = apart["en"].index
    assert abs(vectors[index["good day"]] @ vectors[index["good"]]) < 0.3


def test_the_meanings_of_another_model_make_synonyms_near():
    meant = {"house": [1, 0], "book": [0, 1], "water": [1, 0], "good": [0, 1], "good day": [0, 1]}
    graph = WordGraph(
        Dictionary.from_pairs(_PAIRS),
        _COUNTS,
        WordsOptions(spelling_dim=0, meaning_length=1.0),
        lambda words: np.array([meant.get(word, [0, 1]) for word in words], np.float32),
    )
    rows = dictionary_text.vectors(word_rows.rows(graph, 256, 1))
    of = lambda language, word: rows[language].vectors[rows[language].index[word]]
    assert of("en", "house").shape == (258,)
    assert of("hsb", "dom") @ of("en", "water") > 0.35 > 0.15 > of("hsb", "dom") @ of("en", "book")


def test_a_file_gives_back_what_was_saved(tmp_path):
    spelling = dictionary_text.make_spelling(word_rows.rows(_graph(spelling_dim=16), 64, 1))
    path = str(tmp_path / "spelling.npz")
    spelling.save(path)
    again = Spelling.load(path)
    # The run that has made it measures the same vectors.
    words = ["knihami", "unseen", "dom"]
    np.testing.assert_array_equal(again.vectors(words, "hsb"), spelling.vectors(words, "hsb"))
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["factors/hsb"] = arrays["factors/hsb"][:-1]
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="spelling.npz .* 5 .* 4"):
        Spelling.load(path)
    (tmp_path / "spelling.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="spelling.npz is damaged"):
        Spelling.load(path)


def test_short_words_of_scripts_without_spaces_are_not_guessed():
    words = ["銀行", "図書館", "bank"]
    ngrams = Ngrams.of(words)
    known = Regression.fit(ngrams, words, np.eye(3, 4, dtype=np.float32))
    guessed = known.vectors(ngrams, ["銀河", "図書室", "banks"])
    assert not guessed[0].any() and guessed[1].any() and guessed[2].any()
    spelled = ngrams.directions(["図書館", "bank", "7"], 8, seed=0)
    assert not spelled[0].any() and spelled[1].any() and spelled[2].any()


def test_few_words_have_the_vectors_that_they_have_among_many():
    grams = Ngrams.of(_WORDS)
    known = Regression.fit(grams, _WORDS, _vectors(len(_WORDS)))
    many = [f"kniha{number}" for number in range(2 * ngrams._FEW)]
    among = known.vectors(grams, many)
    np.testing.assert_allclose(known.vectors(grams, many[:3]), among[:3], atol=1e-6)
