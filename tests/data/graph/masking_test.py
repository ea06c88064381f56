import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph import draws, masking


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.5, 1.0])
def test_quota_is_exact_in_expectation(rate):
    rng = np.random.default_rng(0)
    text = np.sort(rng.integers(0, 3_000, 40_000)).astype(np.int32)
    eligible = np.ones(len(text), bool)
    chosen = masking.choose(tf.constant(eligible), tf.constant(text), rate, draws.Draws(0, 0))
    words = np.bincount(text, minlength=3_000)
    masked = np.bincount(text, chosen.numpy(), minlength=3_000)
    # Never more than one away from the rate, and no bias over many texts.
    assert np.abs(masked - rate * words).max() < 1
    assert abs(masked.sum() - rate * len(text)) < 5 * np.sqrt(3_000 / 4) + 1


def test_only_eligible_words_and_as_many_as_there_are():
    rng = np.random.default_rng(1)
    text = np.repeat(np.arange(500), 20).astype(np.int32)
    eligible = rng.random(len(text)) < 0.2
    chosen = masking.choose(
        tf.constant(eligible), tf.constant(text), 0.25, draws.Draws(0, 1)
    ).numpy()
    assert not (chosen & ~eligible).any()
    masked, able = np.bincount(text, chosen), np.bincount(text, eligible)
    np.testing.assert_array_equal(masked, np.minimum(able, 5))


def test_every_eligible_word_is_as_likely():
    # 4 of 12 words eligible, 2 masked in each of many texts: every pair of them is as likely.
    texts = 30_000
    text = np.repeat(np.arange(texts), 12).astype(np.int32)
    eligible = np.tile(np.isin(np.arange(12), (0, 3, 4, 11)), texts)
    chosen = masking.choose(
        tf.constant(eligible), tf.constant(text), 2 / 12, draws.Draws(3, 1)
    ).numpy()
    pairs = chosen.reshape(texts, 12)[:, (0, 3, 4, 11)]
    assert (pairs.sum(axis=1) == 2).mean() > 0.99  # 2 / 12 * 12 rounds to just below 2 in float32
    codes = np.bincount(pairs[pairs.sum(axis=1) == 2] @ [1, 2, 4, 8], minlength=16)
    counts = codes[codes > 0]
    assert len(counts) == 6
    expected = counts.sum() / 6
    assert ((counts - expected) ** 2 / expected).sum() < 5 + 5 * np.sqrt(10)


def test_texts_need_not_be_in_order():
    text = np.tile(np.arange(100), 20).astype(np.int32)
    chosen = masking.choose(
        tf.ones([len(text)], tf.bool), tf.constant(text), 0.5, draws.Draws(0, 0)
    ).numpy()
    np.testing.assert_array_equal(np.bincount(text, chosen), np.full(100, 10))


def test_nothing_to_choose_from():
    empty = tf.zeros([0], tf.int32)
    assert masking.choose(tf.zeros([0], tf.bool), empty, 0.15, draws.Draws(0, 0)).shape == (0,)
    none = masking.segments(empty, tf.zeros([0], tf.bool), empty, empty, 10, 5)
    assert none.shape == (0,)


def random_documents(seed):
    rng = np.random.default_rng(seed)
    count = 3_000
    line = np.sort(rng.integers(0, 150, count)).astype(np.int32)
    ends = rng.random(count) < 0.08
    pieces = rng.integers(1, 5, count).astype(np.int32)
    predictions = np.where(rng.random(count) < 0.2, pieces, 0).astype(np.int32)
    return line, ends, pieces, predictions


def cut(line, ends, pieces, predictions, length, most):
    return masking.segments(
        *(tf.constant(x) for x in (line, ends, pieces, predictions)), length, most
    ).numpy()


def test_segments_hold_what_they_can():
    line, ends, pieces, predictions = random_documents(0)
    segment = cut(line, ends, pieces, predictions, 30, 8)
    assert np.bincount(segment, pieces).max() <= 30
    assert np.bincount(segment, predictions).max() <= 8
    # Ascending without gaps, and never across documents.
    assert set(np.diff(segment)) <= {0, 1} and segment[0] == 0
    assert all(len(set(line[segment == s])) == 1 for s in range(segment[-1] + 1))


def test_cuts_are_at_sentence_ends_where_that_is_possible():
    line, ends, pieces, predictions = random_documents(1)
    length = 200
    segment = cut(line, ends, pieces, predictions, length, length)
    first = np.concatenate([[True], line[1:] != line[:-1]])
    sentence = np.cumsum(first | np.concatenate([[True], ends[:-1]])) - 1
    assert np.bincount(sentence, pieces).max() <= length
    for place in np.flatnonzero(np.diff(segment)):
        assert ends[place] or line[place] != line[place + 1]


def test_sentences_of_a_document_are_joined():
    line = np.zeros(6, np.int32)
    ends = np.array([False, True, True, False, True, True])
    pieces = np.array([4, 4, 4, 4, 4, 4], np.int32)
    none = np.zeros(6, np.int32)
    # Sentences of 8, 4, 8 and 4 pieces.
    assert cut(line, ends, pieces, none, 12, 1).tolist() == [0, 0, 0, 1, 1, 1]
    assert cut(line, ends, pieces, none, 11, 1).tolist() == [0, 0, 1, 2, 2, 3]
    # One sentence too long: cut between words, and only that one.
    assert cut(line, ends, pieces, none, 7, 1).tolist() == [0, 1, 2, 3, 4, 5]
