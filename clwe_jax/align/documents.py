"""Sentence alignment of two documents that translate each other, by the vectors of their lines.

A monotone dynamic programme finds the cheapest way through both: lines that translate each other (1-1,
1-2, 2-1, 1-3, 3-1, 2-2) and lines that have no translation. The cost of a bead is that of Vecalign
(Thompson and Koehn 2019, section 3.1) with a term for the length: the distance of the two joined texts,
over its mean to all texts of the other side, plus a part of the logarithm of the ratio of their letters
(Gale and Church 1993), times a weight, which is below the paper's product of both numbers of lines. As in
Vecalign, a first path through documents of half the length bounds the search, so that time and memory
grow with the length and not with its square.

The mean is over all texts of the other document and not over a sample, apart for each number of joined
lines: the more lines, the nearer are any two texts.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np

MOST_LINES = 3  # of a side of a bead
# moves: a line of the source, of the target, without a translation
_SKIPPED = -1
_INSERTED = -2
_WHOLE = 1 << 18  # products of two lengths that are searched without a bound
_BAND = 20  # lines beside the path of the shorter documents
# Chosen on Luke in Swahili, Kabyle and Manx, whole, with gaps, and cut into sentences; docs/lessons.md.
# Lines of both sides of a bead -> its weight.
_BEADS = {(1, 1): 1.0, (1, 2): 1.9, (2, 1): 1.9, (1, 3): 2.8, (3, 1): 2.8, (2, 2): 3.8}
_SKIP = 0.6  # cost of a line without translation; two lines that do not belong together cost 1
_LENGTH = 0.2  # weight of the ratio of letters
_FEW_LETTERS = 5  # added to both numbers of letters: the ratio of short lines says little
_LEAST = 1e-6


class Bead(NamedTuple):
    """Lines that translate each other.

    Attributes:
      source, target: their numbers, from 0.
      score: 1 where vectors and lengths are equal, 0 where they are as far apart as any two; at most 1.
    """

    source: range
    target: range
    score: float


def align(
    source: Sequence[np.ndarray],
    target: Sequence[np.ndarray],
    letters: tuple[np.ndarray, np.ndarray],
) -> list[Bead]:
    """The lines of two documents that translate each other, in their order.

    Args:
      source, target: the vectors of each document's lines, [N, D], of every two neighbouring lines
        joined, [N - 1, D], and of every three: as many as `MOST_LINES`, or fewer.
      letters: the number of letters of each line of both, [N] and [M].
    """
    sides = [[_unit(vectors) for vectors in side] for side in (source, target)]
    if not all(len(side[0]) for side in sides):
        return []
    beads = [(a, b) for a, b in _BEADS if a <= len(sides[0]) and b <= len(sides[1])]
    beads = [(a, b) for a, b in beads if len(sides[0][a - 1]) and len(sides[1][b - 1])]
    # One language needs more letters than another.
    totals = [max(1, count.sum()) for count in letters]
    lengths = letters[0] * (totals[1] / totals[0]), letters[1]
    search = _Search(sides[0], sides[1], lengths, beads)
    return search.beads(search.path(_band_of(sides[0][0], sides[1][0], lengths)))


def _band_of(
    source: np.ndarray, target: np.ndarray, lengths: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The first and the last column of each row that is searched, int [N + 1, 2]."""
    rows = len(source)
    columns = len(target)
    if rows * columns <= _WHOLE:
        return np.tile([0, columns], (rows + 1, 1))
    halves = [_halve(side) for side in (source, target)]
    shorter = tuple(np.add.reduceat(count, np.arange(0, len(count), 2)) for count in lengths)
    search = _Search([halves[0]], [halves[1]], shorter, [(1, 1)])
    path = 2 * np.array(search.path(_band_of(*halves, shorter)))
    path = np.minimum(path, [rows, columns])
    low = np.full(rows + 1, columns)
    high = np.zeros(rows + 1, int)
    for (i, j), (next_i, next_j) in zip(path, path[1:]):
        low[i : next_i + 1] = np.minimum(low[i : next_i + 1], j)
        high[i : next_i + 1] = np.maximum(high[i : next_i + 1], next_j)
    low = np.minimum.accumulate(low[::-1])[::-1] - _BAND
    high = np.maximum.accumulate(high) + _BAND
    band = np.stack([low, high], 1).clip(0, columns)
    band[0, 0] = 0
    band[-1, 1] = columns
    return band


