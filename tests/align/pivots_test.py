"""Pivots: symmetric distances by hand, thresholds, orders."""

import numpy as np
import pytest

from clwe_jax.align import pivots
from clwe_jax.align.pivots import Mapped


def test_symmetric_distances_are_the_mean_of_both_directions():
    r = np.random.default_rng(0)
    source = Mapped(r.normal(size=(3, 4)), r.normal(size=(3, 2)))
    target = Mapped(r.normal(size=(5, 2)), r.normal(size=(5, 4)))
    found = pivots.symmetric_distances(source, target)
    for i in range(3):
        for j in range(5):
            there = ((source.mapped[i] - target.own[j]) ** 2).mean()
            back = ((target.mapped[j] - source.own[i]) ** 2).mean()
            assert found[i, j] == pytest.approx((there + back) / 2)


def test_pivots_are_mutually_nearest_and_near():
    distances = np.array([[0.1, 0.5, 0.9], [0.2, 0.8, 0.3], [0.9, 0.9, 0.9]])
    assert np.argwhere(pivots.links(distances)).tolist() == [[0, 0]]
    distances[1, 2] = 0.1  # now word 1 is nearest to word 2, and the reverse
    assert np.argwhere(pivots.links(distances)).tolist() == [[0, 0], [1, 2]]
    distances[1, 2] = 0.15
    near = pivots.links(distances, 0.1001)
    assert np.argwhere(near).tolist() == [[0, 0]]
    assert not pivots.links(distances, 0.1).any()
    assert pivots.links(np.zeros((0, 4))).shape == (0, 4)


def test_orders_are_ranks_among_the_pivots():
    found = np.zeros((4, 6), bool)
    found[0, 5] = found[2, 0] = found[3, 3] = True
    places, ranks = pivots.orders(found)
    assert places.tolist() == [0, 2, 3] and ranks.tolist() == [2, 0, 1]
    assert [x.tolist() for x in pivots.orders(np.zeros((2, 2), bool))] == [[], []]
