"""The peer of geomm.py: pymanopt's conjugate gradients over GeoMM's manifold.

Run by geomm.py --peer-python=PYTHON; needs numpy and pymanopt.
"""

import numpy as np
import pymanopt
import side_by_side
from pymanopt.manifolds import Product, Stiefel, SymmetricPositiveDefinite
from pymanopt.optimizers import ConjugateGradient


def setup(options):
    """Returns the final cost and a function that measures one solution."""
    with np.load(options["problem"]) as file:
        x, z, product = file["source"], file["target"], file["product"]
        pairs, l2, left, right = file["pairs"], file["l2"], file["left"], file["right"]
    width = left.shape[1]
    manifold = Product(
        [Stiefel(*left.shape), Stiefel(*right.shape), SymmetricPositiveDefinite(width)]
    )

    @pymanopt.function.numpy(manifold)
    def cost(u, v, b):
        w = u @ b @ v.T
        return ((x @ w @ z - 2 * product) * w).sum() + pairs + l2 / 2 * (b * b).sum()

    @pymanopt.function.numpy(manifold)
    def gradient(u, v, b):
        slope = 2 * (x @ (u @ b @ v.T) @ z - product)
        return slope @ v @ b, slope.T @ u @ b, u.T @ slope @ v + l2 * b

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    clock = side_by_side.CLOCKS[options["clock"]]

    def solve(iterations):
        optimizer = ConjugateGradient(max_iterations=iterations, max_time=1e9, verbosity=0)
        start = clock()
        found = optimizer.run(problem, initial_point=[left, right, np.eye(width)])
        return clock() - start, float(found.cost)

    if options["iterations"] < 1:
        raise SystemExit("at least one iteration")
    first = solve(options["iterations"])

    def measure():
        return 1 / solve(options["iterations"])[0]

    return {"cost": first[1]}, measure


side_by_side.serve(setup)
