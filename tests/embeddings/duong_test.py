"""Supervised joint training: loss, gradients and choice against oracles, and learned topics."""

import dataclasses
import math

import numpy as np
import pytest

from clwe_jax.embeddings import joint_replace
from clwe_jax.embeddings import duong, duong_step
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.duong_step import Batch
from clwe_jax.options.embeddings import DuongOptions
from clwe_jax.text.dictionary.merged import Dictionary


def tables(count=9, dim=4, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(2, count, dim)) * 0.7


def batch() -> Batch:
    return Batch(
        words=np.array([0, 3, 3, 5]),
        contexts=np.array([1, 2, 3, 1, 1, 0, 8, 4]),
        splits=np.array([0, 2, 5, 6, 8]),
        translations=np.array([7, -1, 4, 0]),
        noise=np.array([3, 6, 6, 4, 1]),
    )


def loss_by_hand(inputs, outputs, batch, negatives, combining) -> float:
    def log_logistic(x):
        return -math.log1p(math.exp(-x))

    total = 0.0
    for i, word in enumerate(batch.words):
        context = batch.contexts[batch.splits[i] : batch.splits[i + 1]]
        hidden = sum(inputs[c] for c in context) / len(context)
        truth = [word] + ([batch.translations[i]] if batch.translations[i] >= 0 else [])
        for t in truth:
            total -= log_logistic(float(outputs[t] @ hidden))
            total += combining * float(((outputs[t] - inputs[t]) ** 2).sum())
        for n in batch.noise:
            weight = negatives / len(batch.noise)
            if n not in truth:
                total -= weight * log_logistic(-float(outputs[n] @ hidden))
            total += weight * combining * float(((outputs[n] - inputs[n]) ** 2).sum())
    return total


def gradients(inputs, outputs):
    context = duong_step.means(inputs, batch())
    return duong_step.gradients(inputs, outputs, batch(), 3, 0.2, context)


def test_loss_is_that_of_the_paper():
    inputs, outputs = tables()
    found = gradients(inputs, outputs)
    assert found.loss == pytest.approx(loss_by_hand(inputs, outputs, batch(), 3, 0.2), rel=1e-12)


def test_gradients_are_those_of_the_loss():
    inputs, outputs = tables()
    found = gradients(inputs, outputs)
    for which, (rows, gradient) in enumerate([found.inputs, found.outputs]):
        assert len(set(rows.tolist())) == len(rows)
        whole = np.zeros_like(inputs)
        whole[rows] = gradient
        for row in range(len(inputs)):
            for column in range(inputs.shape[1]):
                both = [inputs.copy(), outputs.copy()]
                values = []
                for step in (1e-5, -2e-5):
                    both[which][row, column] += step
                    values.append(loss_by_hand(*both, batch(), 3, 0.2))
                slope = (values[0] - values[1]) / 2e-5
                assert whole[row, column] == pytest.approx(slope, abs=1e-7), (which, row, column)


DICTIONARY = Dictionary.from_pairs(
    {
        ("en", "de"): [
            ("bank", "bank"),
            ("bank", "ufer"),
            ("dog", "hund"),
            ("money", "geld"),
            ("river", "fluss"),
            ("bank", "absent"),
        ]
    }
)


def test_the_translation_that_fits_word_and_context_is_chosen():
    numbers = {"en": {"bank": 0, "dog": 1, "the": 2}, "de": {"bank": 3, "ufer": 4, "hund": 5}}
    links = joint_replace.links(DICTIONARY, "en", numbers["en"], {"de": numbers["de"]}, 6)
    random = np.random.default_rng(1)
    inputs = random.normal(size=(6, 3))
    words = np.array([0, 2, 1] * 20)
    hidden = random.normal(size=(60, 3))
    found = duong_step.choose(inputs, words, hidden, links)
    differs = set()
    for word, context, chosen in zip(words, hidden, found):
        candidates = {0: [3, 4], 1: [5], 2: []}[int(word)]
        wanted = [
            max(candidates, key=lambda c: inputs[c] @ by / np.linalg.norm(inputs[c]), default=-1)
            for by in (inputs[word] + context, context, inputs[word])
        ]
        assert chosen == wanted[0]
        differs |= {i for i in (1, 2) if wanted[i] != chosen}
    assert {3, 4, 5, -1} == set(found.tolist())
    assert differs == {1, 2}  # neither the context alone nor the word alone decides


