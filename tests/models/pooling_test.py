"""Sentence vectors against NumPy."""

import numpy as np

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
    vectors, weights = pooling.sentences(Hidden(last=layers[-1], layers=layers), batch)
    mean = np.mean(layers[2:], axis=0)
    for row, length in enumerate(lengths[:3]):
        np.testing.assert_allclose(vectors[row], mean[row, 1 : length - 1].mean(0), rtol=1e-5)
    assert weights.tolist() == [1, 1, 1, 0] and not np.asarray(vectors[3]).any()
