"""Unicode normalisation of text, dictionaries and queries."""

from __future__ import annotations

import dataclasses
import functools
import re
import unicodedata

import numpy as np

from clwe_jax.text.words import characters, words

_SPACED = re.compile(f"[{characters.SPACED_APOSTROPHES}]")


@functools.cache
def _changes(
    lower_case: bool, simplify: bool, bert: bool, strip_accents: bool
) -> dict[int, int | str | None]:
    """The table for `str.translate` that removes, lower-cases and simplifies characters."""
    codes = np.arange(characters.CODE_POINTS, dtype=np.int32)
    table = characters.lower_table() if lower_case else codes
    if simplify:
        table = characters.simplified_table()[table]
    if not bert:
        table = characters.one_of_each_table()[table]
    changed = np.flatnonzero(table != codes)
    changes: dict[int, int | str | None] = dict(zip(changed.tolist(), table[changed].tolist()))
    if bert and lower_case and not strip_accents:
        changes[ord(DOTTED_I)] = LOWER_DOTTED_I
    classes = characters.bert_class_table(strip_accents) if bert else characters.class_table()
    ignored = np.flatnonzero(classes == characters.IGNORED)
    return changes | dict.fromkeys(ignored.tolist())


@functools.cache
def _letter_apostrophe(language: str) -> re.Pattern:
    return re.compile(words.letter_apostrophe(language))


DOTTED_I = "\u0130"  # the only character whose lower case is two characters
LOWER_DOTTED_I = "i\u0307"


@dataclasses.dataclass(frozen=True)
class Normalizer:
    """The one spelling by which words are compared, and the words that an entry is cut into.

    Text is normalised by NFKC (but keeps SARA AM in one character), loses invisible characters inside words, has one character
    of those that are written for one another (`characters.one_of_each_table`), and then follows the options. `key` makes the key of a word; what people
    write instead is in `spellings.Spellings`.

    Attributes:
      lower_case: whether to lower-case, one character to one (`characters.lower_table`).
      simplify_chinese: whether to simplify traditional characters in text of the language 'zh'.
      bert: whether to normalise as BERT's basic tokenizer does: without NFKC, and with its own list
        of invisible characters. It needs a `Segmenter` with the same option.
      strip_accents: whether to remove nonspacing marks after NFD normalisation, with `bert` only.
      moses: whether text is cut by Moses (XLM, LASER), which knows raw text alone: entries stay whole.
    """

    lower_case: bool = True
    simplify_chinese: bool = False
    bert: bool = False
    strip_accents: bool = False
    moses: bool = False

    @property
    def form(self) -> str:
        """The Unicode normalisation form: 'NFKC', 'NFD', or '' for none."""
        return "NFKC" if not self.bert else "NFD" if self.strip_accents else ""

    @property
    def classes(self) -> np.ndarray:
        """The class of each code point of normalised text, such as SPACE or WORD."""
        if self.bert:
            return characters.bert_class_table(self.strip_accents)
        return characters.class_table()

    def __call__(self, text: str, language: str = "") -> str:
        # NFKC leaves ASCII as it is, and no ASCII character is ignored.
        if text.isascii() and not self.bert and "`" not in text:
            return text.lower() if self.lower_case else text
        simplify = self.simplify_chinese and words.is_chinese(language)
        if self.form and not text.isascii():
            if not self.bert:
                text = _SPACED.sub("'", text)
            text = unicodedata.normalize(self.form, text)
            for sign, tones, vowel, am in characters.SARA_AM if not self.bert else ():
                if sign in text:
                    text = re.sub(f"{sign}([{tones}]?)[{vowel}{am}]", rf"\1{am}", text)
        text = text.translate(_changes(self.lower_case, simplify, self.bert, self.strip_accents))
        if characters.LETTER_APOSTROPHE in text and not self.bert:
            text = _letter_apostrophe(words.rules_of(language)).sub("'", text)
        return text

    def key(self, entry: str, language: str = "") -> str:
        """The key of an entry of a dictionary, a test or a file of vectors; '' without visible characters.

        It is the word of text, or the words with a space between them: an entry is cut as text is.
        """
        normal = self(entry.replace("\0", " "), language)
        if self.moses:
            return " ".join(normal.split())
        return " ".join(words.entry_words(normal, language, self.bert))
