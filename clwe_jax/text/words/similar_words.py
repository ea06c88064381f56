"""Words that are spelled like another word, for messages about a word that is not known."""

from __future__ import annotations

import difflib
from typing import Sequence
import unicodedata

_MAX_SEARCHED = 20_000  # frequent words that are searched for a similar spelling


def near_words(word: str, words: Sequence[str], max_words: int = 3) -> list[str]:
    """The words that are spelled most like a word, the same letters without accents first.

    Args:
      words: the candidates, most frequent first.
    """
    key = _fold_word(word)
    variants = [entry for entry in words if _fold_word(entry) == key and entry != word]
    frequent: dict[str, str] = {}
    for entry in words[:_MAX_SEARCHED]:
        frequent.setdefault(_fold_word(entry), entry)
    close = difflib.get_close_matches(key, frequent, max_words, 0.7)
    near = dict.fromkeys([*variants, *(frequent[x] for x in close if frequent[x] != word)])
    return list(near)[:max_words]


def did_you_mean(words: Sequence[str]) -> str:
    """' Did you mean X, Y?', the end of a message; '' without words."""
    return f" Did you mean {', '.join(map(repr, words))}?" if words else ""


def _fold_word(word: str) -> str:
    """A word in lower case without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(x for x in parts if not unicodedata.combining(x))
