"""Cutting tables over the vocabulary into parts that devices share evenly."""

from __future__ import annotations

from typing import Iterable

from clwe_jax.config import PAD_ROWS_TO


def even(words: int, numbers: Iterable[int]) -> int | None:
    """The first of `numbers` of parts that leaves none of the words over; None where none does.

    One whose parts are of a multiple of `PAD_ROWS_TO` words comes before all others: every device
    then holds as many of each part, and nothing has to be gathered.
    """
    whole = [number for number in numbers if words % number == 0]
    return next((n for n in whole if words // n % PAD_ROWS_TO == 0), next(iter(whole), None))
