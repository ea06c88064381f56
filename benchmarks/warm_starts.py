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
import os
from typing import Sequence

import tables

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


def figures(
    arguments: argparse.Namespace, name: str, changed: dict[str, str], seed: int
) -> dict[str, float]:
    """The results of a run, which is run first if needed; {} where it failed."""
    folders = {
        row: os.path.join(arguments.out, f"{arguments.steps}", tables.place(row), f"{seed}")
        for row in (FIRST, name)
    }
    shared = {} if name == FIRST else share(folders[FIRST])
    options = {"seed": seed, "train.steps": arguments.steps, **shared, **changed}
    return tables.figures(arguments, "warm_dict_mlm", folders[name], options, arguments.more)


def share(first: str) -> dict[str, str]:
    """Options that take the first run's text, dictionaries, tests, vocabulary and vectors."""
    world = os.path.join(first, "pocket")
    return {
        "data.source": f"text:{world}/text",
        "data.dictionaries": f"{world}/dictionaries",
        "evals.retrieval.data": f"{world}/retrieval",
        "evals.bli.data": f"{world}/bli",
        "vocab.path": f"{first}/vocab",
        "init.embeddings": f"{first}/start",
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints a table for each group."""
    parser = tables.parser(__doc__, "runs/warm_starts")
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--groups", default="", help="with , between them; default: all")
    parser.add_argument("--variants", default="", help="rows, with ; between them; default: all")
    arguments = tables.parse(parser, argv)
    groups = tables.choose(parser, "--groups", arguments.groups, VARIANTS)
    every = [name for group in VARIANTS.values() for name in group]
    chosen = tables.choose(parser, "--variants", arguments.variants, every, ";")
    seeds = list(map(int, arguments.seeds.split(",")))
    for seed in seeds:
        figures(arguments, FIRST, {}, seed)
    for group in groups:
        runs: tables.Runs = {}
        for name, changed in VARIANTS[group].items():
            if name in chosen:
                found = [figures(arguments, name, changed, seed) for seed in seeds]
                runs[name] = [each for each in found if each]
        lines = tables.means(runs, COLUMNS)
        print(f"\n### {group}, {arguments.steps} steps\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
