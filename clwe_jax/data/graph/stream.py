"""An iterator of batches whose place can be saved as bytes and restored exactly."""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import json
import os
import tempfile
import zipfile
from typing import Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from clwe_jax.data.arrays import Counts
from clwe_jax.types import Batch

_NAMED = 3  # changed files that an error names
_KINDS = {"files": "text", "dictionaries": "dictionary"}  # of files


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a state, from its arrays."""
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return packed.getvalue()


@contextlib.contextmanager
def unpack(state: bytes) -> Iterator[dict[str, np.ndarray]]:
    """A context with the arrays that `pack` packed.

    Raises:
      ValueError: the state is damaged, or the context does not find what it looks for there.
    """
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as packed:
            yield {name: packed[name] for name in packed.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"The saved state of the data is damaged, or of another release: {error}"
        ) from error


class GraphSource:
    """Batches of a tf.data graph; a `types.BatchSource`.

    The graph has pure operations only. The state holds the places in the files, the shuffle buffers
    and the elements that were made in advance.
    """

    def __init__(
        self,
        dataset: tf.data.Dataset,
        counts: Counts,
        counters: Sequence[str],
        fingerprint: str,
        stamps: Mapping[str, Mapping[str, str]],
    ):
        """Args:
        dataset: batches with the key 'counters', int64 [rows, counters].
        counts: computes the figures of `stats`.
        counters: names of the columns of 'counters'.
        fingerprint: hash of all settings that the stream depends on; a state with another
          fingerprint is refused.
        stamps: 'files' (of the text) and 'dictionaries' -> name -> `text.stamps.stamp` of each file
          that is read; a state of other files is refused.
        """
        settings = tf.data.Options()
        settings.deterministic = True
        settings.threading.max_intra_op_parallelism = 1
        # TensorFlow counts lookup tables and tokenizers as state, but they never change.
        ignore = tf.data.experimental.ExternalStatePolicy.IGNORE
        settings.experimental_external_state_policy = ignore
        self._dataset = dataset.prefetch(2).with_options(settings)
        self._counts = counts
        self._counters = tuple(counters)
        self._fingerprint = fingerprint
        self._stamps = dict(stamps)
        self._sums: collections.Counter[str] = collections.Counter()
        self.batches = 0

    @functools.cached_property
    def _iterator(self) -> Iterator:
        # Made at its first use, because it takes a second; an evaluation reads no training batch.
        return iter(self._dataset)

    def __iter__(self) -> "GraphSource":
        return self

    def __next__(self) -> Batch:
        batch = {name: value.numpy() for name, value in next(self._iterator).items()}
        self._add_counters(batch.pop("counters").sum(axis=0))
        return self._count_batch(batch)

    def _add_counters(self, counters: np.ndarray) -> None:
        """Adds a row of 'counters' to the sums."""
        self._sums.update(dict(zip(self._counters, counters.tolist())))

    def _count_batch(self, batch: Batch) -> Batch:
        """The batch, after its figures are added to the sums."""
        self.batches += 1
        self._sums.update(self._counts.count(batch))
        return batch

    def stats(self) -> dict[str, float]:
        """The figures of `counts` and the counters, over the text that was read so far."""
        return {
            **self._counts.stats(self._sums),
            **{name: self._sums[name] for name in self._counters},
        }

    def get_state(self) -> bytes:
        files: dict[str, np.ndarray] = {}
        # `tf.train.Checkpoint` writes files only; their bytes are the state.
        with tempfile.TemporaryDirectory() as folder:
            tf.train.Checkpoint(iterator=self._iterator).write(os.path.join(folder, "state"))
            for name in sorted(os.listdir(folder)):
                files[name] = np.fromfile(os.path.join(folder, name), np.uint8)
        state = {
            "fingerprint": self._fingerprint,
            **self._stamps,
            "batches": self.batches,
            "sums": self._sums,
        }
        files["own.json"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
        return pack(files)

    def set_state(self, state: bytes) -> None:
        with unpack(state) as files:
            record = json.loads(files.pop("own.json").tobytes())
            fingerprint = record["fingerprint"]
            batches = record["batches"]
            sums = record["sums"]
        if fingerprint != self._fingerprint:
            raise ValueError(
                "The saved place in the data belongs to other settings (task, languages, "
                "seed, batch size, sequence length, hosts): give those of the run, or a new --workdir"
            )
        for kind, stamps in self._stamps.items():
            # Earlier releases kept no stamps, or none of dictionaries.
            names = sorted({name for name, _ in record.get(kind, stamps).items() ^ stamps.items()})
            if names:
                raise ValueError(
                    f"The {_KINDS[kind]} has changed since the run read it: "
                    f"{', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''}. Bring the "
                    f"old {_KINDS[kind]} back; or train on the new one in a new --workdir, from this "
                    "run's parameters with --config.init.parameters=run:DIR"
                )
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                content.tofile(os.path.join(folder, os.path.basename(name)))
            checkpoint = tf.train.Checkpoint(iterator=self._iterator)
            # Without the assertion TensorFlow passes over a state that does not fit this graph.
            checkpoint.read(os.path.join(folder, "state")).assert_consumed()
        self.batches = batches
        self._sums = collections.Counter(sums)
