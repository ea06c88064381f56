"""Prepared batches: written once, then read without TensorFlow.

A folder holds `meta.json`, `vocab/` (the tokenizer), `train-00000.npz` and so on,
`heldout/{language}.npz`, `extras.json` for reports, and, where rows name entries of the dictionary,
`labels.npz`. `meta.json` is written last, so a folder
with it is complete. The files hold the rows of a task's batches; the reader chooses the batch size.
"""

from __future__ import annotations

import concurrent.futures
import functools
import math
import os
from typing import IO, Any, Callable, ContextManager, Mapping, Sequence

import numpy as np

from clwe_jax import atomic, options
from clwe_jax.data.arrays import ArraySource
from clwe_jax.data.counts import PieceCounts
from clwe_jax.options import folder
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import to_dict
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Batch, piece_shapes

META = "meta.json"
EXTRAS = "extras.json"
LABELS = "labels.npz"  # a `LabelTable`, for batches that name entries
VERSION = 2
BATCH = 256  # rows of the batches that are prepared
COMMAND = "python -m clwe_jax.data.prepare --config=CONFIG --out=DIR"
_ALIKE = 0.5  # smallest share of equal values for a key to be stored as its difference to another

# Key of a batch -> type and shape of one row, as in meta.json.
Form = Mapping[str, tuple[str, Sequence[int]]]


def shard_name(number: int) -> str:
    """The file of a shard of rows."""
    return f"train-{number:05d}.npz"


def form_of(rows: Batch) -> dict[str, tuple[str, list[int]]]:
    return {key: (value.dtype.name, list(value.shape[1:])) for key, value in rows.items()}


def write_rows(
    path: str, rows: Batch, writing: Callable[[str], ContextManager[IO[bytes]]] = atomic.writing
) -> None:
    """Writes compressed rows in the smallest types, to a file that `writing` opens.

    A float column of zeros and ones is stored as bits ('KEY.bits'). An integer column that equals
    another one at most positions, as targets equal inputs, is stored as the bitwise exclusive or of
    both ('KEY.xor.OTHER').
    """
    packed: dict[str, np.ndarray] = {}
    for key, value in rows.items():
        if value.dtype.kind == "f" and np.isin(value, (0, 1)).all():
            packed[f"{key}.bits"] = np.packbits(value.reshape(len(value), -1) > 0, axis=1)
        elif value.dtype.kind in "iu":
            plain = [x for x in packed if x in rows and rows[x].shape == value.shape]
            alike_keys = [x for x in plain if np.mean(rows[x] == value) > _ALIKE]
            if alike_keys:
                packed[f"{key}.xor.{alike_keys[0]}"] = _smallest(value ^ rows[alike_keys[0]])
            else:
                packed[key] = _smallest(value)
        else:
            packed[key] = value
    with writing(path) as file:
        np.savez_compressed(file, **packed)


def _smallest(values: np.ndarray) -> np.ndarray:
    """The values in the smallest type that holds them all."""
    bounds = int(values.min(initial=0)), int(values.max(initial=0))
    return values.astype(np.result_type(*map(np.min_scalar_type, bounds)))


def drop_empty_rows(batch: Batch) -> Batch:
    """The batch without its empty rows, which fill up the last batch of a pass."""
    has_pieces = batch["segment_ids"].any(axis=1)
    return {key: value[has_pieces] for key, value in batch.items()}


