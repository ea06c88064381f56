"""Trained vectors beside those of a dictionary."""

import numpy as np

from clwe_jax.embeddings import concatenate
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.words.normalize import Normalizer


def _made(seed, languages="de en", width=6, words=("a", "b", "c", "d"), counts=(9, 7, 5, 3)):
    rng = np.random.default_rng(seed)
    return {
        language: Vectors(
            list(words),
            rng.standard_normal((len(words), width), np.float32) + 2,
            np.array(counts, np.int64),
        )
        for language in languages.split()
    }


def test_cosines_are_weighted_means_of_both():
    dictionary, trained = _made(0), _made(1, width=4)
    dictionary = {
        language: Vectors(v.words, v.vectors / np.linalg.norm(v.vectors, axis=1, keepdims=True))
        for language, v in dictionary.items()
    }
    found = concatenate.vectors(dictionary, trained, 0.5)
    centered = {x: v.vectors - v.vectors.mean(0) for x, v in trained.items()}
    for i in range(4):
        for j in range(4):
            a, b = (found[x].vectors[row].astype(np.float32) for x, row in (("de", i), ("en", j)))
            one = dictionary["de"].vectors[i] @ dictionary["en"].vectors[j]
            x, y = centered["de"][i], centered["en"][j]
            other = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
            expected = (one + 0.25 * other) / 1.25
            assert abs(a @ b / np.linalg.norm(a) / np.linalg.norm(b) - expected) < 2e-3  # float16


def test_each_word_has_the_parts_that_know_it():
    dictionary = _made(0, "de", words=("haus", "tür"), counts=(2, 8))
    trained = _made(1, "de", width=4, words=("haus", "xylophon", "dach"), counts=(2, 5, 4))
    found = concatenate.vectors(dictionary, trained, 0.5)["de"]
    assert found.words == ["tür", "xylophon", "dach", "haus"]  # most frequent first
    assert found.counts.tolist() == [8, 5, 4, 2]
    rows = dict(zip(found.words, found.vectors))
    np.testing.assert_array_equal(rows["tür"][6:], 0)
    np.testing.assert_array_equal(rows["xylophon"][:6], 0)
    np.testing.assert_array_equal(rows["haus"][:6], dictionary["de"].vectors[0].astype(np.float16))
    np.testing.assert_allclose(np.linalg.norm(rows["haus"][6:]), 0.5, rtol=1e-3)


def test_counts_of_the_whole_text_order_words_that_a_sample_has_too():
    dictionary = _made(0, "de", words=("often", "seldom"), counts=(200, 30))
    trained = _made(1, "de", width=4, words=("often", "other"), counts=(20, 15))
    found = concatenate.vectors(dictionary, trained, 0.5)["de"]
    assert found.words == ["often", "seldom", "other"] and found.counts.tolist() == [200, 30, 15]


def test_words_meet_by_their_keys_and_stay_as_they_are_written():
    dictionary = _made(0, "de", words=("don't", "m2", "haus"), counts=(8, 5, 2))
    given = Vectors(["dach", "don’t", "m²", "m2"], np.eye(4, dtype=np.float32))
    given = {"de": given.with_keys(Normalizer(lower_case=False).key)}
    found = concatenate.vectors(dictionary, given, 0.5)["de"]
    assert found.words == ["don’t", "m2", "haus", "dach"]
    assert list(found.own_keys) == ["don't", "m2", "haus", "dach"]
    assert found.counts.tolist() == [8, 5, 2, 0]
    of_dictionary = dictionary["de"].vectors.astype(np.float16)
    np.testing.assert_array_equal(found.vectors[:3, :6], of_dictionary)
    # The row of the word itself, not of another spelling of its key.
    of_given = found.vectors[[3, 0, 1], 6:]
    assert of_given.argmax(1).tolist() == [0, 1, 3] and not found.vectors[2, 6:].any()


def test_trained_vectors_that_are_the_mean_stay_finite():
    trained = {"de": Vectors(["haus"], np.ones((1, 4), np.float32))}
    found = concatenate.vectors(_made(0, "de", words=("haus",), counts=(1,)), trained, 0.5)
    assert np.isfinite(found["de"].vectors).all()


def test_a_language_may_lack_one_of_both():
    none = {
        6: Vectors([], np.zeros((0, 6), np.float32)),
        4: Vectors([], np.zeros((0, 4), np.float32)),
    }
    dictionary, trained = _made(0, "de"), _made(1, "de", width=4)
    found = concatenate.vectors({"de": none[6]}, trained, 0.5)["de"]
    assert found.words == trained["de"].words and not found.vectors[:, :6].any()
    found = concatenate.vectors(dictionary, {"de": none[4]}, 0.5)["de"]
    np.testing.assert_array_equal(found.vectors[:, :6], dictionary["de"].vectors.astype(np.float16))
    assert not found.vectors[:, 6:].any()
    assert not len(concatenate.vectors({"de": none[6]}, {"de": none[4]}, 0.5)["de"])
