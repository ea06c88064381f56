"""The time of a transfer run for `--dry_run`, from a trial on a few rows in a temporary folder."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from typing import Any, Iterator

import numpy as np

from clwe_jax import options, terminal
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.transfer import TransferRun
from clwe_jax.runs.forecast import in_minutes
from clwe_jax.transfer import encoder as transfer_encoder, frozen as transfer_frozen, loaded
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.frozen import FrozenTransfer
from clwe_jax.transfer.results import OpenedEncoder
from clwe_jax.transfer.tuned import TunedTransfer

_BATCHES = 4  # of the trial's rows
_EPOCHS = 3  # of heads; those that compile a program are not timed


def lines(config: TransferRun, data: LabelledData) -> Iterator[str]:
    """The training with its time; the rows' features where they are made first."""
    settings, tunes = config.transfer, config.transfer.mode == "tune"
    batch = (config.train if tunes else config.recipe).batch_size
    count = sum(map(len, data.train.values()))
    small = _few(data, _BATCHES * batch)
    with (
        terminal.warnings_only(),
        terminal.progress(False),
        tempfile.TemporaryDirectory() as folder,
    ):
        rates = _tuned(config, small, folder) if tunes else _frozen(config, small, folder)
    if tunes:
        epochs = config.train.epochs
        seconds = epochs * settings.seeds * -(-count // batch) / rates["steps"]
        yield (
            f"training: backbone and head ({settings.head.name}), {epochs} epochs, {settings.seeds} "
            f"seeds, one after the other: {in_minutes(seconds)} here, without evaluations"
        )
        return
    rows = count + sum(len(x) for some in (data.dev, data.tests) for x in some.values())
    if rows > rates["features"]:
        yield f"features of {rows:,} rows: {in_minutes(rows / rates['features'])} here"
    epochs, heads = config.recipe.epochs, settings.seeds * rates["layers"]
    one = epochs * count / rates["rows"]
    if settings.search.trials:
        yield (
            f"search: {settings.search.trials} trials of the regularisation: at most "
            f"{in_minutes(settings.search.trials * one)} here"
        )
    yield (
        f"training: head {settings.head.name}, at most {epochs} epochs, {settings.seeds} seeds at once: "
        f"at most {in_minutes(heads * one)} here, without evaluations, from {_BATCHES * batch:,} timed rows"
    )


def _few(data: LabelledData, most: int) -> LabelledData:
    """The first training rows of a language, also as development rows, and a test row of each language."""
    language = next(iter(data.train))
    rows = {language: data.train[language][:most]}
    tests = {language: some[:1] for language, some in data.tests.items()}
    return dataclasses.replace(data, train=rows, dev=rows, tests=tests)


def _frozen(config: TransferRun, data: LabelledData, folder: str) -> dict[str, float]:
    """Rows a second of features, rows a second of one head, and layers with a head of their own."""
    [(language, rows)] = data.train.items()
    # `and`: a patience of 0, which never stops, stays 0, and no other one ends the trial early.
    short = options.with_values(
        config,
        {
            "transfer.align.parallel": "",
            "transfer.search.trials": 0,
            "transfer.seeds": 1,
            "recipe.epochs": _EPOCHS,
            "recipe.patience": config.recipe.patience and _EPOCHS,
        },
    )
    if config.encoder == loaded.JOINT:
        model = _made_up(config.transfer.joint.dim, data)
        reader = loaded.reader(short.transfer, model, data.tags, short.transfer.layers)
        encoder = OpenedEncoder(reader, {})
    else:
        encoder = transfer_encoder.opened(short, folder, data)
    tables = transfer_frozen.features(short, folder, data, encoder)  # and compiles programs
    started = time.monotonic()
    transfer_frozen.table_of(encoder.reader, data, rows, language)
    features = len(rows) / (time.monotonic() - started)
    found = FrozenTransfer(short, folder, data, encoder, tables).train()
    each = len(found.layers) if config.transfer.layers == "each" else 1
    rate = found.speed.get("transfer/training_rows_per_second", float("inf"))
    return {"features": features, "rows": rate, "layers": each}


def _made_up(dim: int, data: LabelledData) -> StaticSpaces:
    """Random vectors in the place of joint ones, which are not trained yet."""
    rng, raw = np.random.default_rng(0), {}
    for language in data.languages:
        rows = [*data.train.get(language, ()), *data.tests.get(language, ())]
        words = sorted({word for text in data.texts(rows) for word in text.split()})
        size = len(words), dim
        raw[language] = Vectors(words, rng.standard_normal(size, np.float32))
    return StaticSpaces(raw, {}, {}, next(iter(raw)))


def _tuned(config: TransferRun, data: LabelledData, folder: str) -> dict[str, float]:
    """Steps a second."""
    short = options.with_values(config, {"transfer.seeds": 1, "train.epochs": 1})
    encoder = transfer_encoder.opened(short, folder, data)
    training: Any = TunedTransfer(short, folder, data, encoder).train()
    return {"steps": training.speed.get("speed/steps_per_second", float("inf"))}
