"""Vectors of 3.2 bits a number, for the files of static vectors.

A number is one of nine levels, and five of them are one of 9 ** 5 = 59,049 numbers of 16 bits. A level
stands for its multiple of the row's step times the column's scale: words and parts of a vector differ in
length. Zeros stay zeros. The relative error of a vector is some 17%, in a random direction of many: the
cosine of two vectors of 1,000 dimensions changes by .008 (one standard deviation) around 97% of what it was:
errors of two vectors are independent, so that .90 becomes some .87, and the order stays. A vector beside itself
keeps 1.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

# levels of a number, and numbers in 16 bits
_LEVELS = 9
_DIGITS = 5
_HIGHEST = _LEVELS // 2
_STEPS = (0.45, 0.6, 0.8)  # of a row, among which the best one is taken, as shares of its deviation
_ROWS = 4_096  # packed at once


class Packed:
    """Packed vectors [N, D], which become float32 where rows are taken.

    Attributes:
      codes: uint16 [N, D / 5], rounded up.
      steps: float32 [N], of the rows.
      scales: float32 [D], of the columns.
    """

    ndim = 2
    dtype = np.dtype(np.uint16)  # of what is held: it says that the numbers are no floats yet

    def __init__(self, codes: np.ndarray, steps: np.ndarray, scales: np.ndarray) -> None:
        """Args:
        codes, steps, scales: as in the module's docstring.

        Raises:
          ValueError: their sizes do not fit.
        """
        if codes.ndim != 2 or len(steps) != len(codes) or codes.shape[1] != _width(len(scales)):
            raise ValueError(
                f"codes {codes.shape}, {len(steps)} steps and {len(scales)} scales do not fit"
            )
        self.codes = codes
        self.steps = steps
        self.scales = scales

    @classmethod
    def of(cls, vectors: np.ndarray | Packed) -> Packed:
        """Packs vectors [N, D] of any float type; packed ones stay as they are."""
        if isinstance(vectors, cls):
            return vectors
        scales = _scales(vectors)
        codes = np.empty((len(vectors), _width(vectors.shape[1])), np.uint16)
        steps = np.empty(len(vectors), np.float32)
        for start in range(0, len(vectors), _ROWS):
            block = slice(start, start + _ROWS)
            codes[block], steps[block] = _pack_rows(np.asarray(vectors[block], np.float32) / scales)
        return cls(codes, steps, scales)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes), len(self.scales)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> np.ndarray:
        """The vectors of these rows (an index of the first axis), float32."""
        codes = np.asarray(self.codes[rows])
        # [n, D / 5, 5] to [n, D], with up to four numbers too many at the end
        levels = _table()[codes].reshape(*codes.shape[:-1], _DIGITS * codes.shape[-1])
        vectors = levels[..., : len(self.scales)] * self.scales
        vectors *= np.asarray(self.steps[rows])[..., None]
        return vectors

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del copy  # there is no array that could be shared
        vectors = np.empty(self.shape, np.float32)
        for start in range(0, len(self), _ROWS):
            vectors[start : start + _ROWS] = self[start : start + _ROWS]
        return vectors if dtype is None else vectors.astype(dtype, copy=False)

    def astype(self, dtype: Any, copy: bool = True) -> np.ndarray:
        """All vectors as an array."""
        del copy
        return self.__array__(dtype)


def _width(dim: int) -> int:
    return -(-dim // _DIGITS)


def _scales(vectors: np.ndarray) -> np.ndarray:
    """The deviations of the columns' numbers other than 0 from 0, float32 [D]; 1 for columns of zeros."""
    sums = np.zeros(vectors.shape[1])
    counts = np.zeros(vectors.shape[1], np.int64)
    for start in range(0, len(vectors), _ROWS):
        part = np.asarray(vectors[start : start + _ROWS], np.float32)
        sums += np.einsum("nd,nd->d", part, part)
        counts += np.count_nonzero(part, 0)
    deviations = np.sqrt(sums / np.maximum(counts, 1))
    return np.where(deviations > 0, deviations, 1.0).astype(np.float32)


def _pack_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes uint16 [n, D / 5] and steps [n] of rows [n, D] that are scaled by columns."""
    squares = np.einsum("nd,nd->n", rows, rows)
    deviation = np.sqrt(squares / np.maximum(np.count_nonzero(rows, 1), 1))
    best = np.full(len(rows), -1.0, np.float32)
    levels = np.zeros(rows.shape, np.int8)
    steps = np.zeros(len(rows), np.float32)
    for share in _STEPS:
        inverse = 1 / np.where(deviation > 0, share * deviation, 1.0)
        candidates = np.clip(np.rint(rows * inverse[:, None]), -_HIGHEST, _HIGHEST)
        # The step that fits these levels best, and the share of the squares that it explains.
        along = np.einsum("nd,nd->n", rows, candidates)
        of_levels = np.maximum(np.einsum("nd,nd->n", candidates, candidates), 1e-30)
        better = along**2 / of_levels > best
        best = np.where(better, along**2 / of_levels, best)
        steps = np.where(better, along / of_levels, steps)
        levels[better] = candidates[better]
    # int64, because a code of five digits does not fit the int8 of the levels.
    places = np.zeros((len(rows), _width(rows.shape[1]) * _DIGITS), np.int64)
    places[:, : rows.shape[1]] = levels
    digits = (places + _HIGHEST).reshape(len(rows), -1, _DIGITS)
    return (digits @ (_LEVELS ** np.arange(_DIGITS))).astype(np.uint16), steps.astype(np.float32)


@functools.cache
def _table() -> np.ndarray:
    """The five levels of each code, int8 [65536, 5]."""
    codes = np.arange(1 << 16)[:, None]
    return (codes // _LEVELS ** np.arange(_DIGITS) % _LEVELS - _HIGHEST).astype(np.int8)
