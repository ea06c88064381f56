"""Word-level vocabularies: one id for each word of all languages, most frequent words first.

Sampled softmax draws its negatives by rank, so the order of the ids is part of the method (A2).
"""

from __future__ import annotations

import os
from typing import Iterable, Mapping, Sequence

import numpy as np

from clwe_jax import atomic
from clwe_jax.text.corpus import corpora
from clwe_jax.text.vocab import base_vocab

BEGIN = "<S>"
END = "</S>"
UNKNOWN = "<UNK>"
SPECIALS = (BEGIN, END, UNKNOWN, base_vocab.PAD, base_vocab.MASK)
FILE = "words.txt"
# The names of the special pieces in word-level vocabularies.
_NAMES = {base_vocab.CLS: BEGIN, base_vocab.SEP: END, base_vocab.UNK: UNKNOWN}


class WordVocabulary(base_vocab.Vocabulary):
    """Complete words; `<S>`, `</S>` and `<UNK>` have the ids 0, 1 and 2 and are cls, sep and unk.

    A word outside the vocabulary becomes `<UNK>`; a character CNN still reads its characters.

    Attributes:
      words: word -> id, without special pieces, so that no text can name them.
      counts: float64 [len(pieces)]; weighted count of each word in the training text. The count of
        `<UNK>` is the sum over the words that had no room. Zeros where the file has no counts.
    """

    kind = "word"

    def __init__(self, pieces: Sequence[str], counts: Sequence[float] | None = None):
        """Args:
          pieces: pieces in the order of their ids; missing `[PAD]` and `[MASK]` are appended.
          counts: count of each piece; None means unknown.

        Raises:
          ValueError: the first three pieces are not `<S>`, `</S>` and `<UNK>`, or a word occurs
            twice.
        """
        if tuple(pieces[:3]) != SPECIALS[:3]:
            raise ValueError(
                f"The vocabulary begins with {', '.join(pieces[:3])}: a word vocabulary begins "
                f"with {', '.join(SPECIALS[:3])}, one word a line, the most frequent words first"
            )
        added_names = [name for name in SPECIALS if name not in pieces]
        self.words = {word: number for number, word in enumerate([*pieces, *added_names])}
        if len(self.words) < len(pieces) + len(added_names):
            twice = next(word for i, word in enumerate(pieces) if self.words[word] != i)
            raise ValueError(f"The vocabulary has {twice!r} twice")
        special = {name: self.words.pop(_NAMES.get(name, name)) for name in base_vocab.SPECIALS}
        super().__init__([*pieces, *added_names], special)
        self.counts = np.zeros(len(self.pieces))
        if counts is not None:
            self.counts[: len(pieces)] = counts

    def id(self, word: str) -> int:
        """The id of a normalised word; the id of `<UNK>` for a word outside the vocabulary."""
        return self.words.get(word, self.unk_id)

    def encode_word(self, word: str) -> list[int]:
        return self._encode(word)  # a look-up needs no cache

    def _encode(self, word: str) -> list[int]:
        return [self.id(word)]

    def save(self, directory: str) -> None:
        """Writes words.txt, `word TAB count` a line."""
        os.makedirs(directory, exist_ok=True)
        lines = (f"{word}\t{count:.12g}\n" for word, count in zip(self.pieces, self.counts))
        atomic.write(os.path.join(directory, FILE), "".join(lines))


def is_word_list(lines: Sequence[str]) -> bool:
    """Whether the lines of a file are a word vocabulary, which begins with `<S>`."""
    return bool(lines) and lines[0].partition("\t")[0] == BEGIN


def parse(lines: Iterable[str]) -> WordVocabulary:
    """The vocabulary of lines `word` (the format of ELMo's vocabularies), `word TAB count` or nothing.

    Raises:
      ValueError: a line in another format, or a word that occurs twice; the message names the line.
    """
    counts = []
    line_of = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        word, tab, count = line.partition("\t")
        try:
            counts.append(float(count) if tab else 0.0)
        except ValueError:
            raise ValueError(
                f"line {number}: expected `word` or `word TAB count`, found {line[:80]!r}"
            ) from None
        if line_of.setdefault(word, number) != number:
            raise ValueError(f"line {number}: {word[:80]!r} stands in line {line_of[word]} already")
    return WordVocabulary(list(line_of), counts)


def train(counts: Mapping[str, float], size: int) -> WordVocabulary:
    """The vocabulary of the most frequent words; words of equal count in alphabetical order.

    Args:
      counts: normalised word -> count, which may be a fraction.
      size: number of entries, special ones included; a small corpus gives fewer.

    Raises:
      ValueError: a size that leaves no room for words.
    """
    room = size - len(SPECIALS)
    if room < 1:
        raise ValueError(f"config.vocab.size={size} leaves no room for words: make it larger")
    word_counts = [(word, n) for word, n in corpora.by_count(counts) if word not in SPECIALS]
    special = [0.0] * len(SPECIALS)
    special[SPECIALS.index(UNKNOWN)] = float(sum(n for _, n in word_counts[room:]))
    entries = word_counts[:room]
    return WordVocabulary(
        [*SPECIALS, *(word for word, _ in entries)], [*special, *(n for _, n in entries)]
    )
