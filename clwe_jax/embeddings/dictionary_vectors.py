"""Word vectors of a dictionary alone: without text and without training."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from clwe_jax.text.dictionary.merged import Dictionary

_HUB = "en"  # the language of random vectors, where the dictionary has it


def hub(dictionary: Dictionary) -> str:
    """English, or the language with most pairs where the dictionary has no English.

    Of a dictionary without pairs it is the first language.
    """
    if not dictionary.pair_count:
        return dictionary.languages[0]
    if dictionary.language_words(_HUB):
        return _HUB
    per_word = dictionary.pairs_per_word()
    splits = dictionary.language_splits
    pairs = [per_word[a:b].sum() for a, b in zip(splits[:-1], splits[1:])]
    return dictionary.languages[int(np.argmax(pairs))]


def vectors(
    dictionary: Dictionary, languages: Sequence[str], dim: int, seed: int
) -> dict[str, tuple[list[str], np.ndarray]]:
    """Vectors in which a word is the mean of its translations.

    A word of the hub language has a random vector. A word of another language is the mean of its
    translations' vectors: of those into the hub language, or, where it has none, of those that have
    a vector themselves. All vectors have unit length, so that a word of several translations weighs
    as much in a sentence as a word of one.

    Args:
      languages: languages of the result. The vectors of a language do not depend on the others.
      dim: width of a vector.
      seed: of the random vectors.

    Returns:
      language -> its words, in the dictionary's order (usually by frequency), and their vectors,
      float32 [N, dim]. A word that no chain of translations connects to the hub is left out.
    """
    rows = np.zeros((len(dictionary), dim), np.float32)
    has_vector = np.zeros(len(dictionary), np.bool_)
    spans = {}
    splits = dictionary.language_splits
    for language, first, last in zip(dictionary.languages, splits[:-1], splits[1:]):
        spans[language] = slice(int(first), int(last))
    first = spans[hub(dictionary)]
    rng = np.random.default_rng(seed)
    rows[first] = unit(rng.standard_normal((first.stop - first.start, dim), np.float32))
    has_vector[first] = True
    reach(dictionary, rows, has_vector)
    result = {}
    for language in languages:
        span = spans.get(language, slice(0, 0))
        is_reached = has_vector[span]
        names = dictionary.language_words(language)
        result[language] = [names[i] for i in np.flatnonzero(is_reached)], rows[span][is_reached]
    return result


def reach(dictionary: Dictionary, rows: np.ndarray, has_vector: np.ndarray) -> None:
    """Gives words without a vector the unit mean of their translations that have one, in place.

    It is repeated until no further word is reached.

    Args:
      rows: vectors of its words, float32 [words, dim].
      has_vector: bool [words], whether a word has a vector.
    """
    splits = dictionary.language_splits.tolist()
    spans = [slice(first, last) for first, last in zip(splits[:-1], splits[1:])]
    while True:
        # All means are of earlier words: the order of the languages does not matter.
        reached = [_means(dictionary, span, rows, has_vector) for span in spans]
        for words, means in reached:
            rows[words] = means
            has_vector[words] = True
        if not any(len(words) for words, _ in reached):
            break


def unit(rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The rows with length 1; rows of zeros stay zeros.

    Args:
      rows: [N, D].
      out: the array that they are written to, such as `rows` itself; None: a new one.
    """
    squares = np.einsum("nd,nd->n", rows, rows)  # without a copy of the rows, unlike linalg.norm
    return np.divide(rows, np.maximum(np.sqrt(squares), 1e-12)[:, None], out=out)


def _means(
    dictionary: Dictionary, span: slice, rows: np.ndarray, has_vector: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The unknown words of a language with a known translation, and the unit means of those."""
    ends = dictionary.group_splits[dictionary.entry_splits[span.start : span.stop + 1]]
    source = np.repeat(np.arange(span.start, span.stop), np.diff(ends))
    target = dictionary.target_ids[ends[0] : ends[-1]]
    is_new_link = ~has_vector[source] & has_vector[target]
    words, starts = np.unique(source[is_new_link], return_index=True)
    if not len(words):
        return words, np.zeros((0, rows.shape[1]), np.float32)
    sums = np.add.reduceat(rows[target[is_new_link]], starts, axis=0)
    return words, unit(sums)
