"""Warm starts on the embedded world: ways from words to tokens, to hold the table and the layers.

    python benchmarks/warm_starts.py --out=runs/warm_starts
    python benchmarks/warm_starts.py --steps=1 --groups=start  # the start alone, without training

The first run, 'the default', makes the vectors; the others start from these, on its text and with its
vocabulary, unless they name vectors of their own. Every run is a command of `clwe_jax.main` in its own folder, printed as it
starts. Finished runs are not repeated: started again, the script continues. `--groups` and
`--variants` select runs; flags after `--` go to every run; `--print-only` prints finished runs only.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from typing import Sequence

from senses_table import Runs, markdown

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIRST = "the default"  # the run whose text, vocabulary and vectors the others share
TABLE = "optimizer.groups.table"


def _learns(rate: float, **more: float) -> dict[str, str]:
    """Options of a table that learns at a rate of its own."""
    options = {"frozen": False, "learning_rate": rate, **more}
    return {f"{TABLE}.{name}": str(value) for name, value in options.items()}


# Group -> row of the table -> options that differ from configs/warm_dict_mlm.py.
VARIANTS: dict[str, dict[str, dict[str, str]]] = {
    "start": {
        FIRST: {},
        "cold": {"init.embeddings": "", f"{TABLE}.frozen": "False"},
        "joint-align alone": {"init.embeddings": "joint"},
        "dictionary alone": {"init.embeddings": "dictionary"},
        "WECHSEL": {"init.method": "wechsel"},
        "FOCUS": {"init.method": "focus"},
        "language mean taken away": {"init.center": "True"},
        "rows of the initialiser's length": {"init.scale": "1.0"},
    },
    "tables": {
        "tied": {"objective.tied": "True"},
        "untied, input alone": {"init.tables": "input"},
        "untied, output alone": {"init.tables": "output"},
    },
    "table": {
        "the table learns, 3e-4": {f"{TABLE}.frozen": "False"},
        "3e-3": _learns(0.003),
        "1e-3": _learns(0.001),
        "1e-4": _learns(0.0001),
        "thawed slowly, to 3e-3": _learns(0.003, warmup_steps=1_000_000),
        "3e-3, pulled by 1": _learns(0.003, decay_to_start=1.0),
        "3e-3, pulled by 10": _learns(0.003, decay_to_start=10.0),
        "3e-3, pulled by 100": _learns(0.003, decay_to_start=100.0),
    },
    "hold": {
        "layers move freely": {"objective.stay_near_embeddings": "0.0"},
        "held by 1": {"objective.stay_near_embeddings": "1.0"},
        "held by 10": {"objective.stay_near_embeddings": "10.0"},
        "no finish": {"finish.steps": "0"},
        "neither": {"objective.stay_near_embeddings": "0.0", "finish.steps": "0"},
    },
    "task": {
        "half of the labels translated": {"task.cross_lingual_share": "0.5"},
        "plain MLM": {"task.cross_lingual_share": "0.0"},
        "post-norm": {"model.norm": "post"},
        "the language at the input": {"model.language_embeddings": "True"},
    },
}
COLUMNS = {
    "retrieval, plain": "retrieval/mean_last4",
    "centered": "retrieval/mean_last4_centered",
    "CSLS": "retrieval/mean_last4_csls",
    "SIF": "retrieval/sif/mean_last4",
    "SIF, centered": "retrieval/sif/mean_last4_centered",
    "BLI P@1": "bli/p@1",
    "BLI, CSLS": "bli/p@1_csls",
    "static vectors' BLI, CSLS": "start/bli/p@1_csls",
    "held-out accuracy": "eval/mlm/accuracy",
}


def figures(arguments: argparse.Namespace, name: str, changed: dict[str, str], seed: int):
    """The results of a run, which is run first if needed; empty where it failed."""
    folder = _folder(arguments, name, seed)
    path = os.path.join(folder, "results.json")
    if not os.path.exists(path) and not arguments.print_only:
        command = [
            sys.executable,
            "-m",
            "clwe_jax.main",
            "--config=configs/warm_dict_mlm.py",
            f"--config.seed={seed}",
            f"--workdir={folder}",
            f"--config.train.steps={arguments.steps}",
        ]
        if name != FIRST:
            command += _shared(_folder(arguments, FIRST, seed))
        command += [f"--config.{key}={value}" for key, value in changed.items()]
        command += arguments.more
        print(f"\n$ {shlex.join(command)}", flush=True)
        if subprocess.run(command, cwd=ROOT).returncode:
            print(f"{name}, seed {seed}: failed, see above", flush=True)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _folder(arguments: argparse.Namespace, name: str, seed: int) -> str:
    place = "".join(x if x.isalnum() or x in "-." else "_" for x in name)
    return os.path.join(os.path.abspath(arguments.out), f"{arguments.steps}", place, f"{seed}")


def _shared(first: str) -> list[str]:
    """Flags that take the first run's text, dictionaries, tests, vocabulary and vectors."""
    world = os.path.join(first, "pocket")
    return [
        f"--config.data.source=text:{world}/text",
        f"--config.data.dictionaries={world}/dictionaries",
        f"--config.evals.retrieval.data={world}/retrieval",
        f"--config.evals.bli.data={world}/bli",
        f"--config.vocab.path={first}/vocab",
        f"--config.init.embeddings={first}/start",
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints a table for each group."""
    argv = list(sys.argv[1:] if argv is None else argv)
    split = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", default="runs/warm_starts", help="the runs' folders")
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--groups", default=",".join(VARIANTS))
    parser.add_argument("--variants", default="", help="rows, with ; between them; default: all")
    parser.add_argument("--print-only", action="store_true", help="run nothing")
    arguments = parser.parse_args(argv[:split])
    arguments.more = argv[split + 1 :]
    chosen = [name for name in arguments.variants.split(";") if name]
    known = [name for group in VARIANTS.values() for name in group]
    for option, names, among in (
        ("--groups", arguments.groups.split(","), VARIANTS),
        ("--variants", chosen, known),
    ):
        unknown = [name for name in names if name not in among]
        if unknown:
            parser.error(f"{option}: {'; '.join(unknown)}; known are {'; '.join(among)}")
    seeds = list(map(int, arguments.seeds.split(",")))
    for seed in seeds:
        figures(arguments, FIRST, {}, seed)
    for group in arguments.groups.split(","):
        runs: Runs = {}
        for name, changed in VARIANTS[group].items():
            if not chosen or name in chosen:
                found = [figures(arguments, name, changed, seed) for seed in seeds]
                runs[name] = [each for each in found if each]
        print(f"\n### {group}, {arguments.steps} steps\n\n" + "\n".join(markdown(runs, COLUMNS)))


if __name__ == "__main__":
    main()
