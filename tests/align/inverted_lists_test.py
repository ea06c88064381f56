"""Approximate search beside the exact one."""

import numpy as np
import pytest

from clwe_jax.align import inverted_lists, mining


def _unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def _both(x, y, k):
    lists = inverted_lists.learn([x, y], 0)
    return inverted_lists.nearest(x, y, lists.nearest_lists(x), lists.nearest_lists(y)[:, 0], k)


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((40, 32))
    keys = _unit(centers[rng.integers(0, 40, 3_000)] + 0.4 * rng.standard_normal((3_000, 32)))
    return _unit(keys[:500] + 0.1 * rng.standard_normal((500, 32))), keys


def test_both_directions_find_nearly_all_that_the_exact_search_finds(sides):
    for found, expected in zip(_both(*sides, 4), mining.exact(*sides, 4)):
        assert (found.keys[:, :1] == expected.keys[:, :1]).mean() > 0.97
        same = [len(set(a) & set(b)) for a, b in zip(found.keys.tolist(), expected.keys.tolist())]
        assert np.mean(same) > 0.9 * 4
        found_first = found.keys[:, 0] == expected.keys[:, 0]
        np.testing.assert_allclose(
            found.cosines[found_first, 0], expected.cosines[found_first, 0], atol=1e-5
        )


def test_one_list_is_the_exact_search(sides, monkeypatch):
    """Also where the products of a list take several parts."""
    monkeypatch.setattr(inverted_lists, "_ROWS", 64)
    queries, keys = sides[0][:200], sides[1][:300]
    probed, lists = np.zeros((200, 1), np.int32), np.zeros(300, np.int32)
    found = inverted_lists.nearest(queries, keys, probed, lists, 3)
    for some, expected in zip(found, mining.exact(queries, keys, 3)):
        np.testing.assert_array_equal(some.keys, expected.keys)
        np.testing.assert_allclose(some.cosines, expected.cosines, atol=1e-5)


def test_fewer_vectors_than_are_asked_for():
    x = _unit(np.eye(3))
    ahead, back = _both(x, x, 5)
    assert ahead.keys[:, 0].tolist() == [0, 1, 2]
    assert (ahead.keys[:, 3:] == -1).all() and (back.keys[:, 3:] == -1).all()
    assert mining.mutual_best(ahead, back).source.tolist() == [0, 1, 2]


def test_lists_that_one_side_lacks():
    queries, keys = _unit(np.eye(4)[:2]), _unit(np.eye(4)[1:3])
    probed, lists = np.array([[0], [1]]), np.array([1, 5])
    ahead, back = inverted_lists.nearest(queries, keys, probed, lists, 1)
    assert ahead.keys.tolist() == [[-1], [0]] and back.keys.tolist() == [[1], [-1]]
