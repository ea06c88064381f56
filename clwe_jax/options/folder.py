"""The file that keeps a run's options in its folder: config.json."""

from __future__ import annotations

import functools
import glob
import json
import os
from typing import Any

from clwe_jax import __version__, atomic
from clwe_jax.options.section import to_dict
from clwe_jax.options.systems import Run, parse

# The layout of a run's folder, which config.json names, and the release that reads each older one.
LAYOUT = 2
FILE = "config.json"
_READ_BY = {1: "0.1.0"}
# Options of earlier releases whose value is a constant now.
_GONE = (
    "embeddings.combining",
    "embeddings.shared_negatives",
    "evals.word_alignment.discount",
    "static.mining.grow_cosine",
    "static.mining.least_supported",
    "static.mining.min_words",
    "static.mining.support_lines",
    "static.words.spelling_length",
    "transfer.align.discount",
    "transfer.constrained",
)
# Options of earlier releases that have another name now.
_RENAMED = {
    "objective.hold": "objective.stay_near_embeddings",
    "optimizer.pull": "optimizer.decay_to_start",
    "static.mining.position": "static.mining.position_weight",
    "task.kept": "task.kept_piece",
    "task.most": "task.max_sentences",
    "transfer.align.parallel": "data.pairs",
}
# The key of config.json for the folder that relative paths of options begin in, as seen from WORKDIR.
_STARTED_IN = "started_in"

# Options that may change between two starts of a run; a section stands for all its options.
_FREE = (
    "job",
    "projection",
    "finish",
    "report",
    "plan",
    "evals",
    "checkpoint",
    "mesh",
    "data.tfds_dir",
    "data.sample_bytes",
    "train.steps",
    "train.log_every_steps",
    "train.prefetch",
    "train.max_skipped_in_row",
    "compare.systems",
    "compare.seeds",
    "compare.tasks",
)


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """Lines 'config.KEY: old -> new' of the options in which two runs differ.

    Options that may change between two starts of a run are left out.

    Args:
      old, new: resolved configs, or the same section of both.
      prefix: 'SECTION.' of a section.
    """
    lines = []
    for key in sorted(set(old) | set(new)):
        path = f"{prefix}{key}"
        if path in _FREE:
            continue
        a = old.get(key)
        b = new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{path}.")
        elif a != b:
            lines.append(f"config.{path}: {a!r} -> {b!r}")
    return lines


def check_folder(workdir: str) -> None:
    """Raises ValueError where a file stands in the place of the run's folder."""
    if os.path.exists(workdir) and not os.path.isdir(workdir):
        raise ValueError(f"--workdir={workdir} is a file; name the folder of a run")


def claim_workdir(config: Run, workdir: str, write: bool = True) -> None:
    """Writes WORKDIR/config.json, or checks that the folder holds a run of this config.

    Args:
      config: the run's config.
      workdir: the run's folder.
      write: whether config.json is written; False on all hosts except the first, and for jobs that
        work on the run of another job.

    Raises:
      ValueError: the folder holds a run of another config (the message lists the differences), or
        has another layout.
    """
    new = _plain(config)
    if os.path.exists(_path(workdir)):
        changed_options = differences(_plain(read_config(workdir)), new)
        if changed_options:
            raise ValueError(
                f"{workdir} holds the run of another config:\n  "
                + "\n  ".join(changed_options)
                + "\nGive a new folder with --workdir=DIR, or the options that it was started with."
            )
    if write:
        os.makedirs(workdir, exist_ok=True)
        write_config(config, workdir, os.path.relpath(os.getcwd(), workdir))


def read_config(workdir: str | os.PathLike[str]) -> Run:
    """The config of the run in a folder.

    Raises:
      FileNotFoundError: the folder holds no run.
      ValueError: config.json is damaged, or the folder has another layout than this release's.
    """
    values = _read_values(workdir)
    values.pop(_STARTED_IN, None)
    return parse(values)


def resolve_path(path: str, workdir: str | os.PathLike[str]) -> str:
    """The path of a file or folder that an option of the run in `workdir` names.

    A relative path begins in the folder where the run was started. This folder is kept as seen from
    `workdir`, so that both may be moved together. Where nothing is there, a copy in the run's own
    folder counts, under the path's last name; without one the path stays as it is.
    """
    joined = path if os.path.isabs(path) else os.path.join(start_folder(workdir), path)
    joined = os.path.normpath(joined)
    name = os.path.basename(os.path.normpath(path))
    inside = os.path.join(os.path.abspath(workdir), name)
    return next((place for place in (joined, path, inside) if os.path.exists(place)), path)


