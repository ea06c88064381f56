"""Vectors of words by an encoder of sentences, made small and even: directions that mean something."""

from __future__ import annotations

import numpy as np

from clwe_jax.embeddings.dictionary_vectors import unit

_MAX_WORDS = 15_000  # words that the components are found from


def distil(vectors: np.ndarray, weights: np.ndarray, dim: int) -> np.ndarray:
    """The principal components of words, as unit vectors (Model2Vec, Tulkens and van Dongen 2024).

    Args:
      vectors: of single words by an encoder, float [N, D].
      weights: of the words; the components are those of the heaviest.
      dim: components, at most.

    Returns:
      float32 [N, min(dim, D, N)].
    """
    vectors = np.asarray(vectors, np.float32)
    vectors = vectors - vectors.mean(0)
    heaviest = np.argsort(-np.asarray(weights), kind="stable")[:_MAX_WORDS]
    _, _, components = np.linalg.svd(vectors[heaviest], full_matrices=False)
    return unit(vectors @ components[:dim].T)
