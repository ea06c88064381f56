"""Word vectors of a dictionary for the words of a text: from counts and spellings, without training.

The dictionary floor (`dictionary_vectors`) gives a vector to a dictionary's words alone; `word_graph`
says what the others have.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from clwe_jax.embeddings.made import Made
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import Links, WordGraph


def vectors(
    graph: WordGraph, dim: int, seed: int, links: Mapping[tuple[str, str], Links] | None = None
) -> Made[Vectors]:
    """Vectors of the dictionary's and the text's words in one space.

    Args:
      graph: the words.
      dim: width of a vector.
      seed: of the random vectors.
      links: see `WordGraph.rows`.

    Returns:
      language of a text -> its words, most frequent first, with their counts, made when they are
      asked for. Words that nothing connects to the dictionary or to another language are left out.
    """
    made = graph.rows(dim, seed, links)

    def of(language: str) -> Vectors:
        words, rows, own = graph.words[language], made.of(language), graph.counts[language]
        occurrences = np.array([own.get(word, 0) for word in words], np.int64)
        order = np.argsort(-occurrences, kind="stable")
        order = order[np.abs(rows).max(1, initial=0)[order] > 0]
        return Vectors([words[i] for i in order], rows[order], occurrences[order])

    return Made(graph.counts, of)
