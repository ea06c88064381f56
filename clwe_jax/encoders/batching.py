"""Rows of similar lengths in batches of few shapes, so that few programs are compiled."""

from __future__ import annotations

from typing import Any, Iterable, Iterator


def width(length: int, shortest: int, longest: int) -> int:
    """The positions of a batch for rows of a length: a power of two from `shortest`, or `longest`."""
    return min(max(shortest, 1 << (length - 1).bit_length()), longest)


def grouped(keys: Iterable[Any], size: int) -> Iterator[tuple[Any, list[int]]]:
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
