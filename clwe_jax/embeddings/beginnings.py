"""Words that begin alike: mostly forms of one word."""

from __future__ import annotations

import collections
import math
import os
from typing import Mapping, Sequence

import numpy as np
from scipy import sparse

from clwe_jax.text.words.words import is_unspaced

_BEGINNING = 0.6  # least share of the longer word that two words begin with
_SHARPNESS = 8  # of this share, in the weight of a known word
_LETTERS = 4  # least number of letters of words that are compared; 1 without spaces between words
POWER = 0.25  # a word weighs (its count + 1) to this power


def alike(
    others: Sequence[str], words: Sequence[str], counts: Mapping[str, int]
) -> sparse.csr_matrix:
    """The weights of the words that begin like each other word, float32 [others, words].

    Args:
      others: words without a vector.
      words: words with one, of the same language.
      counts: word -> occurrences in the text.
    """
    by_beginning = collections.defaultdict(list)
    for row, word in enumerate(words):
        for beginning in beginnings(word):
            by_beginning[beginning].append(row)
    places = []
    columns = []
    weights = []
    for place, word in enumerate(others):
        # Two words have a beginning in common that is long enough for both.
        near: set[int] = set()
        for beginning in beginnings(word):
            near.update(by_beginning.get(beginning, ()))
        for row in sorted(near):
            shared_letters = len(os.path.commonprefix((word, words[row])))
            share = shared_letters / max(len(word), len(words[row]))
            places.append(place)
            columns.append(row)
            weights.append(share**_SHARPNESS * (counts.get(words[row], 0) + 1) ** POWER)
    shape = (len(others), len(words))
    return sparse.csr_matrix((np.array(weights, np.float32), (places, columns)), shape)


def beginnings(word: str) -> list[str]:
    """The beginnings of a word that are long enough; [] for a short word."""
    if len(word) < (1 if is_unspaced(word) else _LETTERS):
        return []
    return [word[:end] for end in range(math.ceil(_BEGINNING * len(word)), len(word) + 1)]
