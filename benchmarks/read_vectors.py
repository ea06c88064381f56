"""Reading vectors from text: ours beside gensim's `load_word2vec_format`, time and peak memory.

    python benchmarks/read_vectors.py --words 200000 --dim 300

The script writes a file of made-up vectors (or takes `--file`) and reads it in turns, each turn in
its own interpreter; imports are not counted. Both sides must read the same words and numbers. The
table has wall seconds and the processor seconds of all threads; a busy machine inflates only the
former.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from side_by_side import record, spread

SIDES = ("clwe_jax", "gensim", "twin")


def write(path: str, words: int, dim: int) -> None:
    """Writes vectors with four decimals, as in fastText's published files."""
    from clwe_jax.embeddings import files
    from clwe_jax.embeddings.vectors import Vectors

    random = np.random.default_rng(0)
    numbers = random.standard_normal((words, dim), np.float32) / 10
    files.write(path, Vectors([f"word{i}" for i in range(words)], numbers.round(4)))


def turn(side: str, path: str, folder: str) -> dict[str, float | str]:
    """Reads once: wall and processor seconds, peak memory in MB, digest of words and numbers."""
    if side == "gensim":
        from gensim.models import KeyedVectors

        start = clocks()
        found = KeyedVectors.load_word2vec_format(path)
        seconds, processor = clocks() - start
        words, numbers = found.index_to_key, found.vectors
    else:
        from clwe_jax.embeddings import files, text_files  # noqa: F401, the import is not counted

        start = clocks()
        found = files.read(path, max_vocab=None, cache=folder if side == "twin" else False)
        seconds, processor = clocks() - start
        words, numbers = found.words, found.vectors
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    digest = hashlib.sha256(numbers.tobytes())
    digest.update("\n".join(words).encode("utf-8"))
    return {
        "seconds": float(seconds),
        "processor": float(processor),
        "peak": peak,
        "digest": digest.hexdigest(),
    }


def clocks() -> np.ndarray:
    """Wall and processor seconds."""
    return np.array([time.perf_counter(), time.process_time()])


def asked(side: str, path: str, folder: str) -> dict:
    """The result of `turn` in a fresh interpreter."""
    command = [sys.executable, os.path.abspath(__file__), "--turn", side, path, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Reads in turns and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--words", type=int, default=200_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", default="", help="read this file instead of a made-up one")
    parser.add_argument("--write", default="", metavar="FILE", help="internal")
    parser.add_argument("--turn", nargs=3, metavar=("SIDE", "FILE", "FOLDER"), help="internal")
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(turn(*options.turn)))
        return
    if options.write:
        write(options.write, options.words, options.dim)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or os.path.join(folder, "vectors.vec")
        if not options.file:
            # A process inherits the peak memory of its parent, so another process writes.
            sizes = ["--words", str(options.words), "--dim", str(options.dim)]
            run = [sys.executable, os.path.abspath(__file__), "--write", path, *sizes]
            subprocess.run(run, check=True)
        print(f"{path}: {os.path.getsize(path) / 1e6:,.0f} MB")
        asked("twin", path, folder)  # writes the twin
        rounds = [
            {side: asked(side, path, folder) for side in SIDES} for _ in range(options.rounds)
        ]
    print(f"{'':10} {'seconds':>8} {'processor':>9} {'peak MB':>8}  times gensim's (by processor)")
    figures = {}
    for side in SIDES:
        for name, unit in (("seconds", "s"), ("processor", "processor s"), ("peak", "peak MB")):
            figures |= dict(spread(f"{side}, {unit}", [found[side][name] for found in rounds]))
        seconds, processor, peak = (
            statistics.median(found[side][name] for found in rounds)
            for name in ("seconds", "processor", "peak")
        )
        ratios = [
            statistics.median(found["gensim"][name] / found[side][name] for found in rounds)
            for name in ("seconds", "processor")
        ]
        print(
            f"{side:10} {seconds:8.2f} {processor:9.2f} {peak:8,.0f}  "
            f"{ratios[0]:,.1f} ({ratios[1]:,.1f})"
        )
        figures[f"{side}, ratio"], figures[f"{side}, ratio by processor"] = ratios
    same = len({found[side]["digest"] for found in rounds for side in SIDES}) == 1
    print("The same words and numbers, to the bit." if same else "THE WORDS OR NUMBERS DIFFER.")
    record({**figures, "same words and numbers": same}, options)


if __name__ == "__main__":
    main()
