"""fastText by gensim: settings arrive, same seed same bits, progress, models others read."""

import numpy as np
import pytest
from gensim.models.fasttext import load_facebook_vectors

from clwe_jax.embeddings import files, train
from clwe_jax.embeddings.corpus import Sentences
from clwe_jax.embeddings.train import FastText, Progress

SMALL = FastText(dim=8, epochs=2, min_count=2, buckets=200)


def topics(sentences=400, seed=0) -> Sentences:
    """Two sets of words that never meet in a sentence, and one word that occurs once."""
    random = np.random.default_rng(seed)
    names = [f"sun{chr(97 + i)}" for i in range(10)] + [f"moon{chr(97 + i)}" for i in range(10)]
    rows = [random.integers(10, size=8) + 10 * (i % 2) for i in range(sentences)]
    rows[0][0] = 20
    spans = np.arange(0, 8 * sentences, 8)[:, None] + [0, 8]
    return Sentences([*names, "rare"], np.concatenate(rows).astype(np.int32), spans)


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


def test_words_of_a_topic_are_neighbours():
    settings = FastText(dim=16, epochs=15, min_count=1, min_n=2, max_n=0, subsample=1.0)
    vectors = train.fasttext(topics(1_000), settings)
    x = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    sun = np.array([word.startswith("sun") for word in vectors.words])
    cosines = x @ x.T
    assert cosines[sun][:, sun].mean() > cosines[sun][:, ~sun].mean() + 0.2


def test_progress_is_told_to_the_end(monkeypatch):
    monkeypatch.setattr(train, "_EVERY", 0.0)
    monkeypatch.setattr(train, "_LOOKED", 100)
    told: list[Progress] = []
    train.fasttext(topics(), SMALL, progress=told.append)
    done = [progress.done for progress in told]
    assert len(told) > 10 and done == sorted(done) and done[-1] == 1
    assert all(progress.words_per_second > 0 for progress in told)
    assert told[-1].seconds_left == 0 and told[0].seconds_left > 0
    for progress in told[:-1]:
        words = topics().size * SMALL.epochs
        left = (1 - progress.done) * words / progress.words_per_second
        np.testing.assert_allclose(progress.seconds_left, left, rtol=1e-6)


def test_the_model_is_one_that_fasttext_tools_read(tmp_path):
    path = str(tmp_path / "model.bin")
    vectors = train.fasttext(topics(), SMALL, model_path=path)
    theirs = load_facebook_vectors(path)
    np.testing.assert_allclose(theirs[vectors.words], vectors.vectors, atol=1e-6)
    assert theirs["sunny"].any()  # made of n-grams
    ours = files.read(path, cache=False)
    assert ours.words == vectors.words and ours.counts.tolist() == vectors.counts.tolist()
    np.testing.assert_allclose(ours.vectors, vectors.vectors, atol=1e-6)
    assert [name.name for name in tmp_path.iterdir()] == ["model.bin"]


def test_settings_reach_the_trainer(monkeypatch):
    from gensim.models import fasttext

    asked = {}
    start = fasttext.FastText.__init__

    def spy(self, **options):
        asked.update(options)
        start(self, **options)

    monkeypatch.setattr(fasttext.FastText, "__init__", spy)
    train.fasttext(topics(), FastText(dim=4, epochs=1, min_count=1, buckets=50))
    assert asked["sg"] == 1 and asked["alpha"] == 0.05 and asked["min_alpha"] == 0.0
    assert asked["window"] == 5 and asked["negative"] == 5 and asked["sample"] == 1e-4
    assert (asked["min_n"], asked["max_n"], asked["bucket"]) == (3, 6, 50)
    assert asked["ns_exponent"] == 0.5 and asked["workers"] == 1
    assert FastText().buckets == 2_000_000 and FastText().dim == 300


def test_bad_settings_and_text_are_named():
    with pytest.raises(ValueError, match="window=0: must be at least 1"):
        FastText(window=0)
    with pytest.raises(ValueError, match=r"min_count=500 times in 3,200 running words"):
        train.fasttext(topics(), FastText(dim=4, min_count=500, buckets=50))
