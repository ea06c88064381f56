"""The options of `config.transfer` that name labelled rows: languages, files and numbers of rows."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Sequence

from clwe_jax import registry
from clwe_jax.options import shipped
from clwe_jax.options.transfer import (
    ENCODER_FOLDERS,
    TransferOptions,
    TransferRun,
    encoder_folder,
    encoder_parts,
)
from clwe_jax.text.corpus import parallel_files
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.labelled import Task

PREFIX = "tfds:"  # of an option that names a data set of TFDS instead of a file


def check(config: TransferRun, workdir: str) -> None:
    """Finds the encoder and the labelled files of a transfer run; reads and writes nothing.

    Raises:
      ValueError, FileNotFoundError: options that do not fit each other, or files that are absent.
    """
    del workdir
    settings = config.transfer
    task = task_of(settings)
    if settings.reduce and (task.kind == "tags" or settings.mode == "tune"):
        raise ValueError(
            f"config.transfer.reduce={settings.reduce!r} leaves words out, and needs frozen features "
            "of a task whose texts or spans have labels: --config.transfer.reduce=''"
        )
    if settings.reduce == "extract,reorder" and task.kind == "spans":
        raise ValueError(
            f"config.transfer.reduce='extract,reorder': the order of a span's words does not count in "
            f"{settings.task!r}: --config.transfer.reduce=extract"
        )
    encoders, _ = encoder_parts(config.encoder)
    for encoder in encoders:
        _check_folder(encoder)
    languages = training_languages(settings.train)
    limits(settings.rows, languages, 0)
    if settings.translate and config.data.dictionaries != "pocket":
        dictionary_files.find(config.data.dictionaries, None)
    named_files = has_files(settings.train)
    if named_files != bool(settings.tests):
        raise ValueError(
            f"config.transfer.train={settings.train!r}, config.transfer.tests={settings.tests!r}: "
            "give training files (en:FILE) and a folder of test files, or neither for the embedded "
            "world"
        )
    if not named_files and not task.embedded:
        raise ValueError(
            f"config.transfer.task={settings.task!r}: the embedded world has no such labels; name files "
            "of your own: --config.transfer.train=en:FILE --config.transfer.tests=DIR"
        )
    if not named_files and settings.dev:
        raise ValueError(
            f"config.transfer.dev={settings.dev!r} needs training files: "
            "--config.transfer.train=en:FILE"
        )
    if config.data.pairs:
        _check_maps(config, encoders, languages)
    if not named_files:
        return
    for option in ("train", "dev"):
        value = getattr(settings, option)
        for path in pairs(value, f"transfer.{option}").values():
            if not path.startswith(PREFIX) and not os.path.isfile(path):
                raise FileNotFoundError(
                    f"config.transfer.{option}={value}: {path} is no file; name your own: "
                    f"--config.transfer.{option}=en:FILE"
                )
    if settings.tests.startswith(PREFIX):
        if not config.data.languages:
            raise ValueError(
                f"config.transfer.tests={settings.tests} needs the languages to test: "
                "--config.data.languages=en,de"
            )
    elif not os.path.isdir(settings.tests):
        raise FileNotFoundError(
            f"config.transfer.tests={settings.tests} is no folder: expected one of files such as "
            "de.test.tsv, or tfds:NAME"
        )


def _check_folder(encoder: str) -> None:
    """Raises FileNotFoundError where an encoder in a folder is not there."""
    kind, _, folder = encoder.partition(":")
    if kind not in ENCODER_FOLDERS or os.path.isdir(encoder_folder(folder)):
        return
    # A run without --workdir is in runs/ and has its config's name.
    of_config = next((name for name in shipped.configs() if folder == f"runs/{name}"), "")
    command = f"python -m clwe_jax.main --config=configs/{of_config or 'warm_dict_mlm'}.py"
    if kind == "run" and not of_config:
        command += f" --workdir={folder}"
    raise FileNotFoundError(
        f"config.encoder={encoder}: {folder} is no folder. An encoder of the embedded world "
        f"takes minutes: {command}. For another encoder set --config.encoder="
    )


def task_of(settings: TransferOptions) -> Task:
    """The task of a transfer run, with those of its options that `config.transfer` has.

    Raises:
      ValueError: an unknown task, or an option that it refuses.
    """
    task = registry.lookup("transfer_task", settings.task)
    names = {x.name for x in dataclasses.fields(task)} & {
        x.name for x in dataclasses.fields(settings)
    }
    return task(**{name: getattr(settings, name) for name in names})


def _check_maps(config: TransferRun, encoders: Sequence[str], learned: Sequence[str]) -> None:
    """Checks the maps from word-aligned sentences."""
    settings = config.transfer
    align = settings.align
    option = f"config.data.pairs={config.data.pairs}"
    kinds = [encoder.partition(":")[0] for encoder in encoders]
    if kinds not in (["run"], ["hf"]) or settings.mode == "tune":
        raise ValueError(
            f"{option} maps the layers of a frozen language model: set --config.encoder=run:DIR or "
            "hf:DIR and --config.transfer.mode=frozen"
        )
    pocket = config.data.pairs == "pocket"
    if align.links and (align.links == "gold") != pocket:
        raise ValueError(
            f"{option}, config.transfer.align.links={align.links}: 'gold' links are those of "
            "'pocket', and a STEM of files of links belongs to parallel files"
        )
    if not pocket:
        parallel_files.find(config.training_pairs, learned, "data.pairs")


def has_files(train: str) -> bool:
    """Whether `config.transfer.train` names files; else languages of the embedded world."""
    return ":" in train


def training_languages(train: str) -> tuple[str, ...]:
    """The languages that `config.transfer.train` names; English by default."""
    names = [part.partition(":")[0].strip() for part in train.split(",") if part.strip()]
    return tuple(names) or ("en",)


def pairs(value: str, option: str) -> dict[str, str]:
    """The value 'en:A,de:B' of an option as a dict.

    Raises:
      ValueError: a part without a language, or a language twice.
    """
    by_language: dict[str, str] = {}
    for part in filter(None, map(str.strip, value.split(","))):
        language, colon, path = part.partition(":")
        if not colon or not path or language in by_language:
            raise ValueError(f"config.{option}={value!r}: expected en:FILE,de:FILE")
        by_language[language] = path
    return by_language


def limits(rows: str, languages: Sequence[str], default: float) -> dict[str, float]:
    """Language -> number of training rows; a share of them below 1; 0: all.

    Args:
      rows: `config.transfer.rows`: '', '2000' or 'en:1,de:.25' (joint training, C8).
      default: without `rows`.

    Raises:
      ValueError: no numbers, or another language.
    """
    try:
        if ":" not in rows:
            counts = dict.fromkeys(languages, float(rows) if rows.strip() else default)
        else:
            counts = {x: float(count) for x, count in pairs(rows, "transfer.rows").items()}
        if not all(0 <= count < math.inf for count in counts.values()):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"config.transfer.rows={rows!r}: expected a number of rows (2000), or a number or share "
            "for each language (en:1,de:.25; 1 is all)"
        ) from None
    if set(counts) != set(languages):
        raise ValueError(
            f"config.transfer.rows={rows!r}: the training languages are {', '.join(languages)}"
        )
    return counts
