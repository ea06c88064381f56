"""Chunks of lines to texts of word numbers, with `<S>` and `</S>` around each sentence.

The number of a vocabulary word is its id. An unknown word, whose characters the model still reads,
gets the next number from the vocabulary's size on when it first occurs.
"""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np
import tensorflow as tf

from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.selection import select
from clwe_jax.text.vocab import spelling
from clwe_jax.text.vocab.word_vocab import WordVocabulary

# The counters of a chunk, in this order.
COUNTERS = ("lines", "empty_lines", "repaired_lines", "words", "unknown_words", "cut_words")
_FEW = 1 << 16  # number of unknown words from which unused ones are forgotten

# A text is a line or a document, int32 [n, 4], with a row for each word, `<S>` and `</S>`. Columns:
# number, number at this place of the reversed text, language id, 1 in the first row of a text.
WORD, MIRRORED, LANGUAGE, BEGINS = range(4)


class ChunkEncoder:
    """Encodes texts in the graph."""

    def __init__(self, texts: TextEncoder, unknown: int, at_marks: bool):
        """Args:
        texts: encoder of lines, with a word-level vocabulary and no dictionary.
        at_marks: whether sentences end at marks as well as at line breaks.
        """
        self._encode = texts.encode
        self._unknown = unknown
        self._at_marks = at_marks

    def __call__(self, texts: tf.Tensor, languages: tf.Tensor) -> dict[str, tf.Tensor]:
        """[N] string, [N] int32 language ids -> the input of `frame`.

        Returns:
          'ids' and 'language', [W] int32; 'sentence' and 'text', [W] int32, ascending; 'unknown',
          [K] string, distinct unknown words; 'which', int32, the index into 'unknown' of each
          occurrence of an unknown word; 'counters', int64, those of `COUNTERS`.
        """
        # Documents have line breaks.
        split = tf.strings.split(texts, "\n")
        lines = split.flat_values
        of_line = tf.cast(split.value_rowids(), tf.int32)
        words = self._encode(lines, tf.gather(languages, of_line))
        ids = tf.gather(words.pieces, words.start)
        is_unknown = tf.equal(ids, self._unknown)
        unknown, unknown_index = tf.unique(select(words.text, is_unknown))
        sentence = words.line
        if self._at_marks:
            earlier_ends = tf.cumsum(tf.cast(words.ends_sentence, tf.int32), exclusive=True)
            sentence = sentence + earlier_ends
        empty = tf.equal(tf.strings.length(tf.strings.strip(texts)), 0)
        count = lambda x: tf.math.count_nonzero(x)
        return {
            "ids": ids,
            "sentence": sentence,
            "text": tf.gather(of_line, words.line),
            "language": words.language,
            "unknown": unknown,
            "which": unknown_index,
            "counters": tf.stack(
                [
                    tf.size(texts, tf.int64),
                    count(empty),
                    tf.cast(words.repaired, tf.int64),
                    tf.size(ids, tf.int64),
                    count(is_unknown),
                    tf.constant(0, tf.int64),
                ]
            ),
        }


