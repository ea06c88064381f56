"""Text to words: the Python twin of the segmentation in the data graph."""

from __future__ import annotations

import functools
import re
from typing import Iterable, Mapping

from clwe_jax.text import characters


@functools.cache
def _pattern() -> re.Pattern[str]:
    table = characters.class_table()
    word = characters.charset(table == characters.WORD)
    unspaced = characters.charset(table == characters.UNSPACED)
    single = characters.charset(table == characters.SINGLE)
    return re.compile(f"([{word}]+)|([{unspaced}]+)|[{single}]")


class Segmenter:
    """Splits normalised text into words.

    A word is a maximal run of letters, marks and digits; every punctuation mark or symbol is a word
    of its own. A run of a script without spaces is split by longest match, from left to right,
    against the lexicon of the text's language; a character that starts no lexicon word stands
    alone.

    Args:
      lexicons: for a language, its words; those with a character of another class are left out, as
        they match nowhere.
    """

    def __init__(self, lexicons: Mapping[str, Iterable[str]] | None = None):
        table = characters.class_table()
        self.lexicons: dict[str, frozenset[str]] = {}
        self._longest: dict[str, int] = {}
        for language, words in (lexicons or {}).items():
            kept = frozenset(
                word
                for word in words
                if len(word) > 1 and all(table[ord(c)] == characters.UNSPACED for c in word)
            )
            if kept:
                self.lexicons[language] = kept
                self._longest[language] = max(map(len, kept))

    def words(self, text: str, language: str) -> list[str]:
        """The words of a normalised text."""
        lexicon = self.lexicons.get(language)
        found = []
        for match in _pattern().finditer(text):
            if match.lastindex == 2:
                run = match.group()
                found += self._longest_match(run, language) if lexicon else run
            else:
                found.append(match.group())
        return found

    def _longest_match(self, run: str, language: str) -> list[str]:
        lexicon, longest = self.lexicons[language], self._longest[language]
        pieces, start = [], 0
        while start < len(run):
            end = min(len(run), start + longest)
            while end > start + 1 and run[start:end] not in lexicon:
                end -= 1
            pieces.append(run[start:end])
            start = end
        return pieces


def ends_sentence(word: str) -> bool:
    """Whether a word (as `Segmenter.words` gives it) ends a sentence."""
    return len(word) == 1 and bool(characters.sentence_end_table()[ord(word)])
