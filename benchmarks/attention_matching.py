"""The training of CLCR's map T at the paper's size, timed on a part of its sentences.

    python benchmarks/attention_matching.py

TableSentences of made-up vectors, as wide and as long as those of `configs/clcr.py:paper`, lie in a file that is
mapped into memory, as in a run. The script times steps of attention matching after the first ones, which
compile, and prints the hours of the whole training of that config: T and its reverse over 250,000 pairs. The
paper's took less than 5 hours on one GPU (section 4.1).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile

import numpy as np
from side_by_side import CLOCKS, record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from clwe_jax import options as configs  # noqa: E402
from clwe_jax.align.attention_matching import AttentionMatching  # noqa: E402
from clwe_jax.align.sentences import TableSentences  # noqa: E402
from clwe_jax.runs import environment  # noqa: E402
from clwe_jax.options.section import values_of  # noqa: E402

_SIDES = 2  # T, and the map back


def sentences(path: str, count: int, words: int, width: int, seed: int) -> TableSentences:
    """Sentences of random vectors in a file."""
    draw = np.random.default_rng(seed)
    shape = count * words + 1, width
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, shape)
    for start in range(0, len(vectors), 100_000):
        part = vectors[start : start + 100_000]
        part[:] = draw.standard_normal(part.shape, np.float32)
    return TableSentences(vectors, np.arange(1, len(vectors), dtype=np.int32).reshape(count, words))


def main() -> None:
    """Times the steps and prints what the whole training takes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=25, help="of a sentence")
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    args = parser.parse_args()
    clock = CLOCKS[args.clock]
    clcr = configs.from_file("configs/clcr.py:paper", {}).clcr
    training = AttentionMatching(**values_of(clcr.transform))
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            sentences(os.path.join(folder, f"{seed}.npy"), args.pairs, args.words, args.width, seed)
            for seed in range(_SIDES)
        ]
        warm = training.chunk(args.words, (args.width, args.width))  # steps of one compiled call
        seconds = []
        for steps in (warm, warm + max(1, args.steps // warm) * warm):
            start = clock()
            dataclasses.replace(training, steps=steps).fit(*sides)
            seconds.append(clock() - start)
    step = (seconds[1] - seconds[0]) / (max(1, args.steps // warm) * warm)
    figures = {
        "s a step": step,
        "pairs a second": training.batch_size / step,
        "hours of the whole training": _SIDES * training.steps * step / 3600,
        "passes over the pairs": training.steps * training.batch_size / clcr.sentences,
        "gigabytes": environment.peak_memory()["host_peak"] / 1e9,
    }
    for name, value in figures.items():
        print(f"{name:30} {value:,.3g}")
    record(figures, args)


if __name__ == "__main__":
    main()
