"""Rows of similar lengths in batches of few shapes, so that few programs are compiled."""

from __future__ import annotations

import bisect
import dataclasses
from typing import Any, Iterable, Iterator, Sequence


@dataclasses.dataclass(frozen=True)
class Spot:
    """Where a text stands in a batch.

    Attributes:
      row: of the batch.
      start: its first position.
      segment: its number in the row, from 1.
      group: its first group in the row.
    """

    row: int
    start: int = 0
    segment: int = 1
    group: int = 0


@dataclasses.dataclass(frozen=True)
class Plan:
    """A batch to compute.

    Attributes:
      places: indices of the texts.
      spots: where each of them stands.
      size, length: rows and positions of the batch.
      slots: groups of a row, at most.
    """

    places: Sequence[int]
    spots: Sequence[Spot]
    size: int
    length: int
    slots: int


def width(length: int, shortest: int, longest: int) -> int:
    """The positions of a batch for rows of a length: a power of two from `shortest`, or `longest`."""
    return min(max(shortest, 1 << (length - 1).bit_length()), longest)


def widths(lengths: Sequence[int], shortest: int, worth: int, longest: int = 0) -> list[int]:
    """The positions of the batch of each row: as `width`, with widths between where rows are many.

    Args:
      lengths: of the rows.
      shortest: the narrowest width; the others are twice, four times, ... as wide.
      worth: rows of a width between two of them, 1.5 times the narrower one, from which on it is used.
      longest: the widest width; 0: none is too wide.
    """
    known = [shortest]
    next_width = shortest
    most = max(lengths, default=0)
    while next_width < most:
        middle = next_width * 3 // 2
        # Every width is one more program to compile.
        if sum(next_width < length <= middle for length in lengths) >= worth:
            known.append(middle)
        next_width *= 2
        known.append(next_width)
    chosen = (known[bisect.bisect_left(known, length)] for length in lengths)
    return [min(width, longest or width) for width in chosen]


def group_rows(keys: Iterable[Any], size: int) -> Iterator[tuple[Any, list[int]]]:
    """The rows of equal keys, such as widths, in batches.

    Args:
      keys: the key of each row.
      size: rows of a batch; the last one of a key may be smaller.

    Yields:
      A key and the places of the rows of a batch, by ascending keys.
    """
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    for key, some in sorted(places.items()):
        for start in range(0, len(some), size):
            yield key, some[start : start + size]


def pack(
    lengths: Sequence[int], width: int, longest: int, positions_per_text: int
) -> Iterator[tuple[int, list[int]]]:
    """Puts texts into rows of few widths; the next text of a row is always the longest one that fits.

    Args:
      lengths: of the texts.
      width: positions of a row. A longer text has a row of a power of two positions, at most `longest`.
      positions_per_text: limits the number of texts: a row of n positions holds at most
        n // positions_per_text of them.

    Yields:
      The width of a row and the places of its texts.
    """
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(length, []).append(place)
    known = sorted(places)
    while known:
        wide = max(width, min(1 << (known[-1] - 1).bit_length(), longest))
        room = wide
        row: list[int] = []
        while len(row) < wide // positions_per_text and (
            number := bisect.bisect_right(known, room)
        ):
            length = known[number - 1]
            row.append(places[length].pop())
            room -= length
            if not places[length]:
                del known[number - 1]
        yield wide, row


def spots(rows: Iterable[Iterable[tuple[int, int]]]) -> Iterator[Spot]:
    """Where the texts of a batch's rows stand, given the positions and the groups of each."""
    for number, row in enumerate(rows):
        start = group = 0
        for segment, (length, groups) in enumerate(row, 1):
            yield Spot(number, start, segment, group)
            start += length
            group += groups
