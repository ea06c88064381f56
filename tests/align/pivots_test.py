"""Pivots: symmetric distances by hand, thresholds, orders."""

import itertools

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
            there = ((source.mapped[i] - target.unmapped[j]) ** 2).mean()
            back = ((target.mapped[j] - source.unmapped[i]) ** 2).mean()
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


def sentences(r, count):
    sizes = r.integers(1, 5, (count, 2))
    source = [Mapped(r.normal(size=(m, 4)), r.normal(size=(m, 3))) for m, _ in sizes]
    return source, [Mapped(r.normal(size=(n, 3)), r.normal(size=(n, 4))) for _, n in sizes]


def nearest(source, target, word, side):
    """The distance of a word of a side to the nearest word of the other sentence, by its definition."""
    gaps = []
    for other in range(len((target if side == 0 else source).unmapped)):
        i, j = (word, other) if side == 0 else (other, word)
        there, back = source.mapped[i] - target.unmapped[j], target.mapped[j] - source.unmapped[i]
        gaps.append(((there**2).mean() + (back**2).mean()) / 2)
    return min(gaps)


def test_the_nearest_words_of_other_sentences_equal_their_definition():
    source, target = sentences(np.random.default_rng(1), 6)
    for others in (5, 2):
        for here, (x, y) in enumerate(
            pivots.mean_distance_to_other_sentences(source, target, others)
        ):
            rest = [k for k in range(6) if k != here]
            for side, found in ((0, x), (1, y)):
                assert len(found) == len((source, target)[side][here].unmapped)
                for word, mean in enumerate(found):
                    each = [
                        nearest(source[here], target[k], word, 0)
                        if side == 0
                        else nearest(source[k], target[here], word, 1)
                        for k in rest
                    ]
                    means = [np.mean(some) for some in itertools.combinations(each, others)]
                    assert np.isclose(mean, means).any()
    # More than there are: all others. One sentence pair has no other, and its distances stay.
    again = pivots.mean_distance_to_other_sentences(source, target, 50)
    np.testing.assert_allclose(
        again[0][0], pivots.mean_distance_to_other_sentences(source, target, 5, seed=3)[0][0]
    )
    [(x, y)] = pivots.mean_distance_to_other_sentences(source[:1], target[:1], 5)
    distances = pivots.symmetric_distances(source[0], target[0])
    assert np.array_equal(pivots.margin_distances(distances, x, y), distances)


def test_a_word_that_is_near_everywhere_is_no_pivot():
    distances = np.array([[0.4, 0.9], [0.8, 0.5]])
    found = pivots.margin_distances(distances, np.array([0.3, 1.0]), np.array([0.5, 1.5]))
    np.testing.assert_allclose(found, [[1.0, 1.0], [0.8 / 0.75, 0.4]])
    assert np.argwhere(pivots.links(found, 1.0)).tolist() == [[1, 1]]
    assert len(np.argwhere(pivots.links(distances, 1.0))) == 2


def test_orders_are_ranks_among_the_pivots():
    found = np.zeros((4, 6), bool)
    found[0, 5] = found[2, 0] = found[3, 3] = True
    places, ranks = pivots.orders(found)
    assert places.tolist() == [0, 2, 3] and ranks.tolist() == [2, 0, 1]
    assert [x.tolist() for x in pivots.orders(np.zeros((2, 2), bool))] == [[], []]
