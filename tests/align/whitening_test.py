"""Whitening: covariance and lengths."""

import numpy as np

from clwe_jax.align.whitening import whitening


def test_whitened_vectors_are_uncorrelated_and_of_one_length():
    r = np.random.default_rng(0)
    x = r.normal(size=(4_000, 5)) @ r.normal(size=(5, 5)) * [9, 1, 1, 1, 0.1] + 3
    found = whitening(x)
    y = (x - found.mean) @ found.matrix
    np.testing.assert_allclose(np.cov(y.T), np.eye(5), atol=0.05)
    lengths = np.linalg.norm(found.apply(x), axis=1)
    np.testing.assert_allclose(lengths, np.sqrt(5), rtol=1e-4)
    flat = whitening(np.ones((4, 2), np.float32))
    assert np.isfinite(flat.apply(np.ones((1, 2)))).all()
