"""The tables of sense-aware models on real text: translation (A8-A13) and WSD (A14).

    python benchmarks/senses_table.py pairs --out=runs/senses --data=../shared/data
    python benchmarks/senses_table.py wsd --out=runs/senses --data=../shared/data

Every run is a command of `clwe_jax.main`, printed as it starts, in its own folder. Finished runs are
not repeated: started again, the script continues. `--pairs`, `--seeds` and `--systems` select runs;
flags after `--` go to every run of `clwe_jax.main`; `--print-only` prints finished runs only.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from typing import Mapping, Sequence

from joint_align_table import interval

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BILINGUAL = {
    "Joint-ELMo": "joint_elmo",
    "Bi-SaELMo": "bi_saelmo",
    "Bi-SaELMo, context senses": "bi_saelmo_context",
}
ENGLISH = {
    "ELMo": "elmo",
    "SaELMo": "saelmo",
    "SaELMo, context senses": "saelmo_context",
    "BERT-Tiny": "bert_tiny",
    "SaBERT-Tiny": "sabert_tiny",
}
PROJECTIONS = {"": "as trained", "orthogonal": "orthogonal", "least_squares": "least squares"}
TRANSLATION = {
    "retrieval, plain": "retrieval/mean_last4",
    "centered": "retrieval/mean_last4_centered",
    "CSLS": "retrieval/mean_last4_csls",
    "BLI P@1": "bli/p@1",
    "CSLS, all words": "bli/p@1_csls",
    "CSLS, covered": "bli/p@1_csls_covered",
}
WSD = {"F1, best layer": "f1", "first sense": "first_sense", "backed off": "back_off"}
SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015", "mean")

Runs = dict[str, list[dict[str, float]]]  # row of the table -> figures by seed


def flags(arguments: argparse.Namespace, pair: str) -> list[str]:
    """The flags of every run of a pair, or of WSD (no pair)."""
    data = arguments.data
    found = [
        f"--config.data.source=text:{os.path.join(data, 'text')}",
        "--config.evals.senses.data=",
    ]
    if pair:
        splits = os.path.join(data, "dictionaries", "muse_splits")
        found += [
            f"--config.data.languages={pair.replace('-', ',')}",
            f"--config.data.dictionaries={os.path.join(data, 'dictionaries', 'muse_full')}",
            f"--config.data.exclude_dictionaries={splits}",
            "--config.data.sample_bytes=1000000",  # test words are rare
            f"--config.evals.retrieval.data={os.path.join(data, 'retrieval', 'tatoeba')}",
            f"--config.evals.bli.data={splits}",
        ]
    else:
        wsd = os.path.join(data, "wsd")
        found += [
            f"--config.evals.wsd.training={os.path.join(wsd, 'semcor', 'semcor.data.xml.gz')}",
            f"--config.evals.wsd.tests={os.path.join(wsd, 'raganato_eval')}",
            f"--config.evals.wsd.wordnet={os.path.join(wsd, 'wordnet', 'senses.tsv.gz')}",
        ]
    return found + arguments.more


def figures(arguments: argparse.Namespace, config: str, pair: str, seed: int) -> dict[str, float]:
    """The results of a run, which is started if it is not finished; {} if it failed."""
    folder = os.path.join(os.path.abspath(arguments.out), pair or "wsd", config, str(seed))
    command = [
        sys.executable,
        "-m",
        "clwe_jax.main",
        f"--config=configs/{config}.py",
        f"--config.seed={seed}",
        f"--workdir={folder}",
        *flags(arguments, pair),
    ]
    found = _read(folder)
    jobs = [("", [])] + ([("projected/", ["--config.job=project"])] if pair else [])
    for prefix, more in jobs:
        done = found and (not prefix or any(name.startswith(prefix) for name in found))
        if done or arguments.print_only:
            continue
        print(f"\n$ {shlex.join(command + more)}", flush=True)
        if subprocess.run(command + more, cwd=ROOT).returncode:
            print(f"{config}, {pair or 'wsd'}, seed {seed}: failed, see above", flush=True)
            return found
        found = _read(folder)
    return found


def _read(folder: str) -> dict[str, float]:
    path = os.path.join(folder, "results.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def markdown(runs: Runs, columns: Mapping[str, str]) -> list[str]:
    """A table in percent: mean over the seeds and half of its 95% interval."""
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for row, results in runs.items():
        cells = []
        for metric in columns.values():
            values = [100 * found[metric] for found in results if metric in found]
            if not values:
                cells.append("–")
                continue
            mean, half = interval(values)
            cells.append(f"{mean:.1f}" + (f" ± {half:.1f}" if half else ""))
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return lines


def pairs(arguments: argparse.Namespace) -> None:
    """Joint-ELMo and Bi-SaELMo before and after projection, one table for each pair."""
    for pair in arguments.pairs.split(","):
        runs: Runs = {}
        for name, config in _chosen(BILINGUAL, arguments.systems).items():
            for seed in map(int, arguments.seeds.split(",")):
                found = figures(arguments, config, pair, seed)
                for method, title in PROJECTIONS.items():
                    prefix = f"projected/{method}/" if method else ""
                    part = {
                        m: found[prefix + m] for m in TRANSLATION.values() if prefix + m in found
                    }
                    if part:
                        runs.setdefault(f"{name}, {title}", []).append(part)
        print(f"\n### {pair}\n\n" + "\n".join(markdown(runs, TRANSLATION)), flush=True)


def wsd(arguments: argparse.Namespace) -> None:
    """Nearest neighbour among the senses of the lemma, one column for each test set."""
    runs: Runs = {}
    for name, config in _chosen(ENGLISH, arguments.systems).items():
        for seed in map(int, arguments.seeds.split(",")):
            found = figures(arguments, config, "", seed)
            if found:
                runs.setdefault(name, []).append(found)
    for title, metric in WSD.items():
        columns = {part: f"wsd/{part}/{metric}" for part in SETS}
        print(f"\n### {title}\n\n" + "\n".join(markdown(runs, columns)))
    layers = sorted({m for found in sum(runs.values(), []) for m in found if "/mean/layer" in m})
    columns = {m.removeprefix("wsd/mean/"): m for m in layers}
    print("\n### Every layer, mean of the sets\n\n" + "\n".join(markdown(runs, columns)))


def _chosen(systems: Mapping[str, str], names: str) -> dict[str, str]:
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(systems)
    unknown = [name for name in wanted if name not in systems]
    if unknown:
        raise SystemExit(f"--systems: unknown {', '.join(unknown)}; known are {', '.join(systems)}")
    return {name: systems[name] for name in wanted}


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints the tables."""
    argv = list(sys.argv[1:] if argv is None else argv)
    split = argv.index("--") if "--" in argv else len(argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("table", choices=("pairs", "wsd"))
    parser.add_argument("--out", default="runs/senses", help="the runs' folders")
    parser.add_argument("--data", default="../shared/data", help="text, dictionaries, test sets")
    parser.add_argument("--pairs", default="en-de,en-es,en-ja,en-zh")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--systems", default="", help="names separated by , (default: all)")
    parser.add_argument("--print-only", action="store_true", help="run nothing")
    arguments = parser.parse_args(argv[:split])
    arguments.data = os.path.abspath(arguments.data)
    arguments.more = argv[split + 1 :]
    if not os.path.isdir(arguments.data) and not arguments.print_only:
        parser.error(f"{arguments.data} does not exist: give --data=DIR")
    {"pairs": pairs, "wsd": wsd}[arguments.table](arguments)


if __name__ == "__main__":
    main()
