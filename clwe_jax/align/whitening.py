"""Whitening of the vectors that attention matching maps."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from clwe_jax.align import procrustes
from clwe_jax.types import Array

_FLOOR = 1e-4  # share of the mean variance that is added to the variance of each direction


class Whitening(NamedTuple):
    """Vectors whose dimensions are uncorrelated, scaled to the same length.

    Inner products of hidden states depend mostly on a few directions of large variance; whitening
    gives all directions the same weight.

    Attributes:
      mean: float32 [D], subtracted.
      matrix: float32 [D, D], multiplied from the right.
    """

    mean: Array
    matrix: Array

    def apply(self, x: Array) -> Array:
        """Vectors of length sqrt(D), [..., D]."""
        y = (x - self.mean) @ self.matrix
        lengths = jnp.linalg.norm(y, axis=-1, keepdims=True)
        return y * np.sqrt(y.shape[-1]) / jnp.maximum(lengths, 1e-6)


def whitening(x: np.ndarray) -> Whitening:
    """The whitening along the principal directions of vectors [N, D]."""
    mean = x.mean(0, dtype=np.float64)
    covariance = procrustes.product(x, x) / len(x) - np.outer(mean, mean)
    variances, directions = np.linalg.eigh(covariance)
    scales = np.sqrt(variances.clip(0) + _FLOOR * max(variances.mean(), 1e-12))
    return Whitening(mean.astype(np.float32), (directions / scales).astype(np.float32))
