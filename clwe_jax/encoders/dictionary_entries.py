"""The entries of the dictionary that static vectors were trained with, which go before their neighbours.

The vector of a phrase is near to those of its words, so that "water closet" may come before "water". What
the dictionary says of a word is known and need not be found again.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Mapping

import numpy as np

from clwe_jax import atomic
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.dictionary.merged import Dictionary

_FILE = "entries.npy"


@dataclasses.dataclass(frozen=True, eq=False)
class DictionaryEntries:
    """The pairs of a dictionary whose words both have vectors; by default none.

    Attributes:
      words: language -> its words.
      pairs: int32 [P, 2], each pair once; rows that count through the words of all languages.
    """

    words: Mapping[str, Vectors] = dataclasses.field(default_factory=dict)
    pairs: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 2), np.int32))

    def with_dictionary(
        self, dictionary: Dictionary | None, words: Mapping[str, Vectors]
    ) -> DictionaryEntries:
        """These pairs and those of a dictionary.

        Args:
          dictionary: None: no further pairs.
          words: language -> its words, the first of which are those here.
        """
        here = _first_rows(self.words)
        starts = _first_rows(words)
        shifts = [np.full(len(some), starts[x] - here[x]) for x, some in self.words.items()]
        pairs = self.pairs + np.concatenate([np.empty(0, np.int64), *shifts])[self.pairs]
        if dictionary is not None:
            rows = np.full(len(dictionary), -1, np.int64)
            splits = itertools.pairwise(dictionary.language_splits.tolist())
            for language, (first, last) in zip(dictionary.languages, splits):
                if language in words:
                    own = words[language].rows(dictionary.language_words(language))
                    rows[first:last] = np.where(own < 0, -1, own + starts[language])
            more = np.stack([rows[some] for some in dictionary.edges()], 1)
            pairs = np.concatenate([pairs, more[(more >= 0).all(1)]])
        # One number a pair, for either of its directions.
        count = max(1, sum(map(len, words.values())))
        numbers = np.unique(pairs.min(1) * count + pairs.max(1))
        return DictionaryEntries(words, np.stack(np.divmod(numbers, count), 1).astype(np.int32))

    def translations(self, key: str, language: str, to: str) -> list[str]:
        """The keys of a word's entries in another language; [] for a word without one."""
        row = self.words[language].index.get(key) if len(self.pairs) else None
        if row is None:
            return []
        sources, targets = self._both_ways
        row += self._starts[language]
        first, last = np.searchsorted(sources, np.array([row, row + 1], sources.dtype))
        rows = targets[first:last] - self._starts[to]
        keys = self.words[to].own_keys
        return [keys[x] for x in rows.tolist() if 0 <= x < len(keys)]

    def between(self, source: str, target: str) -> np.ndarray:
        """The pairs of two languages, int32 [P, 2]: rows of the words of each."""
        if not len(self.pairs):
            return self.pairs
        rows = self._both_ways.T - np.array([self._starts[source], self._starts[target]], np.int32)
        sizes = [len(self.words[source]), len(self.words[target])]
        return rows[((rows >= 0) & (rows < sizes)).all(1)]

    @functools.cached_property
    def _starts(self) -> dict[str, int]:
        return _first_rows(self.words)

    @functools.cached_property
    def _both_ways(self) -> np.ndarray:
        """int32 [2, 2P]: words, rising, and the entries of each."""
        both = np.concatenate([self.pairs, self.pairs[:, ::-1]]).T
        return both[:, np.lexsort((both[1], both[0]))]

    def save(self, workdir: str) -> None:
        """Writes WORKDIR/entries.npy, if there is a pair."""
        if len(self.pairs):
            with atomic.writing(os.path.join(workdir, _FILE)) as file:
                np.save(file, self.pairs)


def load(workdir: str, words: Mapping[str, Vectors]) -> DictionaryEntries:
    """The entries in a folder, which are read when they are asked for; none where it has no file.

    Args:
      words: those that the entries were saved with.

    Raises:
      ValueError: a damaged file.
    """
    path = os.path.join(workdir, _FILE)
    if not os.path.exists(path):
        return DictionaryEntries()
    return DictionaryEntries(words, np.load(path, mmap_mode="r"))


def _first_rows(words: Mapping[str, Vectors]) -> dict[str, int]:
    """The number of each language's first word, where all words are counted."""
    return dict(zip(words, itertools.accumulate(map(len, words.values()), initial=0)))
