"""Word vectors of a dictionary for the words of a text: from counts and spellings, without training.

The dictionary floor (`dictionary_vectors`) gives a vector to a dictionary's words alone; `word_graph`
says what the others have.
"""

from __future__ import annotations

from typing import Mapping

import numpy as np

from clwe_jax.embeddings.lazy_vectors import LazyVectors
from clwe_jax.embeddings.ngrams import Regression, Spelling, width_of
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import GUESSED_LENGTH, SPELLING_LENGTH
from clwe_jax.embeddings.word_rows import WordRows


def vectors(word_rows: WordRows, paired: Mapping[str, Regression] = {}) -> LazyVectors[Vectors]:
    """Vectors of the dictionary's and the text's words in one space.

    Args:
      word_rows: the vectors that follow from dictionary and links.
      paired: language -> what given pairs taught; empty: there are none.

    Returns:
      language of a text -> its words, most frequent first, with their counts, made when they are
      asked for. The vectors of n-grams stand behind the others, with `spelling_dim`, and those of
      `paired` last. Words that nothing connects to the dictionary or to another language are left out.
    """
    paired_width = width_of(paired)
    graph = word_rows.graph
    words = word_rows.graph.options

    def of(language: str) -> Vectors:
        names = graph.words[language]
        rows = word_rows.of(language)
        counts = graph.counts[language]
        if words.spelling_dim:
            spelled = graph.ngrams.directions(names, words.spelling_dim, word_rows.seed)
            rows = np.concatenate([rows, spelled * np.float32(SPELLING_LENGTH)], 1)
        if paired_width:
            taught = np.zeros((len(names), paired_width), np.float32)
            if language in paired:
                taught = paired[language].sums(graph.ngrams, names)
            rows = np.concatenate([rows, taught], 1)
        occurrences = np.array([counts.get(name, 0) for name in names], np.int64)
        order = np.argsort(-occurrences, kind="stable")
        order = order[np.abs(rows).max(1, initial=0)[order] > 0]
        return Vectors([names[i] for i in order], rows[order], occurrences[order])

    return LazyVectors(graph.counts, of)


def make_spelling(
    rows: WordRows, behind: int = 0, compared: float = 1.0, paired: Mapping[str, Regression] = {}
) -> Spelling:
    """Vectors of any string, in the space of `vectors`.

    Args:
      behind: dimensions of the space behind those of `vectors`, of which a spelling says nothing.
    """
    graph = rows.graph
    words = rows.graph.options
    prior = rows.hub_regression
    regressions = {}
    for language in graph.counts:
        if language == graph.hub and prior is not None:
            regressions[language] = prior
            continue
        regressions[language] = graph.regression(language, rows.of_entries(language), prior)
    width = rows.width + words.spelling_dim + width_of(paired) + behind
    return Spelling(
        graph.ngrams,
        regressions,
        GUESSED_LENGTH,
        words.spelling_dim,
        SPELLING_LENGTH,
        width,
        rows.seed,
        compared,
        paired,
    ).to_float16()
