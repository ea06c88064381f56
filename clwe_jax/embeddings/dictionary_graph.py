"""A merged dictionary as a graph: what each entry is translated to, and how far it is from the hub."""

from __future__ import annotations

from typing import Mapping

import numpy as np
from scipy import sparse

from clwe_jax.embeddings.beginnings import POWER
from clwe_jax.text.dictionary.merged import Dictionary


def translations(
    dictionary: Dictionary, counts: Mapping[str, Mapping[str, int]]
) -> sparse.csr_matrix:
    """The weight of every translation of every entry, by its frequency: float32 [entries, entries].

    Args:
      dictionary: merged dictionary.
      counts: language -> word of its text -> occurrences.
    """
    totals = []
    for language in dictionary.languages:
        language_counts = counts.get(language, {})
        totals += [language_counts.get(word, 0) for word in dictionary.language_words(language)]
    weights = (np.array(totals) + 1.0) ** POWER
    source, target = dictionary.edges()
    shape = (len(dictionary),) * 2
    return sparse.csr_matrix((weights[target].astype(np.float32), (source, target)), shape)


def depths(graph: sparse.csr_matrix, hub: slice) -> np.ndarray:
    """Number of translations from each entry to the hub: int [entries]; -1 without a way.

    Args:
      hub: the entries of the hub.
    """
    depth = np.full(graph.shape[0], -1)
    depth[hub] = 0
    ahead = graph.astype(bool)
    for step in range(1, len(depth)):
        is_new = (depth < 0) & (ahead @ (depth == step - 1))
        if not is_new.any():
            break
        depth[is_new] = step
    return depth
