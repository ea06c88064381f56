"""Induced dictionaries and the unsupervised criterion, against their definitions."""

import numpy as np
import pytest

from clwe_jax.align import induce


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def numpy_csls(x, y, k):
    cosine = unit(x.astype(np.float64)) @ unit(y.astype(np.float64)).T
    own = np.sort(cosine, 1)[:, -k:].mean(1)
    other = np.sort(cosine, 0)[-k:].mean(0)
    return cosine, 2 * cosine - own[:, None] - other[None]


def noisy(count=80, width=10, seed=0, noise=0.6):
    r = np.random.RandomState(seed)
    x = r.standard_normal((count, width))
    return x, x + noise * r.standard_normal((count, width))


@pytest.mark.parametrize("mutual", [True, False])
@pytest.mark.parametrize("words", [None, 50])
def test_equals_numpy(mutual, words):
    x, y = noisy()
    y = y[:70]
    # MUSE's `get_candidates`: retrieval over all words, then pairs of frequent words alone.
    _, scores = numpy_csls(x, y, 4)
    there, back = scores.argmax(1), scores.argmax(0)
    most = words or len(x)
    expected = [
        (i, j) for i, j in enumerate(there) if max(i, j) < most and (not mutual or back[j] == i)
    ]
    found = induce.induce_dictionary(x, y, max_words=words, mutual=mutual, neighbourhood=4)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, expected)
    assert 0 < len(found) and (mutual is False or len(found) < len(scores))


def test_a_frequent_word_whose_translation_is_rare_has_no_pair():
    x, y = noisy(noise=0.1)
    y = np.roll(y, 20, axis=0)  # of the 40 first words, 20 have a translation among the 40 first
    found = induce.induce_dictionary(x, y, max_words=40, mutual=False)
    np.testing.assert_array_equal(found, [(i, i + 20) for i in range(20)])
    assert induce.unsupervised_criterion(x, y, max_words=40) > 0.95
    assert induce.unsupervised_criterion(x, y[::-1], max_words=1) == -1.0
    assert not len(induce.induce_dictionary(x, y[::-1], max_words=1))


def test_cosine_retrieval_is_another_dictionary():
    x, y = noisy(noise=1.0)
    cosine, _ = numpy_csls(x, y, 4)
    found = induce.induce_dictionary(x, y, method="cosine", mutual=False)
    np.testing.assert_array_equal(found[:, 1], cosine.argmax(1))
    assert (found != induce.induce_dictionary(x, y, mutual=False, neighbourhood=4)).any()


@pytest.mark.parametrize("words", [None, 30])
def test_criterion_equals_numpy(words):
    x, y = noisy()
    cosine, scores = numpy_csls(x, y, 10)
    most, best = words or len(x), scores.argmax(1)
    expected = np.mean([cosine[i, best[i]] for i in range(most) if best[i] < most])
    np.testing.assert_allclose(
        induce.unsupervised_criterion(x, y, max_words=words), expected, atol=1e-6
    )


def test_criterion_prefers_the_better_map():
    x, y = noisy(noise=0.2)
    turned = x @ np.linalg.qr(np.random.RandomState(1).standard_normal((10, 10)))[0]
    assert induce.unsupervised_criterion(x, y) > induce.unsupervised_criterion(turned, y) + 0.05
