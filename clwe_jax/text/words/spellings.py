"""The way back from a word's key to what people write: the most frequent spelling of each key.

Text and entries are compared by keys (`normalize.Normalizer`), which nobody writes: without the joiners
of Persian, with another SARA AM than Thai's, with one apostrophe of four. A `Tally` counts how each key
was written; its result shows a word as its language does.
"""

from __future__ import annotations

import collections
import functools
import os
import re
from typing import Iterable, Mapping, Sequence
import unicodedata

import numpy as np

from clwe_jax import atomic
from clwe_jax.text.words import characters
from clwe_jax.text.words.characters import TSHEG
from clwe_jax.text.words.languages import code_of
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import is_chinese

# Language -> key -> spelling, of the keys that are written otherwise.
Spellings = Mapping[str, Mapping[str, str]]
FILE = "spellings.json"
# Of Persian and Indic scripts; other invisible characters are no part of a spelling.
_JOINERS = "\u200c\u200d"
_MANY_CHARACTERS = 64  # a longer piece of text is seldom met again


class Tally:
    """Counts how the keys of words are written.

    Case and Chinese characters follow the options of the run, as those of the keys do.
    """

    def __init__(self, normalizer: Normalizer):
        self._normalizer = normalizer
        self._counts: dict[str, collections.Counter[tuple[str, str]]] = {}
        self._known: dict[tuple[str, str], list[tuple[str, str]]] = {}

    def add(self, raw: str, words: Sequence[str], language: str, count: int = 1) -> None:
        """Counts a piece of text or an entry.

        Args:
          raw: as it is written.
          words: the words that it was cut into, or the key of an entry.
          count: how often it occurs.
        """
        if not self.is_odd(raw, words, language):
            return
        pairs = self._known.get((language, raw))
        if pairs is None:
            spelled = written_words(raw, words, self._normalizer, language)
            pairs = [(key, spelling) for key, spelling in zip(words, spelled) if spelling != key]
            if len(raw) < _MANY_CHARACTERS:
                self._known[language, raw] = pairs
        if pairs:
            counts = self._counts.setdefault(language, collections.Counter())
            for pair in pairs:
                counts[pair] += count

    def is_odd(self, raw: str, words: Sequence[str], language: str) -> bool:
        """Whether a piece of text is written otherwise than the words that it was cut into."""
        if raw.isascii() and "`" not in raw:
            return False
        return as_written(raw, self._normalizer, language) != "".join(words)

    def add_entries(
        self, entries: Mapping[str, str], all_entries: Iterable[str], language: str
    ) -> None:
        """Counts entries of a dictionary, which have one key each.

        Args:
          entries: entry -> its key, of those that differ in more than their case.
          all_entries: the entries as often as they occur.
        """
        entry_counts = collections.Counter(entry for entry in all_entries if entry in entries)
        for entry, count in entry_counts.items():
            key = entries[entry]
            [spelling] = written_words(entry, [key], self._normalizer, language)
            if spelling != key:
                self._counts.setdefault(language, collections.Counter())[key, spelling] += count

    def spellings(self, totals: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, str]]:
        """The most frequent spelling of each key that is mostly written otherwise.

        Args:
          totals: language -> key -> its occurrences in all that was added.
        """
        result: dict[str, dict[str, str]] = {}
        for language, counts in self._counts.items():
            as_key = collections.Counter(totals.get(language, {}))
            best: dict[str, tuple[int, str]] = {}
            for (key, spelling), count in counts.items():
                as_key[key] -= count
                # The spelling itself breaks ties, so that the order of the text does not matter.
                if key not in best or (count, spelling) > best[key]:
                    best[key] = count, spelling
            chosen = {x: spelling for x, (count, spelling) in best.items() if count >= as_key[x]}
            if chosen:
                result[language] = chosen
        return result


def as_written(raw: str, normalizer: Normalizer, language: str) -> str:
    """The text as it is written, in the case and the Chinese characters that the options ask for."""
    simplify = normalizer.simplify_chinese and is_chinese(language)
    return raw.translate(_changes(normalizer.lower_case, simplify))


