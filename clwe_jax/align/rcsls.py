"""RCSLS: a linear map trained with a retrieval criterion."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from absl import logging

from clwe_jax.align import alignment, procrustes, search
from clwe_jax.options.aligners import RcslsOptions
from clwe_jax.types import Array

_SMALLEST_RATE = 1e-4  # learning rate below which training ends
_PRECISION = jax.lax.Precision.HIGHEST


@dataclasses.dataclass(frozen=True)
class Rcsls(RcslsOptions):
    """The relaxed CSLS loss, minimised by gradient steps from the Procrustes map.

    Joulin et al. 2018, Loss in Translation: Learning Bilingual Word Mapping with a Retrieval
    Criterion, Eq. 6, with the steps and defaults of the authors' alignment/align.py: the learning
    rate is halved when the loss is above its lowest value so far, and no step is undone. Their
    program does not project after a step that raised the loss; here `spectral` projects after every
    step. The authors recommend learning_rate=25 for 300 dimensions.
    """

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the [D, D] map.

        `info` also has 'loss' and 'learning_rate' before each step.
        """
        x, y, pairs, steps = alignment.prepare("rcsls", source, target, pairs, self.preprocess)
        first_map = procrustes.orthogonal(x[pairs[:, 0]], y[pairs[:, 1]])
        near_source = Neighbours(x[: self.max_neighbours], self.neighbourhood)
        near_target = Neighbours(y[: self.max_neighbours], self.neighbourhood)
        x = jnp.asarray(x[pairs[:, 0]])
        y = jnp.asarray(y[pairs[:, 1]])
        info: dict = {"aligner": "rcsls", "pairs": [len(pairs)], "loss": [], "learning_rate": []}
        matrix = self._descend(first_map.astype(np.float32), x, y, near_source, near_target, info)
        return alignment.Alignment(np.asarray(matrix), None, *steps, info)

    def _descend(self, matrix, x, y, near_source, near_target, info) -> Array:
        rate = self.learning_rate
        lowest = np.inf
        # One step more than `iterations`, as the authors' program takes.
        for number in range(self.iterations + 1):
            if rate < _SMALLEST_RATE:
                break
            value, slope = loss_and_gradient(matrix, x, y, near_source, near_target)
            value = float(value)
            info["loss"].append(value)
            info["learning_rate"].append(rate)
            logging.info("rcsls: step %d, loss %.4f, learning rate %g", number, value, rate)
            matrix = matrix - rate * slope
            if self.spectral:
                matrix = cut_spectrum(matrix)
            if value > lowest:
                rate /= 2
            else:
                lowest = value
        return matrix


def loss_and_gradient(
    matrix: Array, x: Array, y: Array, near_source: Neighbours, near_target: Neighbours
) -> tuple[Array, Array]:
    """The loss of a map and its gradient.

    With q = x W the loss is the mean over the pairs of
    -2 q.y + (1/k) sum of q.z over the k target words z with the largest q.z
           + (1/k) sum of (z W).y over the k source words z with the largest (z W).y.

    Args:
      matrix: map W, [D, D'].
      x: source vectors of the pairs, [P, D].
      y: target vectors of the pairs, [P, D'].
      near_source: neighbours among source words.
      near_target: neighbours among target words.

    Returns:
      The loss and its gradient [D, D'].
    """
    forward, backward = _queries(matrix, x, y)
    return _loss(matrix, x, y, near_source.mean(backward), near_target.mean(forward))


def cut_spectrum(matrix: Array) -> np.ndarray:
    """The nearest matrix of spectral norm at most 1, float32 [D, D'] (ibid., section 3.2)."""
    left, values, right = np.linalg.svd(np.asarray(matrix, np.float64), full_matrices=False)
    return (left * np.minimum(values, 1) @ right).astype(np.float32)


class Neighbours:
    """Means of the k vectors with the largest inner product with a query."""

    def __init__(self, vectors: Array, k: int):
        self._k = min(k, len(vectors))
        # The loss compares inner products, so that the keys keep their lengths.
        self._vectors = jnp.asarray(vectors)
        self._keys = search.chunk_keys(self._vectors, 0.0, self._k, scaled=False)

    def mean(self, queries: Array) -> Array:
        """The mean of each query's k vectors: [P, D] for queries [P, D]."""
        nearest, _ = search.search(queries, self._keys, 1.0, self._k, search.MEMORY_BYTES)
        return _mean_rows(self._vectors, nearest)


@jax.jit
def _queries(matrix, x, y):
    forward = jnp.dot(x, matrix, precision=_PRECISION)
    return forward, jnp.dot(y, matrix.T, precision=_PRECISION)


@jax.jit
def _mean_rows(vectors, rows):
    # Adding one neighbour at a time avoids an array [P, k, D].
    def add(number, total):
        return total + vectors[rows[:, number]]

    shape = (len(rows), vectors.shape[1])
    return jax.lax.fori_loop(0, rows.shape[1], add, jnp.zeros(shape)) / rows.shape[1]


@jax.jit
def _loss(matrix, x, y, near_y, near_x):
    """The loss and its gradient, given the means of the neighbours.

    Args:
      matrix: map W, [D, D'].
      x, y: the pairs, [P, D] and [P, D'].
      near_y: mean of the source neighbours of each y, [P, D].
      near_x: mean of the target neighbours of each x, [P, D'].
    """
    # For given neighbours the loss is linear in W: the inner product of W and the gradient.
    slope = jnp.dot(x.T, near_x - 2 * y, precision=_PRECISION)
    slope = (slope + jnp.dot(near_y.T, y, precision=_PRECISION)) / len(x)
    return (matrix * slope).sum(), slope
