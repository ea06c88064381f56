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
    gives all directions the same weight. Neither step is in the paper.

    Attributes:
      mean: float32 [D], subtracted.
      matrix: float32 [D, D], multiplied from the right.
      unit_length: whether the vectors are scaled to the length sqrt(D).
    """

    mean: Array
    matrix: Array
    unit_length: bool = True

    def apply(self, x: Array) -> Array:
        """The vectors in this space, [..., D]."""
        y = (x - self.mean) @ self.matrix
        if not self.unit_length:
            return y
        lengths = jnp.linalg.norm(y, axis=-1, keepdims=True)
        return y * np.sqrt(y.shape[-1]) / jnp.maximum(lengths, 1e-6)


def fit(x: np.ndarray, whiten: bool = True, unit_length: bool = True) -> Whitening:
    """The whitening along the principal directions of vectors [N, D].

    Args:
      x: the vectors; they are read in parts.
      whiten: whether they are whitened; else the mean is 0 and the matrix is the identity.
    """
    if not whiten:
        width = x.shape[1]
        return Whitening(np.zeros(width, np.float32), np.eye(width, dtype=np.float32), unit_length)
    mean, covariance = moments(x)
    variances, directions = np.linalg.eigh(covariance)
    # Rounding makes variances of 0 negative; the floor bounds the scale of such directions.
    scales = np.sqrt(variances.clip(0) + _FLOOR * max(variances.mean(), 1e-12))
    matrix = (directions / scales).astype(np.float32)
    return Whitening(mean.astype(np.float32), matrix, unit_length)


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean [D] and the covariance [D, D] of vectors [N, D], in float64; they are read in parts."""
    mean = x.mean(0, dtype=np.float64)
    # In float32 the difference of two large numbers would lose the small variances.
    return mean, procrustes.transposed_product(x, x) / len(x) - np.outer(mean, mean)
