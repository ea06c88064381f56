"""Batches on the device before they are asked for, without losing the place in the data."""

from __future__ import annotations

import collections
import io
import threading
from typing import Callable, Iterator, Sequence

import numpy as np

from clwe_jax.types import Batch, BatchSource


class Prefetcher:
    """A thread that pulls from a source and places batches on the device, `depth` ahead.

    The source is then further than training is. `snapshot` therefore saves the source's place
    together with the batches that were pulled and not handed out: restored, training sees exactly
    the batches that it would have seen.

    Attributes:
      depth: batches ahead; 0 pulls in the caller's thread.
    """

    def __init__(
        self,
        source: BatchSource,
        place: Callable[[Batch], Batch],
        depth: int = 2,
        pending: Sequence[Batch] = (),
    ):
        """Starts the thread.

        Args:
          source: where batches come from; nothing else may pull from it now.
          place: host batch -> device batch.
          depth: see class.
          pending: host batches that go before those of the source.
        """
        self.depth = depth
        self._source = source
        self._place = place
        self._ready = collections.deque((batch, place(batch)) for batch in pending)
        self._pull_lock = threading.Lock()  # held from a pull until its batch is in the queue
        self._changed = threading.Condition()
        self._ended: BaseException | None = None
        self._closed = False
        self._thread = None
        if depth:
            self._thread = threading.Thread(target=self._run, name="prefetch", daemon=True)
            self._thread.start()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        """The next batch, on the device.

        Raises:
          StopIteration: the source ended; or whatever the source raised.
        """
        if self._thread is None:
            if not self._ready:
                self._pull()
        else:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._ended or self._closed)
        with self._changed:
            if not self._ready:
                raise self._ended or StopIteration
            _, placed = self._ready.popleft()
            self._changed.notify_all()
            return placed

    def snapshot(self) -> bytes:
        """The place after the batches handed out so far; see `unpack`."""
        with self._pull_lock:
            state = self._source.get_state()
            with self._changed:
                pending = [host for host, _ in self._ready]
        return pack(state, pending)

    def close(self) -> None:
        """Ends the thread; the source may be used again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _pull(self) -> None:
        with self._pull_lock:
            try:
                host = next(self._source)
                placed = self._place(host)
            except BaseException as error:  # handed to the consumer
                with self._changed:
                    self._ended = error
                    self._changed.notify_all()
                return
            with self._changed:
                self._ready.append((host, placed))
                self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._ready) < self.depth or self._closed)
                if self._closed:
                    return
            self._pull()
            if self._ended is not None:
                return


def pack(state: bytes, pending: Sequence[Batch]) -> bytes:
    """A source's place and the batches pulled but not used, as bytes (npz)."""
    arrays = {"source": np.frombuffer(state, np.uint8)}
    for index, batch in enumerate(pending):
        for key, value in batch.items():
            arrays[f"{index}/{key}"] = np.asarray(value)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def unpack(data: bytes) -> tuple[bytes, list[Batch]]:
    """The inverse of `pack`."""
    batches: dict[int, Batch] = {}
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        state = arrays["source"].tobytes()
        for name in arrays.files:
            if name != "source":
                index, key = name.split("/", 1)
                batches.setdefault(int(index), {})[key] = arrays[name]
    return state, [batches[index] for index in sorted(batches)]
