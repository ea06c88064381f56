"""fastText by gensim: settings, seeds, progress, fastText's own model files."""

import dataclasses
import re
import types

import numpy as np
import pytest

from clwe_jax.embeddings import train
from clwe_jax.embeddings.corpus import CorpusSentences
from clwe_jax.embeddings.subwords import Subwords
from clwe_jax.options.embeddings import FastTextOptions

SMALL = FastTextOptions(dim=8, epochs=2, min_count=2, buckets=200)


def topics(sentences=400, seed=0) -> CorpusSentences:
    """Two sets of words that never meet in a sentence, and one word that occurs once."""
    random = np.random.default_rng(seed)
    names = [f"sun{chr(97 + i)}" for i in range(10)] + [f"moon{chr(97 + i)}" for i in range(10)]
    rows = [random.integers(10, size=8) + 10 * (i % 2) for i in range(sentences)]
    rows[0][0] = 20
    spans = np.arange(0, 8 * sentences, 8)[:, None] + [0, 8]
    return CorpusSentences([*names, "rare"], np.concatenate(rows).astype(np.int32), spans)


def test_words_by_frequency_with_their_counts():
    sentences = topics()
    vectors = train.fasttext(sentences, SMALL)
    counts = np.bincount(sentences.ids)
    assert set(vectors.words) == set(sentences.words[:20])  # 'rare' is too rare
    for word, count in zip(vectors.words, vectors.counts.tolist()):
        assert count == counts[sentences.words.index(word)]
    assert sorted(vectors.counts.tolist(), reverse=True) == vectors.counts.tolist()
    assert vectors.vectors.shape == (20, 8) and vectors.vectors.dtype == np.float32


def test_same_seed_same_bits():
    one, same, other = (train.fasttext(topics(), SMALL, seed).vectors for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_no_number_of_passes_is_that_of_the_texts_size():
    whole, chosen = (
        train.fasttext(topics(), dataclasses.replace(SMALL, epochs=x)) for x in (15, 0)
    )
    np.testing.assert_array_equal(whole.vectors, chosen.vectors)


def test_words_of_a_topic_are_neighbours():
    settings = FastTextOptions(dim=16, epochs=15, min_count=1, min_n=2, max_n=0, subsample=1.0)
    vectors = train.fasttext(topics(1_000), settings)
    x = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    sun = np.array([word.startswith("sun") for word in vectors.words])
    cosines = x @ x.T
    assert cosines[sun][:, sun].mean() > cosines[sun][:, ~sun].mean() + 0.2


def test_progress_is_logged_to_the_end(monkeypatch, caplog):
    monkeypatch.setattr(train, "_EVERY", 0.0)
    monkeypatch.setattr(train, "_CHECKED", 100)
    caplog.set_level("INFO", "absl")
    train.fasttext(topics(), SMALL)
    done = [
        int(x) for x in re.findall(r"Trained (\d+)%, [\d,]+ words/s, \d+:\d\d left", caplog.text)
    ]
    assert len(done) > 10 and done == sorted(done) and done[0] < 20 and done[-1] == 100


def test_the_meter_estimates_the_time_left(monkeypatch, caplog):
    now = iter([100.0, 105.0, 160.0, 160.0, 220.0])
    monkeypatch.setattr(train, "time", types.SimpleNamespace(monotonic=lambda: next(now)))
    caplog.set_level("INFO", "absl")
    meter = train.Meter(36_000)
    meter.advance(2_000)  # after 5 seconds: too early for a line
    meter.advance(7_000)
    meter.finish()
    said = [record.getMessage() for record in caplog.records]
    assert said == ["Trained 25%, 150 words/s, 3:00 left", "Trained 100%, 300 words/s, 0:00 left"]


def test_settings_reach_the_trainer(monkeypatch):
    from gensim.models import fasttext

    asked = {}
    start = fasttext.FastText.__init__

    def spy(self, **options):
        asked.update(options)
        start(self, **options)

    monkeypatch.setattr(fasttext.FastText, "__init__", spy)
    train.fasttext(topics(), FastTextOptions(dim=4, epochs=1, min_count=1, buckets=50))
    assert asked["sg"] == 1 and asked["alpha"] == 0.05 and asked["min_alpha"] == 0.0
    assert asked["window"] == 5 and asked["negative"] == 5 and asked["sample"] == 1e-4
    assert (asked["min_n"], asked["max_n"], asked["bucket"]) == (3, 6, 50)
    assert asked["ns_exponent"] == 0.5 and asked["workers"] == 1
    assert FastTextOptions().buckets == 2_000_000 and FastTextOptions().dim == 300


def test_a_small_text_is_read_more_often():
    """0 passes are chosen by the size of the text; a number is taken as it is."""
    by_size = FastTextOptions(epochs=0)
    sizes = (0, 1_000_000, 1_500_000, 3_000_000, 10**9)
    assert [by_size.over(words).epochs for words in sizes] == [15, 15, 10, 5, 5]
    assert FastTextOptions(epochs=2).over(10).epochs == 2


def test_bad_settings_and_text_are_named():
    with pytest.raises(ValueError, match="window=0"):
        FastTextOptions(window=0)
    with pytest.raises(ValueError, match=r"min_count=500 times in 3,200 running words"):
        train.fasttext(topics(), FastTextOptions(dim=4, min_count=500, buckets=50))


def test_a_words_vector_is_the_mean_of_its_own_and_its_n_grams():
    """Words with n-grams alone have the n-grams' mean; a part of a word has fewer n-grams."""
    _, grams = train.fasttext_with_subwords(topics(), SMALL)
    inside = grams.vector("abcd", begins=False, ends=False)
    from gensim.models.fasttext_inner import ft_hash_bytes

    def row(gram):
        return grams.vectors[ft_hash_bytes(gram) % len(grams.vectors)]

    lengths = range(grams.min_n, grams.max_n + 1)
    for text, found in (("abcd", inside), ("<abcd", grams.vector("abcd", ends=False))):
        cuts = [text[i : i + n] for n in lengths for i in range(len(text) - n + 1)]
        wanted = np.mean([row(cut.encode()) for cut in cuts if cut.strip("<")], axis=0)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
    assert not grams.vector("a", begins=False, ends=False).any()


def test_n_grams_are_kept_in_a_file(tmp_path):
    _, grams = train.fasttext_with_subwords(topics(), SMALL)
    path = str(tmp_path / "subwords.npz")
    grams.save(path)
    again = Subwords.load(path)
    np.testing.assert_array_equal(again.vector("abcd"), grams.vector("abcd"))
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(ValueError, match="subwords.npz is damaged"):
        Subwords.load(path)