def read_rows(path: str) -> dict[str, np.ndarray]:
    """The arrays that `write_rows` wrote; `unpack` makes a batch of some of their rows.

    Raises:
      ValueError: the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as packed:
            return {name: packed[name] for name in packed.files}
    except Exception as error:
        # zipfile and zlib raise errors of many kinds.
        raise ValueError(
            f"{path} is missing or damaged ({error}): copy it again, or prepare the batches again: "
            f"{COMMAND}"
        ) from error


def unpack(packed: Mapping[str, np.ndarray], form: Form, chosen: np.ndarray) -> Batch:
    """The chosen rows of a file as a batch, in the types of `form`."""
    batch: Batch = {}
    for name, array in packed.items():
        key, packing, base = (*name.split("."), "", "")[:3]
        dtype, shape = form[key]
        values = array[chosen]
        if packing == "bits":
            values = np.unpackbits(values, axis=1, count=math.prod(shape))
            values = values.reshape(len(values), *shape)
        batch[key] = values.astype(dtype)
        if packing == "xor":
            # `base` is there: `write_rows` refers only to keys that it has stored plainly before.
            batch[key] ^= batch[base]
    return {key: batch[key] for key in form}


def open_folder(directory: str) -> "Prepared":
    """Opens a folder of prepared batches.

    Raises:
      FileNotFoundError: the folder is missing or incomplete.
      ValueError: the folder was written by another version, or is damaged.
    """
    path = os.path.join(directory, META)
    if not os.path.exists(path):
        state = "incomplete" if os.path.isdir(directory) else "missing"
        raise FileNotFoundError(
            f"{directory} ({state}) holds no prepared batches: it has no {META}. Prepare them: "
            f"{COMMAND}"
        )
    with atomic.naming_damage(path, f"Prepare it again: {COMMAND}"):
        meta = atomic.read_json(path)
        version = meta["version"]
    if version != VERSION:
        raise ValueError(
            f"{path} has version {version}, this release reads {VERSION}. Prepare it again: "
            f"{COMMAND}"
        )
    return Prepared(directory, meta)


class Prepared:
    """A folder of prepared batches.

    Attributes:
      meta: the content of meta.json: 'languages', 'task', 'sequence_length', 'max_predictions',
        'vocabulary' (its fingerprint), 'batch' (the form of the rows), 'shards' (rows of each
        file), 'rows', ...
    """

    def __init__(self, directory: str, meta: Mapping[str, Any]):
        self._directory = directory
        self.meta = dict(meta)

    @functools.cached_property
    def extras(self) -> dict[str, Any]:
        """Fields of a run's `RunText` and report: 'description', 'examples', 'frequent', 'counts'
        and 'sample'.

        Empty if the file was not copied along.
        """
        path = os.path.join(self._directory, EXTRAS)
        if not os.path.exists(path):
            return {}
        return atomic.read_json(path)

    def labels(self) -> LabelTable | None:
        """The labels of the entries that the batches name; None where they have the labels.

        Raises:
          ValueError: the file is missing or damaged.
        """
        if "entries" not in self.meta["batch"]:
            return None
        return LabelTable(**read_rows(os.path.join(self._directory, LABELS)))

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the batches were made with."""
        return Tokenizer.load(os.path.join(self._directory, "vocab"))

    def check(self, config: PretrainRun) -> None:
        """Checks that the batches were prepared for a config.

        Raises:
          ValueError: they were prepared for another one; the message names all differences.
        """
        expected = {
            "data.languages": list(options.languages(config)),
            "data.sequence_length": config.data.sequence_length,
            "data.max_predictions": options.max_predictions(config.data),
            "task": to_dict(config.task),
        }
        values = {key: self.meta[key.removeprefix("data.")] for key in expected}
        # Options that are newer than the batches have their defaults.
        prepared = {"task": dict(values["task"])}
        folder.update_names(prepared)
        values["task"] = to_dict(options.parse(prepared).task)
        for task in (expected["task"], values["task"]):
            task.pop("parallel", None)  # a folder, which the batches were made of
        differences = [
            f"  config.{key}: {values[key]!r} prepared, {expected[key]!r} wanted"
            for key in expected
            if values[key] != expected[key]
        ]
        if differences:
            raise ValueError(
                f"The batches in {self._directory} were prepared for another config:\n"
                + "\n".join(differences)
                + f"\nGive the options they were made with, or prepare others: {COMMAND}"
            )

    def source(
        self, *, batch_size: int, seed: int, process_index: int = 0, process_count: int = 1
    ) -> ArraySource:
        """An endless stream of one host's batches, in another order in every epoch."""
        form = self.meta["batch"]
        languages = tuple(self.meta["languages"])
        files = _RowFiles(self._directory, self.meta["shards"], form)
        return ArraySource(
            files,
            batch_size,
            seed=seed,
            last="join",
            process_index=process_index,
            process_count=process_count,
            # Batches of other forms have no pieces to count.
            counts=PieceCounts(languages) if piece_shapes(1, 1).keys() <= form.keys() else None,
            fingerprint=self.meta["fingerprint"],
        )

    def heldout(
        self, *, batch_size: int, max_batches: int, process_index: int = 0, process_count: int = 1
    ) -> dict[str, list[Batch]]:
        """At most `max_batches` held-out batches of each language that has held-out rows."""
        result = {}
        for language, rows in self.meta["heldout"].items():
            packed = read_rows(os.path.join(self._directory, "heldout", f"{language}.npz"))
            row_numbers = np.arange(min(rows, batch_size * process_count * max_batches))
            result[language] = list(
                ArraySource(
                    unpack(packed, self.meta["batch"], row_numbers),
                    batch_size,
                    shuffle=False,
                    epochs=1,
                    process_index=process_index,
                    process_count=process_count,
                )
            )
        return result


class _RowFiles:
    """The rows of a folder, an `arrays.Files`. A thread decompresses the next file."""

    def __init__(self, directory: str, sizes: Sequence[int], form: Form):
        self._directory = directory
        self._form = form
        self.sizes = list(sizes)
        self._ends = np.cumsum(self.sizes)
        self._reader = concurrent.futures.ThreadPoolExecutor(1)
        self._loaded: dict[int, concurrent.futures.Future] = {}

    def __len__(self) -> int:
        return sum(self.sizes)

    def rows(self, indices: np.ndarray) -> Batch:
        file = np.searchsorted(self._ends, indices, side="right")
        parts = []
        for run in np.split(np.arange(len(indices)), np.flatnonzero(np.diff(file)) + 1):
            number = int(file[run[0]])
            row_numbers = indices[run] - (self._ends[number] - self.sizes[number])
            parts.append(unpack(self._load(number).result(), self._form, row_numbers))
        if len(parts) == 1:
            return parts[0]
        return {key: np.concatenate([part[key] for part in parts]) for key in self._form}

    def expect(self, files: Sequence[int]) -> None:
        """Starts to read the files, and drops all others."""
        self._loaded = {number: job for number, job in self._loaded.items() if number in files}
        for number in files:
            self._load(number)

    def _load(self, number: int) -> concurrent.futures.Future:
        if number not in self._loaded:
            path = os.path.join(self._directory, shard_name(number))
            self._loaded[number] = self._reader.submit(read_rows, path)
        return self._loaded[number]
