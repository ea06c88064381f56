"""RCSLS: a linear map trained for the retrieval that it will be used with."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from absl import logging

from clwe_jax.align import alignment, preprocess, procrustes, search
from clwe_jax.types import Array

_SMALLEST_RATE = 1e-4  # below it training ends
_PRECISION = jax.lax.Precision.HIGHEST


@dataclasses.dataclass(frozen=True)
class Rcsls:
    """The relaxed CSLS loss, minimised by gradient steps from the Procrustes map.

    Joulin et al. 2018, Loss in Translation: Learning Bilingual Word Mapping with a Retrieval
    Criterion, Eq. 6; steps, their halving and defaults as in the authors' alignment/align.py: a
    step is kept even if the loss turns out worse after it, and those that follow are half as long.
    (With the spectral constraint their program leaves a step after which the loss was worse
    unprojected; here every step is projected.)
    Its authors recommend learning_rate=25 for 300 dimensions.
    """

    learning_rate: float = 1.0
    iterations: int = 10  # after the first step
    neighbourhood: int = 10
    spectral: bool = False  # singular values cut to [0, 1] after each step
    max_neighbours: int = 200_000  # neighbours come from as many of the most frequent words
    batch: int | None = None  # pairs drawn for each step; None: all, and steps may be halved
    regularisation: float = 0.0  # the map shrinks by learning_rate * regularisation a step
    seed: int = 0  # of the batches
    preprocess: tuple[str, ...] = ("unit", "center", "unit")

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the map.

        Args:
          source: [N, D] and
          target: [M, D], most frequent words first.
          pairs: integers [P, 2], rows of source and target.

        Returns:
          An Alignment with a [D, D] map; `info` has 'pairs', and 'loss' and 'learning_rate' before
          each step.

        Raises:
          ValueError: see `alignment.check_vectors` and `alignment.check_pairs`.
        """
        alignment.check_vectors(source, target)
        pairs = alignment.check_pairs(pairs, source, target, "rcsls")
        x, source_steps = preprocess.fit(source, self.preprocess)
        y, target_steps = preprocess.fit(target, self.preprocess)
        first = procrustes.orthogonal(x[pairs[:, 0]], y[pairs[:, 1]])
        near_source = Neighbours(x[: self.max_neighbours], self.neighbourhood)
        near_target = Neighbours(y[: self.max_neighbours], self.neighbourhood)
        x, y = jnp.asarray(x[pairs[:, 0]]), jnp.asarray(y[pairs[:, 1]])
        info: dict = {
            "aligner": "rcsls",
            "pairs": [len(pairs)],
            "loss": [],
            "learning_rate": [],
        }
        matrix = self._descend(first.astype(np.float32), x, y, near_source, near_target, info)
        return alignment.Alignment(np.asarray(matrix), None, source_steps, target_steps, info)

    def _descend(self, matrix, x, y, near_source, near_target, info) -> Array:
        random = np.random.RandomState(self.seed)
        rate, lowest = self.learning_rate, np.inf
        for number in range(self.iterations + 1):
            if rate < _SMALLEST_RATE:
                break
            a, b = x, y
            if self.batch is not None and self.batch < len(x):
                chosen = random.choice(len(x), self.batch, replace=False)
                a, b = x[chosen], y[chosen]
            value, slope = loss_and_gradient(matrix, a, b, near_source, near_target)
            value = float(value)
            info["loss"].append(value)
            info["learning_rate"].append(rate)
            logging.info("rcsls: step %d, loss %.4f, learning rate %g", number, value, rate)
            matrix = (1 - rate * self.regularisation) * matrix - rate * slope
            if self.spectral:
                matrix = cut_spectrum(matrix)
            if value > lowest and self.batch is None:
                rate /= 2
            else:
                lowest = value
        return matrix


def loss_and_gradient(
    matrix: Array,
    x: Array,
    y: Array,
    near_source: Neighbours,
    near_target: Neighbours,
) -> tuple[Array, Array]:
    """The loss of a map and its gradient.

    With q = x W the loss is the mean over the pairs of
    -2 q.y + (1/k) sum of q.z over the k target words z with the largest q.z
           + (1/k) sum of (z W).y over the k source words z with the largest (z W).y.

    Args:
      matrix: W, [D, D'].
      x: [P, D] and
      y: [P, D'], the pairs.
      near_source: neighbours among source words.
      near_target: neighbours among target words.

    Returns:
      A number and [D, D'].
    """
    forward, backward = _queries(matrix, x, y)
    return _loss(matrix, x, y, near_source.mean(backward), near_target.mean(forward))


def cut_spectrum(matrix: Array) -> np.ndarray:
    """The nearest matrix of spectral norm at most 1 (ibid., section 3.2): float32 [D, D']."""
    left, values, right = np.linalg.svd(np.asarray(matrix, np.float64), full_matrices=False)
    return (left * np.minimum(values, 1) @ right).astype(np.float32)


class Neighbours:
    """Means of the k words whose products with a query are largest."""

    def __init__(self, vectors: Array, k: int):
        self._k = min(k, len(vectors))
        self._keys = search.chunked(jnp.asarray(vectors), 0.0, self._k, scaled=False)

    def mean(self, queries: Array) -> Array:
        """[P, D] for queries [P, D]."""
        found, _ = search.search(queries, self._keys, 1.0, self._k, search.MEMORY_BYTES)
        return _mean_rows(self._keys.vectors, found)


@jax.jit
def _queries(matrix, x, y):
    forward = jnp.dot(x, matrix, precision=_PRECISION)
    return forward, jnp.dot(y, matrix.T, precision=_PRECISION)


@jax.jit
def _mean_rows(vectors, rows):
    vectors = vectors.reshape(-1, vectors.shape[-1])

    # One neighbour after the other: [P, k, D] never exists.
    def add(number, total):
        return total + vectors[rows[:, number]]

    shape = (len(rows), vectors.shape[1])
    return jax.lax.fori_loop(0, rows.shape[1], add, jnp.zeros(shape)) / rows.shape[1]


@jax.jit
def _loss(matrix, x, y, near_y, near_x):
    """near_y: mean source words [P, D] of each y; near_x: mean target words [P, D'] of each x."""
    # Linear in W once the neighbours are known: the loss is the product of W and its gradient.
    slope = jnp.dot(x.T, near_x - 2 * y, precision=_PRECISION)
    slope = (slope + jnp.dot(near_y.T, y, precision=_PRECISION)) / len(x)
    return (matrix * slope).sum(), slope