class Spellings:
    """The characters of every word number.

    Attributes:
      size: size of the vocabulary, and number of the first unknown word.
    """

    def __init__(self, vocabulary: WordVocabulary, max_characters: int):
        self.size = len(vocabulary)
        self.unknown = vocabulary.unk_id
        self._max_characters = max_characters
        self._table = spelling.spell_vocabulary(vocabulary, max_characters)
        self._is_cut = self.cut([piece.encode("utf-8") for piece in vocabulary.pieces])
        self._number: dict[bytes, int] = {}
        self._words: list[bytes] = []
        self._limit = _FEW

    def numbers(self, words: Sequence[bytes]) -> np.ndarray:
        """int32 [len(words)]: the numbers of unknown words; a new word gets the next number."""
        numbers = np.empty(len(words), np.int32)
        for place, word in enumerate(words):
            number = self._number.setdefault(word, self.size + len(self._words))
            if number == self.size + len(self._words):
                self._words.append(word)
            numbers[place] = number
        return numbers

    def characters(self, numbers: np.ndarray) -> np.ndarray:
        """int32 [N] word numbers, ascending -> uint16 [N, max_characters]."""
        in_table = int(np.searchsorted(numbers, self.size))
        words = [self._words[number - self.size] for number in numbers[in_table:].tolist()]
        spelled = spelling.spell_all(words, self._max_characters)
        return np.concatenate([self._table[numbers[:in_table]], spelled])

    def cut(self, words: Sequence[bytes]) -> np.ndarray:
        """bool [len(words)]: whether a word has more bytes than its frame holds."""
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        return sizes > self._max_characters - 2

    def count_cut(self, ids: np.ndarray, unknown: Sequence[bytes], which: np.ndarray) -> int:
        """The number of words that lose bytes; the arguments are arrays of `ChunkEncoder`."""
        return int(self._is_cut[ids].sum() + self.cut(unknown)[which].sum())

    @property
    def is_crowded(self) -> bool:
        """Whether there are so many unknown words that `keep` should drop the unused ones."""
        return len(self._words) > self._limit

    def keep(self, texts: Sequence[np.ndarray]) -> None:
        """Drops the unknown words that the texts lack, and renumbers the others, in `texts` too."""
        present = [text[text[:, WORD] >= self.size, WORD] for text in texts]
        word_numbers = np.unique(np.concatenate([*present, np.zeros(0, np.int32)]))
        renumbered = np.arange(self.size + len(self._words), dtype=np.int32)
        renumbered[word_numbers] = self.size + np.arange(len(word_numbers))
        words = [self._words[number - self.size] for number in word_numbers.tolist()]
        # Twice those in use, or a text of many unknown words would be crowded again at once.
        self.restore(words, max(_FEW, 2 * len(words)))
        for text in texts:
            text[:, WORD : MIRRORED + 1] = renumbered[text[:, WORD : MIRRORED + 1]]

    def state(self) -> tuple[list[bytes], int]:
        """The arguments of `restore`."""
        return list(self._words), self._limit

    def restore(self, words: Sequence[bytes], limit: int) -> None:
        """Replaces the unknown words by `words`, numbered in this order."""
        self._words = list(words)
        self._number = {word: self.size + place for place, word in enumerate(words)}
        self._limit = limit


def frame(
    chunk: Mapping[str, np.ndarray], spellings: Spellings, begin: int, end: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """The texts of a chunk that have words, in order, and the chunk's counters.

    Args:
      spellings: spellings, to which the unknown words are added.
      begin, end: ids of `<S>` and `</S>`.
    """
    counters = chunk["counters"].copy()
    ids = chunk["ids"]
    if not len(ids):
        return [], counters
    unknown = chunk["unknown"].tolist()
    unknown_index = chunk["which"]
    counters[COUNTERS.index("cut_words")] = spellings.count_cut(ids, unknown, unknown_index)
    if unknown:
        ids = ids.copy()
        ids[ids == spellings.unknown] = spellings.numbers(unknown)[unknown_index]
    first_words = np.flatnonzero(np.diff(chunk["sentence"], prepend=-1))
    sentence = np.zeros(len(ids), np.int32)
    sentence[first_words] = 1
    # Before a word of the k-th sentence stand k times `<S>` and k - 1 times `</S>`.
    place = np.arange(len(ids)) + 2 * np.cumsum(sentence) - 1
    words = np.full(len(ids) + 2 * len(first_words), end, np.int32)
    words[place] = ids
    words[place[first_words] - 1] = begin
    first_sentences = first_words[np.diff(chunk["text"][first_words], prepend=-1) > 0]
    bounds = np.append(place[first_sentences] - 1, len(words))
    texts = assemble(words, np.diff(bounds), chunk["language"][first_sentences])
    return texts, counters


def assemble(words: np.ndarray, sizes: np.ndarray, languages: np.ndarray) -> list[np.ndarray]:
    """Texts from their concatenated word numbers, sizes and language ids."""
    ends = np.cumsum(sizes)
    starts = ends - sizes
    table = np.empty((len(words), 4), np.int32)
    table[:, WORD] = words
    # Row i is mirrored at row start + end - 1 - i.
    table[:, MIRRORED] = words[np.repeat(starts + ends - 1, sizes) - np.arange(len(words))]
    table[:, LANGUAGE] = np.repeat(languages, sizes)
    table[:, BEGINS] = 0
    table[starts[sizes > 0], BEGINS] = 1
    return [table[first:last] for first, last in zip(starts.tolist(), ends.tolist())]
