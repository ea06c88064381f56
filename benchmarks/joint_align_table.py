"""The table of joint-align (E7; Tables 1-2 of the paper): systems x language pairs x seeds.

    python benchmarks/joint_align_table.py --out=runs/table --data=../shared/data

Every run is a config of configs/ with overrides and has its own folder. A second start skips the
finished runs. Runs that differ only in reallocation and alignment share their trained vectors.
`--world=pocket` uses the embedded world, `--pairs`, `--seeds` and `--systems` select runs, `--set
static.gamma=0.8` overrides an option, and `--print-only` prints the finished runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import shutil
import statistics
import sys
import time
from typing import Any, Iterable, Mapping, Sequence

import run_config

sys.path.insert(0, run_config.ROOT)

from absl import logging  # noqa: E402
from scipy import stats  # noqa: E402

from clwe_jax import registry  # noqa: E402
from clwe_jax.options.section import nearest  # noqa: E402

TEXT_PAIRS = "en-de,en-es,en-fr,en-nl,en-ru,en-zh"
POCKET_PAIRS = "en-de,en-es,en-fr,en-ja,en-zh"
READINGS = {
    "": "All test pairs; out-of-vocabulary words are copied (Table 1)",
    "_distinct": "Without pairs of identical strings (Table 2)",
    "_covered": "All test pairs, covered words only (MUSE's count)",
    "_distinct_covered": "Without same-surface pairs, covered words only",
}


@dataclasses.dataclass(frozen=True)
class System:
    """A row of the table: a config of configs/ and overrides."""

    config: str
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def _align(name: str) -> dict[str, Any]:
    return {"align.name": name, "align.supervised": name != "adversarial"}


_OFF = {"static.reallocation": False}
_UNREFINED = {"static.refinement": False}
SYSTEMS: dict[str, System] = {
    "Procrustes, separate": System("align_procrustes"),
    "Iterative normalisation, separate": System(
        "align_procrustes", {"align.procrustes.preprocess": ("iterative",)}
    ),
    "RCSLS, separate": System("align_rcsls"),
    "GeoMM, separate": System("align_geomm"),
    "MUSE, separate": System("align_muse"),
    "Self-learning, separate": System("align_self_learning"),
    "Joint": System("joint_align", {**_OFF, **_UNREFINED}),
    "Joint-Replace": System("joint_replace"),
    "Duong et al.": System("duong_joint"),
    "Reallocation only": System("joint_align", _UNREFINED),
    "Refinement only, Procrustes": System("joint_align", {**_OFF, **_align("procrustes")}),
    "Refinement only, RCSLS": System("joint_align", {**_OFF, **_align("rcsls")}),
    "Refinement only, GeoMM": System("joint_align", {**_OFF, **_align("geomm")}),
    "Refinement only, MUSE": System("joint_align", {**_OFF, **_align("adversarial")}),
    "Joint-Align, Procrustes": System("joint_align", _align("procrustes")),
    "Joint-Align, RCSLS": System("joint_align", _align("rcsls")),
    "Joint-Align, GeoMM": System("joint_align", _align("geomm")),
    "Joint-Align, MUSE": System("joint_align", _align("adversarial")),
    "Joint-Align, RCSLS, learned sharing": System(
        "joint_align", {"static.rule": "neighbours", **_align("rcsls")}
    ),
}
# The systems that the paper's claim compares, per aligner: joint, reallocation only, refinement
# only, both.
CLAIMS = {
    name: ("Joint", "Reallocation only", f"Refinement only, {name}", f"Joint-Align, {name}")
    for name in ("Procrustes", "RCSLS", "GeoMM", "MUSE")
}


def settings(arguments: argparse.Namespace, pair: str) -> dict[str, Any]:
    """The overrides that all runs of a pair share."""
    found: dict[str, Any] = {
        "data.languages": ",".join(pair.split("-")),
        "static.write_text": False,
        "report.errors": 50,
        "evals.bli.methods": "nn,csls",
    }
    if arguments.world == "text":
        splits = os.path.join(arguments.data, "dictionaries", "muse_splits")
        found |= {
            "data.source": "text:" + os.path.join(arguments.data, "text"),
            "data.dictionaries": splits,
            "align.split": "0-5000",
            "evals.bli.data": splits,
            "evals.retrieval.data": os.path.join(arguments.data, "retrieval", "tatoeba"),
        }
    return found | dict(item.split("=", 1) for item in arguments.set)


def run(arguments: argparse.Namespace, name: str, pair: str, seed: int) -> dict[str, float]:
    """A run's figures; starts the run if its folder has none."""
    system = SYSTEMS[name]
    folder = run_folder(arguments, name, pair, seed)
    results = os.path.join(folder, "results.json")
    if not os.path.exists(results) and not arguments.print_only:
        trained = os.path.join(os.path.dirname(os.path.dirname(folder)), f"trained-{seed}")
        changes = {
            "seed": seed,
            "system": name,
            "static.trained": trained,
            **settings(arguments, pair),
            **system.overrides,
        }
        config = run_config.load(system.config, arguments.scale, changes)
        # The report shows sys.argv as the command of the run.
        sys.argv[1:] = [
            f"--config=configs/{system.config}.py:{arguments.scale}",
            f"--workdir={folder}",
            *(f"--config.{path}={value}" for path, value in changes.items()),
        ]
        config.resolved().check_all()
        started = time.monotonic()
        registry.lookup("job", config.job)(config, folder)
        # Copies of these vectors, which `trained` also has, would fill the disk.
        shutil.rmtree(os.path.join(folder, "spaces"), ignore_errors=True)
        logging.info("%s, %s, seed %d: %.0f s", name, pair, seed, time.monotonic() - started)
    if not os.path.exists(results):
        return {}
    with open(results, encoding="utf-8") as file:
        return json.load(file)


