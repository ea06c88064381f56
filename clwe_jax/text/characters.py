"""Tables over all code points, from which Python and the data graph both normalise and segment.

The two sides agree because they read the same tables: neither asks its own Unicode library what a
letter is.
"""

from __future__ import annotations

import functools
import sys
import unicodedata

import numpy as np

SIZE = sys.maxunicode + 1

# Classes of `class_table`.
SPACE = 0  # separates words; controls, format characters and U+FFFD too
WORD = 1  # letters, marks and numbers of scripts that separate words by spaces
UNSPACED = 2  # letters and marks of scripts that do not
SINGLE = 3  # punctuation and symbols: each character is a word

# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Hiragana and Katakana, Han.
_UNSPACED_RANGES = (
    (0x0E00, 0x0E7F),
    (0x0E80, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x303B, 0x303B),
    (0x3041, 0x3096),
    (0x3099, 0x309F),
    (0x30A1, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x2FA1F),
    (0x30000, 0x323AF),
)
_SENTENCE_ENDS = ".!?…。！？｡։؟۔।॥።၊။៕‼⁇⁈⁉"


@functools.cache
def class_table() -> np.ndarray:
    """uint8 [0x110000]: SPACE, WORD, UNSPACED or SINGLE for every code point."""
    table = np.full(SIZE, SPACE, np.uint8)
    for code in range(SIZE):
        category = unicodedata.category(chr(code))
        if category[0] in "LMN":
            table[code] = WORD
        elif category[0] in "PS":
            table[code] = SINGLE
    for first, last in _UNSPACED_RANGES:
        part = table[first : last + 1]
        part[part == WORD] = UNSPACED
    table[0xFFFD] = SPACE  # stands for bytes that were no UTF-8
    table.setflags(write=False)
    return table


@functools.cache
def lower_table() -> np.ndarray:
    """int32 [0x110000]: the lower case of every code point, where that is one code point."""
    table = np.arange(SIZE, dtype=np.int32)
    for code in range(SIZE):
        lower = chr(code).lower()
        if len(lower) == 1:
            table[code] = ord(lower)
    table.setflags(write=False)
    return table


@functools.cache
def sentence_end_table() -> np.ndarray:
    """bool [0x110000]: the characters that end a sentence."""
    table = np.zeros(SIZE, bool)
    table[[ord(character) for character in _SENTENCE_ENDS]] = True
    table.setflags(write=False)
    return table


@functools.cache
def simplified_table() -> np.ndarray:
    """int32 [0x110000]: traditional to simplified Chinese, one character to one character.

    Raises:
      ModuleNotFoundError: the package opencc is not installed.
    """
    try:
        import opencc
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "config.data.simplify_chinese needs OpenCC: pip install 'clwe_jax[zh]'"
        ) from error
    convert = opencc.OpenCC("t2s").convert
    table = np.arange(SIZE, dtype=np.int32)
    for first, last in ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF)):
        for code in range(first, last + 1):
            simple = convert(chr(code))
            if len(simple) == 1:
                table[code] = ord(simple)
    table.setflags(write=False)
    return table


def translation(table: np.ndarray) -> dict[int, int]:
    """The changes that a code point table makes, for `str.translate`."""
    changed = np.flatnonzero(table != np.arange(SIZE, dtype=table.dtype))
    return dict(zip(changed.tolist(), table[changed].tolist()))


def charset(mask: np.ndarray) -> str:
    """The inside of a regular expression's [...] for the code points where `mask` is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    parts = []
    for first, after in edges.reshape(-1, 2):
        parts.append(f"\\U{first:08x}-\\U{after - 1:08x}")
    return "".join(parts)
