"""Finite data as sources of batches: epochs, shuffling, length buckets, shards, exact resume.

`ArraySource` reads labelled text, sentence pairs and prepared batches. The order of the rows of an
epoch depends only on the seed and the epoch. Each global batch is the next part of this order, and
each host takes its share of it. So the place in a source is one number, and the global batches do
not depend on the number of hosts.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import json
import operator
from typing import Any, Mapping, Protocol, Sequence, runtime_checkable

import numpy as np

from clwe_jax.types import Batch

LAST = ("pad", "drop", "join")
Column = np.ndarray | Sequence[Any]  # dense [rows, ...], or a sequence of rows of any lengths
_BATCHES = 2**32 - 1  # part of the seed of the order of batches; no file has this number


class RowReader(Protocol):
    """Rows that are read on demand."""

    def __len__(self) -> int:
        """The number of rows."""

    def rows(self, indices: np.ndarray) -> Mapping[str, Column]:
        """The columns of the rows `indices`, int64 [n], n >= 1, in this order."""


@runtime_checkable
class Files(RowReader, Protocol):
    """A table in several files. The files are shuffled, and the rows within each file."""

    sizes: Sequence[int]

    def expect(self, files: Sequence[int]) -> None:
        """Announces the numbers of the files that are read now and next; others may be dropped."""


class Counts(Protocol):
    """Figures of a source, computed from sums over its batches, which are saved with its place."""

    def count(self, batch: Batch) -> Mapping[str, int]:
        """The sums of one batch."""

    def stats(self, sums: Mapping[str, int]) -> dict[str, float]:
        """The figures, from the sums over all batches."""


class Arrays:
    """A `RowReader` of columns in memory."""

    def __init__(self, columns: Mapping[str, Column]):
        """Args:
        columns: key -> values, rows first. An array is dense and keeps its type. In other
          sequences, integers become int32 and floats float32; a sequence of sequences is ragged.

        Raises:
          ValueError: the columns have different numbers of rows, or an integer exceeds int32.
        """
        self._dense: dict[str, np.ndarray] = {}
        self._ragged: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for key, column in columns.items():
            if isinstance(column, np.ndarray):
                self._dense[key] = column
                continue
            parts = [np.asarray(row) for row in column]
            if parts and parts[0].ndim:
                bounds = np.cumsum([0, *map(len, parts)])
                # To NumPy an empty list has floats.
                filled = [part for part in parts if len(part)] or parts
                self._ragged[key] = (_small(np.concatenate(filled)), bounds)
            else:
                self._dense[key] = _small(np.asarray(column))
        counts = {key: len(column) for key, column in columns.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(f"Expected one column or more with equally many rows, found {counts}")
        self._count = next(iter(counts.values()))

    def __len__(self) -> int:
        return self._count

    def rows(self, indices: np.ndarray) -> dict[str, Column]:
        """Dense columns as arrays, ragged ones as lists of arrays."""
        columns: dict[str, Column] = {key: value[indices] for key, value in self._dense.items()}
        for key, (values, bounds) in self._ragged.items():
            spans = zip(bounds[indices].tolist(), bounds[indices + 1].tolist())
            columns[key] = [values[first:last] for first, last in spans]
        return columns

    @functools.cached_property
    def lengths(self) -> np.ndarray | None:
        """int64 [rows], the length of each row's longest ragged value; None if all are dense."""
        if not self._ragged:
            return None
        return np.max([np.diff(bounds) for _, bounds in self._ragged.values()], axis=0)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of all columns."""
        digest = hashlib.blake2b(digest_size=16)
        for key in sorted({**self._dense, **self._ragged}):
            for part in self._ragged.get(key) or (self._dense[key],):
                digest.update(repr((key, part.dtype.str, part.shape)).encode())
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def _small(values: np.ndarray) -> np.ndarray:
    if values.dtype == np.int64:
        if values.size and (values.max() > 2**31 - 1 or values.min() < -(2**31)):
            raise ValueError(
                f"The columns have the integers {values.min()} to {values.max()}, which do not fit "
                "into int32: give an array of the wanted type"
            )
        return values.astype(np.int32)
    return values.astype(np.float32) if values.dtype == np.float64 else values


class ArraySource:
    """Batches of a table's rows; a `types.BatchSource`."""

    def __init__(
        self,
        data: Mapping[str, Column] | RowReader,
        batch_size: int,
        *,
        seed: int = 0,
        shuffle: bool = True,
        epochs: int | None = None,
        last: str = "pad",
        buckets: Sequence[int] = (),
        padding: Mapping[str, float] | None = None,
        lengths: np.ndarray | None = None,
        process_index: int = 0,
        process_count: int = 1,
        counts: Counts | None = None,
        fingerprint: str = "",
        width_seed: int | None = None,
    ):
        """Args:
        data: columns, as of `Arrays`, or a table that reads its rows on demand.
        batch_size: number of rows of each of this host's batches.
        seed: seed of the order of the rows, which differs between epochs.
        epochs: number of passes through the data; None means endless.
        last: treatment of an incomplete last batch of an epoch: 'pad' fills it up with rows of
          padding, 'drop' leaves it out, 'join' continues with the first rows of the next epoch.
        buckets: ascending widths. The rows of a batch have similar lengths and are padded to the
          smallest width that holds them; the rows that remain in a bucket go into the next wider
          one. With (), all ragged rows are padded to the longest row of the data.
        padding: key -> value after a row's end and in rows of padding; the default is 0.
        lengths: int [rows], lengths of the rows of a table that returns ragged rows.
        process_index, process_count: number of this host, which reads its share of every global
          batch, and number of hosts.
        counts: computes the figures of `stats`.
        fingerprint: hash of the content of a table; a state with another fingerprint is refused.
        width_seed: seed of the order of the batches' widths; None: `seed`. Sources that differ in
          `seed` only have batches of the same widths, except for the last one of an epoch.

        Raises:
          ValueError: no rows, no whole batch, unknown options, or a row longer than all buckets.
        """
        self._data: RowReader = Arrays(data) if isinstance(data, Mapping) else data
        self._rows = len(self._data)
        self._batch_size, self._index = batch_size, process_index
        self._global = batch_size * process_count
        self._seed, self._shuffle, self._epochs, self._last = seed, shuffle, epochs, last
        self._width_seed = seed if width_seed is None else width_seed
        self._padding = {key: float(value) for key, value in (padding or {}).items()}
        self._counts, self._given = counts, fingerprint
        if isinstance(self._data, Arrays):
            lengths = self._data.lengths
        self._lengths = None if lengths is None else np.asarray(lengths, np.int64)
        self._sizes = np.array([self._rows], np.int64)
        if isinstance(self._data, Files):
            self._sizes = np.asarray(self._data.sizes, np.int64)
        self._check(buckets)
        longest = 0 if self._lengths is None else int(self._lengths.max())
        self._widths = np.array(buckets or [longest], np.int64)
        whole_batches = self._rows // self._global
        self._per_epoch = whole_batches + (last == "pad" and self._rows % self._global > 0)
        # Two, because a batch of last='join' may reach into the next epoch.
        self._plan = functools.lru_cache(maxsize=2)(self._make_plan)
        self._step = 0
        self._sums: collections.Counter[str] = collections.Counter()

    def _check(self, buckets: Sequence[int]) -> None:
        if self._last not in LAST:
            raise ValueError(f"last={self._last!r}: one of {', '.join(LAST)}")
        if not self._rows or self._batch_size < 1:
            raise ValueError(f"{self._rows} rows do not fill batches of {self._batch_size}")
        if self._last == "drop" and self._rows < self._global:
            raise ValueError(
                f"A batch has {self._global} rows and the data have {self._rows}, so last='drop' "
                "leaves no batch. Give a smaller batch size, or last='pad'"
            )
        if self._last == "join" and (self._epochs is not None or len(buckets)):
            raise ValueError("last='join' needs epochs=None and no buckets; give last='pad'")
        if not len(buckets):
            return
        if list(buckets) != sorted(set(buckets)) or buckets[0] < 1:
            raise ValueError(f"buckets={list(buckets)}: must ascend from 1 or more")
        if self._lengths is None or isinstance(self._data, Files):
            raise ValueError(
                f"buckets={list(buckets)} need ragged rows of known lengths that are not read file "
                "by file: give `lengths`, or no buckets"
            )
        longest = int(self._lengths.argmax())
        if self._lengths[longest] > buckets[-1]:
            raise ValueError(
                f"Row {longest} has {self._lengths[longest]} positions and the widest bucket "
                f"{buckets[-1]}: cut the row, or add a wider bucket"
            )

    def __iter__(self) -> "ArraySource":
        return self

    def __next__(self) -> Batch:
        indices, width = self._next()
        # A host whose batch is all padding reads one row, for the keys and types.
        columns = self._data.rows(indices if len(indices) else np.zeros(1, np.int64))
        batch = {key: self._column(key, x, len(indices), width) for key, x in columns.items()}
        self._step += 1
        if self._counts is not None:
            self._sums.update(self._counts.count(batch))
        return batch

    def _next(self) -> tuple[np.ndarray, int]:
        """This host's rows of the next batch, and its width."""
        if self._last == "join":
            begin = self._step * self._global + self._index * self._batch_size
            parts, end = [], begin + self._batch_size
            while begin < end:
                epoch, place = divmod(begin, self._rows)
                parts.append(self._plan(epoch)[0][place : place + end - begin])
                if len(parts) == 1:
                    self._expect(epoch, place)
                begin += len(parts[-1])
            return np.concatenate(parts), int(self._widths[-1])
        epoch, number = divmod(self._step, self._per_epoch)
        if self._epochs is not None and epoch >= self._epochs:
            raise StopIteration
        order, widths = self._plan(epoch)
        begin = number * self._global + self._index * self._batch_size
        if begin < self._rows:
            self._expect(epoch, begin)
        return order[begin : begin + self._batch_size], int(widths[number])

    def _make_plan(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """The order of the rows of an epoch, and the width of each batch."""
        order = self._order(epoch)
        count = -(-self._rows // self._global)
        if len(self._widths) == 1:
            return order, np.full(count, self._widths[0])
        bucket = np.searchsorted(self._widths, self._lengths[order])
        tail = order[:0]
        parts = [tail.reshape(0, self._global)]
        widths = []
        for number, width in enumerate(self._widths.tolist()):
            rows = np.concatenate([tail, order[bucket == number]])
            full = len(rows) // self._global
            parts.append(rows[: full * self._global].reshape(full, self._global))  # [batches, rows]
            tail = rows[full * self._global :]
            widths += [width] * full
        batches = np.concatenate(parts)
        turns = np.arange(len(batches))
        if self._shuffle:
            turns = np.random.default_rng([self._width_seed, epoch, _BATCHES]).permutation(turns)
        widths = [widths[turn] for turn in turns]
        # The incomplete batch stays last, because batch n begins at row n times the batch size.
        if len(tail):
            widths.append(self._widths[np.searchsorted(self._widths, self._lengths[tail].max())])
        return np.concatenate([batches[turns].ravel(), tail]), np.array(widths, np.int64)

    def _order(self, epoch: int) -> np.ndarray:
        if not self._shuffle:
            return np.arange(self._rows)
        starts = np.cumsum(self._sizes) - self._sizes
        # From 1 on: numpy's seeds ignore a 0 at the end, and `_files` draws from [seed, epoch].
        draw = lambda file: np.random.default_rng([self._seed, epoch, file + 1])
        return np.concatenate(
            [starts[x] + draw(x).permutation(self._sizes[x]) for x in self._files(epoch).tolist()]
        )

    def _files(self, epoch: int) -> np.ndarray:
        if not self._shuffle:
            return np.arange(len(self._sizes))
        return np.random.default_rng([self._seed, epoch]).permutation(len(self._sizes))

    def _expect(self, epoch: int, place: int) -> None:
        if not isinstance(self._data, Files):
            return
        files = self._files(epoch)
        turn = int(np.searchsorted(np.cumsum(self._sizes[files]), place, side="right"))
        now_and_next = files[turn : turn + 2].tolist()
        if len(now_and_next) == 1 and (self._epochs is None or epoch + 1 < self._epochs):
            now_and_next += self._files(epoch + 1)[:1].tolist()
        self._data.expect(now_and_next)

    def _column(self, key: str, column: Column, count: int, width: int) -> np.ndarray:
        """The first `count` rows of a column, then rows of padding: [batch_size, ...]."""
        fill = self._padding.get(key, 0)
        if isinstance(column, np.ndarray):
            if count == self._batch_size:
                return column
            filled = np.full((self._batch_size, *column.shape[1:]), fill, column.dtype)
            filled[:count] = column[:count]
            return filled
        if self._lengths is None:
            raise ValueError(f"The column {key!r} is ragged: give the lengths of the table's rows")
        values = np.concatenate(column[:count] or column[:1])
        lengths = np.zeros(self._batch_size, np.int64)
        lengths[:count] = [len(row) for row in column[:count]]
        filled = np.full((self._batch_size, width, *values.shape[1:]), fill, values.dtype)
        # A mask is filled row by row, which is the order of the concatenated rows.
        filled[np.arange(width) < lengths[:, None]] = values if count else values[:0]
        return filled

    def stats(self) -> dict[str, float]:
        """'epochs', the number of passes through the data so far, and the figures of `counts`."""
        if self._last == "join":
            epochs = self._step * self._global / self._rows
        else:
            epochs = self._step / self._per_epoch
        return {"epochs": epochs, **(self._counts.stats(self._sums) if self._counts else {})}

    def get_state(self) -> bytes:
        state = {"fingerprint": self._fingerprint, "step": self._step, "sums": self._sums}
        return json.dumps(state).encode()

    def set_state(self, state: bytes) -> None:
        """Goes to the position of a state, which another number of hosts may have saved."""
        try:
            saved = json.loads(state)
            fingerprint, step = saved["fingerprint"], operator.index(saved["step"])
            sums = {str(name): operator.index(value) for name, value in saved["sums"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"The saved place in the data is damaged, or of another release: {error!r}"
            ) from error
        if fingerprint != self._fingerprint or step < 0:
            raise ValueError(
                "The saved place belongs to other data, another seed, batch size or way of reading "
                "them: start in a new --workdir, or with the settings of the run"
            )
        self._step, self._sums = step, collections.Counter(sums)

    @functools.cached_property
    def _fingerprint(self) -> str:
        content = self._data.fingerprint if isinstance(self._data, Arrays) else self._given
        parts = [
            content,
            self._rows,
            self._sizes.tolist(),
            self._global,
            self._seed,
            self._shuffle,
            self._epochs,
            self._last,
            self._widths.tolist(),
            sorted(self._padding.items()),
        ]
        # Only where it differs, so that sources without the option keep their fingerprint.
        parts += [self._width_seed] * (self._width_seed != self._seed)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
