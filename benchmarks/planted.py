"""Planted rotations: how often every aligner finds them.

    python benchmarks/planted.py                      # ten seeds, all aligners
    python benchmarks/planted.py --noise=0.3 --aligners=self_learning,adversarial
    python benchmarks/planted.py --stretch=4 --aligners=procrustes,rcsls,geomm,contrastive

Each world has two languages of made-up words in clusters. The second language is a noisy rotation
of the first in another order. Supervised aligners get pairs for a tenth of the words and are tested
on the other words. With --stretch=4 the second language's directions are stretched by 4 to 1/4, which
no rotation undoes. A seed counts as found where 95% of the translations are right by CSLS. The
table lists the other seeds; no failed seed is run again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np  # noqa: E402

from clwe_jax import registry  # noqa: E402
from side_by_side import record  # noqa: E402
from clwe_jax.align import csls  # noqa: E402

ALIGNERS = {
    "procrustes": dict(refinements=0),
    "procrustes, refined": dict(refinements=3),
    "least_squares": {},
    "rcsls": dict(learning_rate=1.0),
    "geomm": {},
    "contrastive": {},
    "contrastive, from geomm": dict(start="geomm"),
    "self_learning, supervised": dict(self_learning=False),
    "self_learning": {},
    "self_learning, no pairs": {},
    # A quarter of MUSE's steps and an eighth of its discriminator's width.
    "adversarial": dict(hidden=256, epoch_size=256_000),
}
_ALONE = ("self_learning, no pairs", "adversarial")


def world(seed: int, words: int, width: int, noise: float, stretch: float = 1.0):
    """Vectors x [N, D] and y [N, D], and the row in y of each x's translation, int [N]."""
    draw = np.random.default_rng(seed)
    spread = np.geomspace(1.5, 0.3, width)
    centers = draw.gamma(1.0, 1.0, (max(2, words // 15), width)) - 0.5
    x = centers[draw.integers(0, len(centers), words)] + 0.5 * draw.normal(size=(words, width))
    x *= spread
    turn = np.linalg.qr(draw.normal(size=(width, width)))[0]
    place = draw.permutation(words)
    y = np.empty_like(x)
    y[place] = x @ turn + noise * draw.normal(size=x.shape) * spread
    if stretch != 1:
        y = (
            y
            * np.geomspace(stretch, 1 / stretch, width)
            @ np.linalg.qr(draw.normal(size=turn.shape))[0]
        )
    return x.astype(np.float32), y.astype(np.float32), place


def accuracy(name: str, options: dict, seed: int, arguments: argparse.Namespace) -> float:
    """The share of words without a given pair whose translation is right."""
    x, y, place = world(seed, arguments.words, arguments.width, arguments.noise, arguments.stretch)
    given = 0 if name in _ALONE else arguments.words // 10
    pairs = np.stack([np.arange(given), place[:given]], 1) if given else None
    aligner = name.partition(",")[0]
    if aligner in ("self_learning", "adversarial", "contrastive"):
        options = {**options, "seed": seed}
    found = registry.lookup("aligner", aligner)(**options).fit(x, y, pairs)
    best = csls.nearest(found.apply(x), found.apply_target(y), 1, "csls")[0]
    return float((np.asarray(best)[given:, 0] == place[given:]).mean())


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=2_000, help="words per side")
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--stretch", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--aligners", default="", help="by registered name; default: all")
    arguments = parser.parse_args()
    chosen = [part.strip() for part in arguments.aligners.split(",") if part.strip()]
    print("| aligner | found | mean | lowest | not found (seed: right) | s a seed |")
    print("|---|---|---|---|---|---|")
    figures = {}
    for name, options in ALIGNERS.items():
        if chosen and name.partition(",")[0] not in chosen:
            continue
        begin = time.perf_counter()
        right = [accuracy(name, options, seed, arguments) for seed in range(arguments.seeds)]
        failed = [f"{seed}: {100 * x:.0f}%" for seed, x in enumerate(right) if x < 0.95]
        print(
            f"| {name} | {sum(x >= 0.95 for x in right)} of {len(right)} | "
            f"{100 * np.mean(right):.1f}% | {100 * min(right):.1f}% | {', '.join(failed) or '–'} | "
            f"{(time.perf_counter() - begin) / len(right):.1f} |",
            flush=True,
        )
        figures[f"{name}, found"] = float(np.mean([x >= 0.95 for x in right]))
        figures[f"{name}, right"] = float(np.mean(right))
    record(figures, arguments)


if __name__ == "__main__":
    main()
