"""Unicode normalisation: what text, dictionaries and questions to a model all go through first."""

from __future__ import annotations

import dataclasses
import functools
import unicodedata

import numpy as np

from clwe_jax.text import characters


@functools.cache
def _changes(lower_case: bool, simplify: bool) -> dict[int, int | None]:
    """The table for `str.translate`: removed, lower-cased and simplified characters."""
    codes = np.arange(characters.CODE_POINTS, dtype=np.int32)
    table = characters.lower_table() if lower_case else codes
    if simplify:
        table = characters.simplified_table()[table]
    changed = np.flatnonzero(table != codes)
    changes: dict[int, int | None] = dict(zip(changed.tolist(), table[changed].tolist()))
    ignored = np.flatnonzero(characters.class_table() == characters.IGNORED)
    return changes | dict.fromkeys(ignored.tolist())


@dataclasses.dataclass(frozen=True)
class Normalizer:
    """NFKC; invisible characters inside words removed; lower case; simplified Chinese.

    Attributes:
      lower_case: one-to-one lower-casing (`characters.lower_table`).
      simplify_chinese: traditional characters of Chinese text (language 'zh') become simplified.
    """

    lower_case: bool = True
    simplify_chinese: bool = False

    def __call__(self, text: str, language: str = "") -> str:
        """The normalised text.

        Raises:
          ModuleNotFoundError: Chinese is to be simplified and opencc is not installed.
        """
        if text.isascii():
            return text.lower() if self.lower_case else text
        simplify = self.simplify_chinese and language == "zh"
        return unicodedata.normalize("NFKC", text).translate(_changes(self.lower_case, simplify))
