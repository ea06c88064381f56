"""Prepares batches once, so that training needs no TensorFlow.

  clwe-jax prepare --config=configs/dict_mlm_50.py:small --out=DIR [--rows=N]

then train with --config.data.source=batches:DIR. Without --rows the text is read once. With --rows
it is read until there are N rows, with other masks and synonyms in each pass.

With --pipeline_options Apache Beam reads the text in --parts=N parts, where its runner says, and the
words of the whole text are counted, in place of a sample (docs/clusters.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, Sequence

from absl import app, flags, logging
from ml_collections import config_flags
import numpy as np

from clwe_jax import atomic, options, remote_files, registry, terminal
from clwe_jax.data import prepared
from clwe_jax.options import extras, shipped
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import to_dict
from clwe_jax.text import text_of_run
from clwe_jax.types import Batch

_SHARD_ROWS = 8_192
_EXAMPLES = 12
_PARTS = 64


def prepare(
    config: PretrainRun,
    out: str,
    rows: int = 0,
    heldout_rows: int = 1_024,
    pipeline_options: Sequence[str] | None = None,
    parts: int = _PARTS,
) -> dict[str, Any]:
    """Writes the folder `out`; returns its meta.json.

    Args:
      config: config of a run; its data, vocabulary, task and seed are used.
      rows: number of rows to write; 0 means one pass through the text.
      heldout_rows: maximum number of held-out rows of each language.
      pipeline_options: options of Apache Beam, which makes the rows then; `out` may be any folder that
        it writes. None makes them in this process.
      parts: parts of the text that Beam distributes.

    Raises:
      ValueError: `out` is a file or has prepared batches already, or the config is invalid.
      FileNotFoundError: a text or dictionary of the config is missing.
    """
    if config.job != "pretrain":
        raise ValueError(
            f"The job {config.job} reads no batches: give the config of a language model"
        )
    config = registry.lookup("adopt_options", config.job)(config).resolve()
    config.check_all()
    if config.data.source.startswith("batches:"):
        raise ValueError(
            f"config.data.source={config.data.source} names prepared batches: name text with "
            "--config.data.source=text:DIR"
        )
    if not config.task.independent:
        raise ValueError(
            f"The batches of the task {config.task.name} cannot be prepared, because each window "
            "continues the one before. Train it with --config.data.source=text:DIR"
        )
    if pipeline_options is not None:
        return _prepare_by_beam(config, out, rows, heldout_rows, tuple(pipeline_options), parts)
    _check_new(out, os.path.exists)
    os.makedirs(out, exist_ok=True)
    work = os.path.join(out, "work")
    try:
        return _prepare(config, out, work, rows, heldout_rows)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _check_new(out: str, exists: Callable[[str], bool]) -> None:
    if os.path.isfile(out):
        raise ValueError(f"--out={out} is a file: name a folder")
    if exists(os.path.join(out, prepared.META)):
        raise ValueError(f"{out} holds prepared batches already: give another --out, or remove it")


def _prepare_by_beam(config, out, rows, heldout_rows, pipeline_options, parts) -> dict[str, Any]:
    from clwe_jax.data.graph import offline

    _check_new(out, remote_files.exists)
    job = offline.CachingJob(json.dumps(to_dict(config)), out, parts, rows, pipeline_options)
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as folder:
        try:
            meta = _prepare(config, folder, work, rows, heldout_rows, job)
            offline.copy_folder(folder, out, prepared.META)
        finally:
            remote_files.remove(remote_files.absolute(job.path("")))
    return meta


def _prepare(config, out, work, rows, heldout_rows, job=None) -> dict[str, Any]:
    from clwe_jax.data.graph import offline, pipeline  # the only use of TensorFlow

    run_text = offline.run_text(job, config, work) if job else text_of_run.build(config, work)
    run_pipeline = pipeline.of_run(config, run_text, prepared.BATCH)
    run_text.tokenizer.save(os.path.join(out, "vocab"))
    os.makedirs(os.path.join(out, "heldout"), exist_ok=True)
    heldout = {}
    for language, batches in run_pipeline.heldout(-(-heldout_rows // prepared.BATCH)).items():
        heldout_batch = _concatenate([prepared.drop_empty_rows(batch) for batch in batches])
        heldout_batch = {name: x[:heldout_rows] for name, x in heldout_batch.items()}
        prepared.write_rows(os.path.join(out, "heldout", f"{language}.npz"), heldout_batch)
        heldout[language] = _size(heldout_batch)
    if job:
        shards, form, stats = offline.write_rows(job, work, run_text)
    else:
        source = run_pipeline.source(repeat=bool(rows))
        shards, form = _write_shards(source, out, rows)
        stats = source.stats()
    if not shards:
        raise ValueError("The text yields no row: is every file of config.data.source empty?")
    stamps = run_pipeline.stamps["files"] | run_pipeline.stamps["dictionaries"]
    content = hashlib.sha256(json.dumps([to_dict(config), shards, stamps]).encode()).hexdigest()
    meta = {
        "version": prepared.VERSION,
        "languages": list(run_text.languages),
        "task": to_dict(config.task),
        "sequence_length": config.data.sequence_length,
        "max_predictions": options.max_predictions(config.data),
        "vocabulary": run_text.tokenizer.vocabulary.fingerprint(),
        "fingerprint": content[:16],
        "batch": form,
        "shards": shards,
        "rows": sum(shards),
        "heldout": heldout,
        "stats": stats,
    }
    extras = {
        "description": run_text.description,
        "examples": run_pipeline.examples(_EXAMPLES),
        "frequent": run_text.frequent,
        "counts": run_text.frequencies.to_json() if run_text.frequencies else None,
        "sample": run_text.sample,
    }
    atomic.write_json(os.path.join(out, prepared.EXTRAS), extras, indent=None)
    if labels := run_pipeline.labels():
        with atomic.writing(os.path.join(out, prepared.LABELS)) as file:
            np.savez_compressed(file, **labels._asdict())
    # Last: a folder with this file is complete.
    atomic.write_json(os.path.join(out, prepared.META), meta, indent=None)
    return meta


def _write_shards(
    source: Iterator[Batch], out: str, rows: int
) -> tuple[list[int], dict[str, tuple[str, list[int]]]]:
    """Writes the source's rows, at most `rows` if `rows` is positive.

    Returns:
      The number of rows of each file, and the form of a row (`prepared.Form`).
    """
    shards: list[int] = []
    waiting: list[Batch] = []
    started = time.time()

    def write() -> dict[str, tuple[str, list[int]]]:
        merged = _concatenate(waiting)
        prepared.write_rows(os.path.join(out, prepared.shard_name(len(shards))), merged)
        shards.append(_size(merged))
        waiting.clear()
        speed = sum(shards) / (time.time() - started)
        logging.info("%s rows, %.0f a second", f"{sum(shards):,}", speed)
        return prepared.form_of(merged)

    total = 0
    form = {}
    for batch in source:
        batch = prepared.drop_empty_rows(batch)
        if rows:
            batch = {key: value[: rows - total] for key, value in batch.items()}
        waiting.append(batch)
        total += _size(batch)
        if total - sum(shards) >= _SHARD_ROWS:
            form = write()
        if rows and total >= rows:
            break
    if total > sum(shards):
        form = write()
    return shards, form


def _concatenate(batches: list[Batch]) -> Batch:
    return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}


def _size(batch: Batch) -> int:
    return len(next(iter(batch.values())))


def _flags_parser(argv: list[str]) -> list[str]:
    try:
        return app.parse_flags_with_usage(shipped.with_config_file(argv))
    except ValueError as error:
        sys.exit(f"error: {error}")
    except (AttributeError, KeyError) as error:
        sys.exit(
            f"error: {error}: no such option or scale; clwe-jax --config=FILE --help has the options"
        )


def main(argv: list[str]) -> None:
    """The command line."""
    values = flags.FLAGS
    if len(argv) > 1 or values.config is None or not values.out:
        sys.exit("usage: clwe-jax prepare --config=FILE --out=DIR [--rows=N]")
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    try:
        meta = prepare(
            options.parse(values.config),
            values.out,
            values.rows,
            values.heldout_rows,
            values.pipeline_options,
            values.parts,
        )
    except (ValueError, OSError, ImportError) as error:
        sys.exit(
            f"error: {extras.explain_error(error) if isinstance(error, ImportError) else error}"
        )
    print(
        f"{values.out}: {meta['rows']:,} rows, {meta['stats']['pieces']:,} pieces in "
        f"{len(meta['shards']):,} files. Train with --config.data.source=batches:{values.out}"
    )


if __name__ == "__main__":
    # Here, so that one process can import two commands that share the name of a flag.
    config_flags.DEFINE_config_file("config", None, "A file of configs/, with its scale.")
    flags.DEFINE_string("out", None, "Folder to write.")
    flags.DEFINE_integer("rows", 0, "Rows to write; 0 means one pass through the text.", 0)
    flags.DEFINE_integer("heldout_rows", 1_024, "Number of held-out rows of each language.", 1)
    flags.DEFINE_list(
        "pipeline_options",
        None,
        "Options of Apache Beam, with commas between them, such as --runner=DirectRunner.",
    )
    flags.DEFINE_integer("parts", _PARTS, "Parts of the text for Apache Beam, several a core.", 1)
    terminal.until_stopped(lambda: app.run(main, flags_parser=_flags_parser))
