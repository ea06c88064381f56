"""The prefetcher: order, exact snapshots, ends and errors."""

import time

import numpy as np
import pytest

from clwe_jax.training.prefetch import Prefetcher, pack, unpack


class Numbers:
    """Batches {'x': [[k]]} for k = 0, 1, ..., end - 1."""

    def __init__(self, end=10**9, broken_at=None):
        self.k, self.end, self.broken_at = 0, end, broken_at

    def __next__(self):
        if self.k == self.broken_at:
            raise OSError("the disk went away")
        if self.k >= self.end:
            raise StopIteration
        self.k += 1
        return {"x": np.full((1, 1), self.k - 1)}

    def get_state(self):
        return str(self.k).encode()

    def set_state(self, state):
        self.k = int(state)


def values(prefetcher, count):
    return [int(next(prefetcher)["x"][0, 0]) for _ in range(count)]


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("used", [0, 1, 7])
def test_snapshot_resumes_exactly(depth, used):
    first = Prefetcher(Numbers(), lambda batch: batch, depth)
    assert values(first, used) == list(range(used))
    time.sleep(0.02)  # lets the thread run ahead
    state, pending = unpack(first.snapshot())
    following = values(first, 5)
    first.close()
    assert following == list(range(used, used + 5))
    source = Numbers()
    source.set_state(state)
    second = Prefetcher(source, lambda batch: batch, depth, pending)
    assert values(second, 5) == following
    second.close()


def test_runs_ahead_but_not_further_than_depth():
    source = Numbers()
    prefetcher = Prefetcher(source, lambda batch: batch, 3)
    deadline = time.time() + 5
    while source.k < 3 and time.time() < deadline:
        time.sleep(0.005)
    time.sleep(0.05)
    assert source.k == 3
    prefetcher.close()


@pytest.mark.parametrize("depth", [0, 2])
def test_the_end_and_errors_reach_the_caller(depth):
    prefetcher = Prefetcher(Numbers(end=3), lambda batch: batch, depth)
    assert values(prefetcher, 3) == [0, 1, 2]
    with pytest.raises(StopIteration):
        next(prefetcher)
    prefetcher.close()
    prefetcher = Prefetcher(Numbers(broken_at=2), lambda batch: batch, depth)
    assert values(prefetcher, 2) == [0, 1]
    with pytest.raises(OSError, match="the disk went away"):
        next(prefetcher)
    prefetcher.close()


def test_pack_keeps_types():
    batch = {"a": np.arange(3, dtype=np.int32), "b": np.ones((2, 2), np.float32)}
    state, (found, empty) = unpack(pack(b"\x00\xff", [batch, {"a": np.zeros(0, np.int32)}]))
    assert state == b"\x00\xff"
    for key, value in batch.items():
        np.testing.assert_array_equal(found[key], value)
        assert found[key].dtype == value.dtype
    assert empty["a"].shape == (0,)
