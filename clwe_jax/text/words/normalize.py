"""Unicode normalisation of text, dictionaries and queries."""

from __future__ import annotations

import dataclasses
import functools
import unicodedata

import numpy as np

from clwe_jax.text.words import characters


@functools.cache
def _changes(
    lower_case: bool, simplify: bool, bert: bool, strip_accents: bool
) -> dict[int, int | str | None]:
    """The table for `str.translate` that removes, lower-cases and simplifies characters."""
    codes = np.arange(characters.CODE_POINTS, dtype=np.int32)
    table = characters.lower_table() if lower_case else codes
    if simplify:
        table = characters.simplified_table()[table]
    changed = np.flatnonzero(table != codes)
    changes: dict[int, int | str | None] = dict(zip(changed.tolist(), table[changed].tolist()))
    if bert and lower_case and not strip_accents:
        changes[ord(DOTTED_I)] = LOWER_DOTTED_I
    classes = characters.bert_class_table(strip_accents) if bert else characters.class_table()
    ignored = np.flatnonzero(classes == characters.IGNORED)
    return changes | dict.fromkeys(ignored.tolist())


DOTTED_I = "\u0130"  # the only character whose lower case is two characters
LOWER_DOTTED_I = "i\u0307"


@dataclasses.dataclass(frozen=True)
class Normalizer:
    """NFKC normalisation, then removal of invisible characters inside words, then the options.

    Attributes:
      lower_case: whether to lower-case, one character to one (`characters.lower_table`).
      simplify_chinese: whether to simplify traditional characters in text of the language 'zh'.
      bert: whether to normalise as BERT's basic tokenizer does: without NFKC, and with its own list
        of invisible characters. It needs a `Segmenter` with the same option.
      strip_accents: whether to remove nonspacing marks after NFD normalisation, with `bert` only.
    """

    lower_case: bool = True
    simplify_chinese: bool = False
    bert: bool = False
    strip_accents: bool = False

    @property
    def form(self) -> str:
        """The Unicode normalisation form: 'NFKC', 'NFD', or '' for none."""
        return "NFKC" if not self.bert else "NFD" if self.strip_accents else ""

    @property
    def classes(self) -> np.ndarray:
        """The class of each code point of normalised text; see `characters.class_table`."""
        if self.bert:
            return characters.bert_class_table(self.strip_accents)
        return characters.class_table()

    def __call__(self, text: str, language: str = "") -> str:
        # NFKC leaves ASCII as it is, and no ASCII character is ignored.
        if text.isascii() and not self.bert:
            return text.lower() if self.lower_case else text
        simplify = self.simplify_chinese and language == "zh"
        if self.form and not text.isascii():
            text = unicodedata.normalize(self.form, text)
        return text.translate(_changes(self.lower_case, simplify, self.bert, self.strip_accents))
