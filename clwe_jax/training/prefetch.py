"""Loads batches onto the device ahead of training, and saves the position in the data exactly."""

from __future__ import annotations

import collections
import io
import threading
from typing import Callable, Sequence

import numpy as np

from clwe_jax.types import Batch, BatchSource


class Prefetcher:
    """A thread that reads a source and places batches on the device ahead of training.

    The source is ahead of training. `snapshot` therefore saves the source's position together with
    the batches that training has not seen yet, so that a restored run sees the same batches.
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
          source: the source, which nothing else may read until `close`.
          place: host batch -> device batch.
          depth: number of batches ahead; 0 reads in the caller's thread.
          pending: host batches before the source's next one.
        """
        self._depth = depth
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

    def __next__(self) -> Batch:
        """The next batch, on the device.

        Raises:
          StopIteration: the source ended. An error of the source is raised here too.
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
        """The position after the batches returned so far, in the bytes that `unpack` reads."""
        with self._pull_lock:
            # Between a pull and the queue a batch would be in neither part of the snapshot.
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
            except BaseException as error:  # raised again in the consumer's thread
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
                self._changed.wait_for(lambda: len(self._ready) < self._depth or self._closed)
                if self._closed:
                    return
            self._pull()
            if self._ended is not None:
                return


def pack(state: bytes, pending: Sequence[Batch]) -> bytes:
    """A source's position and the unused batches, as bytes (npz)."""
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
