"""Approximate search beside the exact one."""

import numpy as np

from clwe_jax.align import inverted_lists, mining


def _unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def test_it_finds_nearly_all_that_the_exact_search_finds():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((40, 32))
    keys = _unit(centers[rng.integers(0, 40, 3_000)] + 0.4 * rng.standard_normal((3_000, 32)))
    queries = _unit(keys[:500] + 0.1 * rng.standard_normal((500, 32)))
    found = inverted_lists.nearest(queries, inverted_lists.build(keys), 4)
    expected, _ = mining.exact(queries, keys, 4)
    assert (found.keys[:, :1] == expected.keys[:, :1]).mean() > 0.97
    same = [len(set(a) & set(b)) for a, b in zip(found.keys.tolist(), expected.keys.tolist())]
    assert np.mean(same) > 0.9 * 4
    np.testing.assert_allclose(found.cosines[:, 0], expected.cosines[:, 0], atol=2e-2)


def test_fewer_keys_than_are_asked_for():
    keys = _unit(np.eye(3))
    found = inverted_lists.nearest(keys, inverted_lists.build(keys), 5)
    assert found.keys[:, 0].tolist() == [0, 1, 2]
    assert (found.keys[:, 3:] == -1).all()
    back = mining.Nearest(np.arange(3)[:, None], np.ones((3, 1)))
    assert mining.mutual_best(found, back).source.tolist() == [0, 1, 2]
