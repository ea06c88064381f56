"""Checks of the options of a CLCR run; neither jax nor TensorFlow is imported."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import fields, pocket
from clwe_jax.fields import Count, OneOf, Range, Share, Size
from clwe_jax.text import alignment_files, parallel

# Options of `config.clcr` beyond the paper -> the values that switch them off; and the paper's phases 2
# and 3.
AS_PRINTED: dict[str, Any] = {
    "whiten": False, "unit_length": False, "contrast": 0, "transform.start": "zero", "tune.rounds": 1,
}  # fmt: skip
_KINDS = ("run", "hf")
_LAYER = re.compile(r"(\d+)(?:-(\d+))?")
_VALUES: dict[str, Any] = {
    "sentences": Size,
    "test_sentences": Size,
    "length": Annotated[int, Range(2)],
    "contrast": Count,
    "threshold": Annotated[float, Range(1e-12)],
    "gold_part": Annotated[str, OneOf("test", "dev")],
    "faithful": bool,
    "whiten": bool,
    "unit_length": bool,
    "pivot_probability": Share,
    "beam": Size,
    "reordered": Annotated[str, OneOf("source", "target")],
    "encoder.steps": Size,
    "encoder.vocab_size": Annotated[int, Range(16)],
    "entailment.seeds": Count,
    "encoder.vocab_kind": Annotated[str, OneOf("wordpiece", "unigram", "bpe", "word")],
}


def resolved(config: ConfigDict) -> ConfigDict:
    """A copy with the paper's values where `clcr.faithful`, and gold links that follow the sentences."""
    config = config.copy_and_resolve_references()
    settings = config.clcr
    if settings.gold == options.SOURCE:
        settings.gold = "pocket" if settings.parallel == "pocket" else ""
    for path, value in AS_PRINTED.items() if settings.faithful else ():
        section, _, name = path.rpartition(".")
        (settings[section] if section else settings)[name] = value
    return config


def validate(config: ConfigDict) -> None:
    """Raises ValueError for options that cannot work."""
    config = resolved(config)
    settings, names = config.clcr, options.languages(config)
    if len(names) != 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: CLCR maps one language to another; "
            "name two, the source first: --config.data.languages=ja,en"
        )
    for path, annotation in _VALUES.items():
        value = settings
        for key in path.split("."):
            value = value[key]
        fields.check_value(annotation, value, f"config.clcr.{path}")
    for name, wanted in (("layer", settings.layer), ("encoder.layer", settings.encoder.layer)):
        _check_layer(f"config.clcr.{name}", wanted)
    for side in ("source", "target"):
        kind, _, where = settings[side].partition(":")
        if settings[side] and (kind not in _KINDS or not where):
            raise ValueError(
                f"config.clcr.{side}={settings[side]!r}: expected run:DIR or hf:DIR, a language "
                "model, or '' to train one first"
            )
    if settings.source and settings.source == settings.target:
        raise ValueError(
            f"config.clcr.source and config.clcr.target are the same model, {settings.source}: CLCR "
            f"maps the model of one language to another's; name one of {names[0]} and one of "
            f"{names[1]}"
        )
    if settings.hub and settings.target:
        raise ValueError(
            f"config.clcr.target={settings.target}: the runs of config.clcr.hub={settings.hub} give the "
            "target's model: --config.clcr.target=''"
        )
    if settings.hub and (settings.reordered != "source" or settings.tune.rounds):
        raise ValueError(
            "config.clcr.hub: the target keeps its space and its order for all languages: "
            "--config.clcr.reordered=source --config.clcr.tune.rounds=0 --config.clcr.faithful=False"
        )
    if not settings.parallel:
        raise ValueError(
            "config.clcr.parallel is empty: CLCR learns from parallel sentences, "
            "--config.clcr.parallel=DIR (xx-yy.xx and xx-yy.yy) or DIR/train (train.xx, train.yy)"
        )
    if settings.gold == "pocket" and settings.parallel != "pocket":
        raise ValueError(
            "config.clcr.gold='pocket' are sentences of the embedded world, and "
            f"config.clcr.parallel={settings.parallel} are others: --config.clcr.gold='', or a folder of "
            "gold links"
        )
    _check_entailment(config, names)
    untrained = not (settings.source and settings.target)
    if untrained and config.data.source != "pocket" and not config.data.source.startswith("text:"):
        raise ValueError(
            f"config.data.source={config.data.source!r}: expected pocket or text:DIR, the text of "
            "the encoders that are trained first; or name them with --config.clcr.source and .target"
        )


