"""Word vectors of a dictionary for the words of a text: from counts and spellings, without training.

The dictionary floor (`dictionary_vectors`) gives a vector to a dictionary's words alone; `word_graph`
says what the others have.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import Links, WordGraph
from clwe_jax.text.merged import Dictionary


def vectors(
    dictionary: Dictionary,
    counts: Mapping[str, Mapping[str, int]],
    dim: int,
    seed: int,
    links: Mapping[tuple[str, str], Links] | None = None,
) -> dict[str, Vectors]:
    """Vectors of the dictionary's and the text's words in one space.

    Args:
      dictionary: merged dictionary.
      counts: language -> word of its text -> occurrences.
      dim: width of a vector.
      seed: of the random vectors.
      links: see `WordGraph.rows`.

    Returns:
      language -> its words, most frequent first, with their counts. Words that nothing connects to
      the dictionary or to another language are left out.
    """
    graph = WordGraph(dictionary, counts)
    made = graph.rows(dim, seed, links)
    found = {}
    for language, own in counts.items():
        words, rows = graph.words[language], made.of(language)
        occurrences = np.array([own.get(word, 0) for word in words], np.int64)
        order = np.argsort(-occurrences, kind="stable")
        order = order[np.abs(rows).max(1, initial=0)[order] > 0]
        found[language] = Vectors([words[i] for i in order], rows[order], occurrences[order])
    return found
