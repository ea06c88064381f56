"""Running words that a dictionary has, alone or as parts of an entry of several words."""

from __future__ import annotations

from typing import Iterable

import numpy as np

from clwe_jax.embeddings.corpus import Corpus


def count_covered(corpus: Corpus, language: str, entries: Iterable[str]) -> int:
    """The number of running words of a language that are entries, or parts of one.

    Args:
      corpus: text.
      entries: keys of the dictionary's entries, with a space between the words of one.
    """
    numbers = {word: number for number, word in enumerate(corpus.words)}
    is_entry = np.zeros(len(numbers), np.bool_)
    phrases: dict[int, list[list[int]]] = {}  # by their first two words, as one number
    for entry in entries:
        words = [numbers.get(word, -1) for word in entry.split(" ")]
        if len(words) == 1 and words[0] >= 0:
            is_entry[words[0]] = True
        elif min(words) >= 0:
            phrases.setdefault(words[0] * len(numbers) + words[1], []).append(words)
    ids = corpus.ids[language].astype(np.int64)
    splits = corpus.splits[language]
    mask = is_entry[ids]
    pairs = ids[:-1] * len(numbers) + ids[1:]
    for start in np.flatnonzero(np.isin(pairs, list(phrases))).tolist():
        end = splits[np.searchsorted(splits, start, side="right")]  # of the sentence
        for words in phrases[int(pairs[start])]:
            if start + len(words) <= end and ids[start : start + len(words)].tolist() == words:
                mask[start : start + len(words)] = True
    return int(mask.sum())