def run_folder(arguments: argparse.Namespace, name: str, pair: str, seed: int) -> str:
    """The folder of a run, such as OUT/text/en-de/joint-align-rcsls/0."""
    words = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    return os.path.join(
        os.path.abspath(arguments.out), arguments.world, pair, "-".join(words), str(seed)
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean over seeds and the half-width of its 95% interval (Student's t); 0 for one seed."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, 0.0
    width = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values)
    return mean, float(width / math.sqrt(len(values)))


Table = dict[str, dict[str, list[dict[str, float]]]]  # system -> pair -> figures by seed


def markdown(table: Table, pairs: Iterable[str], reading: str) -> list[str]:
    """The table of one reading: P@1 by CSLS in percent, mean over the seeds ± its 95% interval."""
    directions = [d for pair in pairs for d in (pair, "-".join(reversed(pair.split("-"))))]
    lines = ["| system | " + " | ".join(directions) + " | mean |"]
    lines.append("|---|" + "---|" * (len(directions) + 1))
    best = {
        d: max((_mean(rows, d, reading) for rows in table.values()), default=0) for d in directions
    }
    for name, by_pair in table.items():
        cells, means = [], []
        for direction in directions:
            values = _values(by_pair, direction, reading)
            if not values:
                cells.append("–")
                continue
            mean, half = interval(values)
            means.append(mean)
            shown = f"{100 * mean:.1f}" + (f" ± {100 * half:.1f}" if half else "")
            cells.append(f"**{shown}**" if mean >= best[direction] else shown)
        whole = f"{100 * statistics.fmean(means):.1f}" if len(means) == len(directions) else "–"
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {whole} |")
    return lines


def _values(
    by_pair: Mapping[str, list[dict[str, float]]], direction: str, reading: str
) -> list[float]:
    pair = next((p for p in by_pair if set(p.split("-")) == set(direction.split("-"))), None)
    metric = f"bli/{direction}/p@1_csls{reading}"
    return [figures[metric] for figures in by_pair.get(pair or "", []) if metric in figures]


def _mean(by_pair: Mapping[str, list[dict[str, float]]], direction: str, reading: str) -> float:
    values = _values(by_pair, direction, reading)
    return statistics.fmean(values) if values else 0.0


def verdicts(table: Table, pairs: Iterable[str], reading: str) -> list[str]:
    """Tests the paper's claim: reallocation and refinement each help, and help most together."""
    lines = []
    directions = [d for pair in pairs for d in (pair, "-".join(reversed(pair.split("-"))))]
    for aligner, names in CLAIMS.items():
        if not all(name in table for name in names):
            continue
        counts = {"reallocation": 0, "refinement": 0, "both": 0}
        against, measured = [], 0
        for direction in directions:
            values = [_values(table[name], direction, reading) for name in names]
            if not all(values):
                continue
            measured += 1
            joint, reallocated, refined, both = map(statistics.fmean, values)
            counts["reallocation"] += reallocated > joint
            counts["refinement"] += refined > joint
            counts["both"] += both > max(joint, reallocated, refined)
            if not both > max(joint, reallocated, refined):
                against.append(direction)
        if measured:
            said = (
                f"- {aligner}: reallocation alone helps in {counts['reallocation']} of {measured} "
                f"directions, refinement alone in {counts['refinement']}, both together are best "
                f"in {counts['both']}"
            )
            lines.append(said + (f"; not in {', '.join(against)}." if against else "."))
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    """Starts the missing runs and prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", default="runs/joint_align_table", help="the runs' folders")
    parser.add_argument("--world", choices=("text", "pocket"), default="text")
    parser.add_argument("--data", default="../shared/data", help="text, dictionaries, retrieval")
    parser.add_argument("--pairs", default="", help=f"default: {TEXT_PAIRS} or {POCKET_PAIRS}")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--systems", default="", help="names separated by ; (default: all)")
    parser.add_argument("--scale", default="laptop")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    parser.add_argument("--print-only", action="store_true", help="start no run")
    arguments = parser.parse_args(argv)
    pairs = (arguments.pairs or (TEXT_PAIRS if arguments.world == "text" else POCKET_PAIRS)).split(
        ","
    )
    names = [n.strip() for n in arguments.systems.split(";") if n.strip()] or list(SYSTEMS)
    for name in names:
        if name not in SYSTEMS:
            parser.error(f"unknown system {name!r}. {nearest(name, SYSTEMS)}")
    if arguments.world == "text" and not os.path.isdir(arguments.data) and not arguments.print_only:
        parser.error(f"{arguments.data} does not exist: give --data=DIR or --world=pocket")
    logging.set_verbosity(logging.INFO)
    table: Table = {name: {} for name in names}
    failures = []
    for pair in pairs:
        for seed in map(int, arguments.seeds.split(",")):
            for name in names:
                try:
                    figures = run(arguments, name, pair, seed)
                except (ValueError, OSError) as error:
                    failures.append(f"- {name}, {pair}, seed {seed}: {error}")
                    logging.error("%s", failures[-1])
                    continue
                if figures:
                    table[name].setdefault(pair, []).append(figures)
    for reading, title in READINGS.items():
        print(
            f"\n### {title}\n\nP@1 in percent by CSLS, mean over the seeds and its 95% interval.\n"
        )
        print("\n".join(markdown(table, pairs, reading)))
    for reading, title in (("", "All test pairs"), ("_distinct", "Without same-surface pairs")):
        lines = verdicts(table, pairs, reading)
        if lines:
            print(f"\n{title}: do reallocation and refinement each help, and most together?\n")
            print("\n".join(lines))
    if failures:
        print("\nRuns that failed:\n\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
