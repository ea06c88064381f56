"""The map of VecMap: whitening, rotation, re-weighting by cross-correlation, dewhitening.

The algebra on D x D matrices runs in float64 on the host.
"""

from __future__ import annotations

import numpy as np

from clwe_jax.align import procrustes
from clwe_jax.types import Array

# Least spread in whitening, relative to the largest one. In directions of smaller spread float32
# vectors hold only rounding errors.
_FLOOR = 1e-6


def symmetric(x: Array, y: Array, reweight: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """The maps of both sides into a common space.

    Artetxe et al. 2018, Generalizing and Improving Bilingual Word Embedding Mappings with a
    Multi-Step Framework of Linear Transformations, section 3: whitening (step 1), orthogonal
    mapping of both sides (step 2), re-weighting (step 3) and each side's own dewhitening (step 4).

    Args:
      x: source vectors of the dictionary's pairs, [P, D]; a repeated pair counts twice.
      y: target vectors of the pairs, [P, D].
      reweight: power of the cross-correlations that multiply both sides; 0.5 is symmetric
        re-weighting (Artetxe et al. 2018, A Robust Self-Learning Method for Fully Unsupervised
        Cross-Lingual Mappings of Word Embeddings, section 3.4).

    Returns:
      Two float64 [D, D] maps.
    """
    # Step 1
    whiten_x, back_x = _roots_of_gram(procrustes.transposed_product(x, x))
    whiten_y, back_y = _roots_of_gram(procrustes.transposed_product(y, y))
    # Step 2
    left, correlation, right = np.linalg.svd(
        whiten_x @ procrustes.transposed_product(x, y) @ whiten_y
    )
    right = right.T
    weight = correlation**reweight
    # Steps 3 and 4
    return (
        (whiten_x @ left * weight) @ (left.T @ back_x @ left),
        (whiten_y @ right * weight) @ (right.T @ back_y @ right),
    )


def root_similarity(x: Array) -> np.ndarray:
    """The square root of the similarity matrix x x^T: float32 [N, N] for [N, D].

    With x = U S V^T it is U S U^T, which is also x (x^T x)^(-1/2) x^T.
    """
    values, vectors = np.linalg.eigh(procrustes.transposed_product(x, x))
    # The eigenvalues are squares of the spreads, hence the square of the floor.
    is_large = values > _FLOOR**2 * values[-1]
    fourth = np.where(is_large, values, 1.0) ** -0.25 * is_large
    half = np.asarray(x, np.float32) @ (vectors * fourth).astype(np.float32)  # U S^(1/2)
    return half @ half.T


def _roots_of_gram(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(x^T x)^(-1/2) and its inverse, from x^T x."""
    values, vectors = np.linalg.eigh(gram)
    spread = np.sqrt(np.maximum(values, _FLOOR**2 * max(values[-1], np.finfo(float).tiny)))
    return (vectors / spread) @ vectors.T, (vectors * spread) @ vectors.T
