"""The tasks of a comparison: labels that are learned in one language and tested in all."""

from __future__ import annotations

import glob
import itertools
import os
from typing import Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax import atomic, options, registry
from clwe_jax.compare.measured import PartOutcomes
from clwe_jax.evaluate.agreement import key_texts
from clwe_jax.options.compare import CompareOptions, CompareRun
from clwe_jax.options.section import nearest
from clwe_jax.options.transfer import TransferRun
from clwe_jax.runs.job import FIGURES
from clwe_jax.text.words.languages import name_in, parse_tag

# Task -> the file of its config, and options that differ from it.
_CONFIGS = {
    "ner": ("ner_bilstm_crf", {}),
    "pos": (
        "finetune_pos",
        {"transfer.mode": "frozen", "transfer.layers": "mix", "transfer.words": "mean"},
    ),
    "xnli": ("nli_bilstm", {}),
    "topics": ("classify_topics", {}),
    "mldoc": ("classify_topics", {"transfer.task": "mldoc"}),
    "pawsx": ("nli_bilstm", {"transfer.task": "pawsx"}),
}


class TaskFiles(NamedTuple):
    """The labelled rows of a task: those of `config.transfer.train` and `tests`, and test languages."""

    train: str
    tests: str
    languages: Sequence[str]


def names(settings: CompareOptions) -> list[str]:
    """The tasks that `config.compare.tasks` names.

    Raises:
      ValueError: an unknown one.
    """
    tasks = [x.strip() for x in settings.tasks.split(",") if x.strip()]
    for name in tasks:
        if name not in _CONFIGS:
            raise ValueError(f"config.compare.tasks: no task {name!r}. {nearest(name, _CONFIGS)}")
    return tasks if settings.labelled else []


def files(config: CompareRun, task: str) -> TaskFiles | None:
    """The rows of a task; None where the folder has none of it.

    Raises:
      ValueError: there are test rows, and no training rows of a language of the comparison.
    """
    languages = options.languages(config)
    english = name_in("en", languages)
    by_rank = sorted(languages, key=lambda language: language != english)
    labelled = config.compare.labelled
    if labelled == "pocket":
        return TaskFiles(by_rank[0], "", languages)
    folder = os.path.join(labelled, task)
    if not os.path.isdir(folder):
        return None
    tested = {name_in(x, languages) for x in registry.lookup("transfer_task", task)().files(folder)}
    for language in by_rank:
        codes = dict.fromkeys([language, parse_tag(language).code])
        patterns = ("{}.train.*", "train.{}.*", "{}_*.train.*")
        names = (pattern.format(x) for x, pattern in itertools.product(codes, patterns))
        matches = (glob.glob(os.path.join(glob.escape(folder), name)) for name in names)
        paths = sorted(itertools.chain.from_iterable(matches))
        if paths:
            tested_languages = [x for x in languages if x in tested]
            return TaskFiles(f"{language}:{paths[0]}", folder, tested_languages)
    raise ValueError(
        f"config.compare.labelled={labelled}: {folder} has no training rows of a language in "
        f"config.data.languages={config.data.languages}: expected {by_rank[0]}.train.tsv"
    )


def run_of(config: CompareRun, task: str, encoder: str, codes: Sequence[str]) -> TransferRun | None:
    """The options of a task's run on an encoder; None where there are no rows for it.

    Args:
      config: of the comparison, resolved.
      task: one of `names`.
      encoder: run:DIR, hf:DIR or vec:FILES.
      codes: the languages that the encoder knows.
    """
    rows = files(config, task)
    settings = config.compare
    if rows is None:
        return None
    train_language = rows.train.partition(":")[0]
    tested = [x for x in rows.languages if x in codes]
    # The figure is the mean of the languages without labels, of which one must be tested.
    if train_language not in codes or not set(tested) - {train_language}:
        return None
    file, values = _CONFIGS[task]
    run = options.from_file(f"{os.path.join(settings.configs, file)}.py:{config.scale}", values)
    return options.with_values(
        run,
        {
            "seed": config.seed,
            "encoder": encoder,
            "data.languages": ",".join(tested),
            "data.dictionaries": "",
            "transfer.train": rows.train,
            "transfer.tests": rows.tests,
            "transfer.rows": str(settings.rows or ""),
            "transfer.embedded_rows": settings.rows or run.transfer.embedded_rows,
            "transfer.embedded_tests": settings.test_rows or run.transfer.embedded_tests,
            "transfer.test_rows": settings.test_rows,
            "transfer.seeds": settings.heads,
            "report.errors": 0,
        },
    )


def read_parts(task: str, workdir: str, run: TransferRun) -> dict[str, PartOutcomes]:
    """The results, as `Measured.parts`, in the languages without labels."""
    train_languages = {x.partition(":")[0] for x in run.transfer.train.split(",")}
    parts = {}
    for language in options.languages(run):
        if language not in train_languages:
            path = os.path.join(workdir, "predictions", f"{language}.npz")
            with np.load(path, allow_pickle=False) as file:
                counts = file["counts"]
                rows = counts.shape[1]
                numbers = file["items"] if "items" in file else np.arange(rows)  # earlier versions
                keys = key_texts([str(file["gold"])] * rows)  # of other labels no row is the same
            parts[f"{task}/{language}"] = PartOutcomes(counts, numbers, keys)
    return parts


def majorities(workdir: str) -> dict[str, float]:
    """TASK/LANGUAGE/majority -> the accuracy of the label that is most frequent in training."""
    figures = atomic.read_json(os.path.join(workdir, FIGURES))
    return {path: value for path, value in figures.items() if path.endswith("/majority")}


def titles(settings: CompareOptions) -> Mapping[str, str]:
    """Task -> its title."""
    return {name: registry.lookup("transfer_task", name).title for name in names(settings)}
