"""Kills a training run with SIGKILL at random moments; its end must be that of an unbroken one.

  python benchmarks/kill_and_resume.py --kills=20 [--seconds=6] [--workdir=DIR]

Runs the main job at a tiny scale twice: unbroken, and killed `--kills` times at random moments after
its training has begun to write checkpoints, each time started again with the same command. Prints
whether the final parameters agree bit by bit, and exits with 1 when they do not.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import jax
import numpy as np

from clwe_jax.training import checkpoint

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY = """
--config=configs/dict_mlm_50.py --config.data.languages=de,en --config.data.pocket_sentences=3000
--config.data.sequence_length=32 --config.vocab.size=2000 --config.model.layers=2
--config.model.width=64 --config.model.heads=2 --config.model.mlp_dim=128
--config.model.dropout=0.1 --config.train.batch_size=16 --config.train.log_every_steps=20
--config.checkpoint.every_steps=10 --config.evals.mlm.every_steps=0 --config.evals.mlm.batches=1
--config.evals.retrieval.every_steps=0 --config.evals.retrieval.data= --config.evals.bli.data=
""".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_500)
    parser.add_argument("--seconds", type=float, default=6.0, help="longest life after a start")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--workdir", default=None)
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.workdir or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    moments = random.Random(arguments.seed)

    start("unbroken", folder, arguments.steps).wait()
    killed = 0
    while True:
        process = start("broken", folder, arguments.steps)
        if killed < arguments.kills and wait_for_training(process, folder / "broken"):
            time.sleep(moments.uniform(0, arguments.seconds))
        if killed < arguments.kills and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            print(f"kill {killed}: newest checkpoint {newest(folder / 'broken')}", flush=True)
            continue
        if process.wait():
            sys.exit(f"the run failed; see {folder}/broken.log")
        break
    one, two = (checkpoint.restore_variables(folder / name)[0]["params"] for name in ("unbroken", "broken"))
    different = [
        jax.tree_util.keystr(path)
        for (path, a), b in zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(two))
        if not np.array_equal(np.asarray(a), np.asarray(b))
    ]
    print(f"{killed} kills; {len(different)} of {len(jax.tree.leaves(one))} arrays differ")
    sys.exit(bool(different))


def start(name: str, folder: pathlib.Path, steps: int) -> subprocess.Popen:
    """One start of the job."""
    log = open(folder / f"{name}.log", "ab")
    command = [sys.executable, "-m", "clwe_jax.main", *TINY, f"--config.train.steps={steps}"]
    return subprocess.Popen(
        [*command, f"--workdir={folder / name}"], cwd=ROOT, stdout=log, stderr=log
    )


def newest(workdir: pathlib.Path) -> int:
    steps = checkpoint.complete_steps(str(workdir / "checkpoints"))
    return steps[-1] if steps else -1


def wait_for_training(process: subprocess.Popen, workdir: pathlib.Path) -> bool:
    """Waits until this start has written its first checkpoint; False when the process ended."""
    before = newest(workdir)
    while process.poll() is None:
        if newest(workdir) > before:
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    main()
