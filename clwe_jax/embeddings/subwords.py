"""Character n-grams of words: those of a vocabulary as a sparse matrix, and the vectors they get."""

from __future__ import annotations

import dataclasses
import functools
from typing import Sequence
import zipfile

import numpy as np
from scipy import sparse

from clwe_jax import atomic


def cut(word: str, min_n: int, max_n: int) -> list[str]:
    """fastText's n-grams of a word, which it marks by < and > at its ends; none are longer than `max_n`."""
    marked = f"<{word}>"
    return [
        marked[start : start + size]
        for size in range(min_n, max_n + 1)
        for start in range(len(marked) - size + 1)
        # A mark alone says nothing.
        if size > 1 or 0 < start < len(marked) - 1
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class GramTable:
    """The words of a vocabulary as sums of rows of one table: of the words' own and their n-grams'.

    What occurs in the same words gets the same gradients, so k such n-grams (and the word itself, where they
    are in no other) have one row r in the place of k: their sum s is sqrt(k) r, and a gradient g moves r by sqrt(k) g, as it
    would move s by k g. Of the n-grams of 17,000 words, four in ten remain.

    Attributes:
      names: the n-grams, in the order of the vocabulary's words.
      rows: row of each n-gram, int32 [names].
      sizes: k of each row, int64 [R].
      sums: float32 [V, R], weights sqrt(k), times the number of occurrences in the word.
      counts: n-grams of each word, float32 [V].
    """

    names: Sequence[str]
    rows: np.ndarray
    sizes: np.ndarray
    sums: sparse.csr_matrix
    counts: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str], min_n: int, max_n: int) -> GramTable:
        """The table of a vocabulary.

        Args:
          words: words, most frequent first.
          min_n, max_n: see `cut`.
        """
        size = len(words)
        numbers: dict[str, int] = {}
        columns: list[int] = []
        splits = [0]
        for number, word in enumerate(words):
            columns.append(number)
            columns += [
                size + numbers.setdefault(gram, len(numbers)) for gram in cut(word, min_n, max_n)
            ]
            splits.append(len(columns))
        occurrences = (np.ones(len(columns), np.float32), columns, splits)
        shape = (size, size + len(numbers))
        whole = sparse.csr_matrix(occurrences, shape).tocsc()
        whole.sum_duplicates()
        # Random numbers of 64 bits, whose sums are equal for the same words alone.
        draws = np.random.default_rng(0).integers(1 << 63, size=size, dtype=np.uint64)
        marks = draws[whole.indices] * whole.data.astype(np.uint64)
        keys = np.add.reduceat(marks, whole.indptr[:-1])
        _, first, group, sizes = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        # Rows of frequent words stand together, which the processor's caches reward.
        order = np.lexsort((first, whole.indices[whole.indptr[first]]))
        place = np.empty(len(order), np.int32)
        place[order] = np.arange(len(order))
        sizes = sizes[order]
        sums = whole[:, first[order]].tocsr()
        sums.data *= np.sqrt(sizes).astype(np.float32)[sums.indices]
        counts = np.diff(splits).astype(np.float32) - 1
        return cls(list(numbers), place[group][size:], sizes, sums, counts)

    def vectors(self, table: np.ndarray) -> np.ndarray:
        """The means of each word's own and its n-grams' vectors, float32 [V, D].

        Args:
          table: float32 [R, D].
        """
        return (self.sums @ table) / (self.counts + 1)[:, None]

    def subwords(self, table: np.ndarray, min_n: int, max_n: int) -> Subwords:
        """The vectors of the n-grams; arguments as of `of` and `vectors`."""
        used, rows = np.unique(self.rows, return_inverse=True)
        scales = np.sqrt(self.sizes[used]).astype(np.float32)
        return Subwords(
            self.names, rows.astype(np.int32), table[used] / scales[:, None], min_n, max_n
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Subwords:
    """Vectors of character n-grams (Bojanowski et al. 2017), each with its name.

    Attributes:
      names: the n-grams.
      rows: row of each in `vectors`, int32 [names].
      vectors: float32 [R, D].
      min_n, max_n: shortest and longest n-gram, in characters.
    """

    names: Sequence[str]
    rows: np.ndarray
    vectors: np.ndarray
    min_n: int
    max_n: int

    @functools.cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(self.names, self.rows.tolist()))

    def vector(self, text: str, begins: bool = True, ends: bool = True) -> np.ndarray:
        """The mean vector of a string's known n-grams, float32 [D]; zeros where it has none.

        Args:
          text: a word or a part of one.
          begins, ends: whether a word begins and ends with the string; only then it has n-grams
            with fastText's mark of the place.
        """
        rows = [
            self._index[gram]
            for gram in cut(text, self.min_n, self.max_n)
            if gram in self._index
            and (begins or not gram.startswith("<"))
            and (ends or not gram.endswith(">"))
        ]
        if not rows:
            return np.zeros(self.vectors.shape[1], np.float32)
        return self.vectors[rows].mean(0)

    def save(self, path: str) -> None:
        """Writes an .npz file.

        Raises:
          OSError: the file cannot be written.
        """
        blob = "\0".join(self.names).encode("utf-8", errors="replace")
        with atomic.writing(path) as file:
            np.savez(
                file,
                names=np.frombuffer(blob, np.uint8),
                rows=self.rows,
                vectors=self.vectors,
                lengths=np.array([self.min_n, self.max_n]),
            )

    @classmethod
    def load(cls, path: str) -> Subwords:
        """Reads a file that `save` wrote.

        Raises:
          FileNotFoundError: the file does not exist.
          ValueError: the file is damaged.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                names = stored["names"].tobytes().decode("utf-8").split("\0")
                lengths = map(int, stored["lengths"])
                return cls(names, stored["rows"], stored["vectors"], *lengths)
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is damaged: {error}") from error
