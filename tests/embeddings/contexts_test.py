"""Vectors of contexts: synonyms are near, sentences end contexts, rare words have none."""

import numpy as np
import pytest

from clwe_jax.embeddings import contexts

_WORDS = [*(f"w{row}" for row in range(12)), "rare"]


def _text(sentences=600):
    """Words 0 and 1 stand beside 2 to 5, words 6 and 7 beside 8 to 11."""
    draw, found = np.random.default_rng(0), []
    for number in range(sentences):
        first = 6 * (number % 2)
        found.append([first + number // 2 % 2, *(first + 2 + draw.permutation(4)[:3])])
    found[0].append(12)
    splits = np.cumsum([0, *map(len, found)])
    return np.concatenate(found), splits


def test_words_in_the_same_contexts_are_near():
    names, rows = contexts.vectors(_WORDS, *_text(), dim=4, seed=0)
    assert set(names) == set(_WORDS) - {"rare"}
    of = dict(zip(names, rows))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert of["w0"] @ of["w1"] > 0.9 > 0.1 > max(of["w0"] @ of["w6"], of["w1"] @ of["w7"])


def test_words_that_stand_alone_are_left_out():
    """They had one vector, the mean's opposite, and were each other's nearest."""
    ids, splits = _text()
    alone = np.repeat(np.arange(13, 16), 20)  # sentences of one word
    ids = np.concatenate([ids, alone])
    splits = np.concatenate([splits, splits[-1] + 1 + np.arange(len(alone))])
    names, rows = contexts.vectors([*_WORDS, "a", "b", "c"], ids, splits, dim=4, seed=0)
    assert set(names) == set(_WORDS) - {"rare"}
    assert len(np.unique(rows.round(4), axis=0)) > 6


def test_the_information_is_that_of_its_definition():
    ids, splits = np.array([0, 1, 0, 1, 2, 0]), np.array([0, 4, 6])
    sentence = np.repeat([0, 1], [4, 2])
    found = contexts._information(ids, sentence, 3).toarray()
    counts = np.zeros((3, 3))
    for first, last in zip(splits[:-1], splits[1:]):
        for i in range(first, last):
            for j in range(first, last):
                if i != j:
                    counts[ids[i], ids[j]] += 1 / abs(i - j)
    share = counts.sum(0) ** 0.75 / (counts.sum(0) ** 0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.log(counts / counts.sum(1, keepdims=True) / share)
    np.testing.assert_allclose(found, np.maximum(expected, 0), atol=1e-5)


@pytest.mark.parametrize("sentences", [0, 2])
def test_almost_no_text_is_no_error(sentences):
    names, rows = contexts.vectors(_WORDS, *(x[:0] if not sentences else x for x in _text(4)), 4, 0)
    assert rows.shape[0] == len(names) and np.isfinite(rows).all()
