"""Word counts of a run, and the weights of words that follow from them."""

import math

import numpy as np
import pytest

from clwe_jax.text.corpus import frequencies
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary

FOUND = Frequencies({"en": 1_000, "de": 10}, {"en": {"the": 60, "cat": 3, "cats": 1}, "de": {}})


def test_sif_is_a_over_a_plus_p():
    counts = np.array([0, 1, 50, 1_000])
    expected = [1.0, 0.5, 0.001 / 0.051, 0.001 / 1.001]
    np.testing.assert_allclose(frequencies.sif_weights(counts, 1_000), expected, rtol=1e-6)


def test_information_is_the_power_of_log_p_over_that_of_one_word():
    counts = np.array([0, 1, 10, 100, 1_000])
    weights = frequencies.information_weights(counts, 1_000)
    expected = np.array([1, 1, 2 / 3, 1 / 3, 0]) ** 1.5
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    # Any base of the logarithm gives the same; a text of no or one word has no frequent ones.
    assert frequencies.information_weights(np.array([0, 1]), 0).tolist() == [1, 1]


def test_rarer_words_weigh_more():
    weights = frequencies.information_weights(np.arange(1, 500), 500)
    assert (np.diff(weights) < 0).all() and weights.min() > 0


def test_a_words_share_is_of_all_running_words():
    logs = {"the": math.log(1_000 / 60), "cat": math.log(1_000 / 3), "cats": math.log(1_000)}
    expected = {word: (x / math.log(1_000)) ** 1.5 for word, x in logs.items()}
    assert FOUND.word_weights("en", "information") == pytest.approx(expected)
    shares = {"the": 0.06, "cat": 0.003, "cats": 0.001}
    expected = {word: 1e-3 / (1e-3 + share) for word, share in shares.items()}
    assert FOUND.word_weights("en", "sif") == pytest.approx(expected)
    assert FOUND.word_weights("en", "sif") is FOUND.word_weights("en", "sif")  # made once
    for language in ("de", "fr"):
        assert FOUND.word_weights(language, "sif") == {}


def test_a_pieces_share_is_of_all_pieces_of_its_language():
    vocabulary = WordPieceVocabulary([*SPECIALS, "the", "cat", "##s", "dog"])
    weights = FOUND.piece_weights("en", vocabulary)
    counts = np.array([0, 0, 0, 0, 0, 60, 4, 1, 0])
    np.testing.assert_allclose(weights, 1e-3 / (1e-3 + counts / 65), rtol=1e-6)
    assert weights.dtype == np.float32 and (FOUND.piece_weights("de", vocabulary) == 1).all()


def test_the_most_frequent_words_are_kept(monkeypatch):
    monkeypatch.setattr(frequencies, "MAX_WORDS", 2)
    found = frequencies.most_frequent({"en": {"the": 7, "cat": 2, "dog": 1}})
    assert found.totals == {"en": 10} and found.words == {"en": {"the": 7, "cat": 2}}


def test_a_folder_keeps_them(tmp_path):
    assert frequencies.load(str(tmp_path)) is None
    FOUND.save(str(tmp_path))
    assert frequencies.load(str(tmp_path)) == FOUND
    for damaged in ("{", '{"en": 3}'):
        (tmp_path / frequencies.FILE).write_text(damaged)
        with pytest.raises(ValueError, match="counts.json .*Delete it"):
            frequencies.load(str(tmp_path))


def test_counts_of_ranks_follow_zipfs_law():
    found = frequencies.of_ranks([f"w{i}" for i in range(1_000)])
    mass = sum(1 / (2.7 + rank) for rank in range(1, 1_001))
    assert found["w0"] == round(1e6 / 3.7 / mass) and found["w999"] == round(1e6 / 1002.7 / mass)
    assert sum(found.values()) == pytest.approx(1e6, rel=1e-3)
    assert frequencies.of_ranks([]) == {}


def test_counts_of_two_runs_are_joined():
    other = Frequencies({"fr": 7}, {"fr": {"le": 4}})
    found = frequencies.join_counts([FOUND, other])
    assert found.totals == {"en": 1_000, "de": 10, "fr": 7} and found.words["fr"] == {"le": 4}
    assert found.words["en"] == FOUND.words["en"]
    assert frequencies.join_counts([FOUND, None]) is None
