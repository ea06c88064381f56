"""GeoMM against its definition, by Eq. 1 and the equation of its minimum."""

import numpy as np
import pytest

from clwe_jax.align import geomm


def rotation(width, seed=1):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((width, width)))[0]


def words(count=120, width=8, noise=0.1, seed=0):
    """Vectors whose directions' variances differ, and their noisy rotation."""
    r = np.random.RandomState(seed)
    x = r.standard_normal((count, width)) * np.geomspace(1, 0.2, width)
    return x, x @ rotation(width, seed + 1) + noise * r.standard_normal((count, width))


def diagonal(count):
    return np.stack([np.arange(count)] * 2, 1)


def many_to_many(count=50):
    """Words with several translations on either side, and a repeated pair."""
    more = np.array([[0, 7], [0, 9], [3, 7], [5, 5]])
    return np.concatenate([diagonal(count), more])


def numpy_cost(u, b, v, x, z, pairs, l2):
    """Eq. 1 of Jawanpuria et al. 2019, with the matrix A written out."""
    rows, columns = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    a = np.zeros((len(rows), len(columns)))
    for i, j in pairs:
        a[np.searchsorted(rows, i), np.searchsorted(columns, j)] = 1
    scores = x[rows] @ u @ b @ v.T @ z[columns].T
    return np.square(scores - a).sum() + l2 / 2 * np.square(b).sum()


def random_point(left, right, seed=0):
    """Orthonormal U and V, and a positive definite B that is not diagonal."""
    r, width = np.random.RandomState(seed), min(left, right)
    u, v = (np.linalg.qr(r.standard_normal((size, width)))[0] for size in (left, right))
    root = r.standard_normal((width, width))
    return u, root @ root.T + 0.1 * np.eye(width), v


@pytest.mark.parametrize("widths", [(8, 8), (8, 5), (5, 8)])
def test_cost_equals_its_definition(widths):
    r = np.random.RandomState(0)
    x, z = r.standard_normal((80, widths[0])), r.standard_normal((80, widths[1]))
    pairs = many_to_many()
    u, b, v = random_point(*widths)
    found = geomm.cost(u @ b @ v.T, geomm.statistics(x, z, pairs, 3.0))
    np.testing.assert_allclose(found, numpy_cost(u, b, v, x, z, pairs, 3.0), rtol=1e-10)


@pytest.mark.parametrize("widths", [(8, 8), (8, 5), (5, 8)])
def test_exact_is_the_minimum(widths):
    r = np.random.RandomState(0)
    x, z = r.standard_normal((80, widths[0])), r.standard_normal((80, widths[1]))
    pairs = many_to_many()
    problem = geomm.statistics(x, z, pairs, 10.0)
    left, values, right = geomm.minimum(problem)
    for frame in (left, right):
        np.testing.assert_allclose(frame.T @ frame, np.eye(min(widths)), atol=1e-10)
    assert values.min() >= 0
    # The equation of the minimum, by its Kronecker form.
    rows, columns = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    a = np.zeros((len(x), len(z)))
    a[pairs[:, 0], pairs[:, 1]] = 1
    gram_x, gram_z = x[rows].T @ x[rows], z[columns].T @ z[columns]
    system = np.kron(gram_x, gram_z) + 5.0 * np.eye(widths[0] * widths[1])
    expected = np.linalg.solve(system, (x.T @ a @ z).ravel()).reshape(widths)
    np.testing.assert_allclose(left * values @ right.T, expected, atol=1e-9)
    lowest = numpy_cost(left, np.diag(values), right, x, z, pairs, 10.0)
    np.testing.assert_allclose(geomm.cost(expected, problem), lowest, rtol=1e-9)
    for seed in range(20):
        assert numpy_cost(*random_point(*widths, seed), x, z, pairs, 10.0) > lowest


def test_the_maps_are_the_frames_times_the_root_of_the_metric():
    x, z = words()
    found = geomm.Geomm(l2=10.0, preprocess=()).fit(x, z, diagonal(50))
    x, z = x.astype("f4"), z.astype("f4")
    problem = geomm.statistics(x, z, diagonal(50), 10.0)
    left, values, right = geomm.minimum(problem)
    np.testing.assert_allclose(
        found.source_map @ found.target_map.T, left * values @ right.T, atol=1e-6
    )
    np.testing.assert_allclose(found.source_map.T @ found.source_map, np.diag(values), atol=1e-6)
    np.testing.assert_allclose(found.info["cost"], [geomm.cost(left * values @ right.T, problem)])


def test_a_repeated_pair_counts_once():
    x, z = words()
    once = geomm.Geomm().fit(x, z, diagonal(50))
    twice = geomm.Geomm().fit(x, z, np.concatenate([diagonal(50), diagonal(50)]))
    assert twice.info["pairs"] == [50]
    np.testing.assert_array_equal(once.source_map, twice.source_map)


@pytest.mark.parametrize("l2", [0.0, -1.0])
def test_l2_out_of_range(l2):
    x, z = words()
    with pytest.raises(ValueError, match="^l2"):
        geomm.Geomm(l2=l2).fit(x, z, diagonal(50))
