"""Anchors of a projection: mean contextual representations of words, or centers of senses.

Words as anchors are Eq. 8 of multi-sense cross-lingual alignment (A10); senses go beyond the paper.
"""

from __future__ import annotations

from itertools import islice
from typing import Iterable, Mapping

import jax
import numpy as np

from clwe_jax.align import search
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.models.senses.state import SenseState

_AT_ONCE = 1_024  # lines encoded at once


def collect(
    encoder: ModelEncoder, lines: Iterable[str], language: str, index: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """The mean representation of each word over its occurrences, in one pass over text.

    Args:
      index: word -> row.

    Returns:
      Means, float32 [W, layers + 1, D], zeros for words that do not occur; occurrences, int64 [W].
    """
    sums = np.zeros((len(index), *encoder.shape), np.float64)
    counts = np.zeros(len(index), np.int64)
    lines = iter(lines)
    while chunk := list(islice(lines, _AT_ONCE)):
        for words, vectors in encoder.in_context(chunk, language):
            rows = np.array([index.get(word, -1) for word in words], np.int64)
            is_indexed = rows >= 0
            # A word may occur twice in a text, which `+=` would count once.
            np.add.at(sums, rows[is_indexed], vectors[is_indexed])
            np.add.at(counts, rows[is_indexed], 1)
    means = sums / np.maximum(counts, 1)[:, None, None]
    return means.astype(np.float32), counts


def centers(state: SenseState, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The centers of senses that translate each other, beyond the paper.

    A used sense of one word translates a used sense of the other where each is the nearest used
    sense of the other, by the cosine of the projected centers.

    Args:
      state: the senses of one direction.
      pairs: ids of words that translate each other, int [P, 2].

    Returns:
      The centers of K pairs of senses, float32 [K, d] twice.
    """
    ids, places = np.unique(pairs, return_inverse=True)
    left, right = places.reshape(-1, 2).T
    parts = state.centers, state.projected, state.enabled & (state.total > 0)
    vectors, projected, is_used = (np.asarray(jax.device_get(x[ids])) for x in parts)
    unit = np.asarray(search.unit(projected))
    cosines = np.einsum("psk,ptk->pst", unit[left], unit[right])  # [P, S, S]
    # Unused and removed senses are no neighbours: their centers stand for no text.
    cosines[~(is_used[left][:, :, None] & is_used[right][:, None])] = -np.inf
    best = cosines.argmax(2)
    back = np.take_along_axis(cosines.argmax(1), best, axis=1)  # best sense of each best sense
    # A pair without used senses on both sides has no finite fit.
    pair, sense = np.nonzero((back == np.arange(cosines.shape[1])) & np.isfinite(cosines.max(2)))
    return vectors[left[pair], sense], vectors[right[pair], best[pair, sense]]
