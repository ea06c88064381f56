"""The plans of all `:paper` language models: whether they fit, hours, memory, traffic of a step.

  python benchmarks/plans.py

Compiles each training step that differs, and its evaluations' programs, for a slice of v3: half a minute
to two minutes each with XLA's CPU compiler over simulated devices, ten and more with a TPU's
(`pip install -e '.[plan]'`). The CPU's memory is an upper bound: its yes is reliable, its no is not.
Finished plans of a commit stay in --out and are not repeated. Hours assume 40% of the chips' peak.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from side_by_side import record

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from clwe_jax import options  # noqa: E402
from clwe_jax.runs import environment  # noqa: E402

_PLAN = """
import json, sys
from clwe_jax import options
from clwe_jax.plan import pretraining
with open(sys.argv[3] + ".part", "w") as file:
    json.dump(pretraining.run(options.from_file(sys.argv[1]), sys.argv[2]), file, default=str)
"""
_GIB = 2**30


def programs() -> dict[str, tuple[str, list[str]]]:
    """The first config of each training step that differs -> its slice and the configs that share it."""
    groups: dict[str, list[str]] = {}
    slices: dict[str, str] = {}
    for path in sorted((ROOT / "configs").glob("*.py")):
        run = options.from_file(f"{path}:paper")
        if run.job != "pretrain":
            continue  # static vectors need no slice
        step: list[Any] = [run.model, run.objective, run.optimizer, run.mesh, run.finish]
        step += [run.train.batch_size, run.train.microbatches, run.train.steps, run.vocab.size]
        step += [run.data.sequence_length, options.max_predictions(run.data)]
        step += [len(options.languages(run)), run.task.labels]
        groups.setdefault(repr(step), []).append(path.stem)
        slices[path.stem] = "v3:8x16" if run.objective.name == "mlm" else "v3:4x8"
    return {names[0]: (slices[names[0]], names) for names in groups.values()}


def planned(name: str, topology: str, out: str) -> dict[str, Any]:
    """The plan of configs/NAME.py:paper, by a process of its own, as each needs its number of devices."""
    os.makedirs(out, exist_ok=True)
    result = os.path.join(os.path.abspath(out), f"{name}.json")
    if not os.path.exists(result):
        config = f"{ROOT / 'configs' / name}.py:paper"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": ""}  # as for a real run
        with open(os.path.join(out, f"{name}.log"), "w", encoding="utf-8") as log:
            subprocess.run(
                [sys.executable, "-c", _PLAN, config, topology, result],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=log,
                check=True,
            )
        os.replace(result + ".part", result)
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def figures(plan: dict[str, Any]) -> dict[str, float]:
    """What the table shows of a plan."""
    steps = [plan, *([plan["finish"]] if plan["finish"] else [])]
    traffic = [kind["bytes"] for kind in (plan["collectives"] or {}).values()]
    evaluation = [size for size in plan["evaluation"].values() if isinstance(size, (int, float))]
    return {
        "chips": plan["chips"],
        "fits": float(all(step["fits"] is True for step in steps)),
        "parameters, millions": plan["parameters"] / 1e6,
        "hours": sum(step["hours"] for step in steps),
        "a device, GB": max(step["needed_bytes"] for step in steps) / _GIB,
        "evaluation, GB": max(evaluation, default=0) / _GIB,
        "collectives, GB a step": sum(traffic) / _GIB,
        "simulated": float(plan["simulated"]),
    }


def main() -> None:
    """Makes the plans that are missing and writes one record of all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="runs/plans")
    args = parser.parse_args()
    found: dict[str, float] = {}
    out = os.path.join(args.out, environment.commit().get("commit", ""))
    for name, (topology, names) in programs().items():
        row = figures(planned(name, topology, out))
        print(
            f"{', '.join(names)} on {topology}:",
            {x: round(y, 3) for x, y in row.items()},
            flush=True,
        )
        found |= {f"{name}, {x}": y for x, y in row.items()}
    record(found, args)


if __name__ == "__main__":
    main()
