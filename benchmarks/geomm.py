"""GeoMM: our exact solver beside the authors' method, pymanopt's conjugate gradients.

    python -m venv peer && peer/bin/pip install numpy pymanopt
    python benchmarks/geomm.py --peer-python=peer/bin/python

The reference program (https://github.com/anoopkunchukuttan/geomm) differentiates its cost with
Theano, which no current Python supports. The peer is the optimiser of that program, with the
gradient in closed form. Both sides solve one made-up problem. The script prints the seconds of a
whole solution and the final costs. `--clock=processor` counts processor seconds, for a busy machine
(use one thread per side: OPENBLAS_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false).
"""

from __future__ import annotations

import argparse
import os
import tempfile

import made_up
import numpy as np
from side_by_side import CLOCKS, Peer, record, spread

from clwe_jax.align import geomm


def problem(pairs: int, width: int) -> geomm.Statistics:
    """Statistics of centered unit vectors with a decaying spectrum and their noisy rotation."""
    x, y = map(made_up.unit, made_up.rotated(pairs, width, 0.3, "f8"))
    ends = np.stack([np.arange(pairs)] * 2, 1)
    return geomm.statistics(x - x.mean(0), y - y.mean(0), ends, 100.0)


def main() -> None:
    """Solves in turns and prints seconds, costs and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer-python", required=True, help="an interpreter that has pymanopt")
    parser.add_argument("--pairs", type=int, default=5_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--iterations", type=int, default=150, help="iterations of the peer")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    clock, given = CLOCKS[options.clock], problem(options.pairs, options.dim)
    r = np.random.RandomState(0)
    start = [np.linalg.qr(r.standard_normal((options.dim, options.dim)))[0] for _ in range(2)]

    def exact() -> float:
        begin = clock()
        geomm.minimum(given)
        return clock() - begin

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "problem.npz")
        np.savez(path, left=start[0], right=start[1], **given._asdict())
        asked = {"problem": path, "iterations": options.iterations, "clock": options.clock}
        with Peer(options.peer_python, "peer_geomm.py", asked) as peer:
            seconds = [(exact(), 1 / peer.measure()) for _ in range(options.rounds)]
            theirs = peer.facts["cost"]
    left, values, right = geomm.minimum(given)
    figures = dict(
        [
            *spread("exact, s", (our for our, _ in seconds)),
            *spread("pymanopt, s", (their for _, their in seconds)),
            *spread("ratio", (their / our for our, their in seconds)),
        ]
    )
    figures |= {"cost, exact": geomm.cost(left * values @ right.T, given), "cost, pymanopt": theirs}
    for name, value in figures.items():
        print(f"{name:20} {value:,.6g}")
    record(figures, options)


if __name__ == "__main__":
    main()
