"""Rows of vectors that come part by part: in memory, or in a mapped file of any size."""

from __future__ import annotations

import tempfile
from typing import Iterator

import numpy as np


class PartRows:
    """Rows of one shape; the second axis of a part may be shorter than that of another one."""

    def __init__(self, folder: str | None = None) -> None:
        """`folder`: of the temporary file, which vanishes with the rows; None: they are in memory."""
        self._folder = folder
        self._parts = []
        self._file = None if folder is None else tempfile.TemporaryFile(dir=folder)
        self._shapes: list[tuple[int, ...]] = []

    def add(self, part: np.ndarray) -> None:
        """Adds rows, [n, ...], all of one type."""
        if not len(part):
            return
        self._type = part.dtype
        self._shapes.append(part.shape)
        if self._file is None:
            self._parts.append(part)
        else:
            self._file.write(np.ascontiguousarray(part).data)

    def together(self) -> np.ndarray:
        """The rows of all parts.

        The last vector of a piece, [N, P, layers, D], is repeated; after a word's ids, [N, P], is -1.
        """
        longest = max(shape[1] for shape in self._shapes)
        if self._file is None:
            return np.concatenate([_as_long(x, longest) for x in self._parts])
        self._file.flush()
        if any(shape[1] < longest for shape in self._shapes):
            # The longest part is known only at the end: all are written again at its length.
            padded = PartRows(self._folder)
            for part in self._map_parts():
                padded.add(_as_long(part, longest))
            return padded.together()
        shape = sum(x[0] for x in self._shapes), *self._shapes[0][1:]
        return np.memmap(self._file, self._type, "r+", shape=shape)

    def _map_parts(self) -> Iterator[np.ndarray]:
        place = 0
        for shape in self._shapes:
            part = np.memmap(self._file, self._type, "r", place, shape)
            place += part.nbytes
            yield part


def _as_long(part: np.ndarray, longest: int) -> np.ndarray:
    if part.shape[1] == longest:
        return part
    if part.ndim == 2:
        return np.pad(part, ((0, 0), (0, longest - part.shape[1])), constant_values=-1)
    return part[:, np.minimum(np.arange(longest), part.shape[1] - 1)]
