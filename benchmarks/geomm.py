"""GeoMM: ours beside the authors' way, pymanopt's conjugate gradients on the same cost.

    python -m venv peer && peer/bin/pip install numpy pymanopt
    python benchmarks/geomm.py --peer-python=peer/bin/python

The reference program (https://github.com/anoopkunchukuttan/geomm) differentiates its cost with
Theano, which no current Python has; the peer here is the library that it optimises with, given the
gradient in closed form. Both solve one made-up problem. What is compared is a whole solution: the
seconds of the exact solver and of our conjugate gradients beside the peer's, as many iterations,
and the costs that they end with. `--clock=processor` counts the processor's seconds, for a machine
that is busy (with one thread for either side: OPENBLAS_NUM_THREADS=1
XLA_FLAGS=--xla_cpu_multi_thread_eigen=false).
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np
from side_by_side import Peer

from clwe_jax.align import geomm, riemannian

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def problem(pairs: int, width: int) -> geomm.Statistics:
    """Centred unit vectors with the decaying spectrum of word vectors, and their noisy rotation."""
    r = np.random.default_rng(0)
    x = r.standard_normal((pairs, width)) * np.geomspace(1, 0.1, width)
    turn = np.linalg.qr(r.standard_normal((width, width)))[0]
    y = x @ turn + 0.3 * r.standard_normal((pairs, width))
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    ends = np.stack([np.arange(pairs)] * 2, 1)
    return geomm.statistics(x - x.mean(0), y - y.mean(0), ends, 100.0)


def main() -> None:
    """Solves in turns and prints seconds, costs and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer-python", required=True, help="an interpreter that has pymanopt")
    parser.add_argument("--pairs", type=int, default=5_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    clock, given = CLOCKS[options.clock], problem(options.pairs, options.dim)
    start = riemannian.random_point(options.dim, options.dim, 0)
    costs: dict[str, float] = {}

    def exact() -> float:
        begin = clock()
        point = geomm.exact(given)
        seconds = clock() - begin
        costs["exact"] = float(geomm.cost(point, given))
        return seconds

    def conjugate_gradient() -> float:
        begin = clock()
        _, found, _ = riemannian.minimise(geomm.cost, start, given, options.iterations)
        seconds = clock() - begin
        costs["conjugate_gradient"] = float(found[-1])
        return seconds

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.npz")
        np.savez(path, left=start.left, right=start.right, **given._asdict())
        asked = {"problem": path, "iterations": options.iterations, "clock": options.clock}
        with Peer(options.peer_python, "peer_geomm.py", asked) as peer:
            conjugate_gradient()  # compiles
            seconds = [
                (exact(), conjugate_gradient(), 1 / peer.measure()) for _ in range(options.rounds)
            ]
            costs["pymanopt"] = peer.facts["cost"]
    names = ("exact", "conjugate_gradient", "pymanopt")
    for name, column in zip(names, zip(*seconds, strict=True), strict=True):
        ratios = [row[-1] / own for row, own in zip(seconds, column, strict=True)]
        print(
            f"{name:20} {np.median(column):10.3f} s   cost {costs[name]:.6g}   "
            f"pymanopt / this: {np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
