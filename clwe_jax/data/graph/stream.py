"""An iterator of batches whose place can be saved as bytes and restored exactly."""

from __future__ import annotations

import collections
import io
import json
import os
import tempfile
import zipfile
from typing import Sequence

import numpy as np
import tensorflow as tf

from clwe_jax.data.arrays import Counts
from clwe_jax.types import Batch


class GraphSource:
    """Batches of a tf.data graph; a `types.BatchSource`.

    A graph of pure operations: the state holds the places in the files, the shuffle buffers and
    the elements that were made in advance.

    Attributes:
      batches: how many have come out.
    """

    def __init__(
        self, dataset: tf.data.Dataset, counts: Counts, counters: Sequence[str], fingerprint: str
    ):
        """Args:
        dataset: of batches with 'counters', int64 [rows, counters].
        counts: of the figures of `stats`.
        counters: names of the columns of 'counters'.
        fingerprint: everything that the stream depends on; a state fits only where it is the same.
        """
        settings = tf.data.Options()
        settings.deterministic = True
        settings.threading.max_intra_op_parallelism = 1
        # Lookup tables and tokenizers count as state; they never change, so the place can be saved.
        ignore = tf.data.experimental.ExternalStatePolicy.IGNORE
        settings.experimental_external_state_policy = ignore
        self._iterator = iter(dataset.prefetch(2).with_options(settings))
        self._counts = counts
        self._counters = tuple(counters)
        self._fingerprint = fingerprint
        self._sums: collections.Counter[str] = collections.Counter()
        self.batches = 0

    def __iter__(self) -> "GraphSource":
        return self

    def __next__(self) -> Batch:
        batch = {name: value.numpy() for name, value in next(self._iterator).items()}
        self._count(batch.pop("counters").sum(axis=0))
        return self._passed(batch)

    def _count(self, counters: np.ndarray) -> None:
        """Adds a row of 'counters' to the sums."""
        self._sums.update(dict(zip(self._counters, counters.tolist())))

    def _passed(self, batch: Batch) -> Batch:
        """The batch, counted."""
        self.batches += 1
        self._sums.update(self._counts.count(batch))
        return batch

    def stats(self) -> dict[str, float]:
        """The figures of `counts` and the counters, of the text that was read so far."""
        return {
            **self._counts.stats(self._sums),
            **{name: self._sums[name] for name in self._counters},
        }

    def get_state(self) -> bytes:
        """The place in the stream: the next batch after `set_state` is the same batch."""
        files: dict[str, np.ndarray] = {}
        with tempfile.TemporaryDirectory() as folder:
            tf.train.Checkpoint(iterator=self._iterator).write(os.path.join(folder, "state"))
            for name in sorted(os.listdir(folder)):
                files[name] = np.fromfile(os.path.join(folder, name), np.uint8)
        own = {"fingerprint": self._fingerprint, "batches": self.batches, "sums": self._sums}
        files["own.json"] = np.frombuffer(json.dumps(own).encode(), np.uint8)
        packed = io.BytesIO()
        np.savez_compressed(packed, **files)
        return packed.getvalue()

    def set_state(self, state: bytes) -> None:
        """Goes to a place that `get_state` gave.

        Raises:
          ValueError: the state is damaged, or belongs to a stream with other settings.
        """
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as packed:
                files = {name: packed[name] for name in packed.files}
            own = json.loads(files.pop("own.json").tobytes())
            fingerprint, batches, sums = own["fingerprint"], own["batches"], own["sums"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"The saved state of the data is damaged, or of another release: {error}"
            ) from error
        if fingerprint != self._fingerprint:
            raise ValueError(
                "The saved state of the data belongs to a stream with other settings (task, "
                "languages, text files, seed, batch size, sequence length or number of hosts). "
                "Start in a new --workdir, or with the settings of the run."
            )
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                content.tofile(os.path.join(folder, os.path.basename(name)))
            checkpoint = tf.train.Checkpoint(iterator=self._iterator)
            checkpoint.read(os.path.join(folder, "state")).assert_consumed()
        self.batches, self._sums = batches, collections.Counter(sums)
