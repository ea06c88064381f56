"""Sentence vectors against NumPy."""

import jax
import numpy as np
import pytest

from clwe_jax.models import pooling
from clwe_jax.types import Hidden


def test_last_layers():
    assert pooling.last_layers(12) == [9, 10, 11, 12]
    assert pooling.last_layers(4) == [1, 2, 3, 4]
    assert pooling.last_layers(2) == [1, 2]
    assert pooling.last_layers(0) == [0]


def test_a_sentence_is_the_mean_over_its_pieces_and_the_last_layers():
    r = np.random.RandomState(0)
    layers = tuple(r.standard_normal((4, 7, 3)).astype("f4") for _ in range(6))
    lengths = [7, 4, 3, 0]  # with [CLS] and [SEP]
    filled = np.arange(7) < np.array(lengths)[:, None]
    batch = dict(segment_ids=filled.astype("i4"), positions=np.arange(7) * filled)
    vectors, weights = pooling.sentences(Hidden(layers), batch)
    mean = np.mean(layers[2:], axis=0)
    for row, length in enumerate(lengths[:3]):
        np.testing.assert_allclose(vectors[row], mean[row, 1 : length - 1].mean(0), rtol=1e-5)
    assert weights.tolist() == [1, 1, 1, 0] and not np.asarray(vectors[3]).any()


@pytest.mark.parametrize(
    "how, pool", [("first", lambda x: x[0]), ("mean", np.mean), ("max", np.max)]
)
def test_words_are_pooled_from_their_own_pieces(how, pool):
    x = np.random.RandomState(1).standard_normal((2, 8, 3, 2)).astype("f4")
    firsts = np.array([[1, 2, 5], [1, 0, 0]])
    there = np.array([[0, 1, 1, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0]], bool)
    found = jax.jit(pooling.words, static_argnames="how")(x, firsts, there, how)
    for row, word, pieces in ((0, 0, [1]), (0, 1, [2, 3, 4]), (0, 2, [5]), (1, 0, [1, 2])):
        expected = x[row, 1] * 0 + (
            x[row, pieces][0] if how == "first" else pool(x[row, pieces], axis=0)
        )
        np.testing.assert_allclose(found[row, word], expected, rtol=1e-5)


def test_the_gradient_of_a_words_maximum_goes_to_the_largest_piece():
    x = np.array([[0, 1, 3, 2, 5, 0]], "f4")[..., None]
    there = np.array([[0, 1, 1, 1, 1, 0]], bool)
    total = lambda x: pooling.words(x, np.array([[1, 4]]), there, "max").sum()
    assert jax.grad(total)(x)[0, :, 0].tolist() == [0, 0, 1, 0, 1, 0]
