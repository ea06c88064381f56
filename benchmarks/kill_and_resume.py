"""Kills runs with SIGKILL at random moments and compares their ends with unbroken runs'.

  python benchmarks/kill_and_resume.py --kills=1000 [--minutes=30] [--systems=bi_saelmo,clcr]

Runs each job at a tiny scale unbroken, once, and then in batches: killed at random moments after it has
kept something new, and started again with the same command after every kill. Prints whether the final
arrays agree bit by bit, and exits with status 1 if they do not. What was done stays in --out, so that
the same command goes on after a stop, and after --minutes; kills of other code do not count.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import multiprocessing
from multiprocessing.context import ForkServerProcess as Process
import os
import pathlib
import random
import runpy
import shutil
import signal
import sys
import time
from typing import Any

from clwe_jax import compiled

compiled.keep()  # before jax is imported; a start takes seconds of compiling otherwise

import jax  # noqa: E402
import numpy as np  # noqa: E402

from clwe_jax import atomic, cached, pocket  # noqa: E402
from clwe_jax.runs import data_hashes  # noqa: E402
from clwe_jax.training import checkpoint, finish  # noqa: E402
from side_by_side import record  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
_TRAINED = """
--config.data.languages=de,en --config.data.pocket_sentences=3000 --config.vocab.size=2000
--config.train.batch_size=16 --config.train.log_every_steps=20 --config.checkpoint.every_steps=10
--config.evals.retrieval.data=
"""
_LANGUAGE_MODEL = (
    _TRAINED
    + """
--config.evals.mlm.every_steps=0 --config.evals.mlm.batches=1 --config.evals.bli.data=
--config.train.steps=1500
"""
)
SYSTEMS = {
    "dict_mlm_50": _LANGUAGE_MODEL
    + """
--config.data.sequence_length=32 --config.model.layers=2 --config.model.width=64
--config.model.heads=2 --config.model.mlp_dim=128 --config.model.dropout=0.1
""",
    # At its own size, with the labels of all languages at once.
    "dict_mlm_all": """
