"""Unicode normalisation of text, dictionaries and queries."""

from __future__ import annotations

import dataclasses
import functools
import unicodedata

import numpy as np

from clwe_jax.text import characters


@functools.cache
def _changes(lower_case: bool, simplify: bool) -> dict[int, int | None]:
    """The table for `str.translate` that removes, lower-cases and simplifies characters."""
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
    """NFKC normalisation, then removal of invisible characters inside words, then the options.

    Attributes:
      lower_case: whether to lower-case, one character to one (`characters.lower_table`).
      simplify_chinese: whether to simplify traditional characters in text of the language 'zh'.
    """

    lower_case: bool = True
    simplify_chinese: bool = False

    def __call__(self, text: str, language: str = "") -> str:
        """The normalised text.

        Raises:
          ModuleNotFoundError: simplification needs opencc, which is not installed.
        """
        if text.isascii():
            return text.lower() if self.lower_case else text
        simplify = self.simplify_chinese and language == "zh"
        return unicodedata.normalize("NFKC", text).translate(_changes(self.lower_case, simplify))