def written_words(
    raw: str, words: Sequence[str], normalizer: Normalizer, language: str
) -> Sequence[str]:
    """The spelling of each word in the text that was cut into them; the word where it has none alone.

    Args:
      raw: the text.
      words: its words in their order, or one key of several words.
    """
    text = as_written(raw, normalizer, language)
    if text == "".join(words):
        return words
    segments = list(text) if text.isascii() else _segment().findall(text)
    ends = [0]
    for segment in segments:
        ends.append(ends[-1] + _length(segment, normalizer))
    # The last place of each end, so that joiners behind a word belong to it.
    places = {end: place for place, end in enumerate(ends)}
    spelled = []
    end = 0
    start = 0
    for word in words:
        end += _visible(word)
        place = places.get(end)
        if place is None or start is None or place == start:
            spelled.append(word)
        else:
            parts = "".join(segments[start:place]).lstrip(_JOINERS).split()
            # What stands behind a space belongs to no word of text.
            spelling = " ".join(parts) if " " in word else "".join(parts[:1])
            spelled.append(spelling.strip(TSHEG) or word)
        start = place
    return spelled if end == ends[-1] else words


def readable(word: str, language: str) -> str:
    """A word in letters that fonts have: Cherokee is written in capitals, whose small letters few fonts have."""
    return word.upper() if code_of(language) == "chr" else word


def merge(first: Spellings, words: Mapping[str, Iterable[str]], second: Spellings) -> Spellings:
    """The spellings of `first` for the words that it knows, and those of `second` for the others.

    Args:
      words: language -> the keys that `first` has met, however they are written.
    """
    merged = {}
    for language in {**first, **second}:
        fallback = dict(second.get(language, {}))
        for key in words.get(language, ()):
            fallback.pop(key, None)
        merged[language] = {**fallback, **first.get(language, {})}
    return merged


def load(folder: str) -> Spellings:
    """The spellings in FOLDER/spellings.json; {} for a run that has kept none."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return {}
    return atomic.read_json(path)


def _visible(text: str) -> int:
    """The number of characters that count: no white space, and no tsheg, which ends a word or not."""
    return len(_IGNORED.sub("", text))


_IGNORED = re.compile(f"[\\s{TSHEG}]")


@functools.lru_cache(maxsize=1 << 16)
def _length(segment: str, normalizer: Normalizer) -> int:
    return _visible(normalizer(segment))


@functools.cache
def _segment() -> re.Pattern:
    """A character with those behind it that normalisation may compose with it."""
    codes = np.flatnonzero(_composing_table())
    composed_vowels = [f"{sign}[{tones}]?{vowel}" for sign, tones, vowel, _ in characters.SARA_AM]
    composed = f".[{characters.character_class(codes)}]*"
    return re.compile("|".join([*composed_vowels, composed]), re.DOTALL)


@functools.cache
def _composing_table() -> np.ndarray:
    """bool [0x110000]: whether normalisation may compose the character with the one before it."""
    table = np.zeros(characters.CODE_POINTS, np.bool_)
    for code in characters.CHANGING:
        character = chr(code)
        if unicodedata.combining(character):
            table[code] = True
        parts = unicodedata.decomposition(character)
        if parts and parts[0] != "<":
            table[[int(part, 16) for part in parts.split()[1:]]] = True
    table[0x1160:0x1200] = True  # vowels and final consonants of Hangul
    table[[0xFF9E, 0xFF9F]] = True  # the voiced marks of half-width katakana
    return table


@functools.cache
def _changes(lower_case: bool, simplify: bool) -> dict[int, int | None]:
    codes = np.arange(characters.CODE_POINTS, dtype=np.int32)
    table = characters.lower_table() if lower_case else codes
    if simplify:
        table = characters.simplified_table()[table]
    changed_codes = np.flatnonzero(table != codes)
    ignored = np.flatnonzero(characters.class_table() == characters.IGNORED)
    removed = dict.fromkeys(set(ignored.tolist()) - set(map(ord, _JOINERS)))
    return dict(zip(changed_codes.tolist(), table[changed_codes].tolist())) | removed
