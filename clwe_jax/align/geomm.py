"""GeoMM: rotations of both sides into a latent space, and the metric of that space."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from clwe_jax.align import alignment, procrustes
from clwe_jax.options.aligners import GeommOptions
from clwe_jax.types import Array


@dataclasses.dataclass(frozen=True)
class Geomm(GeommOptions):
    """Jawanpuria et al. 2019, Learning Multilingual Word Embeddings in Latent Metric Space.

    Minimises ||X U B V^T Z^T - A||^2 + (l2 / 2) ||B||^2 (Eq. 1) over orthonormal U and V and
    positive definite B. The rows of X and Z are the vectors of the dictionary's different words; A
    is 1 at the dictionary's pairs and 0 elsewhere. In the common space a source word x is
    x U B^(1/2) and a target word z is z V B^(1/2).

    The authors use Riemannian conjugate gradients. Every matrix W has the form U B V^T (its
    singular value decomposition), ||B|| = ||W||, and the cost is convex in W, so `minimum` solves
    for W in closed form.
    """

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the maps; a repeated pair counts once.

        The maps are [D, K] and [D', K] with K = min(D, D'). `info` also has 'cost'.

        Raises:
          ValueError: as of `alignment.Aligner`, or an l2 that is not positive.
        """
        if self.l2 <= 0:
            raise ValueError(f"l2 must be positive, for a unique minimum; got {self.l2}")
        x, y, pairs, steps = alignment.prepare(
            "geomm", source, target, pairs, self.preprocess, equal_widths=False
        )
        problem = statistics(x, y, pairs, self.l2)
        left, values, right = minimum(problem)
        info = {
            "aligner": "geomm",
            "pairs": [problem.pairs],
            "cost": [cost(left * values @ right.T, problem)],
        }
        maps = (left * np.sqrt(values), right * np.sqrt(values))
        return alignment.Alignment(*(side.astype(np.float32) for side in maps), *steps, info)


class Statistics(NamedTuple):
    """Sums over the dictionary, float64; their size does not grow with the number of pairs."""

    source: np.ndarray  # X^T X, [D, D]
    target: np.ndarray  # Z^T Z, [D', D']
    product: np.ndarray  # X^T A Z, [D, D']
    pairs: int  # ||A||^2, the number of different pairs
    l2: float


def statistics(x: np.ndarray, z: np.ndarray, pairs: np.ndarray, l2: float) -> Statistics:
    """Sums over the dictionary.

    Args:
      x: preprocessed source vectors, [N, D].
      z: preprocessed target vectors, [M, D'].
      pairs: training dictionary, integers [P, 2].
      l2: weight of ||B||^2 / 2.
    """
    pairs = np.unique(pairs, axis=0)
    left = x[np.unique(pairs[:, 0])]
    right = z[np.unique(pairs[:, 1])]
    return Statistics(
        procrustes.transposed_product(left, left),
        procrustes.transposed_product(right, right),
        procrustes.transposed_product(x[pairs[:, 0]], z[pairs[:, 1]]),
        len(pairs),
        l2,
    )


def cost(w: np.ndarray, problem: Statistics) -> float:
    """||X W Z^T - A||^2 + (l2 / 2) ||W||^2 of a matrix W [D, D']."""
    # ||X W Z^T - A||^2 by traces: neither X W Z^T nor A, [words, words], is made.
    fit = ((problem.source @ w @ problem.target - 2 * problem.product) * w).sum()
    return float(fit + problem.pairs + problem.l2 / 2 * (w**2).sum())


def minimum(problem: Statistics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular value decomposition of the W with the lowest cost.

    W solves (X^T X) W (Z^T Z) + (l2 / 2) W = X^T A Z, a division in the eigenbases of both sides.

    Returns:
      Float64 U [D, K], diagonal of B [K] and V [D', K], with W = U B V^T.
    """
    source_values, source_basis = np.linalg.eigh(problem.source)
    target_values, target_basis = np.linalg.eigh(problem.target)
    w = source_basis.T @ problem.product @ target_basis
    w /= np.multiply.outer(source_values, target_values) + problem.l2 / 2
    left, values, right = np.linalg.svd(w, full_matrices=False)
    return source_basis @ left, values, target_basis @ right.T
