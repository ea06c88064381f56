"""Collects the usable words of a file of vectors, and counts the file's faults."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Iterable, Sequence

from absl import logging
import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.words.languages import find_name

_START = 16_384  # initial rows of the array if the number of rows is unknown

# Faults of a file and their treatment.
MEANINGS = {
    "duplicates": "repeated words; the first occurrence is kept",
    "wrong_width": "too few or too many numbers; left out",
    "not_numbers": "fields that are not numbers; left out",
    "not_finite": "NaN or infinity; left out",
    "zero_vectors": "all zero, without direction; left out",
    "empty_words": "no word; left out",
    "not_utf8": "bytes that are not UTF-8; kept with U+FFFD in their place",
    "words_with_spaces": "words that contain white space; kept",
    "other_languages": "words of other languages than the one asked for; left out",
    "missing_words": "announced in the first line, but missing",
}
KEPT = ("not_utf8", "words_with_spaces")  # faults whose words are kept
CONCEPT = b"/c/"  # ConceptNet's words begin so, and with their language: /c/de/haus
_SPACES = re.compile(r"[ \t\n\r\v\f]")


@functools.cache
def _is_language(code: str, wanted: str) -> bool:
    """Whether a code of ConceptNet means the wanted language. Each of a file's words asks."""
    return bool(find_name(wanted, [code]))


class Collector:
    """Collects distinct words with usable vectors, up to a number of words.

    Attributes:
      path: path of the file, for messages.
    """

    def __init__(
        self,
        path: str,
        dim: int,
        max_vocab: int | None,
        capacity: int | None = None,
        language: str = "",
    ):
        """Args:
        path: of the file, for messages.
        dim: width of a vector.
        max_vocab: maximum number of words; None: all.
        capacity: upper limit of the file's rows; None: unknown.
        language: of the words that are taken where a word names its language (ConceptNet); '': all.
        """
        self.path = path
        self.report: dict[str, int] = {}
        self.examples: dict[str, str] = {}
        self._max_vocab = max_vocab
        self._language = language
        limits = [size for size in (max_vocab, capacity) if size is not None]
        # np.empty reserves address space; only written rows take memory.
        self._vectors = np.empty((min(limits) if capacity is not None else _START, dim), np.float32)
        self._words: dict[str, None] = {}
        self._counts: list[int] = []

    @property
    def full(self) -> bool:
        """Whether `max_vocab` words are collected."""
        return self._max_vocab is not None and len(self._words) >= self._max_vocab

    def note(self, name: str, place: int | str, text: str) -> None:
        """Counts a fault of `MEANINGS` and keeps its first place and text.

        Args:
          name: key of `MEANINGS`.
          place: line number, or number of the word in binary files.
          text: word or line.
        """
        self.report[name] = self.report.get(name, 0) + 1
        if name not in self.examples:
            text = text if len(text) <= 60 else text[:57] + "..."
            self.examples[name] = f"{self.path}:{place}: {text}"

    def add(
        self,
        words: Sequence[bytes | str],
        vectors: np.ndarray,
        places: Sequence[int] | np.ndarray,
        counts: Sequence[int] | None = None,
    ) -> None:
        """Adds rows in their order until the collector is full.

        Args:
          words: n words; bytes are UTF-8.
          vectors: float32 [n, D].
          places: n line numbers.
          counts: n numbers of occurrences; given for all rows of a file or for none.
        """
        # Of all rows only those that one product leaves in doubt are looked at one by one.
        doubtful = set(np.flatnonzero(~_plain(vectors)).tolist())
        known_words = self._words
        rows = []
        for row, word in enumerate(words):
            if self.full:
                break
            if isinstance(word, bytes):
                word = self._decode_word(word, places[row])
            if self._language:
                key = self._of_language(word)
                if key is None:
                    self.note("other_languages", places[row], word)
                    continue
                word = key
            if row in doubtful and not self._usable(word, vectors[row], places[row]):
                continue
            if word in known_words:
                self.note("duplicates", places[row], word)
                continue
            if not word:
                self.note("empty_words", places[row], "")
                continue
            if _SPACES.search(word):
                self.note("words_with_spaces", places[row], word)
            known_words[word] = None
            rows.append(row)
        end = len(known_words)
        self._grow(end)
        keeps_all = len(rows) == len(vectors)
        self._vectors[end - len(rows) : end] = vectors if keeps_all else vectors[rows]
        if counts is not None:
            self._counts += [counts[row] for row in rows]

    def _decode_word(self, word: bytes, place: int) -> str:
        try:
            return word.decode("utf-8")
        except UnicodeDecodeError:
            text = word.decode("utf-8", errors="replace")
            self.note("not_utf8", place, text)
            return text

    def _of_language(self, word: str) -> str | None:
        """A word without ConceptNet's beginning; None: it is one of another language."""
        if not word.startswith(CONCEPT.decode()):
            return word
        _, _, language, *tail = word.split("/", 3)
        # A line below stands for a space.
        return "".join(tail).replace("_", " ") if _is_language(language, self._language) else None

    def _usable(self, word: str, vector: np.ndarray, place: int) -> bool:
        if not np.isfinite(vector).all():
            self.note("not_finite", place, word)
        elif not vector.any():
            self.note("zero_vectors", place, word)
        else:
            return True  # the vector is usable; only its squares leave float32's range
        return False

    def _grow(self, size: int) -> None:
        if size > len(self._vectors):
            larger = np.empty((max(size, 2 * len(self._vectors)), self._vectors.shape[1]), "f4")
            larger[: len(self._vectors)] = self._vectors
            self._vectors = larger

    def vectors(self, expected: str) -> Vectors:
        """Returns the collected words and logs the faults with their first places.

        Args:
          expected: description of the expected format, for the error.

        Raises:
          ValueError: no word was usable.
        """
        if not self._words:
            met = "; ".join(f"{name}: {place}" for name, place in self.examples.items())
            raise ValueError(
                f"{self.path} holds no usable vector ({met or 'it is empty'}): expected {expected}"
            )
        for name, count in self.report.items():
            place = f", first at {self.examples[name]}" if name in self.examples else ""
            logging.warning(
                "%s: %s %s (%s)%s",
                self.path,
                f"{count:,}",
                name.replace("_", " "),
                MEANINGS[name],
                place,
            )
        _say_fewer(self.path, len(self._words), self._max_vocab)
        counts = np.array(self._counts, np.int64) if self._counts else None
        words = list(self._words)
        return Vectors(words, self._vectors[: len(words)], counts, self.report, self.examples)