class _Search:
    """The dynamic programme over two documents."""

    def __init__(
        self,
        source: Sequence[np.ndarray],
        target: Sequence[np.ndarray],
        lengths: tuple[np.ndarray, np.ndarray],
        beads: Sequence[tuple[int, int]],
    ):
        self._source = source
        self._target = target
        self._beads = beads
        # Letters before each line.
        self._before = [np.concatenate([[0], np.cumsum(count)]) for count in lengths]
        self._near = [
            (1 - source[a - 1] @ target[b - 1].mean(0), 1 - target[b - 1] @ source[a - 1].mean(0))
            for a, b in beads
        ]

    def _costs(self, number: int, row: int, columns: np.ndarray) -> np.ndarray:
        """The costs of the beads of a kind that begin in a row and in some columns."""
        a, b = self._beads[number]
        distances = 1 - self._target[b - 1][columns] @ self._source[a - 1][row]
        mean = (self._near[number][0][row] + self._near[number][1][columns]) / 2
        source_letters = self._before[0][row + a] - self._before[0][row] + _FEW_LETTERS
        target_letters = self._before[1][columns + b] - self._before[1][columns] + _FEW_LETTERS
        far = distances / np.maximum(mean, _LEAST)
        return _BEADS[a, b] * (far + _LENGTH * np.abs(np.log(source_letters / target_letters)))

    def path(self, band: np.ndarray) -> list[tuple[int, int]]:
        """The corners of the cheapest path: (0, 0), where each bead and line without one ends, (N, M)."""
        rows = len(self._source[0])
        costs: list[np.ndarray] = []
        moves: list[np.ndarray] = []
        for row in range(rows + 1):
            columns = np.arange(band[row, 0], band[row, 1] + 1)
            best = np.full(len(columns), np.inf)
            move = np.full(len(columns), _SKIPPED, np.int8)
            if row == 0:
                best[0] = 0
            else:
                best = _SKIP + _take(costs[row - 1], columns - band[row - 1, 0])
            for number, (a, b) in enumerate(self._beads):
                if row < a:
                    continue
                begins = columns - b
                inside = (begins >= 0) & (begins < len(self._target[b - 1]))
                before = _take(costs[row - a], begins[inside] - band[row - a, 0])
                reached = np.full(len(columns), np.inf)
                reached[inside] = before + self._costs(number, row - a, begins[inside])
                move[reached < best] = number
                best = np.minimum(best, reached)
            # A line of the target without translation costs the same everywhere.
            slope = _SKIP * np.arange(len(columns))
            cheapest = np.minimum.accumulate(best - slope) + slope
            move[cheapest < best - 1e-9] = _INSERTED
            costs.append(np.where(cheapest < best - 1e-9, cheapest, best))
            moves.append(move)
        return self._trace(moves, band)

    def _trace(self, moves: Sequence[np.ndarray], band: np.ndarray) -> list[tuple[int, int]]:
        row = len(moves) - 1
        column = len(self._target[0])
        path = [(row, column)]
        while (row, column) != (0, 0):
            move = moves[row][column - band[row, 0]]
            if move == _INSERTED or row == 0:
                column -= 1
            elif move == _SKIPPED:
                row -= 1
            else:
                a, b = self._beads[move]
                row = row - a
                column = column - b
            path.append((row, column))
        return path[::-1]

    def beads(self, path: Sequence[tuple[int, int]]) -> list[Bead]:
        """The beads of a path, without the lines that have none."""
        beads = []
        for (i, j), (next_i, next_j) in zip(path, path[1:]):
            size = next_i - i, next_j - j
            if 0 in size:
                continue
            [cost] = self._costs(self._beads.index(size), i, np.array([j]))
            score = 1 - float(cost) / _BEADS[size]
            beads.append(Bead(range(i, next_i), range(j, next_j), score))
        return beads


def _take(costs: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The costs at some places of a row; infinite beyond its band."""
    inside = (places >= 0) & (places < len(costs))
    return np.where(inside, costs[places.clip(0, len(costs) - 1)], np.inf)


def _halve(vectors: np.ndarray) -> np.ndarray:
    """The mean of every two rows; an odd last one stays."""
    odd_row = vectors[len(vectors) - len(vectors) % 2 :]
    pairs = vectors[: len(vectors) - len(odd_row)].reshape(-1, 2, vectors.shape[1]).mean(1)
    return _unit(np.concatenate([pairs, odd_row]))


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _LEAST), np.float32)
