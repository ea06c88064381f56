"""The intervals against their definitions."""

import numpy as np
import pytest

from clwe_jax.evaluate.statistics import wilson_interval


@pytest.mark.parametrize("share, count", [(0.0, 20), (0.3, 10), (0.5, 1000), (1.0, 7)])
def test_its_ends_are_the_shares_that_are_just_not_rejected(share, count):
    # Wilson: the p with |share - p| = z sqrt(p (1 - p) / n).
    ends = wilson_interval(share, count)
    for end in ends:
        z = abs(share - end) / np.sqrt(end * (1 - end) / count) if 0 < end < 1 else None
        assert z is None and end == share or z == pytest.approx(1.959964, rel=1e-6)
    assert 0 <= ends[0] <= share <= ends[1] <= 1 and ends[0] < ends[1]


def test_it_holds_the_truth_as_often_as_it_says():
    r = np.random.RandomState(0)
    held = [
        low <= 0.2 <= high
        for low, high in (wilson_interval(r.binomial(50, 0.2) / 50, 50) for _ in range(2000))
    ]
    assert 0.92 < np.mean(held) < 0.98
