"""The order of rows against a loop that joins whole epochs."""

import numpy as np

from clwe_jax.align import places


def test_epochs_follow_each_other_without_a_gap():
    sizes = [4, 4, 1, 9, 0, 2]
    found = list(places.batches(5, np.random.default_rng(3), sizes))
    draw = np.random.default_rng(3)
    every = np.concatenate([draw.permutation(5) for _ in range(4)])
    assert [len(x) for x in found] == sizes
    np.testing.assert_array_equal(np.concatenate(found), every)
    assert found[0].dtype == np.int64
