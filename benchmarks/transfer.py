"""Transfer tables: labels learned in English, tested in other languages.

    python benchmarks/transfer.py --out=runs/transfer                     # the embedded world, all
    python benchmarks/transfer.py --out=runs/transfer --groups=names,topics
    python benchmarks/transfer.py --out=runs/transfer --groups=real-names,real-topics \\
      --data=../shared/data --encoder=e5=hf:e5 --encoder=dictionary=run:runs/dictionary_vectors

Prints tables in Markdown: a column a language, with the 95% interval over the seeds of the heads.
Every run is a command of `clwe_jax.main` in its own folder, printed as it starts. Finished runs are
not repeated: started again, the script continues. Encoders of the embedded world are trained once, in
OUT/encoders. `--print-only` prints finished runs only; flags after `--` go to every run that learns
labels. On real files each --encoder has a row with frozen features, and those of --tune a fine-tuned one.
"""

from __future__ import annotations

import argparse
import os
from typing import Mapping, Sequence

import tables

Options = Mapping[str, object]

_QUIET = {"evals.mlm.every_steps": 0, "evals.retrieval.every_steps": 0}
_EQUAL = {**_QUIET, "train.steps": 1_500}  # the time of warm_dict_mlm with its vectors
_VECTORS = {
    "data.languages": "en,de,es",
    "data.pocket_sentences": 20_000,
    "embeddings.dim": 100,
    "embeddings.epochs": 5,
    "embeddings.buckets": 100_000,
    "static.induced_words": 0,
}
# Encoder -> config and options.
ENCODERS: dict[str, tuple[str, Options]] = {
    "mbert": ("mbert", _EQUAL),
    "dict_mlm_50": ("dict_mlm_50", _EQUAL),
    "warm_dict_mlm": ("warm_dict_mlm", _QUIET),
    "align_procrustes": ("align_procrustes", _VECTORS),
    "joint_align": ("joint_align", _VECTORS),
}
_ROWS = {"transfer.embedded_rows": 1_000, "transfer.embedded_tests": 300}
_TAGS = {**_ROWS, "data.languages": "en,de,es"}
_FROZEN = {"transfer.mode": "frozen", "transfer.layers": "mix", "recipe.learning_rate": 3e-3}
_MLMS = ("mbert", "dict_mlm_50", "warm_dict_mlm")
_TUNED = {**_TAGS, "train.epochs": 5}
_BOW = {**_TAGS, "encoder": "bow"}
# Table -> row -> (config, encoder, options).
EMBEDDED: dict[str, dict[str, tuple[str, str, Options]]] = {
    "names": {
        **{f"{x}, BiLSTM-CRF": ("ner_bilstm_crf", x, _TAGS) for x in _MLMS},
        "warm_dict_mlm, linear": ("finetune_ner", "warm_dict_mlm", {**_TAGS, **_FROZEN}),
        "warm_dict_mlm, fine-tuned, 5 epochs": ("finetune_ner", "warm_dict_mlm", _TUNED),
    },
    "pos": {
        **{f"{x}, linear": ("finetune_pos", x, {**_TAGS, **_FROZEN}) for x in _MLMS},
        "warm_dict_mlm, fine-tuned, 5 epochs": ("finetune_pos", "warm_dict_mlm", _TUNED),
    },
    "entailment": {
        **{f"{x}, BiLSTM": ("nli_bilstm", x, _TAGS) for x in _MLMS},
        "warm_dict_mlm, fine-tuned, 5 epochs": ("finetune_xnli", "warm_dict_mlm", _TUNED),
    },
    "paraphrases": {
        "warm_dict_mlm, fine-tuned, 5 epochs": ("finetune_pawsx", "warm_dict_mlm", _TUNED)
    },
    "opinions": {
        "joint_align, mean and two dense layers": ("classify_sentiment", "joint_align", _TAGS),
        "joint_align, BiLSTM": (
            "nli_bilstm",
            "joint_align",
            {**_TAGS, "transfer.task": "sentiment"},
        ),
        "warm_dict_mlm, mean and two dense layers": ("classify_sentiment", "warm_dict_mlm", _TAGS),
    },
    "topics": {"linear": ("classify_topics", "joint_align", _TAGS)},
    "static-names": {x: ("ner_bilstm_crf", x, _TAGS) for x in ("align_procrustes", "joint_align")},
    "mapped-names": {
        "warm_dict_mlm, no maps": ("ner_mapped", "warm_dict_mlm", {**_TAGS, "data.pairs": ""}),
        "warm_dict_mlm, mapped by aligned words": ("ner_mapped", "warm_dict_mlm", _TAGS),
    },
    "translated-pos": {
        "zero-shot": ("tag_transformer_crf", "", _BOW),
        "translate-train": ("tag_transformer_crf", "", {**_BOW, "transfer.translate": "train"}),
        "translate-test": ("tag_transformer_crf", "", {**_BOW, "transfer.translate": "test"}),
        "labels of the language alone, de": (
            "tag_transformer_crf",
            "",
            {**_BOW, "data.languages": "de", "transfer.train": "de"},
        ),
        "labels of the language alone, es": (
            "tag_transformer_crf",
            "",
            {**_BOW, "data.languages": "es", "transfer.train": "es"},
        ),
        "joint training A": (
            "tag_transformer_crf",
            "",
            {**_BOW, "transfer.train": "en,de,es", "transfer.rows": "en:.25,de:.25,es:.25"},
        ),
        "labels of all languages": (
            "tag_transformer_crf",
            "",
            {**_BOW, "transfer.train": "en,de,es"},
        ),
    },
}
_SMALL = {"transfer.seeds": 1, "transfer.test_rows": 300, "transfer.rows": 1_000}
# Group -> (config of frozen features, config of fine-tuning, languages, training file, tests, options).
REAL: dict[str, tuple[str, str, str, str, str, Options]] = {
    "real-names": (
        "ner_bilstm_crf",
        "finetune_ner",
        "en,de,es,fr,nl",
        "ner/wikineural/en.train.tsv",
        "ner/wikineural",
        {},
    ),
    "real-names-conll": (
        "ner_bilstm_crf",
        "finetune_ner",
        "es,nl",
        "ner/wikineural/en.train.tsv",
        "ner/conll2002",
        {},
    ),
    "real-pos": (
        "finetune_pos",
        "finetune_pos",
        "en,de,es,fr,nl,zh",
        "pos/ud/en_ewt.train.tsv",
        "pos/ud",
        {},
    ),
    "real-entailment": (
        "nli_bilstm",
        "finetune_xnli",
        "en,de,es,fr,zh",
        "nli/xnli/dev.en.tsv",
        "nli/xnli",
        {"transfer.layers": "last4"},
    ),
    "real-topics": (
        "classify_topics",
        "classify_topics",
        "en,de,es,fr,nl,zh",
        "classification/sib200/en.train.tsv",
        "classification/sib200",
        {},
    ),
}


