"""The table of joint-align (E7; Tables 1-2 of the paper): systems x language pairs x seeds.

    python benchmarks/joint_align_table.py --out=runs/table --data=../shared/data

Every run is a command of `clwe_jax.main`, printed as it starts, in its own folder. Finished runs are not
repeated. Runs that differ only in reallocation and alignment share their trained vectors.
`--world=pocket` uses the embedded world, `--pairs`, `--seeds` and `--systems` select runs, flags after
`--` go to every run, and `--print-only` prints the finished runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

import tables

TEXT_PAIRS = "en-de,en-es,en-fr,en-nl,en-ru,en-zh"
POCKET_PAIRS = "en-de,en-es,en-fr,en-ja,en-zh"
READINGS = {
    "": "All test pairs; out-of-vocabulary words are copied (Table 1)",
    "_distinct": "Without pairs of identical strings (Table 2)",
    "_covered": "All test pairs, covered words only (MUSE's count)",
    "_distinct_covered": "Without same-surface pairs, covered words only",
}


class System(NamedTuple):
    """A row of the table: a config of configs/ and options."""

    config: str
    options: Mapping[str, Any] = {}


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
    """The options that all runs of a pair share."""
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
    return found


def run(arguments: argparse.Namespace, name: str, pair: str, seed: int) -> dict[str, float]:
    """A run's figures; starts the run if its folder has none."""
    above = os.path.join(arguments.out, arguments.world, pair)
    words = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    folder = os.path.join(above, "-".join(words), str(seed))
    options = {
        "seed": seed,
        "system": name,
        "static.trained": os.path.join(above, f"trained-{seed}"),
        **settings(arguments, pair),
        **SYSTEMS[name].options,
    }
    config = f"{SYSTEMS[name].config}:{arguments.scale}"
    found = tables.figures(arguments, config, folder, options, arguments.more)
    # Copies of these vectors, which `trained` also has, would fill the disk.
    shutil.rmtree(os.path.join(folder, "spaces"), ignore_errors=True)
    return found


Table = dict[str, dict[str, list[dict[str, float]]]]  # system -> pair -> figures by seed


def directions(pairs: Iterable[str]) -> list[str]:
    """Both directions of each pair."""
    both = ((pair, "-".join(reversed(pair.split("-")))) for pair in pairs)
    return [direction for each in both for direction in each]


def markdown(table: Table, pairs: Iterable[str], reading: str) -> list[str]:
    """The table of one reading: P@1 by CSLS in percent, mean over the seeds ± its 95% interval."""
    columns = directions(pairs)
    best = {
        x: max((_mean(rows, x, reading) for rows in table.values()), default=0) for x in columns
    }
    rows = {}
    for name, by_pair in table.items():
        values = {direction: _values(by_pair, direction, reading) for direction in columns}
        means = {x: statistics.fmean(some) for x, some in values.items() if some}
        cells = {x: tables.cell(some) for x, some in values.items()}
        cells |= {x: f"**{cells[x]}**" for x, mean in means.items() if mean >= best[x]}
        whole = means.values() if len(means) == len(columns) else []
        rows[name] = [*cells.values(), tables.cell([statistics.fmean(whole)] if whole else [])]
    return tables.markdown([*columns, "mean"], rows, "system")


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
    for aligner, names in CLAIMS.items():
        if not all(name in table for name in names):
            continue
        counts = {"reallocation": 0, "refinement": 0, "both": 0}
        against, measured = [], 0
        for direction in directions(pairs):
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
    parser = tables.parser(__doc__, "runs/joint_align_table", data="../shared/data")
    parser.add_argument("--world", choices=("text", "pocket"), default="text")
    parser.add_argument("--pairs", default="", help=f"default: {TEXT_PAIRS} or {POCKET_PAIRS}")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--systems", default="", help="names separated by ; (default: all)")
    parser.add_argument("--scale", default="laptop")
    arguments = tables.parse(parser, argv)
    pairs = arguments.pairs or (TEXT_PAIRS if arguments.world == "text" else POCKET_PAIRS)
    names = tables.choose(parser, "--systems", arguments.systems, SYSTEMS, ";")
    if arguments.world == "text" and not os.path.isdir(arguments.data) and not arguments.print_only:
        parser.error(f"{arguments.data} does not exist: give --data=DIR or --world=pocket")
    table: Table = {name: {} for name in names}
    for pair in pairs.split(","):
        for seed in map(int, arguments.seeds.split(",")):
            for name in names:
                if figures := run(arguments, name, pair, seed):
                    table[name].setdefault(pair, []).append(figures)
    for reading, title in READINGS.items():
        print(
            f"\n### {title}\n\nP@1 in percent by CSLS, mean over the seeds and its 95% interval.\n"
        )
        print("\n".join(markdown(table, pairs.split(","), reading)))
    for reading, title in (("", "All test pairs"), ("_distinct", "Without same-surface pairs")):
        if lines := verdicts(table, pairs.split(","), reading):
            print(f"\n{title}: do reallocation and refinement each help, and most together?\n")
            print("\n".join(lines))


if __name__ == "__main__":
    main()
