"""Rows of similar lengths in batches of few shapes, so that few programs are compiled."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from typing import Any, Iterable, Iterator, Sequence

SHORTEST = 8  # positions of the narrowest row of a batch
_SHARED = 64  # positions of a row that several texts share
_FEW = 8  # batch size for at most this many texts
_WORTH = 1_024  # texts of a further width, from which on it saves more than its compilation costs


@dataclasses.dataclass(frozen=True)
class Row:
    """A text as word pieces in groups, whose vectors are averaged.

    Attributes:
      ids: piece ids, without [CLS] and [SEP].
      groups: group of each piece, numbered from 0; -1: no group.
      language: language id.
      weights: weight of each piece in a second mean; None: there is no second mean.
      ends: groups of [CLS] and of [SEP].
    """

    ids: Sequence[int]
    groups: Sequence[int]
    language: int
    weights: Sequence[float] | None = None
    ends: tuple[int, int] = (-1, -1)

    @property
    def positions(self) -> int:
        """Those of its pieces, of [CLS] and of [SEP]."""
        return len(self.ids) + 2

    @property
    def count(self) -> int:
        """The number of groups."""
        return max(*self.ends, max(self.groups, default=-1)) + 1


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


def separate(texts: Sequence[Row], batch_size: int, max_length: int) -> Iterator[Plan]:
    """Batches of texts of similar length, each in a row of its own; their lengths are `widths`.

    The slots of a row hold the means of its text: 1 slot, or one for every position.
    """
    size = min(_FEW, batch_size) if len(texts) <= _FEW else batch_size
    lengths = widths([text.positions for text in texts], SHORTEST, _WORTH, max_length)
    # Slots are a shape of the program: 1 or the length, so that texts share few programs.
    shapes = []
    for text, length in zip(texts, lengths):
        shapes.append((length, 1 if max(text.groups, default=0) <= 0 else length))
    for (length, slots), places in group_rows(shapes, size):
        yield Plan(places, [Spot(row) for row in range(len(places))], size, length, slots)


def share_rows(texts: Sequence[Row], batch_size: int, max_length: int) -> Iterator[Plan]:
    """Batches whose rows hold several texts of one language each.

    Little is padding then, and texts of most lengths share one program.
    """
    if len(texts) <= _FEW:
        yield from separate(texts, batch_size, max_length)
        return
    positions_per_text = _positions_per_text(texts)
    packed = _pack_by_language(texts, max_length, positions_per_text)
    full_size = max(1, batch_size // 4)  # a row mostly holds four texts or more
    small_size = max(1, full_size // 4)
    full_width = 0  # of the last batch of full size
    for length, numbers in group_rows((row_width for row_width, _ in packed), full_size):
        batch_rows = [packed[number][1] for number in numbers]
        # Few rows make two small batches, unless the program of full size is compiled for their width.
        is_small = len(batch_rows) <= 2 * small_size and length != full_width
        if not is_small:
            full_width = length
        size = small_size if is_small else full_size
        for start in range(0, len(batch_rows), size):
            rows = batch_rows[start : start + size]  # the places of each row's texts
            shapes = ([(texts[i].positions, texts[i].count) for i in row] for row in rows)
            places = list(itertools.chain.from_iterable(rows))
            yield Plan(places, list(spots(shapes)), size, length, length // positions_per_text)


def _positions_per_text(texts: Sequence[Row]) -> int:
    """The positions of a shared row for each slot: a text with one group takes one slot."""
    # Texts with several groups may need a slot for each position.
    if any(text.count > 1 for text in texts):
        return 1
    mean_length = sum(text.positions for text in texts) / len(texts)
    return 8 if mean_length >= 8 else 3


def _pack_by_language(
    texts: Sequence[Row], max_length: int, positions_per_text: int
) -> list[tuple[int, list[int]]]:
    """(width, places of its texts) of each row: `_SHARED` positions, or those of a longer text."""
    by_language: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        by_language.setdefault(text.language, []).append(place)
    packed = []
    for places in by_language.values():
        lengths = [texts[place].positions for place in places]
        for row_width, row in pack(lengths, _SHARED, max_length, positions_per_text):
            packed.append((row_width, [places[number] for number in row]))
    return packed


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
    usable = [shortest]
    next_width = shortest
    max_length = max(lengths, default=0)
    while next_width < max_length:
        middle = next_width * 3 // 2
        # Every width is one more program to compile.
        if sum(next_width < length <= middle for length in lengths) >= worth:
            usable.append(middle)
        next_width *= 2
        usable.append(next_width)
    row_widths = (usable[bisect.bisect_left(usable, length)] for length in lengths)
    return [min(width, longest or width) for width in row_widths]


def group_rows(keys: Iterable[Any], size: int) -> Iterator[tuple[Any, list[int]]]:
    """The rows of equal keys, such as widths, in batches.

    Args:
      keys: the key of each row.
      size: rows of a batch; the last one of a key may be smaller.

    Yields:
      A key and the places of the rows of a batch, by ascending keys.
    """
    places_of: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        places_of.setdefault(key, []).append(place)
    for key, places in sorted(places_of.items()):
        for start in range(0, len(places), size):
            yield key, places[start : start + size]


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
    lengths_left = sorted(places)
    while lengths_left:
        row_width = max(width, min(1 << (lengths_left[-1] - 1).bit_length(), longest))
        room = row_width
        row: list[int] = []
        while len(row) < row_width // positions_per_text and (
            number := bisect.bisect_right(lengths_left, room)
        ):
            length = lengths_left[number - 1]
            row.append(places[length].pop())
            room -= length
            if not places[length]:
                del lengths_left[number - 1]
        yield row_width, row


def spots(rows: Iterable[Iterable[tuple[int, int]]]) -> Iterator[Spot]:
    """Where the texts of a batch's rows stand, given the positions and the groups of each."""
    for number, row in enumerate(rows):
        start = group = 0
        for segment, (length, groups) in enumerate(row, 1):
            yield Spot(number, start, segment, group)
            start += length
            group += groups
