"""GeoMM: rotations of both sides into a latent space whose metric is learned with them."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from clwe_jax import registry
from clwe_jax.align import alignment, preprocess, procrustes, riemannian
from clwe_jax.types import Array

SOLVERS = ("exact", "conjugate_gradient")


@dataclasses.dataclass(frozen=True)
class Geomm:
    """Jawanpuria et al. 2019, Learning Multilingual Word Embeddings in Latent Metric Space.

    Minimises ||X U B V^T Z^T - A||^2 + (l2 / 2) ||B||^2 (Eq. 1) over orthonormal U and V and
    positive definite B, where X and Z are the different words of the dictionary and A is 1 at its
    pairs, 0 elsewhere. The common space is x U B^(1/2) and z V B^(1/2).

    Every matrix is some U B V^T (its singular value decomposition), and the cost is a convex
    quadratic of that product W with (X^T X) W (Z^T Z) + (l2 / 2) W = X^T A Z at its minimum. The
    solver 'exact' solves that equation in the eigenbases of both sides. 'conjugate_gradient' goes
    the authors' way: Riemannian conjugate gradients from a random start, which the iterations cut
    short of the same minimum, or, where the determinant of the start has the other sign (it cannot
    change on the way), of one a little above it.
    """

    l2: float = 100.0
    solver: str = "exact"
    iterations: int = 150  # of conjugate_gradient, at most
    seed: int = 0  # of its start
    preprocess: tuple[str, ...] = ("unit", "center")

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns both maps.

        Args:
          source: [N, D] and
          target: [M, D'].
          pairs: integers [P, 2], rows of source and target; a pair counts once.

        Returns:
          An Alignment with maps [D, K] and [D', K], K the lesser of D and D'; `info` has 'pairs'
          and 'cost', of conjugate_gradient a list over the iterations and 'gradient_norm' too.

        Raises:
          ValueError: an unknown solver, an l2 that is not positive; see also
            `alignment.check_vectors` and `alignment.check_pairs`.
        """
        if self.solver not in SOLVERS:
            raise ValueError(
                f"GeoMM has no solver {self.solver!r}. {registry.nearest(self.solver, SOLVERS)}"
            )
        if self.l2 <= 0:
            raise ValueError(f"l2 must be positive, else the minimum is not unique; got {self.l2}")
        alignment.check_vectors(source, target, one_width=False)
        pairs = alignment.check_pairs(pairs, source, target, "geomm")
        x, source_steps = preprocess.fit(source, self.preprocess)
        y, target_steps = preprocess.fit(target, self.preprocess)
        problem = statistics(x, y, pairs, self.l2)
        info: dict[str, Any] = {"aligner": "geomm", "pairs": [int(problem.pairs)]}
        if self.solver == "exact":
            point = exact(problem)
            info["cost"] = [float(cost(point, problem))]
        else:
            start = riemannian.random_point(*problem.product.shape, self.seed)
            point, costs, norms = riemannian.minimise(cost, start, problem, self.iterations)
            info["cost"], info["gradient_norm"] = costs.tolist(), norms.tolist()
        root = riemannian.root(point.metric)
        return alignment.Alignment(
            (point.left @ root).astype(np.float32),
            (point.right @ root).astype(np.float32),
            source_steps,
            target_steps,
            info,
        )


class Statistics(NamedTuple):
    """All that the cost depends on, float64: its size is that of the vectors, not of the pairs."""

    source: Array  # X^T X, [D, D]
    target: Array  # Z^T Z, [D', D']
    product: Array  # X^T A Z, [D, D']
    pairs: Array  # ||A||^2, how many different pairs there are
    l2: Array


def statistics(x: np.ndarray, z: np.ndarray, pairs: np.ndarray, l2: float) -> Statistics:
    """Sums over the dictionary.

    Args:
      x: [N, D] and
      z: [M, D'], preprocessed vectors.
      pairs: integers [P, 2].
      l2: weight of ||B||^2 / 2.
    """
    pairs = np.unique(pairs, axis=0)
    left, right = x[np.unique(pairs[:, 0])], z[np.unique(pairs[:, 1])]
    return Statistics(
        procrustes.product(left, left),
        procrustes.product(right, right),
        procrustes.product(x[pairs[:, 0]], z[pairs[:, 1]]),
        np.float64(len(pairs)),
        np.float64(l2),
    )


def cost(point: riemannian.Point, problem: Statistics) -> Array:
    """||X U B V^T Z^T - A||^2 + (l2 / 2) ||B||^2, a number."""
    w = point.left @ point.metric @ point.right.T
    fit = ((problem.source @ w @ problem.target - 2 * problem.product) * w).sum()
    return fit + problem.pairs + problem.l2 / 2 * (point.metric**2).sum()


def exact(problem: Statistics) -> riemannian.Point:
    """The global minimum."""
    source_values, source_basis = np.linalg.eigh(problem.source)
    target_values, target_basis = np.linalg.eigh(problem.target)
    w = source_basis.T @ problem.product @ target_basis
    w /= np.multiply.outer(source_values, target_values) + problem.l2 / 2
    left, values, right = np.linalg.svd(w, full_matrices=False)
    return riemannian.Point(source_basis @ left, target_basis @ right.T, np.diag(values))
