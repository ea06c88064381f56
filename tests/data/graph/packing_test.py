import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.data.graph import packing


def slow_next_fit(starts, costs):
    opened, sums = [], None
    for i in range(len(starts)):
        fits = sums is not None and all(
            total + cost[i] <= capacity for total, (cost, capacity) in zip(sums, costs)
        )
        if starts[i] or not fits:
            opened.append(True)
            sums = [0] * len(costs)
        else:
            opened.append(False)
        sums = [total + cost[i] for total, (cost, _) in zip(sums, costs)]
    return np.array(opened, bool)


@pytest.mark.parametrize("share_of_starts", [0.0, 0.05, 1.0])
def test_next_fit_equals_a_loop(share_of_starts):
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 33, 500):
        starts = rng.random(count) < share_of_starts
        # Items above a capacity and items that cost nothing are among them.
        first = rng.integers(0, 12, count).astype(np.int32)
        second = rng.integers(0, 4, count).astype(np.int32)
        costs = ((first, 10), (second, 7))
        got = packing.next_fit(tf.constant(starts), costs)
        np.testing.assert_array_equal(got.numpy(), slow_next_fit(starts, costs))


def items(rng, count, length, most):
    sizes = np.minimum(rng.gamma(2.0, 12.0, count).astype(np.int32) + 3, length)
    predictions = np.minimum(rng.binomial(sizes, 0.15), most).astype(np.int32)
    return sizes, predictions


@pytest.mark.parametrize("length, most", [(16, 4), (64, 16), (512, 104)])
def test_rows_hold_what_they_can(length, most):
    rng = np.random.default_rng(length)
    spec = tf.TensorSpec([None], tf.int32)
    pack = tf.function(
        lambda s, p: packing.pack(s, p, length, most), input_signature=[spec, spec], autograph=False
    )
    for count in (0, 1, 2, 40, 700):
        sizes, predictions = items(rng, count, length, most)
        row, rows = (x.numpy() for x in pack(tf.constant(sizes), tf.constant(predictions)))
        assert row.shape == (count,)
        if count:
            # Every row from 0 to the last is used, and none is over a capacity.
            assert sorted(set(row)) == list(range(rows))
            assert np.bincount(row, sizes).max() <= length
            assert np.bincount(row, predictions).max() <= most
        else:
            assert rows == 0


def test_predictions_are_a_capacity():
    sizes, predictions = np.full(30, 3, np.int32), np.full(30, 2, np.int32)
    row, rows = packing.pack(tf.constant(sizes), tf.constant(predictions), 30, 4)
    assert rows == 15 and np.bincount(row.numpy(), predictions).max() == 4


def test_rows_are_nearly_full():
    rng = np.random.default_rng(3)
    sizes, predictions = items(rng, 600, 64, 16)
    _, rows = packing.pack(tf.constant(sizes), tf.constant(predictions), 64, 16)
    assert sizes.sum() / (64 * rows.numpy()) > 0.95


def test_suffix_minimum():
    rng = np.random.default_rng(4)
    for count in (0, 1, 31, 32, 33, 1000):
        x = rng.integers(-50, 50, count).astype(np.int32)
        expected = np.minimum.accumulate(x[::-1])[::-1] if count else x
        np.testing.assert_array_equal(packing._suffix_minimum(tf.constant(x)).numpy(), expected)


def test_packing_runs_inside_a_dataset():
    rng = np.random.default_rng(5)
    sizes, predictions = items(rng, 50, 64, 16)
    dataset = tf.data.Dataset.from_tensors((sizes, predictions)).map(
        lambda s, p: packing.pack(s, p, 64, 16)
    )
    inside = next(iter(dataset))
    eager = packing.pack(tf.constant(sizes), tf.constant(predictions), 64, 16)
    np.testing.assert_array_equal(inside[0].numpy(), eager[0].numpy())
