"""Prepared batches: written once, trained on where TensorFlow is absent.

A folder holds `meta.json` (written last: where it stands, the folder is whole), `vocab/` (the
tokenizer), `train-00000.npz` and so on, `heldout/{language}.npz`, and `extras.json` for reports. The
files hold rows; they are dealt into batches of any size when they are read.
"""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import json
import os
from typing import Any, Iterator, Mapping

import numpy as np
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import BATCH_DTYPES, Batch

META = "meta.json"
EXTRAS = "extras.json"
_VERSION = 1
_COMMAND = "python -m clwe_jax.data.prepare --config=CONFIG --out=DIR"


def shard_name(number: int) -> str:
    """The file of a shard of rows."""
    return f"train-{number:05d}.npz"


def write_rows(path: str, rows: Batch) -> None:
    """Writes rows compressed, in the smallest types; atomically.

    Targets are kept only where they are predicted: elsewhere they equal the inputs.
    """
    predicted = rows["loss_weights"] > 0
    packed = {"predicted": np.packbits(predicted, axis=1)}
    for name in BATCH_DTYPES:
        if name == "loss_weights":
            continue
        values = np.where(predicted, rows[name], 0) if name == "targets" else rows[name]
        packed[name] = values.astype(np.min_scalar_type(int(values.max(initial=0))))
    temporary = path + ".tmp"
    with open(temporary, "wb") as file:
        np.savez_compressed(file, **packed)
    os.replace(temporary, path)


def read_rows(path: str) -> dict[str, np.ndarray]:
    """What `write_rows` wrote, still in small types; `unpack` makes a batch of some of it.

    Raises:
      ValueError: the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as packed:
            return {name: packed[name] for name in packed.files}
    except Exception as error:
        # zipfile and zlib raise errors of their own, which are no ValueErrors.
        raise ValueError(
            f"{path} is missing or damaged ({error}): copy it again, or make the batches anew: "
            f"{_COMMAND}"
        ) from error


def unpack(rows: Mapping[str, np.ndarray], chosen: np.ndarray) -> Batch:
    """The chosen rows as a batch, [len(chosen), length] each."""
    length = rows["inputs"].shape[1]
    predicted = np.unpackbits(rows["predicted"][chosen], axis=1, count=length)
    batch = {"loss_weights": predicted.astype(np.float32)}
    for name, dtype in BATCH_DTYPES.items():
        if name != "loss_weights":
            batch[name] = rows[name][chosen].astype(dtype)
    batch["targets"] = np.where(predicted, batch["targets"], batch["inputs"])
    return {name: batch[name] for name in BATCH_DTYPES}


def deal(rows: Batch, batch_size: int, index: int = 0, hosts: int = 1) -> Iterator[Batch]:
    """One host's batches of the rows: every host gets equally many, filled up with empty rows."""
    count = len(rows["inputs"])
    batches = -(-count // (batch_size * hosts))
    padded = {
        name: np.pad(value, [(0, batches * batch_size * hosts - count), (0, 0)])
        for name, value in rows.items()
    }
    for number in range(batches):
        first = (number * hosts + index) * batch_size
        yield {name: value[first : first + batch_size] for name, value in padded.items()}


def open_folder(directory: str) -> "Prepared":
    """A folder of prepared batches.

    Raises:
      FileNotFoundError: there is none, or it was left unfinished.
      ValueError: it was written by another version, or is damaged.
    """
    path = os.path.join(directory, META)
    if not os.path.exists(path):
        state = "unfinished" if os.path.isdir(directory) else "missing"
        raise FileNotFoundError(
            f"{directory} ({state}) holds no prepared batches: it has no {META}. Make them with "
            f"{_COMMAND}"
        )
    try:
        with open(path, encoding="utf-8") as file:
            meta = json.load(file)
        version = meta["version"]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error!r}). Make it anew: {_COMMAND}") from error
    if version != _VERSION:
        raise ValueError(f"{path} has version {version}, not {_VERSION}. Make it anew: {_COMMAND}")
    return Prepared(directory, meta)


