"""Checks of the config, one function for each job (the registry's table 'validation').

This module imports neither jax nor TensorFlow, so that an error comes at once.
"""

from __future__ import annotations

import os
from typing import Any

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import registry

TRAININGS = ("joint", "separate", "replace", "duong")
RULES = ("ratio", "neighbours")
START_METHODS = ("mean", "wechsel", "focus", "subword")
START_TABLES = ("both", "input", "output")


def validate(config: ConfigDict) -> None:
    """Raises ValueError for settings that cannot work, before anything slow starts."""
    options.languages(config)
    registry.check_name("job", config.job)
    registry.lookup("validation", config.job)(config)


def trained_run(config: ConfigDict) -> None:
    """Checks nothing: the options of a trained run were checked when it was trained."""


def language_model(config: ConfigDict) -> None:
    """Checks the training of a language model."""
    source = config.data.source
    if source != "pocket" and not source.startswith(("text:", "tfds:", "batches:")):
        raise ValueError(
            f"config.data.source={source!r}: expected pocket, text:DIR, tfds:NAME or batches:DIR"
        )
    for path, least in (
        ("train.steps", 1), ("train.batch_size", 1), ("train.microbatches", 1),
        ("data.sequence_length", 8), ("data.chunk_lines", 1), ("vocab.size", 16),
    ):  # fmt: skip
        _at_least(config, path, least)
    if config.train.batch_size % config.train.microbatches:
        raise ValueError(
            f"config.train.batch_size={config.train.batch_size} is not divisible by "
            f"config.train.microbatches={config.train.microbatches}"
        )
    share = config.vocab.dictionary_share
    if not 0 <= share <= 0.9:
        raise ValueError(f"config.vocab.dictionary_share={share}: must be in [0, 0.9]")
    if share and not config.data.dictionaries:
        raise ValueError(
            f"config.vocab.dictionary_share={share} takes words of a dictionary: set "
            "config.data.dictionaries, or the share to 0"
        )
    if not 0 <= config.data.heldout_share < 0.5:
        raise ValueError(
            f"config.data.heldout_share={config.data.heldout_share}: must be in [0, 0.5)"
        )
    if config.init.embeddings:
        _word_vectors(config)
    if config.get("finish", {}).get("steps", 0):
        _finish(config)


def _word_vectors(config: ConfigDict) -> None:
    """Checks the word vectors that a language model starts from."""
    init, source, names = config.init, config.data.source, options.languages(config)
    where = f"config.init.embeddings={init.embeddings!r}"
    if init.embeddings == "joint":
        if source != "pocket" and not source.startswith("text:"):
            raise ValueError(
                f"{where} trains on text files, and config.data.source={source!r}: take pocket or "
                "text:DIR, or give a static run's folder"
            )
        if len(names) < 2:
            raise ValueError(f"{where} joins two languages or more: {config.data.languages}")
        for key in ("epochs", "min_count", "buckets", "workers"):
            if init.joint[key] < 1:
                raise ValueError(f"config.init.joint.{key}={init.joint[key]}: must be at least 1")
    elif init.embeddings == "dictionary":
        if not config.data.dictionaries or source.startswith("batches:"):
            raise ValueError(
                f"{where} needs config.data.dictionaries, and text (config.data.source=text:DIR)"
            )
    elif os.path.isdir(init.embeddings):
        if not os.path.exists(os.path.join(init.embeddings, "spaces.json")):
            raise ValueError(
                f"{where} holds no aligned vectors: give the folder of a finished static run "
                "(configs/joint_align.py), or vector files as de=FILE,en=FILE"
            )
    elif not any(mark in init.embeddings for mark in "=./"):
        raise ValueError(
            f"{where}: expected joint, dictionary, a static run's folder, or vector files as "
            "de=FILE,en=FILE"
        )
    else:
        for path in options.vector_files(init.embeddings, names).values():
            if not os.path.isfile(path):
                raise ValueError(f"config.init.embeddings: {path} is no file of vectors")
    _one_of("config.init.method", init.method, START_METHODS)
    _one_of("config.init.tables", init.tables, START_TABLES)
    if init.scale <= 0:
        raise ValueError(f"config.init.scale={init.scale}: must be above 0")
    reads_characters = config.model.name == "bilm"
    if init.tables == "input" and reads_characters:
        raise ValueError(
            "config.init.tables='input': this model reads characters and has an output table only: "
            "--config.init.tables=both"
        )
    if init.tables != "both" and config.objective.get("tied"):
        raise ValueError(
            f"config.init.tables={init.tables!r}: this model scores tokens with the table that "
            "reads them: --config.init.tables=both or --config.objective.tied=False"
        )


