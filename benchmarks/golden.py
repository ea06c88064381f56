"""Fourteen short runs, one a kind, and the figures in which two versions of the program differ.

    python benchmarks/golden.py --out=runs/before            # on the commit before a change
    python benchmarks/golden.py --out=runs/after             # on the commit after it
    python benchmarks/golden.py --out=runs/after --compare=runs/before

A change of the house alone must print 0 for every run: figures are compared to all printed digits.
Products of other shapes round in other ways, and rounding chooses between sentences or words that tie:
`--within=0.002` compares the figures over all pairs of languages, which rows show, and lets each move by
as much.
Finished runs are not repeated; `--only=NAME,NAME` selects runs. One thread, seed 0, the embedded
world; all runs take eighteen minutes of processor time. Figures of time and memory are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from typing import Any

from one_thread import ONE_THREAD

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

MEASURED = (
    "time",
    "second",
    "minutes",
    "speed",
    "memory",
    "disk",
    "per_sec",
    "_gib",
    "peak",
)  # no figures
PAIR = re.compile(r"(^|/)[a-z]+-[a-z]+/")  # figures of one pair of languages
STATIC = "data.pocket_sentences=5000 embeddings.epochs=2"
# Run -> options that shorten it; OUT is the folder of all runs.
RUNS = {
    "dict_mlm_50": "train.steps=150",
    "warm_dict_mlm": "train.steps=60 finish.steps=8 data.pocket_sentences=6000 init.joint.epochs=2",
    "saelmo": "train.steps=120 objective.senses.warmup_steps=60",
    "bi_saelmo": "train.steps=100 objective.senses.warmup_steps=50",
    "joint_align": STATIC,
    "joint_dictionary": STATIC,
    "align_geomm": STATIC,
    "mined_vectors": STATIC + " data.languages=en,de,fr data.pocket_shared=0.1",
    # Not measured by sentences: after few steps all have one vector, and rounding chooses among them.
    "laser": "train.steps=60 data.pocket_sentences=6000 init.joint.epochs=5 evals.retrieval.data= evals.mining.data=",
    "unsupervised_mt": "train.steps=40 data.pocket_sentences=6000 init.joint.epochs=5",
    "ner_bilstm_crf": "transfer.seeds=1 transfer.joint.epochs=5 recipe.epochs=3 data.pocket_sentences=5000",
    "finetune_ner": "transfer.seeds=1 recipe.epochs=1 encoder=run:OUT/warm_dict_mlm",
    "clcr": "clcr.encoder.steps=100 clcr.predictor.steps=100 clcr.transform.steps=200"
    " clcr.sentences=800 clcr.entailment.seeds=1 data.pocket_sentences=6000",
    "compare": "data.pocket_sentences=3000 data.languages=en,de,fr compare.systems=floor,rcsls,joint_dictionary,mlm"
    " compare.heads=1 compare.rows=300 compare.test_rows=100 compare.budget=40steps",
}


def train(name: str, out: str) -> int:
    """Runs a config into its folder, unless its figures are there; the process's exit status."""
    folder = os.path.join(out, name)
    if os.path.exists(os.path.join(folder, "results.json")):
        return 0
    values = RUNS[name].replace("OUT", out).split()
    command = [sys.executable, "-m", "clwe_jax.main", f"--config=configs/{name}.py"]
    command += [f"--workdir={folder}", *(f"--config.{value}" for value in values)]
    print(" ".join(command), flush=True)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, name + ".log"), "w", encoding="utf-8") as log:
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": ROOT}
        return subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log).returncode


def figures(out: str, name: str) -> dict[str, Any]:
    """results.json of a run without what depends on the clock; {} where there is none."""
    path = os.path.join(out, name, "results.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        every = json.load(lines)
    return {key: value for key, value in every.items() if not any(x in key for x in MEASURED)}


def differing(old: dict[str, Any], new: dict[str, Any], within: float) -> list[str]:
    """The names of the figures that differ; of those over all pairs, by more than `within`, if it is not 0."""
    others = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    if not within:
        return others
    return [
        key
        for key in others
        if not PAIR.search(key)
        and not (key in old and key in new and abs(old[key] - new[key]) <= within)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder of the runs")
    parser.add_argument("--compare", default="", help="folder of the earlier runs")
    parser.add_argument(
        "--within",
        type=float,
        default=0.0,
        help="how far each figure over all pairs may move; 0: not a digit",
    )
    parser.add_argument("--only", default=",".join(RUNS), help="runs, by commas")
    flags = parser.parse_args()
    out, failed = os.path.abspath(flags.out), False
    names = flags.only.split(",")
    for name in names:
        if status := train(name, out):
            print(f"{name}: exit status {status}; see {os.path.join(out, name)}.log")
            failed = True
        elif flags.compare:
            old, new = figures(os.path.abspath(flags.compare), name), figures(out, name)
            others = differing(old, new, flags.within)
            print(f"{name}: {len(new)} figures, {len(others)} differ", *others[:8], flush=True)
            failed |= bool(others) or not new
    sys.exit(failed)


if __name__ == "__main__":
    main()
