"""Whitening: covariance and lengths."""

import numpy as np

from clwe_jax.align.whitening import fit


def test_whitened_vectors_are_uncorrelated_and_of_one_length():
    r = np.random.default_rng(0)
    x = r.normal(size=(4_000, 5)) @ r.normal(size=(5, 5)) * [9, 1, 1, 1, 0.1] + 3
    found = fit(x)
    y = (x - found.mean) @ found.matrix
    np.testing.assert_allclose(np.cov(y.T), np.eye(5), atol=0.05)
    lengths = np.linalg.norm(found.apply(x), axis=1)
    np.testing.assert_allclose(lengths, np.sqrt(5), rtol=1e-4)
    flat = fit(np.ones((4, 2), np.float32))
    assert np.isfinite(flat.apply(np.ones((1, 2)))).all()


def test_both_steps_are_options():
    x = np.random.default_rng(0).normal(size=(50, 3)).astype("f4") * [3, 1, 0.5] + 2
    np.testing.assert_allclose(fit(x, whiten=False, unit_length=False).apply(x), x, rtol=1e-5)
    unit = fit(x, whiten=False).apply(x)
    np.testing.assert_allclose(
        unit, x * np.sqrt(3) / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-4
    )
    y = fit(x, unit_length=False).apply(x)
    np.testing.assert_allclose(np.cov(y.T), np.eye(3), atol=0.05)