def _finish(config: ConfigDict) -> None:
    """Checks a contrastive finish."""
    without = "; --config.finish.steps=0 trains without the finish"
    if config.task.name == "bilm" or config.objective.get("senses", {}).get("senses", 1) > 1:
        raise ValueError(
            "config.finish.steps: the finish is of masked language models with one sense of a word"
            + without
        )
    if config.data.source.startswith("batches:") or not config.data.dictionaries:
        raise ValueError(
            "config.finish.steps: the finish switches words of text by a dictionary: set "
            "config.data.source to pocket, text:DIR or tfds:NAME, and config.data.dictionaries"
            + without
        )
    for path, least in (
        ("finish.steps", 0), ("finish.batch_size", 2), ("finish.microbatches", 1),
        ("finish.sequence_length", 8), ("finish.warmup_steps", 0),
    ):  # fmt: skip
        _at_least(config, path, least)
    finish = config.finish
    if finish.batch_size % finish.microbatches:
        raise ValueError(
            f"config.finish.batch_size={finish.batch_size} is not divisible by "
            f"config.finish.microbatches={finish.microbatches}"
        )
    for name in ("temperature", "learning_rate"):
        if not finish[name] > 0:
            raise ValueError(f"config.finish.{name}={finish[name]}: must be positive")
    if not 0 < finish.share <= 1:
        raise ValueError(f"config.finish.share={finish.share}: must be in (0, 1]")


def static_vectors(config: ConfigDict) -> None:
    """Checks the training or reading of static vectors, and their alignment."""
    names, static = options.languages(config), config.static
    given = bool(config.align.source_vectors), bool(config.align.target_vectors)
    if any(given) != all(given):
        raise ValueError(
            "config.align.source_vectors and config.align.target_vectors go together: give both "
            "files"
        )
    if all(given) and len(names) != 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: two vector files need two languages, "
            "the source's first: --config.data.languages=de,en"
        )
    if len(names) < 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: an alignment needs two languages, "
            "e.g. --config.data.languages=de,en"
        )
    source = config.data.source
    if source != "pocket" and not source.startswith("text:"):
        raise ValueError(f"config.data.source={source!r}: expected pocket or text:DIR")
    _one_of("config.static.training", static.training, TRAININGS)
    _one_of("config.static.rule", static.rule, RULES)
    if not 0.5 <= static.gamma < 1:
        raise ValueError(f"config.static.gamma={static.gamma}: must be in [0.5, 1)")
    if not 0 <= static.replace_share <= 1:
        raise ValueError(f"config.static.replace_share={static.replace_share}: must be in [0, 1]")
    if static.training == "separate" and static.reallocation:
        raise ValueError(
            "config.static.reallocation=True needs joint vectors; with "
            "config.static.training='separate' no word is shared: set it to False"
        )
    if static.training in ("replace", "duong") and not config.data.dictionaries:
        raise ValueError(
            f"config.static.training={static.training!r} needs a dictionary: set "
            "--config.data.dictionaries=DIR"
        )
    registry.check_name("aligner", config.align.name)
    for key, least in (
        ("dim", 1), ("epochs", 1), ("min_count", 1), ("max_vocab", 2), ("workers", 1),
    ):  # fmt: skip
        _at_least(config, f"embeddings.{key}", least)
    options.pairs(config)


def _at_least(config: ConfigDict, path: str, least: int) -> None:
    section, key = path.split(".")
    if config[section][key] < least:
        raise ValueError(f"config.{path}={config[section][key]}: must be at least {least}")


def _one_of(option: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{option}={value!r}. {registry.nearest(value, known)}")