def encoder(arguments: argparse.Namespace, name: str) -> str:
    """The encoder that a run reads, trained first."""
    folder = os.path.join(arguments.out, "encoders", name)
    config, options = ENCODERS[name]
    tables.figures(arguments, config, folder, options)
    return f"run:{folder}"


def embedded(arguments: argparse.Namespace, title: str) -> dict[str, dict[str, float]]:
    """Row of a table of the embedded world -> figures."""
    found = {}
    for row, (config, name, options) in EMBEDDED[title].items():
        if name:
            options = {**options, "encoder": encoder(arguments, name)}
        folder = os.path.join(arguments.out, "embedded", title, tables.place(row))
        found[row] = tables.figures(arguments, config, folder, options, arguments.more)
    return found


def real(arguments: argparse.Namespace, group: str) -> dict[str, dict[str, float]]:
    """Row of a table of real files -> figures."""
    frozen, tuned, languages, train, tests, options = REAL[group]
    data = arguments.data
    options = {
        **_SMALL,
        **options,
        "data.languages": languages,
        "transfer.train": f"en:{os.path.join(data, train)}",
        "transfer.tests": os.path.join(data, tests),
    }
    rows: dict[str, tuple[str, Options]] = {}
    for name, place in arguments.encoders.items():
        given = {**options, "encoder": place}
        rows[f"{name}, frozen"] = frozen, {**given, **_frozen(frozen)}
        if name in arguments.tune and arguments.epochs:
            rows[f"{name}, fine-tuned, {arguments.epochs} epochs"] = (
                tuned,
                {
                    **given,
                    "transfer.mode": "tune",
                    "train.epochs": arguments.epochs,
                    "train.batch_size": 16,
                    "transfer.length": 48,
                    "transfer.layers": "last",
                    "optimizer.learning_rate": 1e-4,
                    "optimizer.warmup_steps": 20,
                },
            )
    found = {}
    for row, (config, given) in rows.items():
        folder = os.path.join(arguments.out, "real", group, tables.place(row))
        found[row] = tables.figures(arguments, config, folder, given, arguments.more)
    return found


