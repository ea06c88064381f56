"""Unicode normalisation, lower-casing and simplified Chinese, as the data graph does them."""

from __future__ import annotations

import dataclasses
import functools
import unicodedata

import numpy as np

from clwe_jax.text import characters


@functools.cache
def _changes(lower_case: bool, simplify: bool) -> dict[int, int]:
    return characters.translation(code_table(lower_case, simplify))


def code_table(lower_case: bool, simplify: bool) -> np.ndarray:
    """int32 [0x110000]: what every code point becomes after NFKC."""
    table = np.arange(characters.SIZE, dtype=np.int32)
    if lower_case:
        table = characters.lower_table()[table]
    if simplify:
        table = characters.simplified_table()[table]
    # What separates words becomes a space: controls, format characters, NUL, U+FFFD.
    return np.where(characters.class_table()[table] == characters.SPACE, ord(" "), table)


@dataclasses.dataclass(frozen=True)
class Normalizer:
    """NFKC, then one table over code points.

    Attributes:
      lower_case: lower-case what has a one-character lower case.
      simplify_chinese: traditional to simplified characters, in Chinese only.
    """

    lower_case: bool = True
    simplify_chinese: bool = False

    def __call__(self, text: str, language: str = "") -> str:
        """The normalised text; what separates words is a space."""
        simplify = self.simplify_chinese and language == "zh"
        text = unicodedata.normalize("NFKC", text)
        return text.translate(_changes(self.lower_case, simplify))