class Prepared:
    """A folder of prepared batches.

    Attributes:
      meta: what `prepare` noted: 'languages', 'task', 'sequence_length', 'max_predictions',
        'vocabulary' (its fingerprint), 'shards' (rows of each file), 'rows', ...
      extras: what the report shows of the text: 'description', 'examples', 'frequent', 'sample'.
    """

    def __init__(self, directory: str, meta: Mapping[str, Any]):
        self._directory = directory
        self.meta = dict(meta)

    @functools.cached_property
    def extras(self) -> dict[str, Any]:
        """What was noted of the text for the report; empty where it was not copied along."""
        path = os.path.join(self._directory, EXTRAS)
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the batches were made with."""
        return Tokenizer.load(os.path.join(self._directory, "vocab"))

    def check(self, config: ConfigDict) -> None:
        """Raises ValueError when the batches are not those that a config describes.

        The message names every option that differs.
        """
        wanted = {
            "data.languages": list(options.languages(config)),
            "data.sequence_length": config.data.sequence_length,
            "data.max_predictions": options.max_predictions(config),
            "task": json.loads(config.task.to_json()),
        }
        have = {
            "data.languages": self.meta["languages"],
            "data.sequence_length": self.meta["sequence_length"],
            "data.max_predictions": self.meta["max_predictions"],
            "task": self.meta["task"],
        }
        wrong = [
            f"  config.{key}: {have[key]!r} prepared, {wanted[key]!r} wanted"
            for key in wanted
            if have[key] != wanted[key]
        ]
        if wrong:
            raise ValueError(
                f"The batches in {self._directory} were prepared for another config:\n"
                + "\n".join(wrong)
                + f"\nGive the options they were made with, or make others: {_COMMAND}"
            )

    def source(
        self, *, batch_size: int, seed: int, process_index: int = 0, process_count: int = 1
    ) -> "PreparedSource":
        """An endless stream of one host's batches, in another order every epoch."""
        return PreparedSource(
            self._directory, self.meta, batch_size, seed, process_index, process_count
        )

    def heldout(
        self, *, batch_size: int, most: int, process_index: int = 0, process_count: int = 1
    ) -> dict[str, list[Batch]]:
        """At most `most` held-out batches of each language that has any."""
        result = {}
        for language in self.meta["heldout"]:
            rows = read_rows(os.path.join(self._directory, "heldout", f"{language}.npz"))
            count = min(len(rows["inputs"]), batch_size * process_count * most)
            batch = unpack(rows, np.arange(count))
            result[language] = list(deal(batch, batch_size, process_index, process_count))
        return result


