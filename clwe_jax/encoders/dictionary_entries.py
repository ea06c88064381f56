"""What a dictionary says of the words of static vectors: entries, which go before neighbours, and rejected pairs.

The vector of a phrase is near to those of its words, so that "water closet" may come before "water". What
the dictionary says of a word is known and need not be found again. A pair that a person has rejected is
never an answer.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Iterable, Mapping

import numpy as np

from clwe_jax import atomic
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.dictionary.merged import Dictionary

_FILE = "entries.npy"
_REJECTED = "rejected.npy"


@dataclasses.dataclass(frozen=True, eq=False)
class WordPairs:
    """Pairs of words that both have vectors; by default none.

    Attributes:
      words: language -> its words.
      pairs: int32 [P, 2], each pair once; rows that count through the words of all languages.
    """

    words: Mapping[str, Vectors] = dataclasses.field(default_factory=dict)
    pairs: np.ndarray = dataclasses.field(default_factory=lambda: np.empty((0, 2), np.int32))

    def add(
        self,
        more: Iterable[np.ndarray],
        words: Mapping[str, Vectors],
        moved: Mapping[str, np.ndarray],
    ) -> WordPairs:
        """These pairs and others.

        Args:
          more: of rows that count through `words`, int [P, 2] each; -1: a word without a vector.
          words: language -> its words, the first of which are those here, where it is not in `moved`.
          moved: language -> the row among `words` of each of its words here.
        """
        starts = _first_rows(words)
        rows = [
            starts[x] + moved.get(x, np.arange(len(vectors))) for x, vectors in self.words.items()
        ]
        own = np.concatenate([np.empty(0, np.int64), *rows])[self.pairs]
        pairs = np.concatenate([own, *(rows[(rows >= 0).all(1)] for rows in more)])
        # One number a pair, for either of its directions.
        count = max(1, sum(map(len, words.values())))
        numbers = np.unique(pairs.min(1) * count + pairs.max(1))
        return WordPairs(words, np.stack(np.divmod(numbers, count), 1).astype(np.int32))

    def of(self, key: str, language: str, to: str) -> list[str]:
        """The keys of the words that a word is paired with in another language; [] without one."""
        row = self.words[language].index.get(key) if len(self.pairs) else None
        if row is None:
            return []
        sources, targets = self._both_ways
        row += self._starts[language]
        first, last = np.searchsorted(sources, np.array([row, row + 1], sources.dtype))
        rows = targets[first:last] - self._starts[to]
        keys = self.words[to].own_keys
        return [keys[x] for x in rows.tolist() if 0 <= x < len(keys)]

    def pairs_between(self, source: str, target: str) -> np.ndarray:
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
        """int32 [2, 2P]: words, rising, and those that each is paired with."""
        directed = np.concatenate([self.pairs, self.pairs[:, ::-1]]).T
        return directed[:, np.lexsort((directed[1], directed[0]))]

    def save(self, path: str) -> None:
        """Writes a file, if there is a pair."""
        if len(self.pairs):
            with atomic.writing(path) as file:
                np.save(file, self.pairs)
        elif os.path.exists(path):
            os.remove(path)

    @classmethod
    def load(cls, path: str, words: Mapping[str, Vectors]) -> WordPairs:
        """The pairs in a file, read when they are asked for; none where there is no file.

        Raises:
          ValueError: a damaged file.
        """
        return cls(words, np.load(path, mmap_mode="r")) if os.path.exists(path) else cls()


@dataclasses.dataclass(frozen=True, eq=False)
class DictionaryEntries:
    """What a dictionary says of pairs of words that have vectors; by default nothing.

    Attributes:
      accepted: its entries.
      rejected: the pairs that a person has rejected.
    """

    accepted: WordPairs = WordPairs()
    rejected: WordPairs = WordPairs()

    def with_words(
        self, words: Mapping[str, Vectors], moved: Mapping[str, np.ndarray]
    ) -> DictionaryEntries:
        """These pairs, with rows that count through other `words`; arguments as of `WordPairs.add`."""
        return DictionaryEntries(
            self.accepted.add([], words, moved), self.rejected.add([], words, moved)
        )

    def with_dictionary(
        self, dictionary: Dictionary | None, words: Mapping[str, Vectors]
    ) -> DictionaryEntries:
        """These pairs and those of a dictionary.

        Args:
          dictionary: None: no further pairs.
          words: language -> its words, the first of which are those here.
        """
        if dictionary is None:
            return self.with_words(words, {})
        starts = _first_rows(words)
        rows = np.full(len(dictionary), -1, np.int64)
        splits = itertools.pairwise(dictionary.language_splits.tolist())
        for language, (first, last) in zip(dictionary.languages, splits):
            if language in words:
                language_rows = words[language].rows(dictionary.language_words(language))
                rows[first:last] = np.where(language_rows < 0, -1, language_rows + starts[language])

        def row_of(language: str, word: str) -> int:
            row = words[language].index.get(word, -1) if language in words else -1
            return -1 if row < 0 else row + starts[language]

        rejected = [(row_of(x, a), row_of(y, b)) for x, a, y, b in dictionary.rejected]
        return DictionaryEntries(
            self.accepted.add(
                [np.stack([rows[edge] for edge in dictionary.edges()], 1)], words, {}
            ),
            self.rejected.add([np.array(rejected, np.int64).reshape(-1, 2)], words, {}),
        )

    def of(self, key: str, language: str, to: str) -> tuple[list[str], list[str]]:
        """The keys of a word's entries in another language, and of words that are rejected for it."""
        return self.accepted.of(key, language, to), self.rejected.of(key, language, to)

    def save(self, workdir: str) -> None:
        """Writes WORKDIR/entries.npy and rejected.npy, each if it has a pair."""
        self.accepted.save(os.path.join(workdir, _FILE))
        self.rejected.save(os.path.join(workdir, _REJECTED))


def load(workdir: str, words: Mapping[str, Vectors]) -> DictionaryEntries:
    """The pairs in a folder; none where it has no file.

    Args:
      words: those that the pairs were saved with.

    Raises:
      ValueError: a damaged file.
    """
    paths = (os.path.join(workdir, name) for name in (_FILE, _REJECTED))
    return DictionaryEntries(*(WordPairs.load(path, words) for path in paths))


def _first_rows(words: Mapping[str, Vectors]) -> dict[str, int]:
    """The number of each language's first word, where all words are counted."""
    return dict(zip(words, itertools.accumulate(map(len, words.values()), initial=0)))
