"""Word vectors of a dictionary for the words of a text: from counts and spellings, without training.

The dictionary floor (`dictionary_vectors`) gives a vector to a dictionary's words alone; `word_graph`
says what the others have.
"""

from __future__ import annotations

import numpy as np

from clwe_jax.embeddings.lazy_vectors import LazyVectors
from clwe_jax.embeddings.ngrams import Spelling
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import GUESSED_LENGTH
from clwe_jax.embeddings.word_rows import Rows


def vectors(made: Rows) -> LazyVectors[Vectors]:
    """Vectors of the dictionary's and the text's words in one space.

    Returns:
      language of a text -> its words, most frequent first, with their counts, made when they are
      asked for. The vectors of n-grams stand behind the others, with `spelling_dim`. Words that
      nothing connects to the dictionary or to another language are left out.
    """
    graph, words = made.graph, made.graph.options

    def of(language: str) -> Vectors:
        names, rows, own = graph.words[language], made.of(language), graph.counts[language]
        if words.spelling_dim:
            spelled = graph.ngrams.directions(names, words.spelling_dim, made.seed)
            rows = np.concatenate([rows, spelled * np.float32(words.spelling_length)], 1)
        occurrences = np.array([own.get(name, 0) for name in names], np.int64)
        order = np.argsort(-occurrences, kind="stable")
        order = order[np.abs(rows).max(1, initial=0)[order] > 0]
        return Vectors([names[i] for i in order], rows[order], occurrences[order])

    return LazyVectors(graph.counts, of)


def spelling(made: Rows, behind: int = 0, compared: float = 1.0) -> Spelling:
    """Vectors of any string, in the space of `vectors`.

    Args:
      made: as of `vectors`.
      behind: dimensions of the space behind those of `vectors`, of which a spelling says nothing.
      compared: see `Spelling`.
    """
    graph, words = made.graph, made.graph.options
    prior, regressions = made.hub_regression, {}
    for language in graph.counts:
        if language == graph.hub and prior is not None:
            regressions[language] = prior
            continue
        rows = made.of(language)[: len(graph.known(language))]
        regressions[language] = graph.regression(language, rows, prior)
    width = made.width + words.spelling_dim + behind
    return Spelling(
        graph.ngrams,
        regressions,
        GUESSED_LENGTH,
        words.spelling_dim,
        words.spelling_length,
        width,
        made.seed,
        compared,
    ).halved()