def start_folder(workdir: str | os.PathLike[str]) -> str:
    """The folder in which a run was started, where relative paths of its options begin."""
    started_in = _read_values(workdir).get(_STARTED_IN, "")
    return os.path.normpath(os.path.join(os.path.abspath(workdir), started_in))


def _read_values(workdir: str | os.PathLike[str]) -> dict[str, Any]:
    """The values of config.json, apart from the number of its layout; errors as of `read_config`."""
    path = _path(workdir)
    run = os.path.dirname(os.path.normpath(workdir)) or "."
    if os.path.exists(_path(run)) and not os.path.exists(path):
        raise FileNotFoundError(f"{workdir} is a part of a run: name its folder, {run}")
    try:
        values = atomic.read_json(path)
    except FileNotFoundError:
        escaped = glob.escape(os.fspath(workdir))
        near = glob.glob(f"{escaped}/*/{FILE}") + glob.glob(f"runs/{escaped}/{FILE}")
        advice = f"Runs are in {', '.join(sorted(map(os.path.dirname, near))[:5])}"
        if not near:
            advice = f"Train a run there: clwe-jax --config=joint_dictionary --workdir={workdir}"
        raise FileNotFoundError(f"{workdir} holds no run: it has no {FILE}. {advice}") from None
    if "model_type" in values:
        raise ValueError(
            f"{workdir} holds a model of Hugging Face and no run: name it hf:{workdir}"
        )
    layout = values.pop("layout", 1)
    if layout != LAYOUT:
        reader = _READ_BY.get(layout, "of a later version")
        raise ValueError(
            f"{path}: the folder has layout {layout}, which clwe_jax {reader} reads; clwe_jax "
            f"{__version__} reads layout {LAYOUT}. Train again with another --workdir=DIR."
        )
    update_names(values)
    return values


def update_names(values: dict[str, Any]) -> None:
    """Gives options of earlier releases their names of today, and leaves out those that are constants."""
    for evaluator in values.get("evals", {}).values():
        evaluator.pop("bootstrap", None)  # an option of 0.2.0, which decides nothing that is loaded
    if "task" not in values:
        values.pop("plan", None)  # only the training of a language model has a plan
    if "transfer" in values:
        values.pop("checkpoint", None)  # a transfer run keeps what its epochs need
    for path in _GONE:
        section, _, name = path.rpartition(".")
        _section_of(values, section).pop(name, None)
    for old, new in _RENAMED.items():
        _move(values, old, new)
    for group in _section_of(values, "optimizer.groups").values():
        _move({"optimizer": group}, "optimizer.pull", _RENAMED["optimizer.pull"])
    _join_translation(_section_of(values, "objective"))


def _join_translation(objective: dict[str, Any]) -> None:
    """Writes how and how often a translation was predicted as the translations' share."""
    kind = objective.pop("translation", None)
    switched = objective.pop("switch_share", 0.5)
    if kind is not None:
        objective["translation_share"] = {"none": 0.0, "joint": 0.5, "switch": switched}[kind]


def _section_of(values: dict[str, Any], path: str) -> dict[str, Any]:
    """The values of a section; {} where there is none."""
    return functools.reduce(lambda node, name: node.get(name) or {}, path.split("."), values)


def _move(values: dict[str, Any], old: str, new: str) -> None:
    """Gives an option another path."""
    section, _, name = old.rpartition(".")
    before = _section_of(values, section)
    if name in before:
        section, _, new_name = new.rpartition(".")
        _section_of(values, section)[new_name] = before.pop(name)


def write_config(config: Run, workdir: str, started_in: str = "") -> None:
    """Writes WORKDIR/config.json, with the number of the folder's layout.

    `started_in` is the folder that relative paths begin in, seen from `workdir`; '': as in the file.
    """
    started_in = started_in or _read_values(workdir).get(_STARTED_IN, "")
    values = {"layout": LAYOUT, _STARTED_IN: started_in, **_plain(config)}
    atomic.write_json(_path(workdir), values, indent=2, sort_keys=True)


def _plain(config: Run) -> dict[str, Any]:
    return json.loads(json.dumps(to_dict(config)))


def _path(workdir: str | os.PathLike[str]) -> str:
    return os.path.join(workdir, FILE)
