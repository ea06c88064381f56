"""The skip-gram's products beside pairs one by one, its n-grams beside sums of them, and its threads."""

import dataclasses

import numpy as np
import pytest

from clwe_jax.embeddings import passes, skipgram, subwords, train
from clwe_jax.embeddings.corpus import CorpusSentences
from clwe_jax.embeddings.skipgram import SkipGram
from clwe_jax.embeddings.subwords import GramTable
from clwe_jax.options.embeddings import FastTextOptions

WORDS = ["banana", "bandana", "ban", "tree", "trees", "a"]
RATE = 0.3


def test_n_grams_of_the_same_words_are_one_row():
    """A table with a row for each n-gram has the same sums, before and after a gradient."""
    grams = GramTable.of(WORDS, 2, 4)
    names = [[f"own {word}", *subwords.cut(word, 2, 4)] for word in WORDS]
    each = sorted({name for own in names for name in own})
    whole = np.array([[own.count(name) for name in each] for own in names], np.float32)
    assert len(grams.sizes) < len(each) == grams.sizes.sum()
    np.testing.assert_array_equal(grams.counts, whole.sum(1) - 1)
    # The sums' products say what a gradient of one word does to the sum of another.
    sums = grams.sums.toarray()
    np.testing.assert_allclose(sums @ sums.T, whole @ whole.T, rtol=1e-5)


def test_an_n_grams_vector_is_its_share_of_the_row():
    grams = GramTable.of(WORDS, 2, 4)
    table = np.random.default_rng(0).normal(size=(len(grams.sizes), 3)).astype(np.float32)
    named = grams.subwords(table, 2, 4)
    known = dict(zip(named.names, named.vectors[named.rows]))
    vectors = grams.vectors(table)
    for row, word in enumerate(WORDS):
        cuts = subwords.cut(word, 2, 4)
        rest = vectors[row] * (len(cuts) + 1) - sum(known[cut] for cut in cuts)
        # What remains is the word's own vector, that of its n-grams in no other word.
        alone = [known[cut] for cut in cuts if not any(cut in f"<{x}>" for x in WORDS if x != word)]
        for vector in alone:
            np.testing.assert_allclose(vector, rest, rtol=1e-3, atol=1e-5)
    assert known["ana"] is not None and len(set(named.names)) == len(named.names)


def blocks(ids, sentences, settings, seed=0):
    random = np.random.default_rng(seed)
    chunk = passes.Chunk(ids, sentences, len(ids))
    count = -(-len(ids) // skipgram._BLOCK)
    windows = skipgram._Windows.of(chunk, count, settings, random)
    noise = random.integers(0, len(WORDS), (count, skipgram._NOISE)).astype(np.int32)
    reach = settings.window
    return windows.cut(0, RATE, noise), windows.widths[reach : reach + len(ids)], noise


@pytest.mark.parametrize("size", [20, 70])  # one block with a rest, three
def test_gradients_are_those_of_pairs_one_by_one(size):
    random = np.random.default_rng(1)
    ids = random.integers(0, len(WORDS), size).astype(np.int32)
    sentences = np.arange(size) // 9
    settings = FastTextOptions(window=3, negatives=4)
    cut, widths, noise = blocks(ids, sentences, settings)
    grams = GramTable.of(WORDS, 2, 4)
    model = SkipGram.start(grams, 5, random)
    model.outputs[:] = random.normal(size=model.outputs.shape)
    hidden = (grams.sums @ model.inputs) / np.maximum(1, grams.counts)[:, None]
    for_hidden = np.zeros_like(hidden, dtype=np.float64)
    for_outputs = np.zeros_like(hidden, dtype=np.float64)

    def pair(word, other, sign, weight):
        slope = weight * RATE * sign / (1 + np.exp(sign * (hidden[word] @ model.outputs[other])))
        for_hidden[word] += slope * model.outputs[other]
        for_outputs[other] += slope * hidden[word]

    for place, word in enumerate(ids):
        for there in range(max(0, place - widths[place]), min(size, place + widths[place] + 1)):
            if there != place and sentences[there] == sentences[place]:
                pair(word, ids[there], 1, 1)
                for other in noise[place // skipgram._BLOCK]:
                    pair(word, other, -1, 4 / skipgram._NOISE)
    inputs = model.inputs + grams.sums.T @ for_hidden
    outputs = model.outputs + for_outputs
    model.add(model.change(cut, updated=len(noise)))
    np.testing.assert_allclose(model.inputs, inputs, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.outputs, outputs, rtol=1e-3, atol=1e-4)
    assert not np.allclose(for_outputs, 0)


def test_two_threads_make_the_bytes_of_one():
    random = np.random.default_rng(0)
    ids = random.integers(0, 300, 6_000).astype(np.int32)
    spans = np.arange(0, 6_000, 10)[:, None] + [0, 10]
    text = CorpusSentences([f"word{i}" for i in range(300)], ids, spans)
    settings = FastTextOptions(dim=8, epochs=2, min_count=1, subsample=1.0)
    one, two = (
        train.fasttext(text, dataclasses.replace(settings, workers=n)).vectors for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_few_words_stay_finite_and_a_wild_rate_is_named():
    text = CorpusSentences(
        ["yes", "no"], np.arange(4_000, dtype=np.int32) % 2, np.array([[0, 4_000]])
    )
    settings = FastTextOptions(dim=8, epochs=5, min_count=1, subsample=1.0)
    assert np.abs(train.fasttext(text, settings).vectors).max() < 100
    with pytest.raises(ValueError, match="infinite: lower config.embeddings.learning_rate=1000"):
        train.fasttext(text, dataclasses.replace(settings, learning_rate=1000.0))
