"""Prepares batches once, to be trained on where TensorFlow is absent.

  python -m clwe_jax.data.prepare --config=configs/dict_mlm_50.py:small --out=DIR [--rows=N]

then train with --config.data.source=batches:DIR. Without --rows the text is read once; with it, as
often as N rows need, with other masks and synonyms every time.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import Any

import numpy as np
from absl import app, flags, logging
from ml_collections import ConfigDict, config_flags

from clwe_jax import atomic
from clwe_jax import config as options
from clwe_jax import registry, validation
from clwe_jax.data import batches, draws, pipeline
from clwe_jax.text import world as worlds
from clwe_jax.types import BATCH_DTYPES, Batch

_CONFIG = config_flags.DEFINE_config_file("config", None, "A file of configs/, with its scale.")
_OUT = flags.DEFINE_string("out", None, "The folder to write.")
_ROWS = flags.DEFINE_integer("rows", 0, "How many rows; 0: what the text gives, read once.")
_HELDOUT = flags.DEFINE_integer("heldout_rows", 1_024, "Held-out rows of each language.")

_SHARD_ROWS = 8_192
_EXAMPLES = 12
_BATCH = 256  # rows made at once


def prepare(
    config: ConfigDict, out: str, rows: int = 0, heldout_rows: int = 1_024
) -> dict[str, Any]:
    """Writes the folder `out`; returns its meta.json.

    Args:
      config: of a run; its data, vocabulary, task and seed are used.
      rows: how many to write; 0: one pass through the text.
      heldout_rows: of each language, at most.

    Raises:
      ValueError: `out` is whole already, or the config cannot work.
      FileNotFoundError: no text or dictionary where the config says.
    """
    validation.validate(config)
    if config.data.source.startswith("batches:"):
        raise ValueError("config.data.source names prepared batches; name text: text:DIR")
    if config.task.name == "bilm":
        raise ValueError(
            "The task bilm has no prepared batches: its windows follow each other as the text "
            "does. Train it with --config.data.source=text:DIR"
        )
    if os.path.exists(os.path.join(out, batches.META)):
        raise ValueError(f"{out} holds prepared batches already: give another --out, or remove it")
    os.makedirs(os.path.join(out, "heldout"), exist_ok=True)
    work = os.path.join(out, "work")
    try:
        return _prepare(config, out, work, rows, heldout_rows)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _prepare(config, out, work, rows, heldout_rows) -> dict[str, Any]:
    world = worlds.build(config, work)
    spec = config.task.to_dict()
    if "parallel" in spec:
        spec["parallel"] = world.folders["parallel"]
    given = dict(
        task=registry.build("task", spec),
        tokenizer=world.tokenizer,
        dictionary=world.dictionary,
        source=world.text,
        seed=config.seed,
    )
    world.tokenizer.save(os.path.join(out, "vocab"))
    heldout = pipeline.heldout(
        config.data,
        batch_size=_BATCH,
        batches_per_language=max(1, heldout_rows // _BATCH),
        **given,
    )
    for language, several in heldout.items():
        merged = _concatenate(several)
        whole = merged["segment_ids"].any(axis=1)
        path = os.path.join(out, "heldout", f"{language}.npz")
        batches.write_rows(path, {name: value[whole] for name, value in merged.items()})
    source = pipeline.build(config.data, batch_size=_BATCH, repeat=bool(rows), **given)
    shards = _write_shards(source, out, rows)
    meta = {
        "version": 1,
        "languages": list(world.languages),
        "task": json.loads(config.task.to_json()),
        "sequence_length": config.data.sequence_length,
        "max_predictions": options.max_predictions(config),
        "vocabulary": world.tokenizer.vocabulary.fingerprint(),
        "fingerprint": f"{draws.fold(config.to_json(), shards):016x}",
        "shards": shards,
        "rows": sum(shards),
        "heldout": sorted(heldout),
        "stats": source.stats(),
    }
    extras = {
        "description": world.description,
        "examples": pipeline.examples(config.data, count=_EXAMPLES, **given),
        "frequent": world.frequent,
        "sample": world.sample,
    }
    atomic.write_json(os.path.join(out, batches.EXTRAS), extras, indent=None)
    atomic.write_json(os.path.join(out, batches.META), meta, indent=None)
    return meta


def _write_shards(source, out: str, rows: int) -> list[int]:
    """Writes the source's rows, at most `rows` if that is positive; returns the files' sizes."""
    shards: list[int] = []
    waiting: list[Batch] = []
    count, total, started = 0, 0, time.time()

    def write(several: list[Batch]) -> None:
        merged = _concatenate(several)
        batches.write_rows(os.path.join(out, batches.shard_name(len(shards))), merged)
        shards.append(len(merged["inputs"]))
        logging.info("%s rows, %.0f a second", f"{sum(shards):,}", total / (time.time() - started))

    for batch in source:
        # The last batch of a pass is filled up with empty rows.
        filled = batch["segment_ids"].any(axis=1)
        if rows:
            filled &= np.cumsum(filled) <= rows - total
        batch = {name: value[filled] for name, value in batch.items()}
        waiting.append(batch)
        count += len(batch["inputs"])
        total += len(batch["inputs"])
        if count >= _SHARD_ROWS:
            write(waiting)
            waiting, count = [], 0
        if rows and total >= rows:
            break
    if count:
        write(waiting)
    if not shards:
        raise ValueError("The text gives no row: is it empty?")
    return shards


def _concatenate(several: list[Batch]) -> Batch:
    return {name: np.concatenate([batch[name] for batch in several]) for name in BATCH_DTYPES}


def main(argv: list[str]) -> None:
    """The command line."""
    if len(argv) > 1 or _CONFIG.value is None or not _OUT.value:
        sys.exit("usage: python -m clwe_jax.data.prepare --config=FILE --out=DIR [--rows=N]")
    logging.set_verbosity(logging.INFO)
    try:
        meta = prepare(_CONFIG.value, _OUT.value, _ROWS.value, _HELDOUT.value)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    size = sum(
        os.path.getsize(os.path.join(_OUT.value, batches.shard_name(number)))
        for number in range(len(meta["shards"]))
    )
    print(
        f"{_OUT.value}: {meta['rows']:,} rows, {meta['stats']['pieces']:,} pieces, "
        f"{size / 1e6:.1f} MB. Train with --config.data.source=batches:{_OUT.value}"
    )


if __name__ == "__main__":
    app.run(main)
