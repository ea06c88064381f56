"""Examples from a whole list."""

from __future__ import annotations

from typing import Sequence, TypeVar

T = TypeVar("T")


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most `count` items, evenly from the first to the last one, in their order.

    A step of len(items) // count would leave out the second half of 199 items for a count of 100.
    """
    if len(items) <= count:
        return list(items)
    if count < 2:
        return list(items[:count])
    return [items[round(place * (len(items) - 1) / (count - 1))] for place in range(count)]