--config.train.steps=300 --config.train.log_every_steps=20 --config.checkpoint.every_steps=30
--config.evals.mlm.batches=1 --config.evals.bli.data=
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
    "laser": _TRAINED
    + """
--config.model.width=32 --config.model.cells=32 --config.model.layers=1 --config.train.steps=400
""",
    "unsupervised_mt": _TRAINED
    + """
--config.data.sequence_length=24 --config.model.layers=1 --config.model.shared_layers=1
--config.model.width=32 --config.model.heads=2 --config.model.mlp_dim=64 --config.evals.bleu.data=
--config.train.steps=400
""",
    "joint_align": """
--config.data.languages=de,en,fr --config.data.pocket_sentences=6000 --config.embeddings.dim=50
""",
    # VERSES is a folder with two translations of three books.
    "bible": """
--config.data.pairs=VERSES --config.data.languages=en,de --config.data.held_out=JHN
--config.evals.retrieval.data=pairs
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
_BOOKS = ("MAT", "MRK", "JHN")
_CHAPTERS, _VERSES = 20, 40
# A start takes seconds of imports, which a fork saves.
_SERVER = multiprocessing.get_context("forkserver")
_IMPORTED = [
    "clwe_jax.clcr.job",
    "clwe_jax.pretrain.job",
    "clwe_jax.static.job",
    "clwe_jax.transfer.job",
    "orbax.checkpoint",
    "seqio",
    "tensorflow",
]
_CACHED = ("bible", "joint_align")  # static runs
# The files of final arrays, apart from checkpoints.
_ARRAYS = (
    "alignments/*.npz",
    "spaces/*.npz",
    "encoder/spaces/*.npz",
    "heads/*.npz",
    "predictions/*.npz",
    "clcr.npz",
    "steps/*.npz",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="systems, by commas")
    parser.add_argument("--kills", type=int, default=120, help="in all, evenly over the systems")
    parser.add_argument("--batch", type=int, default=20, help="maximum number of kills of one run")
    parser.add_argument(
        "--minutes", type=float, default=0, help="ends after the batch; 0: no limit"
    )
    parser.add_argument("--seconds", type=float, default=6.0, help="longest wait before a kill")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random moments")
    parser.add_argument("--out", default="runs/kills")
    arguments = parser.parse_args()
    names, began = arguments.systems.split(","), time.monotonic()
    out = pathlib.Path(arguments.out)
    # Each start compiles the same programs.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(out.resolve() / "compiled")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    _SERVER.set_forkserver_preload(_IMPORTED)
    path = out / "kills.json"  # what was done, so that a command that was stopped goes on
    done = read_batches(path)
    late = lambda: 0 < arguments.minutes * 60 < time.monotonic() - began  # noqa: E731
    while not late():
        kills = {name: sum(x["kills"] for x in done if x["system"] == name) for name in names}
        name = min(names, key=lambda name: kills[name])
        wanted = min(arguments.batch, -(-arguments.kills // len(names)) - kills[name])
        if wanted <= 0:
            break
        done.append(batch(arguments, name, wanted, len(done), out))
        print(done[-1], flush=True)
        if not done[-1]["kills"]:
            sys.exit(f"{name}: the run ended before the first kill; a shorter --seconds may help")
        atomic.write_json(path, done)
    figures = {
        f"{name}, {x}": sum(batch[x] for batch in done if batch["system"] == name)
        for name in sorted({batch["system"] for batch in done})
        for x in ("runs", "kills", "arrays", "arrays that differ")
    }
    different = sum(batch["arrays that differ"] for batch in done)
    figures |= {"kills": sum(x["kills"] for x in done), "arrays that differ": different}
    record(figures, arguments)
    sys.exit(bool(different))


def read_batches(path: pathlib.Path) -> list[dict[str, Any]]:
    """The batches of earlier starts with this code."""
    done: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return [batch for batch in done if batch.get("code") == _code()]


def batch(
    arguments: argparse.Namespace, system: str, kills: int, number: int, out: pathlib.Path
) -> dict[str, Any]:
    """One run that is killed up to `kills` times, beside the system's unbroken run.

    A run may end before all kills.
    """
    folder = out / system
    folder.mkdir(parents=True, exist_ok=True)
    # Rounding depends on the number of processors that a process may use, and on the code.
    made_by = f"{len(os.sched_getaffinity(0))} {_code()}"
    whole = folder / "unbroken.done"
    if not whole.exists() or whole.read_text() != made_by:
        shutil.rmtree(folder / "unbroken", ignore_errors=True)
        finish_run(start(system, "unbroken", folder), folder / "unbroken.log")
        whole.write_text(made_by)
    broken = folder / "broken"
    shutil.rmtree(broken, ignore_errors=True)
    moments = random.Random(f"{arguments.seed}-{number}")
    killed = 0
    while killed < kills:
        process = start(system, "broken", folder)
        if not wait_for_training(process, broken, system):
            break
        time.sleep(moments.uniform(0, arguments.seconds))
        if not process.is_alive():
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += 1
        print(
            f"{system}, kill {killed}: step {newest(broken)}, {len(kept(broken))} kept results",
            flush=True,
        )
    else:
        process = start(system, "broken", folder)
    finish_run(process, folder / "broken.log")
    one, two = arrays(folder / "unbroken"), arrays(broken)
    different = one.keys() ^ two.keys()
    different |= {x for x in one.keys() & two.keys() if not np.array_equal(one[x], two[x])}
    if different:
        shutil.copytree(broken, folder / f"differs-{number}", dirs_exist_ok=True)
        print(f"{system}: {sorted(different)[:3]} differ; kept in {folder}/differs-{number}")
    return {
        "system": system,
        "code": _code(),
        "runs": 1,
        "kills": killed,
        "arrays": len(one),
        "arrays that differ": len(different),
    }


@functools.cache
def _code() -> str:
    return data_hashes.hash_data({"code": str(ROOT / "clwe_jax")})[0]["hash"]


def finish_run(process: Process, log: pathlib.Path) -> None:
    process.join()
    if process.exitcode:
        sys.exit(f"the run failed; see {log}")


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
    return [
        x for x in (workdir, *sorted(workdir.glob("encoders/*"))) if (x / "checkpoints").exists()
    ]


def start(system: str, name: str, folder: pathlib.Path) -> Process:
    """Starts the job, in a fork of a process that has done nothing but import what jobs import."""
    command = ["clwe_jax.main", f"--workdir={folder.resolve() / name}"]
    options = SYSTEMS[system]
    if "VERSES" in options:
        verses = folder.parent / "verses"
        if not (verses / "en.tsv").exists():  # the last one
            write_verses(verses)
        options = options.replace("VERSES", str(verses.resolve()))
    command += [f"--config=configs/{system}.py", *options.split()]
    process = _SERVER.Process(target=_job, args=(command, folder / f"{name}.log"))
    process.start()
    return process


def write_verses(folder: pathlib.Path) -> None:
    """Writes files of verses in German and English: translations of the embedded world."""
    places = [
        f"{book} {chapter}:{verse}"
        for book, chapter, verse in itertools.product(
            _BOOKS, range(1, _CHAPTERS + 1), range(1, _VERSES + 1)
        )
    ]
    folder.mkdir(parents=True, exist_ok=True)
    rows = pocket.parallel(("de", "en"), len(places), 0, "train")
    for language in ("de", "en"):
        lines = (f"{place}\t{row[language].text}\n" for place, row in zip(places, rows))
        atomic.write(str(folder / f"{language}.tsv"), "".join(lines))


def _job(command: list[str], log: pathlib.Path) -> None:
    """The job's process: as `python -m clwe_jax.main` with its output in a file."""
    with open(log, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    os.chdir(ROOT)
    sys.argv = command
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def newest(workdir: pathlib.Path) -> int:
    """The newest step of all language models together; -1 without one."""
    folders = [folder for run in models(workdir) for folder in (run, run / finish.FOLDER)]
    steps = [checkpoint.complete_steps(str(folder / "checkpoints"))[-1:] for folder in folders]
    return sum(map(sum, steps)) if any(steps) else -1


def kept(workdir: pathlib.Path) -> set[str]:
    """The results of stages that the folder holds."""
    # os.walk passes over the folders of checkpoints that the run removes meanwhile; rglob fails.
    return {
        os.path.join(folder, name)
        for folder, _, names in os.walk(workdir)
        for name in names
        if name.endswith(cached.RECORD)
    }


def wait_for_training(process: Process, workdir: pathlib.Path, system: str) -> bool:
    """Waits for a new checkpoint or kept result, or a static run's cache; False if the run ended first."""
    before, had = newest(workdir), kept(workdir)
    while process.is_alive():
        if newest(workdir) > before or kept(workdir) - had:
            return True
        if system in _CACHED and (workdir / "cache").exists():
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    main()