def _plain(vectors: np.ndarray) -> np.ndarray:
    """bool [n]: whether a vector is certainly finite and not zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("nd,nd->n", vectors, vectors)
    return (squares > 0) & (squares < np.inf)


def keep_usable(path: str, vectors: Vectors, max_vocab: int | None) -> Vectors:
    """Keeps the distinct words with usable vectors; without faults no memory is copied.

    Args:
      path: path of the file, for messages.
      vectors: vectors that another reader loaded.
      max_vocab: maximum number of words; None: all.

    Raises:
      ValueError: no word is usable.
    """
    top = vectors.top(max_vocab)
    clean = len(set(top.words)) == len(top) and not any(not x or " " in x for x in top.words)
    if clean and len(top) and _plain(top.vectors).all():
        _say_fewer(path, len(top), max_vocab)
        return top
    collector = Collector(path, vectors.dim, max_vocab, len(vectors))
    counts = None if vectors.counts is None else vectors.counts.tolist()
    places = range(1, len(vectors) + 1)
    collector.add(list(vectors.words), vectors.vectors, places, counts)
    kept = collector.vectors("words and their vectors")
    if vectors.keys is None:
        return kept
    # The first usable one of equal words is kept.
    usable = np.isfinite(vectors.vectors).all(1) & vectors.vectors.any(1)
    rows = zip(reversed(vectors.words), reversed(vectors.keys), reversed(usable))
    keys = {word: key for word, key, is_usable in rows if is_usable}
    return dataclasses.replace(kept, keys=[keys[word] for word in kept.words])


def _say_fewer(path: str, words: int, wanted: int | None) -> None:
    if wanted is not None and words < wanted:
        logging.info(
            "%s holds %s words, fewer than max_vocab=%s; all are read",
            path,
            f"{words:,}",
            f"{wanted:,}",
        )


def writable(words: Iterable[str]) -> list[int]:
    """The rows of words that are not empty and contain no white space."""
    return [row for row, word in enumerate(words) if word and not _SPACES.search(word)]
