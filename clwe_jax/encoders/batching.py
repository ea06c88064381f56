"""Rows of similar lengths in batches of few shapes, so that few programs are compiled."""

from __future__ import annotations

import bisect
from typing import Any, Iterable, Iterator, Sequence


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
