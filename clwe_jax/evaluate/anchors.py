"""Anchors: the mean contextual representation of words, in one pass over text (A10, Eq. 8)."""

from __future__ import annotations

from itertools import islice
from typing import Iterable, Mapping

import numpy as np

from clwe_jax.evaluate.encode import Encoder
from clwe_jax.types import Variables

_AT_ONCE = 1_024  # lines encoded together


def collect(
    encoder: Encoder,
    variables: Variables,
    lines: Iterable[str],
    language: str,
    index: Mapping[str, int],
) -> tuple[np.ndarray, np.ndarray]:
    """The mean representation of each word over its occurrences; nothing but the sums is kept.

    Args:
      encoder, variables: the model.
      lines: text.
      language: its language.
      index: the words that are wanted, with their rows.

    Returns:
      float32 [W, layers + 1, D], zeros for words that do not occur, and int64 [W], how often each
      does.
    """
    sums = np.zeros((len(index), *encoder.shape(variables)), np.float64)
    counts = np.zeros(len(index), np.int64)
    lines = iter(lines)
    while chunk := list(islice(lines, _AT_ONCE)):
        for words, vectors in encoder.words(variables, chunk, language):
            rows = np.array([index.get(word, -1) for word in words], np.int64)
            wanted = rows >= 0
            np.add.at(sums, rows[wanted], vectors[wanted])
            np.add.at(counts, rows[wanted], 1)
    means = sums / np.maximum(counts, 1)[:, None, None]
    return means.astype(np.float32), counts
