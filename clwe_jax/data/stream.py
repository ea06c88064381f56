"""An iterator of batches whose place can be saved as bytes and restored exactly."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from typing import Any, Mapping, Sequence

import numpy as np
import tensorflow as tf

from clwe_jax.data.examples import COUNTERS
from clwe_jax.types import BATCH_DTYPES, Batch


class GraphSource:
    """Batches of a tf.data graph; a `types.BatchSource`.

    A graph of pure operations: the state holds the places in the files, the shuffle buffers and
    what was made in advance.

    Attributes:
      batches: how many have come out.
    """

    def __init__(self, dataset: tf.data.Dataset, languages: Sequence[str], fingerprint: str):
        """Args:
        dataset: of batches with 'counters'.
        languages: for `stats`.
        fingerprint: what the stream depends on; a state is restored only where it is the same.
        """
        self._iterator = iter(dataset)
        self._languages = tuple(languages)
        self._fingerprint = fingerprint
        self.batches = 0
        self._counters = np.zeros(len(COUNTERS), np.int64)
        # Positions, filled ones, predicted ones, cross-lingual ones; pieces by language.
        self._sums = np.zeros(4, np.int64)
        self._pieces = np.zeros(len(languages), np.int64)

    def __iter__(self) -> "GraphSource":
        return self

    def __next__(self) -> Batch:
        features = {name: value.numpy() for name, value in next(self._iterator).items()}
        self.batches += 1
        self._counters += features.pop("counters").sum(axis=0)
        self._count(features)
        return {name: features[name] for name in BATCH_DTYPES}

    def _count(self, batch: Batch) -> None:
        filled = batch["segment_ids"] > 0
        source = batch["source_language_ids"]
        predicted = batch["loss_weights"] > 0
        crossing = np.count_nonzero(predicted & (batch["language_ids"] != source))
        self._sums += (filled.size, filled.sum(), predicted.sum(), crossing)
        self._pieces += np.bincount(source[filled], minlength=len(self._languages))

    def stats(self) -> dict[str, float]:
        """What has come out so far.

        'language_share/{language}', of the pieces; 'cross_lingual_share', of the labels;
        'masked_share', of the pieces; 'filled_share', of the positions; 'pieces'; and the counters
        of `examples.COUNTERS`, of the text that was read for it.
        """
        positions, filled, predicted, crossing = map(int, self._sums)
        shares = self._pieces / max(1, filled)
        return {
            **{f"language_share/{x}": float(s) for x, s in zip(self._languages, shares)},
            "cross_lingual_share": crossing / max(1, predicted),
            "masked_share": predicted / max(1, filled),
            "filled_share": filled / max(1, positions),
            "pieces": filled,
            **dict(zip(COUNTERS, map(int, self._counters))),
        }

    def get_state(self) -> bytes:
        """The place in the stream: the next batch after `set_state` is the same batch."""
        files: dict[str, np.ndarray] = {}
        with tempfile.TemporaryDirectory() as folder:
            tf.train.Checkpoint(iterator=self._iterator).write(os.path.join(folder, "state"))
            for name in sorted(os.listdir(folder)):
                files[name] = np.fromfile(os.path.join(folder, name), np.uint8)
        own = {
            "fingerprint": self._fingerprint,
            "batches": self.batches,
            "counters": self._counters.tolist(),
            "sums": self._sums.tolist(),
            "pieces": self._pieces.tolist(),
        }
        files["own.json"] = np.frombuffer(json.dumps(own).encode(), np.uint8)
        packed = io.BytesIO()
        np.savez_compressed(packed, **files)
        return packed.getvalue()

    def set_state(self, state: bytes) -> None:
        """Goes to a place that `get_state` gave.

        Raises:
          ValueError: the state is damaged, or that of a stream with other settings.
        """
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as packed:
                files = {name: packed[name] for name in packed.files}
            own = json.loads(files.pop("own.json").tobytes())
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(f"The saved state of the data is damaged: {error}") from error
        _same(own, self._fingerprint)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                content.tofile(os.path.join(folder, os.path.basename(name)))
            checkpoint = tf.train.Checkpoint(iterator=self._iterator)
            checkpoint.read(os.path.join(folder, "state")).assert_consumed()
        self.batches = own["batches"]
        self._counters = np.array(own["counters"], np.int64)
        self._sums = np.array(own["sums"], np.int64)
        self._pieces = np.array(own["pieces"], np.int64)


def _same(own: Mapping[str, Any], fingerprint: str) -> None:
    if own["fingerprint"] != fingerprint:
        raise ValueError(
            "The saved state of the data belongs to a stream with other settings (task, languages, "
            "text files, seed, batch size, sequence length or number of hosts). Start in a new "
            "--workdir, or with the settings of the run."
        )


def fixed_size(rows: tf.data.Dataset, batch_size: int) -> tf.data.Dataset:
    """Chunks' rows to batches of exactly `batch_size`, the last one filled up with empty rows."""

    @tf.autograph.experimental.do_not_convert
    def fill(batch):
        missing = batch_size - tf.shape(batch["inputs"])[0]
        return {
            name: tf.ensure_shape(
                tf.pad(value, [[0, missing], [0, 0]]), [batch_size, value.shape[1]]
            )
            for name, value in batch.items()
        }

    return rows.rebatch(batch_size, drop_remainder=False).map(fill)
