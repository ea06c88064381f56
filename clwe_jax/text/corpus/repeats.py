"""Sentences that occur again on their side of two texts, which count once.

A copy of a sentence is as near to its translation as the sentence is: the nearest neighbours of both
are then copies of each other, and no margin or CSLS score sets the translation apart from them.
"""

from __future__ import annotations

from typing import Sequence

from absl import logging
import numpy as np


def sentence_key(text: str) -> str:
    """The same for sentences that differ in case or white space alone."""
    return " ".join(text.casefold().split())


def find_distinct(texts: Sequence[str]) -> np.ndarray:
    """The places of the sentences that do not repeat an earlier one: int64, rising."""
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        first.setdefault(sentence_key(text), place)
    return np.fromiter(first.values(), np.int64, len(first))


def drop_repeats(
    source: Sequence[str], target: Sequence[str], name: str
) -> tuple[list[str], list[str]]:
    """Test sentences and their translations, without those of which a side repeats an earlier one.

    Args:
      name: the files, for the log.
    """
    kept = np.intersect1d(find_distinct(source), find_distinct(target))
    if len(kept) < len(source):
        logging.warning(
            "%s: %d of %d sentences are left out: they or their translations repeat an earlier one",
            name,
            len(source) - len(kept),
            len(source),
        )
    return [source[row] for row in kept], [target[row] for row in kept]
