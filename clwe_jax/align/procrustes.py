"""Linear maps in closed form: orthogonal Procrustes and least squares.

Rows are words: a map W takes x to x W. The algebra on D x D matrices runs in float64 on the host, where it
takes milliseconds; the maps are exact to the precision of float32. The refinement rounds search for nearest
neighbours on JAX's default device.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from absl import logging

from clwe_jax.align import alignment, induce
from clwe_jax.options.aligners import LeastSquaresOptions, ProcrustesOptions
from clwe_jax.types import Array

_CHUNK_ROWS = 65_536  # rows that are converted to float64 at once, to save memory


@dataclasses.dataclass(frozen=True)
class Procrustes(ProcrustesOptions):
    """The orthogonal map W that minimises ||X W - Y||; row i of X and of Y are the vectors of pair i.

    W = U V^T with U S V^T = X^T Y (Schoenemann 1966; Xing et al. 2015). Every refinement round induces a
    dictionary of mutual nearest neighbours, by CSLS or another `method` of retrieval, and finds the map
    of these pairs, without those of the given dictionary (Conneau et al. 2018, section 2.2). The result is the
    map of the round with the highest `induce.unsupervised_criterion`, the mean cosine of frequent words with
    their nearest translation. The options are fields of `ProcrustesOptions`.
    """

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Finds the map [D, D] of a dictionary `pairs` [P, 2], rows of both sides, which is required.

        Arguments and errors as of `alignment.Aligner.fit`.

        The alignment's `info` has 'pairs', a list of how many pairs each round had, and, with refinement,
        'criterion' of each round and 'round', the number of the round whose map is kept; 0 is the given pairs'.
        """
        # `steps`: the preprocessing of each side, such as the subtraction of its mean.
        x, y, pairs, (source_steps, target_steps) = alignment.prepare(
            "procrustes", source, target, pairs, self.preprocess
        )
        matrix = orthogonal(x[pairs[:, 0]], y[pairs[:, 1]])
        info: dict = {"aligner": "procrustes", "pairs": [len(pairs)]}
        if self.refinements:
            matrix = self._refine_map(x, y, matrix, info)
        # No map of the target: the source is brought into its space.
        return alignment.Alignment(
            matrix.astype(np.float32), None, source_steps, target_steps, info
        )

    def _refine_map(
        self, x: np.ndarray, y: np.ndarray, matrix: np.ndarray, info: dict
    ) -> np.ndarray:
        """The best map among `matrix` and those of the rounds; adds 'pairs', 'criterion', 'round' to `info`."""
        k = (
            self.neighbourhood
        )  # of CSLS; the criterion always uses it, also where `method` is another
        mapped = x @ matrix.astype(np.float32)
        best = matrix
        best_round = 0
        criteria = [induce.unsupervised_criterion(mapped, y, neighbourhood=k)]
        for number in range(1, self.refinements + 1):
            pairs = induce.induce_dictionary(
                mapped, y, method=self.method, max_words=self.max_words, neighbourhood=k
            )
            if not len(pairs):
                logging.warning("procrustes: round %d induced no pairs, and is the last", number)
                break
            matrix = orthogonal(x[pairs[:, 0]], y[pairs[:, 1]])
            mapped = x @ matrix.astype(np.float32)
            info["pairs"].append(len(pairs))
            criteria.append(induce.unsupervised_criterion(mapped, y, neighbourhood=k))
            if criteria[-1] > criteria[best_round]:
                best = matrix
                best_round = number
        info.update(round=best_round, criterion=criteria)
        return best


@dataclasses.dataclass(frozen=True)
class LeastSquares(LeastSquaresOptions):
    """The linear map W that minimises ||X W - Y||^2 + ridge ||W||^2 over the pairs.

    Mikolov et al. 2013, Exploiting Similarities among Languages for Machine Translation. Where the
    minimum is not unique (fewer pairs than dimensions, no ridge), the map has the smallest norm.
    Source and target may differ in width.
    """

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Finds the map [D, D'] of a dictionary `pairs`, which is required (`alignment.Aligner.fit`).

        The alignment's `info` also has 'residual', the mean squared length of the rows of X W - Y over the pairs.
        """
        x, y, pairs, (source_steps, target_steps) = alignment.prepare(
            "least_squares", source, target, pairs, self.preprocess, equal_widths=False
        )
        matrix = least_squares(x[pairs[:, 0]], y[pairs[:, 1]], self.ridge)
        residuals = x[pairs[:, 0]] @ matrix - y[pairs[:, 1]]
        info = {
            "aligner": "least_squares",
            "pairs": [len(pairs)],
            "residual": float(np.square(residuals).sum(1).mean()),
        }
        return alignment.Alignment(
            matrix.astype(np.float32), None, source_steps, target_steps, info
        )


def orthogonal(x: Array, y: Array) -> np.ndarray:
    """The orthogonal W that minimises ||x W - y||: float64 [D, D] for two [P, D]."""
    return polar(transposed_product(x, y))


def polar(matrix: np.ndarray) -> np.ndarray:
    """The orthogonal matrix nearest to `matrix`: U V^T of its singular value decomposition U S V^T.

    For a `matrix` that is not square, the nearest one with orthonormal rows or columns.
    """
    u, _, v_transposed = np.linalg.svd(matrix, full_matrices=False)
    return u @ v_transposed


def least_squares(x: Array, y: Array, ridge: float = 0.0) -> np.ndarray:
    """The W of smallest norm that minimises ||x W - y||^2 + ridge ||W||^2: float64 [D, D'].

    Directions in which x varies no more than by its rounding get no weight.

    Args:
      x: inputs, [P, D].
      y: outputs, [P, D'].
      ridge: weight of the squared norm, at least 0.
    """
    # A singular value of x below this share of the largest one may be the rounding of the type in which x was
    # computed (float32 or float64), and dividing by it would give huge weights. More pairs do not raise
    # the share: with 200,000 pairs LAPACK's max(x.shape) would drop directions of 2% of the largest.
    rounding = np.finfo(np.result_type(x.dtype, np.float32)).eps * min(x.shape)
    x = np.asarray(x, np.float64)
    y = np.asarray(y, np.float64)
    if ridge:
        # Rows sqrt(ridge) I with outputs of 0 add ridge ||W||^2 to the squared error.
        x = np.concatenate([x, np.sqrt(ridge) * np.eye(x.shape[1])])
        y = np.concatenate([y, np.zeros((x.shape[1], y.shape[1]))])
    return np.linalg.lstsq(x, y, rcond=rounding)[0]


def transposed_product(x: Array, y: Array) -> np.ndarray:
    """x^T y in float64: [D, D'] for [P, D] and [P, D']."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for start in range(0, len(x), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        total += np.asarray(x[rows], np.float64).T @ np.asarray(y[rows], np.float64)
    return total