class PreparedSource:
    """Batches of prepared rows; a `types.BatchSource`.

    The rows of an epoch stand in one order for all hosts (the files shuffled, the rows of a file
    shuffled); every global batch is the next part of it, and each host takes its share. So the
    place in the stream is one number, and the batches do not depend on the number of hosts.
    """

    def __init__(
        self,
        directory: str,
        meta: Mapping[str, Any],
        batch_size: int,
        seed: int,
        process_index: int,
        process_count: int,
    ):
        self._directory = directory
        self._sizes = np.array(meta["shards"], np.int64)
        if not self._sizes.sum():
            raise ValueError(f"{directory} holds no rows")
        self._languages = tuple(meta["languages"])
        self._batch_size = batch_size
        self._seed = seed
        self._index, self._hosts = process_index, process_count
        self._fingerprint = hashlib.sha256(
            json.dumps([meta["fingerprint"], batch_size * process_count, seed]).encode()
        ).hexdigest()[:16]
        self._step = 0
        self._pieces = np.zeros(len(self._languages), np.int64)
        self._labels = np.zeros(2, np.int64)
        # The next file is decompressed in the background.
        self._reader = concurrent.futures.ThreadPoolExecutor(1)
        self._loaded: dict[tuple[int, int], concurrent.futures.Future] = {}

    def __iter__(self) -> "PreparedSource":
        return self

    def __next__(self) -> Batch:
        first = (self._step * self._hosts + self._index) * self._batch_size
        self._step += 1
        parts, place = [], first
        while place < first + self._batch_size:
            part = self._rows(place, first + self._batch_size)
            parts.append(part)
            place += len(part["inputs"])
        batch = {name: np.concatenate([part[name] for part in parts]) for name in BATCH_DTYPES}
        self._count(batch)
        return batch

    def _rows(self, begin: int, end: int) -> Batch:
        """Rows of the endless order from `begin` on, at most to `end` or to the end of a file."""
        epoch, place = divmod(begin, int(self._sizes.sum()))
        order = self._order(epoch)
        ends = np.cumsum(self._sizes[order])
        turn = int(np.searchsorted(ends, place, side="right"))
        within = place - int(ends[turn] - self._sizes[order[turn]])
        rows, permutation = self._load(epoch, turn)
        return unpack(rows, permutation[within : within + end - begin])

    def _order(self, epoch: int) -> np.ndarray:
        return np.random.default_rng([self._seed, epoch]).permutation(len(self._sizes))

    def _load(self, epoch: int, turn: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The file whose turn it is in an epoch, and the order of its rows."""
        following = (epoch, turn + 1) if turn + 1 < len(self._sizes) else (epoch + 1, 0)
        wanted = {(epoch, turn), following}
        self._loaded = {key: job for key, job in self._loaded.items() if key in wanted}
        for key in ((epoch, turn), following):
            if key not in self._loaded:
                self._loaded[key] = self._reader.submit(self._read, *key)
        return self._loaded[epoch, turn].result()

    def _read(self, epoch: int, turn: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
        number = int(self._order(epoch)[turn])
        rows = read_rows(os.path.join(self._directory, shard_name(number)))
        random = np.random.default_rng([self._seed, epoch, number + 1])
        return rows, random.permutation(int(self._sizes[number]))

    def _count(self, batch: Batch) -> None:
        source, predicted = batch["source_language_ids"], batch["loss_weights"] > 0
        filled = batch["segment_ids"] > 0
        self._pieces += np.bincount(source[filled], minlength=len(self._languages))
        crossing = predicted & (batch["language_ids"] != source)
        self._labels += (predicted.sum(), crossing.sum())

    def stats(self) -> dict[str, float]:
        """As `stream.GraphSource.stats`, without what only reading text can count."""
        total, (labels, crossing) = int(self._pieces.sum()), map(int, self._labels)
        return {
            **{
                f"language_share/{language}": int(pieces) / max(1, total)
                for language, pieces in zip(self._languages, self._pieces)
            },
            "cross_lingual_share": crossing / max(1, labels),
            "masked_share": labels / max(1, total),
            "pieces": total,
        }

    def get_state(self) -> bytes:
        """The place in the stream: the next batch after `set_state` is the same batch."""
        return json.dumps(
            {
                "fingerprint": self._fingerprint,
                "step": self._step,
                "pieces": self._pieces.tolist(),
                "labels": self._labels.tolist(),
            }
        ).encode()

    def set_state(self, state: bytes) -> None:
        """Goes to a place that `get_state` gave.

        Raises:
          ValueError: the state is damaged, or that of other batches, another seed or batch size.
        """
        try:
            found = json.loads(state)
            fingerprint, step = found["fingerprint"], int(found["step"])
            pieces, labels = np.array(found["pieces"]), np.array(found["labels"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"The saved state of the data is damaged: {error!r}") from error
        if fingerprint != self._fingerprint:
            raise ValueError(
                "The saved state of the data belongs to other batches, another seed or another "
                f"batch size than {self._directory}: start in a new --workdir, or with the "
                "settings of the run."
            )
        self._step, self._pieces, self._labels = step, pieces, labels
