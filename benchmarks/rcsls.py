"""An iteration of RCSLS: ours beside fastText's `alignment/align.py`.

    git clone https://github.com/facebookresearch/fastText
    python benchmarks/rcsls.py --fasttext=fastText --words=200000 --pairs=5000

Both sides run in this process, in turns, on the same made-up vectors and the same map. The peer is
the unmodified functions `rcsls` and `getknn` of fastText's file. Both sides must give the same loss
and the same gradient. On a busy machine, compare processor seconds with one thread per side:

    OPENBLAS_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false \\
      python benchmarks/rcsls.py --fasttext=fastText --clock=processor
"""

from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Callable
from typing import Any

import jax
import made_up
import numpy as np
from side_by_side import CLOCKS, Comparison, publish

from clwe_jax.align import procrustes, rcsls

NAMES = ("rcsls", "getknn")


def peer(folder: str) -> Callable[..., Any]:
    """Extracts the function `rcsls` of fastText's program; importing the program would run it."""
    path = os.path.join(folder, "alignment", "align.py")
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), filename=path)
    tree.body = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in NAMES
    ]
    scope: dict[str, Any] = {"np": np}
    exec(compile(tree, path, "exec"), scope)
    return scope["rcsls"]


def main() -> None:
    """Measures both sides in turns and prints the rates and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fasttext", required=True, help="a checkout of facebookresearch/fastText")
    parser.add_argument("--words", type=int, default=200_000, help="words per side")
    parser.add_argument("--pairs", type=int, default=5_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    clock, reference = CLOCKS[options.clock], peer(options.fasttext)
    x, y = map(made_up.unit, made_up.rotated(options.words, options.dim, 0.3))
    ends = x[: options.pairs], y[: options.pairs]
    matrix = procrustes.orthogonal(*ends).astype("f4")
    near = rcsls.Neighbours(x, 10), rcsls.Neighbours(y, 10)
    on_device = [jax.numpy.asarray(side) for side in ends]
    # The peer computes in float64.
    theirs_x, theirs_y = x.astype("f8"), y.astype("f8")
    theirs = theirs_x[: options.pairs], theirs_y[: options.pairs], theirs_x, theirs_y

    def ours() -> tuple[float, Any]:
        start = clock()
        found = jax.block_until_ready(rcsls.loss_and_gradient(matrix, *on_device, *near))
        return 1 / (clock() - start), found

    def peers() -> tuple[float, Any]:
        start = clock()
        found = reference(*theirs, matrix.T.astype("f8"), 10)
        return 1 / (clock() - start), found

    value, slope = ours()[1]
    expected_value, expected_slope = peers()[1]
    print(
        f"loss {float(value):.6f} and {expected_value:.6f}; the gradients differ by "
        f"{np.abs(slope - expected_slope.T).max():.1e}, the largest entry is "
        f"{np.abs(expected_slope).max():.1e}"
    )
    rates = [(ours()[0], peers()[0]) for _ in range(options.rounds)]
    found = Comparison([1000 * rate for rate, _ in rates], [1000 * rate for _, rate in rates])
    facts = {"clock": options.clock, "words": options.words, "pairs": options.pairs}
    publish(found, "fastText align.py", facts, options, "iterations in 1000 s")


if __name__ == "__main__":
    main()
