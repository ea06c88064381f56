"""Tables of character properties, for Python (`words`) and for the tf.data graph (`data`).

Each table has an entry for each of the 0x110000 Unicode code points and is read-only. They apply to
normalised text (NFKC). Python's `unicodedata` knows no scripts, so ranges of code points define the
scripts that put no spaces between words.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata

import numpy as np
import opencc

CODE_POINTS = 0x110000
CHANGING = range(0x20000)  # the code points that have another case or compose with others

# The classes of `class_table`.
SPACE = 0  # white space, controls, U+FFFD: separates words
WORD = 1  # letters, marks and numbers of scripts with spaces: a run is a word
UNSPACED = 2  # letters and marks of scripts without spaces: longest match cuts a run into words
SINGLE = 3  # punctuation, symbols and everything else: each character is a word
IGNORED = 4  # invisible characters inside words (soft hyphen, joiners): normalisation removes them
MIDDLE = 5  # apostrophes and middle dots: a part of the word between two letters, else as SINGLE

# The classes of `stretch_table`: the characters that an UNSPACED character outside lexicon words
# joins if they precede it.
ALONE = 0  # none (Han)
HIRAGANA = 1  # hiragana
KATAKANA = 2  # katakana, so that an unknown name stays whole
MARK = 3  # any character; vowel signs and tone marks
SYLLABLE = 4  # letters and signs of Tibetan script up to the tsheg, which ends a syllable

_HAN = (
    (0x2E80, 0x2FD5),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x16FE2, 0x16FE3),
    (0x16FF0, 0x16FF1),
    (0x20000, 0x2FA1F),
    (0x30000, 0x323AF),
)
_HIRAGANA = ((0x3041, 0x309F), (0x1B001, 0x1B11F), (0x1B132, 0x1B132), (0x1B150, 0x1B152))
_KATAKANA = (
    (0x30A1, 0x30FF),
    (0x31F0, 0x31FF),
    (0x1AFF0, 0x1AFFE),
    (0x1B000, 0x1B000),
    (0x1B120, 0x1B122),
    (0x1B155, 0x1B155),
    (0x1B164, 0x1B167),
)
_OTHER_UNSPACED = (
    (0x0E01, 0x0E4E),  # Thai
    (0x0E81, 0x0EDF),  # Lao
    (0x1780, 0x17DD),  # Khmer
    (0x1000, 0x109F),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),  # Myanmar
)

TSHEG = "\u0f0b"  # between the syllables of Tibetan and Dzongkha
TIBETAN = (
    (0x0F00, 0x0F00),
    (0x0F18, 0x0F19),
    (0x0F35, 0x0F35),
    (0x0F37, 0x0F37),
    (0x0F39, 0x0F39),
    (0x0F3E, 0x0F84),
    (0x0F86, 0x0FBC),
)
HEBREW = (0x05D0, 0x05EA)  # between these letters a double quote is the gershayim of an acronym

# Characters that people write for one another, and the one that stands for all of them.
_APOSTROPHES = "'`\u2018\u2019\u201b\u2032\u055a\u05f3\u07f4\u07f5"
# Apostrophes that are letters: at the edge of a word too, where the others are quotes.
LETTER_APOSTROPHE = "\u02bc"
_LETTER_APOSTROPHES = LETTER_APOSTROPHE + "\u02bb\u02bd\ua78b\ua78c"
_MIDDLE_DOTS = "\u00b7\u2027\u22c5\ua78f"
_DOUBLE_QUOTES = '"\u05f4'
_HYPHENS = "-\u2010\u2011\u058a\u05be"
_ARABIC_LETTERS = ("\u06a9\u0643", "\u06cc\u064a")  # kaf and yeh of Persian and of Arabic
# NFKC would make a space and a mark of these apostrophes: acute, tonos, koronis and psili.
SPACED_APOSTROPHES = "\u00b4\u0384\u1fbd\u1fbf"

# NFKC takes SARA AM of Thai and AM of Lao apart, and some people write it so, Lao with the tone between
# its parts: nikhahit, tones, sara aa, both in one.
SARA_AM = (
    ("\u0e4d", "\u0e48-\u0e4b", "\u0e32", "\u0e33"),
    ("\u0ecd", "\u0ec8-\u0ecb", "\u0eb2", "\u0eb3"),
)

# The Chinese characters of BERT (`_is_chinese_char` of its tokenizer).
_BERT_HAN = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)

# Variation selectors, tatweel and other marks that only choose a glyph.
_GLYPH_CHOOSERS = (
    (0x034F, 0x034F),
    (0x0640, 0x0640),
    (0x180B, 0x180F),
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
)
_ZERO_WIDTH_SPACE = 0x200B
_REPLACEMENT = 0xFFFD
_SMALL_KE_KA = (0x30F5, 0x30F6)  # counters (5ヶ月), not parts of katakana words
_SENTENCE_ENDS = ".!?…。！？｡؟۔।॥։።፧။៕‼⁇⁈⁉"


def has_letter(text: str) -> bool:
    """Whether a text has a letter of any script."""
    return any(map(str.isalpha, text))


def has_letter_or_digit(text: str) -> bool:
    """Whether a text has more than punctuation and symbols."""
    return any(map(str.isalnum, text))


def _mark_ranges(table: np.ndarray, ranges, value, where: np.ndarray | None = None) -> None:
    for first, last in ranges:
        part = table[first : last + 1]
        part[... if where is None else where[first : last + 1]] = value


def _freeze(table: np.ndarray) -> np.ndarray:
    table.setflags(write=False)
    return table


@functools.cache
def _categories() -> np.ndarray:
    """S2 [0x110000]: the general category of each code point, such as b'Lu'."""
    kinds = "".join(map(unicodedata.category, map(chr, range(CODE_POINTS))))
    return np.frombuffer(kinds.encode("ascii"), "S2")


@functools.cache
def class_table() -> np.ndarray:
    """uint8 [0x110000]: SPACE, WORD, UNSPACED, SINGLE, IGNORED or MIDDLE for each code point."""
    kinds = _categories()
    table = np.full(CODE_POINTS, SINGLE, np.uint8)
    table[np.isin(kinds, (b"Zs", b"Zl", b"Zp", b"Cc", b"Cs"))] = SPACE
    table[kinds == b"Cf"] = IGNORED
    # Against their categories, format and symbol, both separate words.
    table[[_ZERO_WIDTH_SPACE, _REPLACEMENT]] = SPACE
    letters = np.isin(kinds, (b"Lu", b"Ll", b"Lt", b"Lm", b"Lo", b"Mn", b"Mc", b"Me"))
    letters_and_numbers = letters | np.isin(kinds, (b"Nd", b"Nl", b"No"))
    table[letters_and_numbers] = WORD
    _mark_ranges(table, _GLYPH_CHOOSERS, IGNORED)
    # Han numerals are of category N; the digits of the other scripts stay WORD.
    _mark_ranges(table, _HAN, UNSPACED, letters_and_numbers)
    for ranges in (_HIRAGANA, _KATAKANA, _OTHER_UNSPACED, TIBETAN):
        _mark_ranges(table, ranges, UNSPACED, letters)
    table[ord(TSHEG)] = UNSPACED
    table[list(map(ord, _APOSTROPHES + _MIDDLE_DOTS))] = MIDDLE
    table[list(map(ord, _LETTER_APOSTROPHES))] = WORD
    return _freeze(table)


@functools.cache
def letter_table() -> np.ndarray:
    """bool [0x110000]: whether a MIDDLE character beside the character may be part of its word."""
    numbers = np.isin(_categories(), (b"Nd", b"Nl", b"No"))
    table = (class_table() == WORD) & ~numbers
    table[list(map(ord, _LETTER_APOSTROPHES))] = False
    return _freeze(table)


@functools.cache
def hebrew_table() -> np.ndarray:
    """bool [0x110000]: whether it is a letter of the Hebrew alphabet."""
    table = np.zeros(CODE_POINTS, np.bool_)
    _mark_ranges(table, (HEBREW,), True)
    return _freeze(table)


@functools.cache
def one_of_each_table() -> np.ndarray:
    """int32 [0x110000]: apostrophes become one, and so do middle dots, double quotes, hyphens, kafs and yehs."""
    table = np.arange(CODE_POINTS, dtype=np.int32)
    marks = (_APOSTROPHES, _LETTER_APOSTROPHES, _MIDDLE_DOTS, _DOUBLE_QUOTES, _HYPHENS)
    for alike in (*marks, *_ARABIC_LETTERS):
        table[list(map(ord, alike))] = ord(alike[0])
    return _freeze(table)


def alike() -> dict[str, str]:
    """The characters that `one_of_each_table` changes, and what they become."""
    table = one_of_each_table()
    changed = np.flatnonzero(table != np.arange(CODE_POINTS))
    return {chr(code): chr(table[code]) for code in changed.tolist()}


def apostrophes() -> np.ndarray:
    """The code points that `one_of_each_table` makes an apostrophe or `LETTER_APOSTROPHE`, sorted."""
    return np.array(sorted(map(ord, _APOSTROPHES + _LETTER_APOSTROPHES)))


@functools.cache
def bert_class_table(strip_accents: bool = False) -> np.ndarray:
    """uint8 [0x110000]: the classes by which BERT's basic tokenizer cuts text; none is UNSPACED.

    Punctuation and Han characters are words; symbols and marks belong to the word around them.

    Args:
      strip_accents: whether the text is in NFD and loses its nonspacing marks.
    """
    kinds = _categories()
    table = np.full(CODE_POINTS, WORD, np.uint8)
    table[np.isin(kinds, (b"Zs", b"Zl", b"Zp"))] = SPACE
    table[np.isin(kinds, (b"Pc", b"Pd", b"Ps", b"Pe", b"Pi", b"Pf", b"Po"))] = SINGLE
    # BERT takes all ASCII symbols for punctuation, such as $ and ^.
    for first, last in ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)):
        table[first : last + 1] = SINGLE
    table[np.isin(kinds, (b"Cc", b"Cf", b"Co", b"Cs"))] = IGNORED
    table[_REPLACEMENT] = IGNORED
    table[[ord(character) for character in "\t\n\r"]] = SPACE
    if strip_accents:
        table[kinds == b"Mn"] = IGNORED
    table[han_table()] = SINGLE
    return _freeze(table)


@functools.cache
def stretch_table() -> np.ndarray:
    """uint8 [0x110000]: ALONE, HIRAGANA, KATAKANA, MARK or SYLLABLE for each UNSPACED code point."""
    table = np.full(CODE_POINTS, ALONE, np.uint8)
    _mark_ranges(table, _HIRAGANA, HIRAGANA)
    _mark_ranges(table, _KATAKANA, KATAKANA)
    table[list(_SMALL_KE_KA)] = ALONE
    table[np.isin(_categories(), (b"Mn", b"Mc", b"Me"))] = MARK
    _mark_ranges(table, TIBETAN, SYLLABLE)
    table[ord(TSHEG)] = MARK  # a letter behind it begins a word
    table[class_table() != UNSPACED] = ALONE
    return _freeze(table)


@functools.cache
def lower_table() -> np.ndarray:
    """int32 [0x110000]: the simple (one-to-one) lower case of each code point.

    Unlike `str.lower` it ignores neighbouring characters (no final sigma) and keeps the length.
    """
    table = np.arange(CODE_POINTS, dtype=np.int32)
    for code in CHANGING:
        low = chr(code).lower()
        if len(low) == 1:
            table[code] = ord(low)
    table[0x0130] = ord("i")  # the full lower case of I with a dot is two code points
    return _freeze(table)


@functools.cache
def sentence_end_table() -> np.ndarray:
    """bool [0x110000]: whether the character ends a sentence."""
    table = np.zeros(CODE_POINTS, np.bool_)
    table[[ord(character) for character in _SENTENCE_ENDS]] = True
    return _freeze(table)


@functools.cache
def marked_scripts() -> str:
    """The characters of the scripts without spaces that have combining marks: Thai, Tibetan and others."""
    ranges = (range(first, last + 1) for first, last in (*_OTHER_UNSPACED, *TIBETAN))
    codes = itertools.chain.from_iterable(ranges)
    unspaced = [code for code in codes if class_table()[code] == UNSPACED]
    return "".join(map(chr, unspaced)) + TSHEG


@functools.cache
def han_table() -> np.ndarray:
    """bool [0x110000]: whether BERT's WordPiece encodes the character as a separate word."""
    table = np.zeros(CODE_POINTS, np.bool_)
    _mark_ranges(table, _BERT_HAN, True)
    return _freeze(table)


@functools.cache
def simplified_table() -> np.ndarray:
    """int32 [0x110000]: traditional to simplified Chinese, one character to one."""
    table = np.arange(CODE_POINTS, dtype=np.int32)
    han = [chr(code) for code in np.flatnonzero(han_table())]
    # One character a line, so that no phrase rule applies.
    converted = opencc.OpenCC("t2s").convert("\n".join(han)).split("\n")
    for before, after in zip(han, converted, strict=True):
        if len(after) == 1:
            table[ord(before)] = ord(after)
    return _freeze(table)


def character_class(codes: np.ndarray) -> str:
    """The content of a regular expression's [...] that matches the code points.

    Args:
      codes: distinct code points, sorted.
    """
    parts = []
    for run in np.split(codes, np.flatnonzero(np.diff(codes) != 1) + 1):
        parts.append(f"\\U{run[0]:08x}" + (f"-\\U{run[-1]:08x}" if len(run) > 1 else ""))
    return "".join(parts)
