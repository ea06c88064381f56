"""The tables of sense-aware models on real text: translation (A8-A13) and WSD (A14).

    python benchmarks/senses_table.py pairs --out=runs/senses --data=../shared/data
    python benchmarks/senses_table.py wsd --out=runs/senses --data=../shared/data

Every run is a command of `clwe_jax.main`, printed as it starts, in its own folder. Finished runs are
not repeated: started again, the script continues. `--pairs`, `--seeds` and `--systems` select runs;
flags after `--` go to every run; `--print-only` prints finished runs only.
"""

from __future__ import annotations

import argparse
import os
from typing import Sequence

import tables

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


def settings(data: str, pair: str) -> dict[str, str]:
    """The options of every run of a pair, or of WSD (no pair)."""
    found = {"data.source": f"text:{os.path.join(data, 'text')}", "evals.senses.data": ""}
    if pair:
        splits = os.path.join(data, "dictionaries", "muse_splits")
        return found | {
            "data.languages": pair.replace("-", ","),
            "data.dictionaries": os.path.join(data, "dictionaries", "muse_full"),
            "data.exclude_dictionaries": splits,
            "data.sample_bytes": "1000000",  # test words are rare
            "evals.retrieval.data": os.path.join(data, "retrieval", "tatoeba"),
            "evals.bli.data": splits,
        }
    wsd = os.path.join(data, "wsd")
    return found | {
        "evals.wsd.training": os.path.join(wsd, "semcor", "semcor.data.xml.gz"),
        "evals.wsd.tests": os.path.join(wsd, "raganato_eval"),
        "evals.wsd.wordnet": os.path.join(wsd, "wordnet", "senses.tsv.gz"),
    }


def figures(arguments: argparse.Namespace, config: str, pair: str, seed: int) -> dict[str, float]:
    """The results of a run, which is started if it is not finished; {} if it failed."""
    folder = os.path.join(arguments.out, pair or "wsd", config, str(seed))
    options = {"seed": seed, **settings(arguments.data, pair)}
    found = tables.figures(arguments, config, folder, options, arguments.more)
    is_projected = any(name.startswith("projected/") for name in found)
    if pair and found and not is_projected and not arguments.print_only:
        tables.run(config, folder, {**options, "job": "project"}, arguments.more)
        found = tables.read(folder)
    return found


def pairs(arguments: argparse.Namespace, systems: Sequence[str]) -> None:
    """Joint-ELMo and Bi-SaELMo before and after projection, one table for each pair."""
    for pair in arguments.pairs.split(","):
        runs: tables.Runs = {}
        for name in systems:
            for seed in map(int, arguments.seeds.split(",")):
                found = figures(arguments, BILINGUAL[name], pair, seed)
                for method, title in PROJECTIONS.items():
                    prefix = f"projected/{method}/" if method else ""
                    part = {
                        m: found[prefix + m] for m in TRANSLATION.values() if prefix + m in found
                    }
                    if part:
                        runs.setdefault(f"{name}, {title}", []).append(part)
        print(f"\n### {pair}\n\n" + "\n".join(tables.means(runs, TRANSLATION)), flush=True)


def wsd(arguments: argparse.Namespace, systems: Sequence[str]) -> None:
    """Nearest neighbour among the senses of the lemma, one column for each test set."""
    runs: tables.Runs = {}
    for name in systems:
        for seed in map(int, arguments.seeds.split(",")):
            found = figures(arguments, ENGLISH[name], "", seed)
            if found:
                runs.setdefault(name, []).append(found)
    for title, metric in WSD.items():
        columns = {part: f"wsd/{part}/{metric}" for part in SETS}
        print(f"\n### {title}\n\n" + "\n".join(tables.means(runs, columns)))
    layers = sorted({m for found in sum(runs.values(), []) for m in found if "/mean/layer" in m})
    columns = {m.removeprefix("wsd/mean/"): m for m in layers}
    print("\n### Every layer, mean of the sets\n\n" + "\n".join(tables.means(runs, columns)))


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints the tables."""
    parser = tables.parser(__doc__, "runs/senses", data="../shared/data")
    parser.add_argument("table", choices=("pairs", "wsd"))
    parser.add_argument("--pairs", default="en-de,en-es,en-ja,en-zh")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--systems", default="", help="names separated by ; (default: all)")
    arguments = tables.parse(parser, argv)
    if not os.path.isdir(arguments.data) and not arguments.print_only:
        parser.error(f"{arguments.data} does not exist: give --data=DIR")
    table, known = {"pairs": (pairs, BILINGUAL), "wsd": (wsd, ENGLISH)}[arguments.table]
    table(arguments, tables.choose(parser, "--systems", arguments.systems, known, ";"))


if __name__ == "__main__":
    main()