def _frozen(config: str) -> Options:
    return _FROZEN if config.startswith("finetune") else {}


def show(title: str, rows: Mapping[str, Mapping[str, float]]) -> None:
    """Prints a table in Markdown: a column a language, and the mean of those without labels."""
    paths = list(dict.fromkeys(path for figures in rows.values() for path in figures))
    paths.sort(key=lambda path: path.split("/")[1] != "en")  # the labels' language first
    metric = "acc" if any(path.endswith("/acc") for path in paths) else "f1"
    tests = [path for path in paths if path.count("/") == 2 and path.endswith(f"/{metric}")]
    means = [path for path in paths if path.count("/") == 2 and path.endswith(f"/mean_{metric}")]
    names = [*(path.split("/")[1] for path in tests), *["zero-shot mean" for _ in means]]
    cells = {row: [_cell(x, path) for path in (*tests, *means)] for row, x in rows.items()}
    print(f"\n{title}, {metric}\n\n" + "\n".join(tables.markdown(names, cells)), flush=True)


def _cell(figures: Mapping[str, float], path: str) -> str:
    if path not in figures:
        return tables.ABSENT
    low, high = figures.get(f"{path}_low"), figures.get(f"{path}_high")
    interval = "" if low is None else f" ({100 * low:.1f}-{100 * high:.1f})"
    return f"{100 * figures[path]:.1f}{interval}"


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints each table."""
    parser = tables.parser(__doc__, "runs/transfer")
    parser.add_argument(
        "--groups",
        default=",".join(EMBEDDED),
        help=f"tables: {', '.join([*EMBEDDED, *REAL])}; without it, those of the embedded world",
    )
    parser.add_argument("--data", help="the folder of the real files")
    parser.add_argument(
        "--encoder",
        action="append",
        default=[],
        metavar="NAME=ENCODER",
        help="of the tables of files, e.g. e5=hf:e5 or vectors=run:runs/joint_align; several",
    )
    parser.add_argument(
        "--tune",
        metavar="NAME,NAME",
        help="encoders to fine-tune on files; without it, those of hf:",
    )
    parser.add_argument(
        "--epochs", type=int, default=2, help="of fine-tuning on files; 0: no fine-tuning"
    )
    arguments = tables.parse(parser, argv)
    arguments.encoders = {}
    for given in arguments.encoder:
        name, _, place = given.partition("=")
        kind, colon, where = place.partition(":")
        if not (name and colon and where):
            parser.error(f"--encoder={given}: expected NAME=run:DIR or NAME=hf:DIR")
        arguments.encoders[name] = f"{kind}:{os.path.abspath(where)}"
    if arguments.tune is None:
        arguments.tune = [name for name, x in arguments.encoders.items() if x.startswith("hf:")]
    else:
        arguments.tune = [x.strip() for x in arguments.tune.split(",") if x.strip()]
        if unknown := set(arguments.tune) - set(arguments.encoders):
            parser.error(f"--tune: {', '.join(sorted(unknown))}: give --encoder=NAME=ENCODER too")
    groups = tables.choose(parser, "--groups", arguments.groups, [*EMBEDDED, *REAL])
    if any(x in REAL for x in groups) and not (arguments.data and arguments.encoders):
        parser.error(
            f"--groups={arguments.groups}: give --data=DIR, the folder of the real files, and "
            "--encoder=NAME=ENCODER"
        )
    for group in groups:
        show(group, embedded(arguments, group) if group in EMBEDDED else real(arguments, group))


if __name__ == "__main__":
    main()
