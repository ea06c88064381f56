"""Sentences as rows of tables of vectors, which may be larger than the memory (mapped files)."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

import numpy as np

_ROWS = 65_536  # rows that are in memory at once

# Makes a float32 array of a shape, filled with 0: in memory, or in a file that is mapped.
Allocate = Callable[[tuple[int, int]], np.ndarray]


def in_memory(shape: tuple[int, int]) -> np.ndarray:
    """An `Allocate` of arrays in memory."""
    return np.zeros(shape, np.float32)


class TableSentences(NamedTuple):
    """Sentences as rows of a table of vectors, of words or of pieces of words.

    Attributes:
      vectors: float32 [M + 1, D], in the order of the sentences; row 0 is padding.
      rows: rows of the words of each sentence, int32 [N, W]; 0 after the last word.
    """

    vectors: np.ndarray
    rows: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of words of each sentence, int [N]."""
        return (self.rows > 0).sum(1)

    @property
    def words(self) -> np.ndarray:
        """The vectors of all words, float32 [M, D]."""
        return self.vectors[1:]

    def of(self, place: int) -> np.ndarray:
        """The vectors of one sentence's words, float32 [words, D]."""
        rows = self.rows[place]
        return self.vectors[rows[rows > 0]]

    def means(self) -> np.ndarray:
        """The mean vector of each sentence, float32 [N, D]; 0 without words."""
        means = np.zeros((len(self.rows), self.vectors.shape[1]), np.float32)
        block = max(1, _ROWS // self.rows.shape[1])
        for start in range(0, len(means), block):
            rows = self.rows[start : start + block]
            # Row 0 is zeros, so that padding adds nothing.
            means[start : start + block] = self.vectors[rows].sum(1)
        means /= np.maximum(self.lengths, 1)[:, None]  # a quotient of both would be float64
        return means


class WordPieces(NamedTuple):
    """The pieces of the words of sentences.

    Attributes:
      table: the sentences as rows of a table of pieces.
      counts: number of pieces of each word, at least 1, in the order of the words, int32 [M].
      rows: rows of the words of each sentence in a table of words, int32 [N, W].
    """

    table: TableSentences
    counts: np.ndarray
    rows: np.ndarray

    def words(
        self,
        apply: Callable[[np.ndarray], np.ndarray] = np.asarray,
        width: int = 0,
        allocate: Allocate = in_memory,
    ) -> TableSentences:
        """The sentences as words: a word is the mean of its mapped pieces.

        Args:
          apply: a map of pieces, [n, D] -> [n, width].
          width: dimensions of the result; 0: those of the pieces.
          allocate: makes the table.
        """
        vectors = allocate((len(self.counts) + 1, width or self.table.vectors.shape[1]))
        ends = np.cumsum([0, *self.counts])
        for start in range(0, len(self.counts), _ROWS):
            counts = self.counts[start : start + _ROWS]
            first_piece = ends[start]
            pieces = apply(self.table.words[first_piece : ends[start + len(counts)]])
            # A word without pieces would get the next word's first piece from reduceat.
            sums = np.add.reduceat(pieces, ends[start : start + len(counts)] - first_piece, axis=0)
            vectors[start + 1 : start + 1 + len(counts)] = sums / counts[:, None]
        return TableSentences(vectors, self.rows)


def number_rows(lengths: Sequence[int]) -> np.ndarray:
    """The `rows` of sentences of these lengths."""
    lengths = np.asarray(lengths, np.int32)
    ends = np.cumsum([1, *lengths])
    places = np.arange(max(1, lengths.max(initial=0)), dtype=np.int32)
    rows = ends[:-1, None] + places
    return np.where(places < lengths[:, None], rows, 0).astype(np.int32)


def sentences(vectors: Sequence[np.ndarray]) -> TableSentences:
    """Sentences of word vectors, float32 [words, D] each, as a table.

    Raises:
      ValueError: no sentence.
    """
    if not vectors:
        raise ValueError("attention matching needs at least one pair of sentences")
    blank = np.zeros((1, vectors[0].shape[1]), np.float32)
    rows = number_rows([len(x) for x in vectors])
    return TableSentences(np.concatenate([blank, *vectors]).astype(np.float32), rows)


def whole_words(vectors: Sequence[np.ndarray]) -> WordPieces:
    """Sentences whose words are one piece each."""
    table = sentences(vectors)
    return WordPieces(table, np.ones(len(table.words), np.int32), table.rows)