def _check_layer(option: str, wanted: Any) -> None:
    """Raises ValueError for what names no layers of any model."""
    match = _LAYER.fullmatch(str(wanted))
    if wanted in ("", "mean_last4") or match and int(match[1]) <= int(match[2] or match[1]):
        return
    raise ValueError(
        f"{option}={wanted!r}: expected a number (0: the embeddings), a rising range such as '0-1', "
        "'mean_last4', or ''"
    )


def _check_entailment(config: ConfigDict, names: tuple[str, ...]) -> None:
    settings = config.clcr.entailment
    if bool(settings.train) != bool(settings.tests):
        raise ValueError(
            f"config.clcr.entailment.train={settings.train!r}, tests={settings.tests!r}: give training "
            f"files ({names[1]}:FILE) and a folder of test files, or neither for the embedded world"
        )
    kind, _, where = settings.multilingual.partition(":")
    if settings.multilingual and (kind not in _KINDS or not where):
        raise ValueError(
            f"config.clcr.entailment.multilingual={settings.multilingual!r}: expected run:DIR or hf:DIR, "
            "one model of both languages, or ''"
        )
    unknown = [x for x in names if x not in pocket.LANGUAGES]
    if settings.seeds and not settings.train and unknown:
        raise ValueError(
            f"config.clcr.entailment: the embedded world has no rows in {', '.join(unknown)}: give files "
            "(train, tests), or --config.clcr.entailment.seeds=0"
        )


def check(config: ConfigDict, workdir: str) -> None:
    """Finds the encoders and the parallel sentences of a run; writes nothing.

    Raises:
      ValueError, FileNotFoundError: files that are absent, or of other languages.
    """
    del workdir
    config = resolved(config)
    settings, names = config.clcr, options.languages(config)
    for side, language in zip(("source", "target"), names):
        where = settings[side].partition(":")[2]
        if where and not os.path.isdir(where):
            raise FileNotFoundError(
                f"config.clcr.{side}={settings[side]}: {where} is no folder. Train a language model "
                f"with --config=configs/mbert.py --workdir={where} --config.data.languages="
                f"{language} --config.data.dictionaries=, or leave the option empty"
            )
    where = settings.entailment.multilingual.partition(":")[2]
    if where and not os.path.isdir(where):
        raise FileNotFoundError(
            f"config.clcr.entailment.multilingual={settings.entailment.multilingual}: {where} is no folder. "
            f"Train a model of both languages with --config=configs/mbert.py --workdir={where} "
            f"--config.data.languages={names[1]},{names[0]}"
        )
    for folder in filter(None, map(str.strip, settings.hub.split(","))):
        if not os.path.isfile(os.path.join(folder, "clcr.json")):
            raise FileNotFoundError(
                f"config.clcr.hub={settings.hub}: {folder} is no finished CLCR run; train it with "
                f"--config=configs/clcr.py --workdir={folder} --config.data.languages=xx,{names[1]}"
            )
    if settings.parallel != "pocket":
        for files in parallel.find(settings.parallel, names, "clcr.parallel"):
            parallel.read(files)  # unequal or empty sides are found before the encoders are trained
    if settings.gold and settings.gold != "pocket":
        alignment_files.find(settings.gold, names, "config.clcr.gold")
