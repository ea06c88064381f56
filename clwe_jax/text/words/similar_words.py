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
    folded = _fold_word(word)
    same = [other for other in words if _fold_word(other) == folded and other != word]
    frequent: dict[str, str] = {}
    for other in words[:_MAX_SEARCHED]:
        frequent.setdefault(_fold_word(other), other)
    close = difflib.get_close_matches(folded, frequent, max_words, 0.7)
    near = dict.fromkeys([*same, *(frequent[x] for x in close if frequent[x] != word)])
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
