"""Sentences that occur again on their side of two texts, which count once.

A copy of a sentence is as near to its translation as the sentence is: the nearest neighbours of both
are then copies of each other, and no margin or CSLS score sets the translation apart from them.
"""

from __future__ import annotations

import functools
import re
from typing import Callable, Sequence

from absl import logging
import numpy as np

from clwe_jax.text.words import characters


# A number before the words of a line: '2. ', '(3) '. Further on it may be a date: 'am 3. Mai'.
_LISTED = re.compile(r"\A\W*\d+[.):]+\s+(?=.*\w)")


def sentence_key(text: str) -> str:
    """The same for sentences that differ in case, punctuation, white space or a leading number of a list alone."""
    key = _LISTED.sub("", text.casefold())
    return " ".join(key.translate(_marks()).split()) or text


@functools.cache
def _marks() -> dict[int, str]:
    table = characters.class_table()
    marks = np.flatnonzero((table == characters.SINGLE) | (table == characters.MIDDLE))
    return dict.fromkeys(marks.tolist(), " ")


def find_distinct(texts: Sequence[str], key: Callable[[str], str] = sentence_key) -> np.ndarray:
    """The places of the sentences that do not repeat an earlier one: int64, rising."""
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        first.setdefault(key(text), place)
    return np.fromiter(first.values(), np.int64, len(first))


def drop_repeats(
    source: Sequence[str], target: Sequence[str], name: str
) -> tuple[list[str], list[str]]:
    """Test sentences and their translations, without those of which a side repeats an earlier one.

    Args:
      name: the files, for the log.
    """
    # A test is kept as it is but for sentences that differ in case or white space alone.
    spaced_key = lambda text: " ".join(text.casefold().split())
    distinct_rows = np.intersect1d(*(find_distinct(side, spaced_key) for side in (source, target)))
    if len(distinct_rows) < len(source):
        logging.warning(
            "%s: %d of %d sentences are left out: they or their translations repeat an earlier one",
            name,
            len(source) - len(distinct_rows),
            len(source),
        )
    return [source[row] for row in distinct_rows], [target[row] for row in distinct_rows]
