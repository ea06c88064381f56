"""Kills a training run with SIGKILL at random moments and compares its end with an unbroken run's.

  python benchmarks/kill_and_resume.py --kills=20 [--system=bi_saelmo] [--seconds=6] [--workdir=DIR]

Runs a job at a tiny scale twice: once unbroken, and once killed `--kills` times at random moments
after it has kept something new, and started again with the same command after every kill. Prints
whether the final arrays agree bit by bit, and exits with status 1 if they do not.
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

from clwe_jax.runs import cached
from clwe_jax.training import checkpoint, finish
from side_by_side import record

ROOT = pathlib.Path(__file__).resolve().parents[1]
_LANGUAGE_MODEL = """
--config.data.languages=de,en --config.data.pocket_sentences=3000 --config.vocab.size=2000
--config.train.batch_size=16 --config.train.log_every_steps=20 --config.checkpoint.every_steps=10
--config.evals.mlm.every_steps=0 --config.evals.mlm.batches=1
--config.evals.retrieval.data= --config.evals.bli.data=
"""
SYSTEMS = {
    "dict_mlm_50": _LANGUAGE_MODEL
    + """
--config.data.sequence_length=32 --config.model.layers=2 --config.model.width=64
--config.model.heads=2 --config.model.mlp_dim=128 --config.model.dropout=0.1
""",
    # With a contrastive finish, in which it is killed too.
    "mbert": _LANGUAGE_MODEL
    + """
--config.data.sequence_length=32 --config.model.layers=1 --config.model.width=32
--config.model.heads=2 --config.model.mlp_dim=64 --config.model.dropout=0.1
--config.finish.steps=300 --config.finish.batch_size=32
""",
    "bi_saelmo": _LANGUAGE_MODEL
    + """
--config.data.sequence_length=10 --config.model.width=32 --config.model.cells=64
--config.model.dropout=0.1 --config.objective.senses.warmup_steps=100
--config.evals.senses.data=
""",
    "joint_align": """
--config.data.languages=de,en,fr --config.data.pocket_sentences=6000 --config.embeddings.dim=50
--config.evals.bli.bootstrap=0
""",
    # Its vectors, features and heads are kept one by one.
    "ner_bilstm_crf": """
--config.data.languages=de,en --config.data.pocket_sentences=6000 --config.transfer.joint.dim=50
--config.transfer.embedded_rows=600 --config.transfer.embedded_tests=200 --config.transfer.seeds=2
--config.transfer.layers=each --config.recipe.epochs=4
""",
    # Two language models are trained first, in folders of their own.
    "clcr": """
--config.data.languages=de,en --config.data.pocket_sentences=3000 --config.clcr.encoder.steps=200
--config.clcr.sentences=400 --config.clcr.test_sentences=60 --config.clcr.transform.steps=200
--config.clcr.predictor.steps=200 --config.clcr.entailment.seeds=0
""",
}
# Systems whose job takes no steps of its own.
_WITHOUT_STEPS = ("joint_align", "ner_bilstm_crf", "clcr")
# The files of final arrays, apart from checkpoints.
_ARRAYS = (
    "alignments/*.npz", "spaces/*.npz", "encoder/spaces/*.npz", "heads/*.npz", "predictions/*.npz",
    "clcr.npz", "steps/*.npz",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--system", choices=SYSTEMS, default="dict_mlm_50")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_500)
    parser.add_argument("--seconds", type=float, default=6.0, help="longest wait before a kill")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random moments")
    parser.add_argument("--workdir", default=None)
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.workdir or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    moments = random.Random(arguments.seed)

    start(arguments, "unbroken", folder).wait()
    killed = 0
    while True:
        process = start(arguments, "broken", folder)
        if killed < arguments.kills and wait_for_training(
            process, folder / "broken", arguments.system
        ):
            time.sleep(moments.uniform(0, arguments.seconds))
        if killed < arguments.kills and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            there = folder / "broken"
            print(f"kill {killed}: step {newest(there)}, {len(kept(there))} kept results", flush=True)
            continue
        if process.wait():
            sys.exit(f"the run failed; see {folder}/broken.log")
        break
    one, two = (arrays(folder / name) for name in ("unbroken", "broken"))
    assert one.keys() == two.keys()
    different = [name for name in one if not np.array_equal(one[name], two[name])]
    print(f"{killed} kills; {len(different)} of {len(one)} arrays differ {different[:3]}")
    figures = {"kills": killed, "arrays": len(one), "arrays that differ": len(different)}
    record(figures, arguments, runs=[str(folder / name) for name in ("unbroken", "broken")])
    sys.exit(bool(different))


def arrays(workdir: pathlib.Path) -> dict[str, np.ndarray]:
    """Every final array of the run: parameters and collections, or vectors and maps."""
    found = {}
    for path in sorted(path for pattern in _ARRAYS for path in workdir.glob(pattern)):
        with np.load(path, allow_pickle=False) as file:
            place = path.relative_to(workdir)
            found |= {f"{place}/{name}": file[name] for name in file.files}
    for run in models(workdir):
        folder = finish.final_folder(str(run))
        variables = checkpoint.restore_variables(folder, None, None, ("senses",))[0]
        leaves = jax.tree_util.tree_leaves_with_path(variables)
        place = run.relative_to(workdir)
        found |= {f"{place}{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}
    return found


def models(workdir: pathlib.Path) -> list[pathlib.Path]:
    """The folders of language models: the run's own, and those that it trained first."""
    return [x for x in (workdir, *sorted(workdir.glob("encoders/*"))) if (x / "checkpoints").exists()]


def start(arguments: argparse.Namespace, name: str, folder: pathlib.Path) -> subprocess.Popen:
    """Starts the job."""
    command = [sys.executable, "-m", "clwe_jax.main", f"--workdir={folder / name}"]
    command += [f"--config=configs/{arguments.system}.py", *SYSTEMS[arguments.system].split()]
    if arguments.system not in _WITHOUT_STEPS:
        command.append(f"--config.train.steps={arguments.steps}")
    with open(folder / f"{name}.log", "ab") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def newest(workdir: pathlib.Path) -> int:
    """The newest step of all language models together; -1 without one."""
    folders = [folder for run in models(workdir) for folder in (run, run / finish.FOLDER)]
    steps = [checkpoint.complete_steps(str(folder / "checkpoints"))[-1:] for folder in folders]
    return sum(map(sum, steps)) if any(steps) else -1


def kept(workdir: pathlib.Path) -> set[str]:
    """The results of stages that the folder holds."""
    return {str(path) for path in workdir.rglob(f"*{cached.RECORD}")}


def wait_for_training(process: subprocess.Popen, workdir: pathlib.Path, system: str) -> bool:
    """Waits for a new checkpoint or kept result, or a static run's cache; False if the run ended first."""
    before, had = newest(workdir), kept(workdir)
    while process.poll() is None:
        if newest(workdir) > before or kept(workdir) - had:
            return True
        if system == "joint_align" and (workdir / "cache").exists():
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    main()