def parallel(seed=0, sentences=800) -> Corpus:
    """Two languages with the same ten topics of four words; language b says a word as b-word."""
    random = np.random.default_rng(seed)
    words = [f"{language}{i}" for language in "ab" for i in range(40)]
    ids, splits = {}, {}
    for place, language in enumerate("ab"):
        topic = random.integers(10, size=sentences)[:, None]
        ids[language] = (40 * place + 4 * topic + random.integers(4, size=(sentences, 6))).ravel()
        splits[language] = np.arange(0, 6 * sentences + 1, 6)
    return Corpus(words, {x: y.astype(np.int32) for x, y in ids.items()}, splits)


# Two words of each topic are in it, two are not.
HALF = Dictionary.from_pairs({("a", "b"): [(f"a{i}", f"b{i}") for i in range(40) if i % 4 < 2]})
SETTINGS = DuongOptions(dim=20, epochs=4, subsample=1.0, batch=128)


def test_words_without_translation_find_their_topic_across_languages():
    spaces = duong.train(parallel(), HALF, SETTINGS)
    x, y = (
        spaces[language].vectors / np.linalg.norm(spaces[language].vectors, axis=1, keepdims=True)
        for language in "ab"
    )
    unknown = [row for row, word in enumerate(spaces["a"].words) if int(word[1:]) % 4 >= 2]
    nearest = (x @ y.T).argmax(1)
    right = [
        int(spaces["a"].words[row][1:]) // 4 == int(spaces["b"].words[nearest[row]][1:]) // 4
        for row in unknown
    ]
    assert len(right) == 20 and np.mean(right) > 0.8  # chance: 0.1


def test_same_seed_same_bits_and_counts_of_the_text():
    text, settings = parallel(sentences=100), dataclasses.replace(SETTINGS, epochs=2)
    one, same, other = (duong.train(text, HALF, settings, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one["a"].vectors, same["a"].vectors)
    assert not np.allclose(one["a"].vectors, other["a"].vectors)
    for language in "ab":
        counts = text.counts(language)
        assert dict(zip(one[language].words, one[language].counts.tolist())) == {
            word: n for word, n in counts.items() if n >= 5
        }


def test_no_number_of_passes_is_that_of_the_texts_size():
    text = parallel(sentences=100)
    whole, chosen = (
        duong.train(text, HALF, dataclasses.replace(SETTINGS, epochs=x)) for x in (15, 0)
    )
    for language in text.languages:
        np.testing.assert_array_equal(whole[language].vectors, chosen[language].vectors)


def test_words_spelled_alike_are_two_words():
    text = Corpus(
        ["die", "x", "y"],
        {"a": np.array([0, 1] * 60, np.int32), "b": np.array([0, 2] * 60, np.int32)},
        {language: np.arange(0, 121, 4) for language in "ab"},
    )
    spaces = duong.train(text, Dictionary.from_pairs({("a", "b"): [("x", "y")]}), SETTINGS)
    assert spaces["a"].words == ["die", "x"] and spaces["b"].words == ["die", "y"]
    assert not np.allclose(spaces["a"].vectors[0], spaces["b"].vectors[0])


@pytest.mark.parametrize("chunk", [97, 1_000_000])
def test_every_word_is_trained_on_once_an_epoch_with_its_neighbours(monkeypatch, chunk):
    monkeypatch.setattr(duong, "_CHUNK", chunk)
    text = duong._tag_words(parallel(sentences=60), min_count=1)
    settings = DuongOptions(epochs=2, window=2, subsample=1.0, batch=50)
    random = np.random.default_rng(0)
    seen = np.zeros(len(text.counts), int)
    running = 0
    for count, words, contexts, splits in duong._batches(text, settings, random):
        running += count
        np.add.at(seen, words, 1)
        for i, word in enumerate(words):
            near = contexts[splits[i] : splits[i + 1]]
            assert 1 <= len(near) <= 4
            # A sentence has words of one topic of one language.
            assert all(topic(text, c) == topic(text, word) for c in near)
    np.testing.assert_array_equal(seen, 2 * text.counts)
    assert running == 2 * 60 * 6 * 2


def topic(text, number):
    every = [word for words in text.words.values() for word in words]
    return every[number][0], int(every[number][1:]) // 4


def test_bad_input_is_named():
    text = parallel(sentences=20)
    with pytest.raises(ValueError, match="epochs=-1"):
        DuongOptions(epochs=-1)
    with pytest.raises(ValueError, match="min_count=99 .* 120"):
        duong.train(text, HALF, DuongOptions(min_count=99))
    other = Dictionary.from_pairs({("a", "b"): [("Haus", "house"), ("Hund", "dog")]})
    with pytest.raises(ValueError, match=r"translates 0%.*in the text.*'Haus', 'Hund'"):
        duong.train(text, other, DuongOptions(dim=4, min_count=1))
