"""Segmentation into words: at spaces and punctuation, or by longest match in other scripts."""

from __future__ import annotations

import functools
import re
from typing import Iterable, Iterator, Mapping, Sequence

from anyascii import anyascii
import numpy as np

from clwe_jax.text.words import characters
from clwe_jax.text.words.characters import ALONE, MARK, SINGLE, UNSPACED, WORD


@functools.cache
def _patterns() -> tuple[re.Pattern, re.Pattern]:
    """The patterns of a word (an unspaced run is its group 1), and of an unspaced run."""
    table = characters.class_table()
    classes = {
        name: characters.character_class(np.flatnonzero(table == value))
        for name, value in (("word", WORD), ("unspaced", UNSPACED), ("single", SINGLE))
    }
    runs = "[{word}]+|([{unspaced}]+)|[{single}]".format(**classes)
    return re.compile(runs), re.compile("[{unspaced}]+".format(**classes))


@functools.cache
def _bert_pattern() -> re.Pattern:
    """The pattern of a word of BERT's basic tokenizer."""
    # Where accents are stripped, the text has none; as parts of words here they do no harm.
    table = characters.bert_class_table()
    code_points = [np.flatnonzero(table == value) for value in (WORD, SINGLE)]
    return re.compile("[{}]+|[{}]".format(*map(characters.character_class, code_points)))


@functools.lru_cache(maxsize=1 << 16)
def latin(word: str) -> str:
    """The letters and numbers of a word in Latin letters and lower case; '' where it has none."""
    # Marks of the Latin form (Armenian t') are no letters of the word.
    return "".join(filter(str.isalnum, anyascii(word).lower()))


def is_unspaced(word: str) -> bool:
    """Whether all characters of the word belong to scripts without spaces between words."""
    return _patterns()[1].fullmatch(word) is not None


class Segmenter:
    """Cuts normalised text into words.

    A word is a maximal run of letters, marks and numbers; every other visible character is a word.
    A run in a script without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) is cut from left
    to right by longest match with the lexicon of its language. A character at which no lexicon word
    starts is a word, with two exceptions: adjacent characters of this kind in hiragana, or in
    katakana, form one word, and a combining mark joins the character before it.

    Attributes:
      raw: whether it takes raw text (`xlm.MosesSegmenter`) instead of normalised text.
      bert, lexicons: see `__init__`.
    """

    raw = False

    def __init__(self, lexicons: Mapping[str, Iterable[str]] | None = None, bert: bool = False):
        """Args:
        lexicons: language -> normalised words; only words without spaced characters are used.
        bert: whether to cut as BERT's basic tokenizer does: at spaces, and around punctuation and
          Han characters, without lexicons. The text's `Normalizer` has the same option.
        """
        self.bert = bert
        self.lexicons: dict[str, frozenset[str]] = {
            language: frozenset(word for word in words if is_unspaced(word))
            for language, words in (lexicons or {}).items()
        }
        self._lengths = {
            language: _lengths_by_first(words) for language, words in self.lexicons.items()
        }

    def words(self, text: str, language: str) -> list[str]:
        """The words of normalised text, in order; joined, they are the text without spaces."""
        if self.bert:
            return _bert_pattern().findall(text)
        result: list[str] = []
        for match in _patterns()[0].finditer(text):
            if match.group(1) is None:
                result.append(match.group())
            else:
                result.extend(self._cut(match.group(), language))
        return result

    def _cut(self, run: str, language: str) -> Iterator[str]:
        """The words of a run of unspaced characters."""
        lexicon = self.lexicons.get(language, frozenset())
        lengths = self._lengths.get(language, {})
        stretch = _stretches()
        pending, kind = "", ALONE  # unmatched characters, or a word that a mark may still join
        place = 0
        while place < len(run):
            character = run[place]
            matched = ""
            for length in lengths.get(character, ()):
                if run[place : place + length] in lexicon:
                    matched = run[place : place + length]
                    break
            if matched:
                if pending:
                    yield pending
                pending, kind = matched, ALONE
                place += len(matched)
                continue
            own = stretch.get(character, ALONE)
            if pending and (own == MARK or (own != ALONE and own == kind)):
                pending += character
            else:
                if pending:
                    yield pending
                pending = character
            kind = own
            place += 1
        if pending:
            yield pending


class Phrases:
    """Joins words that are written apart and have one entry, longest first: 'ice', 'cream'."""

    def __init__(self, entries: Iterable[str]):
        """Args:
        entries: words, and phrases whose words are separated by one space; words are ignored.
        """
        self._entries = frozenset(entry for entry in entries if " " in entry)
        self._lengths: dict[str, tuple[int, ...]] = {}
        for entry in self._entries:
            first, *others = entry.split(" ")
            lengths = {*self._lengths.get(first, ()), len(others) + 1}
            self._lengths[first] = tuple(sorted(lengths, reverse=True))

    def __call__(self, words: Sequence[str]) -> list[str]:
        """The words, with a space inside those that are joined."""
        if not self._entries:
            return list(words)
        result, place = [], 0
        while place < len(words):
            taken = 1
            for length in self._lengths.get(words[place], ()):
                if " ".join(words[place : place + length]) in self._entries:
                    taken = length
                    break
            result.append(" ".join(words[place : place + taken]))
            place += taken
        return result


def _lengths_by_first(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """First character -> lengths of the words that begin with it, longest first."""
    lengths: dict[str, set[int]] = {}
    for word in words:
        lengths.setdefault(word[0], set()).add(len(word))
    return {first: tuple(sorted(sizes, reverse=True)) for first, sizes in lengths.items()}


@functools.cache
def _stretches() -> dict[str, int]:
    table = characters.stretch_table()
    return {chr(code): int(table[code]) for code in np.flatnonzero(table)}
