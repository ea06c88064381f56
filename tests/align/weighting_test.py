"""VecMap's symmetric re-weighting, step by step, and square roots of similarity matrices."""

import numpy as np
import pytest

from clwe_jax.align import procrustes, weighting


def sides(count=60, width=6, seed=0):
    r = np.random.RandomState(seed)
    x = r.standard_normal((count, width)) * np.geomspace(1, 0.3, width)
    return x, x @ r.standard_normal((width, width)) + 0.5 * r.standard_normal((count, width))


def inverse_root(gram):
    """By the singular values of a Cholesky factor, another way than eigenvalues."""
    left, values, _ = np.linalg.svd(np.linalg.cholesky(gram))
    return left @ np.diag(1 / values) @ left.T


@pytest.mark.parametrize("reweight", [0.0, 0.5, 1.0])
def test_symmetric_equals_the_steps_of_the_paper(reweight):
    x, y = sides()
    # Artetxe et al. 2018, Table 1: whiten, rotate, re-weight both, dewhiten each by its own.
    white_x, white_y = inverse_root(x.T @ x), inverse_root(y.T @ y)
    left, correlation, right = np.linalg.svd((x @ white_x).T @ (y @ white_y))
    weight = np.diag(correlation**reweight)
    expected_x = white_x @ left @ weight @ left.T @ np.linalg.inv(white_x) @ left
    expected_y = white_y @ right.T @ weight @ right @ np.linalg.inv(white_y) @ right.T
    found = weighting.symmetric(x, y, reweight)
    np.testing.assert_allclose(x @ found[0], x @ expected_x, atol=1e-9)
    np.testing.assert_allclose(y @ found[1], y @ expected_y, atol=1e-9)


def test_whitened_sides_correlate_direction_by_direction():
    x, y = sides()
    white_x, white_y = inverse_root(x.T @ x), inverse_root(y.T @ y)
    correlation = np.linalg.svd(white_x @ x.T @ y @ white_y)[1]
    a, b = weighting.symmetric(x @ white_x, y @ white_y, 0.5)
    # Whitened sides stay white except for the weights, the roots of the correlations.
    cross = (x @ white_x @ a).T @ (y @ white_y @ b)
    np.testing.assert_allclose(cross, np.diag(correlation**2), atol=1e-9)


def test_a_repeated_pair_counts_twice():
    x, y = sides(20)
    twice = np.concatenate([np.arange(20), np.arange(5)])
    weights = np.sqrt(np.bincount(twice))[:, None]
    found = weighting.symmetric(x[twice], y[twice])
    expected = weighting.symmetric(weights * x, weights * y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(x @ a @ a.T @ x.T, x @ b @ b.T @ x.T, atol=1e-8)


def test_without_weights_a_rotation_is_recovered():
    x, _ = sides()
    turn = np.linalg.qr(np.random.RandomState(1).standard_normal((6, 6)))[0]
    for reweight in (0.0, 0.5):
        a, b = weighting.symmetric(x, x @ turn, reweight)
        np.testing.assert_allclose(x @ a, x @ turn @ b, atol=1e-9)
    np.testing.assert_allclose(a @ b.T, procrustes.orthogonal(x, x @ turn), atol=1e-9)


def test_fewer_pairs_than_dimensions_stay_finite():
    x, y = sides(4)
    for matrix in weighting.symmetric(x, y):
        assert np.isfinite(matrix).all() and np.abs(matrix).max() < 1e3


@pytest.mark.parametrize("count", [30, 4])
def test_root_similarity_squares_to_the_similarities(count):
    x, _ = sides(count)
    root = weighting.root_similarity(x)
    np.testing.assert_allclose(root, root.T, atol=1e-5)
    np.testing.assert_allclose(root @ root, x @ x.T, atol=1e-4)
    assert np.linalg.eigvalsh(root.astype("f8")).min() > -1e-5
