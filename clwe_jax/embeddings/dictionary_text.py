"""Word vectors of a dictionary for the words of a text: from counts and spellings, without training.

The dictionary floor (`dictionary_vectors`) gives a vector to a dictionary's words alone. Here
frequent translations weigh more, synonyms of the hub language approach each other, a string that the
texts of several languages have is one word, and a word that the dictionary lacks is near the words
that begin like it: mostly other forms of the same word. The method is this project's own.
"""

from __future__ import annotations

import collections
import math
import os
from typing import Mapping, Sequence

import numpy as np
from scipy import sparse

from clwe_jax.embeddings import dictionary_vectors
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.words import is_unspaced

_POWER = 0.25  # a translation weighs (its count + 1) to this power
_SAME = 0.6  # length of the vector of a string that several languages share
_ALIKE = 0.7  # length of the vector of a word that has the beginning of known words
_BEGINNING = 0.6  # least share of the longer word that two words begin with
_SHARPNESS = 8  # of this share, in the weight of a known word
_LETTERS = 4  # least number of letters of words that are compared; 1 without spaces between words


def vectors(
    dictionary: Dictionary, counts: Mapping[str, Mapping[str, int]], dim: int, seed: int
) -> dict[str, Vectors]:
    """Vectors of the dictionary's and the text's words in one space.

    A hub word (English, where the dictionary has it) is the unit mean of a random vector and of its
    translations; a word of another language is the unit mean of its translations into the hub
    language, or, where it has none, of other translations. Other words of a text have a random
    vector where their string stands in the texts of several languages, and the mean of the known
    words of their language that begin alike.

    Args:
      dictionary: merged dictionary.
      counts: language -> word of its text -> occurrences.
      dim: width of a vector.
      seed: of the random vectors.

    Returns:
      language -> its words, those of the text first, most frequent first, with their counts. Words
      that nothing connects to the dictionary or to another language are left out.
    """
    known = _translated(dictionary, counts, dim, seed)
    strings = collections.Counter(word for words in counts.values() for word in words)
    same = sorted(word for word, languages in strings.items() if languages > 1)
    draws = _random(len(same), dim, seed + 1) * np.float32(_SAME)
    identity = dict(zip(same, draws))
    found = {}
    for language, own in counts.items():
        words, rows = known.get(language, ([], np.zeros((0, dim), np.float32)))
        names = set(words)
        others = [word for word in own if word not in names]
        more = _alike(others, words, rows, own) * np.float32(_ALIKE)
        for place, word in enumerate(others):
            if word in identity:
                more[place] += identity[word]
        chosen = np.abs(more).max(1, initial=0) > 0
        words = [*words, *(word for word, keep in zip(others, chosen.tolist()) if keep)]
        rows = np.concatenate([rows, more[chosen]])
        occurrences = np.array([own.get(word, 0) for word in words], np.int64)
        order = np.argsort(-occurrences, kind="stable")
        found[language] = Vectors([words[i] for i in order], rows[order], occurrences[order])
    return found


def _translated(
    dictionary: Dictionary, counts: Mapping[str, Mapping[str, int]], dim: int, seed: int
) -> dict[str, tuple[list[str], np.ndarray]]:
    """language -> the dictionary's words that reach the hub, and their unit vectors."""
    hub = dictionary_vectors.hub(dictionary)
    weights = np.ones(len(dictionary))
    spans = {}
    bounds = zip(dictionary.language_splits[:-1].tolist(), dictionary.language_splits[1:].tolist())
    for language, (first, last) in zip(dictionary.languages, bounds):
        own, spans[language] = counts.get(language, {}), slice(first, last)
        words = dictionary.language_words(language)
        weights[first:last] = [(own.get(word, 0) + 1) ** _POWER for word in words]
    source, target = dictionary.edges()
    shape = (len(dictionary), len(dictionary))
    graph = sparse.csr_matrix((weights[target].astype(np.float32), (source, target)), shape)
    english = spans[hub]
    start = np.zeros((len(dictionary), dim), np.float32)
    start[english] = _random(english.stop - english.start, dim, seed)

    def foreign(hub_rows: np.ndarray) -> np.ndarray:
        rows = dictionary_vectors.unit(graph @ hub_rows)
        rows[english] = hub_rows[english]
        return rows

    near = foreign(start)
    near[english] = 0
    synonyms = dictionary_vectors.unit(graph @ near)[english]  # the way there and back
    start[english] = dictionary_vectors.unit(start[english] + synonyms)
    rows = foreign(start)
    known = np.abs(rows).max(1, initial=0) > 0
    dictionary_vectors.reach(dictionary, rows, known)
    return {
        language: (
            [word for word, keep in zip(dictionary.language_words(language), known[span]) if keep],
            rows[span][known[span]],
        )
        for language, span in spans.items()
    }


def _alike(
    others: Sequence[str], words: Sequence[str], rows: np.ndarray, counts: Mapping[str, int]
) -> np.ndarray:
    """The unit mean of the known words that begin like each other word, float32 [others, dim].

    Args:
      others: words without a vector.
      words, rows: words with one, of the same language.
      counts: word -> occurrences in the text.
    """
    by_beginning = collections.defaultdict(list)
    for row, word in enumerate(words):
        for beginning in _beginnings(word):
            by_beginning[beginning].append(row)
    places, columns, weights = [], [], []
    for place, word in enumerate(others):
        # Two words have a beginning in common that is long enough for both.
        near = {row for beginning in _beginnings(word) for row in by_beginning.get(beginning, ())}
        for row in sorted(near):
            same = len(os.path.commonprefix((word, words[row])))
            share = same / max(len(word), len(words[row]))
            places.append(place)
            columns.append(row)
            weights.append(share**_SHARPNESS * (counts.get(words[row], 0) + 1) ** _POWER)
    mixed = sparse.csr_matrix(
        (np.array(weights, np.float32), (places, columns)), (len(others), len(words))
    )
    return dictionary_vectors.unit(mixed @ rows)


def _beginnings(word: str) -> list[str]:
    """The beginnings of a word that are long enough; [] for a short word."""
    if len(word) < (1 if is_unspaced(word) else _LETTERS):
        return []
    return [word[:end] for end in range(math.ceil(_BEGINNING * len(word)), len(word) + 1)]


def _random(count: int, dim: int, seed: int) -> np.ndarray:
    draws = np.random.default_rng(seed).standard_normal((count, dim), np.float32)
    return dictionary_vectors.unit(draws)
