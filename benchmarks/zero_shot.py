"""Zero-shot tables of two papers: encoders of the embedded world, and labels learned in English alone.

    python benchmarks/zero_shot.py elmo --out=runs/zero_shot      # A Tables 3 to 5
    python benchmarks/zero_shot.py dict_mlm --out=runs/zero_shot  # D Tables 1 and 2
    python benchmarks/zero_shot.py dict_mlm --seeds=0,1,2 --systems="mBERT; DICT-MLM-50" --tasks=names

Every run is a command of `clwe_jax.main` in its own folder, printed as it starts. Finished runs are not
repeated: started again, the script continues. Each seed trains its own encoders, which all tasks share.
`--print-only` prints finished runs only; flags after `--` go to every run that learns labels.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
from typing import Mapping, Sequence

import tables

Options = Mapping[str, object]

PROJECTED = "_projected"  # the end of the name of a projected encoder
_MAPS = "projection.npz"
_APART = "elmo"  # two models of one language each, without maps
_ROWS = {"transfer.embedded_rows": 1_000, "transfer.embedded_tests": 300}
_EQUAL = {"train.steps": 2_400}  # as the models of one language
_PAIR = {**_ROWS, "data.languages": "en,de"}
_TUNED = {**_ROWS, "train.epochs": 5}


@dataclasses.dataclass(frozen=True)
class Table:
    """Systems, and tasks that read them.

    Attributes:
      encoders: encoder -> config and options.
      systems: row -> encoder.
      tasks: column -> config, options and figure.
      own: column -> figure of the encoder's own run.
    """

    encoders: Mapping[str, tuple[str, Options]]
    systems: Mapping[str, str]
    tasks: Mapping[str, tuple[str, Options, str]]
    own: Mapping[str, str] = dataclasses.field(default_factory=dict)


TABLES = {
    "elmo": Table(
        encoders={
            "elmo_en": ("elmo", {}),
            "elmo_de": ("elmo", {"data.languages": "de"}),
            "joint_elmo": ("joint_elmo", _EQUAL),
            "bi_saelmo": ("bi_saelmo", {**_EQUAL, "objective.senses.warmup_steps": 1_200}),
        },
        systems={
            "ELMo": _APART,
            "Joint-ELMo": "joint_elmo",
            "Bi-SaELMo": "bi_saelmo",
            "ELMo, projected": _APART + PROJECTED,
            "Joint-ELMo, projected": "joint_elmo" + PROJECTED,
            "Bi-SaELMo, projected": "bi_saelmo" + PROJECTED,
        },
        tasks={
            "names": ("ner_bilstm_crf", _PAIR, "zero_shot/ner/mean_f1"),
            "sentiment": ("classify_sentiment", _PAIR, "zero_shot/sentiment/mean_acc"),
            # The paper's mean of vectors does not read the negation of the embedded world's opinions.
            "sentiment, BiLSTM": (
                "nli_bilstm",
                {**_PAIR, "transfer.task": "sentiment"},
                "zero_shot/sentiment/mean_acc",
            ),
            "XNLI": ("nli_bilstm", _PAIR, "zero_shot/xnli/mean_acc"),
        },
    ),
    "dict_mlm": Table(
        encoders={
            **{x: (x, {}) for x in ("mbert", "dict_mlm_50", "dict_mlm_70", "dict_mlm_90")},
            "dict_tlm": ("dict_tlm", {"train.steps": 1_500}),  # half of its own, for its time
        },
        systems={
            "mBERT": "mbert",
            "DICT-MLM-50": "dict_mlm_50",
            "DICT-MLM-70": "dict_mlm_70",
            "DICT-MLM-90": "dict_mlm_90",
            "DICT-TLM": "dict_tlm",
        },
        tasks={
            "names": ("finetune_ner", _TUNED, "zero_shot/ner/mean_f1"),
            "parts of speech": ("finetune_pos", _TUNED, "zero_shot/pos/mean_acc"),
            "XNLI": ("finetune_xnli", _TUNED, "zero_shot/xnli/mean_acc"),
            "PAWS-X": ("finetune_pawsx", _TUNED, "zero_shot/pawsx/mean_acc"),
            "MLDoc": ("finetune_mldoc", _TUNED, "zero_shot/mldoc/mean_acc"),
        },
        own={"sentences found": "retrieval/mean_last4"},
    ),
}


def encoder(arguments: argparse.Namespace, table: Table, name: str, seed: int) -> str:
    """The folder of an encoder, which is trained first, or made of trained ones.

    A projected model is a copy of the trained run. The monolingual models stand apart where the maps of
    their projection are not applied.
    """
    folder = os.path.join(arguments.out, arguments.table, f"{seed}", "encoders", name)
    if name in table.encoders:
        config, options = table.encoders[name]
        tables.figures(arguments, config, folder, {**options, "seed": seed})
    elif not os.path.exists(os.path.join(folder, _MAPS)) and not arguments.print_only:
        if name == _APART:
            mapped = encoder(arguments, table, name + PROJECTED, seed)
            _copy_unmapped(mapped, folder)
        elif name == _APART + PROJECTED:
            sides = {"source": "elmo_de", "target": "elmo_en"}
            runs = {f"projection.{x}": encoder(arguments, table, y, seed) for x, y in sides.items()}
            tables.run("elmo_projected", folder, {**runs, "seed": seed})
        else:
            trained = name.removesuffix(PROJECTED)
            copied = encoder(arguments, table, trained, seed)
            shutil.copytree(copied, folder, dirs_exist_ok=True)
            config, options = table.encoders[trained]
            tables.run(config, folder, {**options, "seed": seed, "job": "project"})
    return folder


def _copy_unmapped(mapped: str, folder: str) -> None:
    from clwe_jax.objectives import projected

    # The maps come last: an interrupted copy that had them would be taken for a finished model.
    ignored = shutil.ignore_patterns(_MAPS)
    shutil.copytree(mapped, folder, dirs_exist_ok=True, ignore=ignored)
    projected.save(os.path.join(folder, _MAPS), {}, "none")  # no language is mapped


def measure(
    arguments: argparse.Namespace, table: Table, system: str, seed: int
) -> dict[str, float]:
    """Column -> a system's figure; a run that failed has none."""
    name = table.systems[system]
    folder = encoder(arguments, table, name, seed)
    own = tables.read(folder)
    found = {title: own[figure] for title, figure in table.own.items() if figure in own}
    for task in arguments.tasks:
        config, options, figure = table.tasks[task]
        place = os.path.join(arguments.out, arguments.table, f"{seed}", tables.place(task), name)
        given = {**options, "seed": seed, "encoder": f"run:{folder}"}
        figures = tables.figures(arguments, config, place, given, arguments.more)
        if figure in figures:
            found[task] = figures[figure]
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints the table."""
    parser = tables.parser(__doc__, "runs/zero_shot")
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--systems", default="", help="with ; between them; default: all")
    parser.add_argument("--tasks", default="", help="with ; between them; default: all")
    arguments = tables.parse(parser, argv)
    table = TABLES[arguments.table]
    systems = tables.choose(parser, "--systems", arguments.systems, table.systems, ";")
    arguments.tasks = tables.choose(parser, "--tasks", arguments.tasks, table.tasks, ";")
    seeds = [int(x) for x in arguments.seeds.split(",")]
    runs = {x: [measure(arguments, table, x, seed) for seed in seeds] for x in systems}
    columns = {x: x for x in (*arguments.tasks, *table.own)}
    print("\n" + "\n".join(tables.means(runs, columns)))


if __name__ == "__main__":
    main()
