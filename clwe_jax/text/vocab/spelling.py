"""Words as character ids for a character CNN: bytes of UTF-8 in frames of fixed length.

The 261 ids are those of ELMo's bilm-tf (UnicodeCharsVocabulary): 0 to 255 are bytes, 256 and 257
begin and end a sentence, 258 and 259 begin and end a word, and 260 is padding. A word is
`[258, bytes, 259, 260, 260, ...]`.
"""

from __future__ import annotations

import functools
from typing import Sequence

import numpy as np

from clwe_jax.text.vocab.word_vocab import WordVocabulary

BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PAD = range(256, 261)
MAX_CHARACTERS = 50
_AT_ONCE = 1 << 16  # words that are spelt together


def spell_all(words: Sequence[bytes], max_chars: int = MAX_CHARACTERS) -> np.ndarray:
    """uint16 [len(words), max_chars]: the character ids of words in UTF-8; bytes without room are cut.

    Raises:
      ValueError: the frame has fewer than 3 characters.
    """
    if max_chars < 3:
        raise ValueError(
            f"max_chars={max_chars}: must be at least 3, for a word's begin, one byte and its end"
        )
    room = max_chars - 2
    cut_words = [word[:room] for word in words]
    sizes = np.fromiter(map(len, cut_words), np.int64, len(cut_words))
    table = np.full((len(cut_words), max_chars), PAD, np.uint16)
    if not len(cut_words):
        return table
    row = np.repeat(np.arange(len(cut_words)), sizes)
    column = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table[:, 0] = BEGIN_WORD
    table[row, column + 1] = np.frombuffer(b"".join(cut_words), np.uint8)
    table[np.arange(len(cut_words)), sizes + 1] = END_WORD
    return table


@functools.lru_cache(maxsize=2)  # the stream and every evaluator of a run read the same table
def spell_vocabulary(vocabulary: WordVocabulary, max_chars: int = MAX_CHARACTERS) -> np.ndarray:
    """uint16 [len(vocabulary), max_chars]: the character ids of each entry; read-only.

    `<S>` and `</S>` are one character each (ids 256 and 257); `[PAD]` is padding only.
    """
    table = np.empty((len(vocabulary), max_chars), np.uint16)
    for first in range(0, len(vocabulary), _AT_ONCE):
        part = [word.encode("utf-8") for word in vocabulary.pieces[first : first + _AT_ONCE]]
        table[first : first + _AT_ONCE] = spell_all(part, max_chars)
    for number, character in (
        (vocabulary.cls_id, BEGIN_SENTENCE),
        (vocabulary.sep_id, END_SENTENCE),
    ):
        table[number, 1:3] = character, END_WORD
        table[number, 3:] = PAD
    table[vocabulary.pad_id] = PAD
    table.setflags(write=False)
    return table
