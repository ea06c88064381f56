"""Segmentation into words: at spaces and punctuation, or by longest match in other scripts."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Iterable, Iterator, Mapping, Sequence

from anyascii import anyascii
import numpy as np

from clwe_jax.text.words import characters, clitics
from clwe_jax.text.words.characters import (
    ALONE,
    LETTER_APOSTROPHE,
    MARK,
    MIDDLE,
    SINGLE,
    SYLLABLE,
    TSHEG,
    UNSPACED,
    WORD,
)
from clwe_jax.text.words.languages import parse_tag

_MIDDLE = "'·"
CLUSTER_END = "\ue001"
RULES = 3  # number of the rules that cut text; a result that was kept with others is made again
_TIBETAN = re.compile("[\u0f00-\u0fff]")


def among(chosen: np.ndarray) -> str:
    """The regular expression of a character, from bool [0x110000]."""
    return f"[{characters.character_class(np.flatnonzero(chosen))}]"


def letter_apostrophe(language: str = "") -> str:
    """The regular expression of an apostrophe that is a letter of a word of the language.

    Args:
      language: '': one without rules of its own.
    """
    return "|".join(filter(None, (_inner("'"), _initial(language), _final(language))))


def _inner(marks: str) -> str:
    letter = among(characters.letter_table())
    return f"(?<={letter})[{marks}{LETTER_APOSTROPHE}](?={letter})"


def _initial(language: str) -> str:
    letter = among(characters.letter_table())
    apostrophe = f"['{LETTER_APOSTROPHE}]"
    before = among(characters.class_table() == WORD)
    return f"(?<!{before})(?<!'){apostrophe}(?={letter})" if language in clitics.INITIAL else ""


def _final(language: str) -> str:
    letters = clitics.FINAL.get(language)
    return f"(?<=[{letters}])['{LETTER_APOSTROPHE}]" if letters else ""


def spaced_word(languages: Sequence[str] = ()) -> str:
    """The regular expression of a word in a script with spaces, in normalised text.

    Args:
      languages: those whose rules apply, of which no two should differ.
    """
    word = among(characters.class_table() == WORD)
    letter = among(characters.letter_table())
    hebrew = among(characters.hebrew_table())
    first = "|".join(dict.fromkeys(filter(None, map(_initial, languages))))
    last = list(dict.fromkeys(filter(None, map(_final, languages))))
    proclitics = [clitics.PROCLITICS[x] for x in languages if x in clitics.PROCLITICS]
    enclitics = [clitics.ENCLITICS[x] for x in languages if x in clitics.ENCLITICS]
    apart = f"(?!'(?i:{'|'.join(enclitics)})(?!{word}))" if enclitics else ""
    inside = "|".join([f"{apart}{_inner(_MIDDLE)}", f'(?<={hebrew})"(?={hebrew})', *last])
    start = f"(?:{first})?{word}" if first else word
    pattern = f"{start}(?:{word}+|{inside})*"
    if proclitics:
        pattern = f"(?<!{word})(?i:{'|'.join(proclitics)})(?='{letter})|{pattern}"
    return pattern


@functools.cache
def rules_of(language: str) -> str:
    """Our code of a language for which `clitics` has rules; else '', which has none."""
    tables = (clitics.PROCLITICS, clitics.ENCLITICS, clitics.INITIAL, clitics.FINAL)
    code = parse_tag(language).code
    return code if any(code in table for table in tables) else ""


def clitics_of(language: str) -> tuple[str, str]:
    """Patterns of the short words before and behind an apostrophe that stand apart; '' for none."""
    code = rules_of(language)
    return clitics.PROCLITICS.get(code, ""), clitics.ENCLITICS.get(code, "")


@functools.cache
def is_chinese(language: str) -> bool:
    """Whether a language, by any of its codes, is written in traditional or simplified characters."""
    return parse_tag(language).code == "zh"


@functools.cache
def _pattern(language: str) -> re.Pattern:
    """The pattern of a word; an unspaced run is its group 1."""
    table = characters.class_table()
    spaced = spaced_word((language,) if language else ())
    single = among((table == SINGLE) | (table == MIDDLE))
    return re.compile(f"{spaced}|({among(table == UNSPACED)}+)|{single}")


@functools.cache
def _unspaced_pattern() -> re.Pattern:
    """The pattern of an unspaced run."""
    return re.compile(f"{among(characters.class_table() == UNSPACED)}+")


@functools.cache
def _syllable_end() -> re.Pattern:
    return re.compile(syllable_end())


def syllable_end() -> str:
    """The regular expression of the place behind a Tibetan syllable without its tsheg."""
    syllable = among(characters.stretch_table() == SYLLABLE)
    return f"(?<={syllable})(?!{syllable}|{TSHEG})"


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
    return _unspaced_pattern().fullmatch(word) is not None


def entry_words(text: str, language: str, bert: bool = False) -> list[str]:
    """The words of a normalised entry of a dictionary, which a text that has it is cut into.

    Runs of a script without spaces stay whole: the segmenter's lexicon has them from here.
    """
    if bert:
        return _bert_pattern().findall(text)
    words = (match.group().strip(TSHEG) for match in _pattern(rules_of(language)).finditer(text))
    return list(filter(None, words))


class Segmenter:
    """Cuts normalised text into words.

    A word is a maximal run of letters, marks and numbers, with the apostrophes and middle dots between
    them that the language's rules do not set apart (`clitics`); every other visible character is a word.
    A run in a script without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) is cut from left
    to right by longest match with the lexicon of its language, where no combining mark follows. A character at which no lexicon word
    starts is a word, with two exceptions: adjacent characters of this kind in hiragana, or in
    katakana, form one word, and a combining mark joins the character before it. Tibetan and Dzongkha are
    cut by longest match of whole syllables; a tsheg behind a word is left out.

    Attributes:
      raw: whether it takes raw text (`xlm.MosesSegmenter`) instead of normalised text.
      bert, lexicons: the arguments of these names.
    """

    raw = False

    def __init__(self, lexicons: Mapping[str, Iterable[str]] | None = None, bert: bool = False):
        """Args:
        lexicons: language -> keys of words; of those with spaces the words without spaced
          characters, and only such words, are used.
        bert: whether to cut as BERT's basic tokenizer does: at spaces, and around punctuation and
          Han characters, without lexicons. The text's `Normalizer` has the same option.
        """
        self.bert = bert
        self.lexicons: dict[str, frozenset[str]] = {
            language: _unspaced_words(words) for language, words in (lexicons or {}).items()
        }
        # A word of syllables is matched with the tsheg that ends it.
        self._matched = {
            language: frozenset(map(end_syllables, words))
            for language, words in self.lexicons.items()
        }
        self._lengths = {
            language: _lengths_by_first(words) for language, words in self._matched.items()
        }

    def words(self, text: str, language: str) -> list[str]:
        """The words of normalised text, in order; joined, they are the text without spaces (and tshegs)."""
        if self.bert:
            return _bert_pattern().findall(text)
        result: list[str] = []
        for match in _pattern(rules_of(language)).finditer(text):
            if match.group(1) is None:
                result.append(match.group())
            else:
                words = self._cut(end_syllables(match.group()), language)
                result.extend(filter(None, (word.rstrip(TSHEG) for word in words)))
        return result

    def _cut(self, run: str, language: str) -> Iterator[str]:
        """The words of a run of unspaced characters."""
        lexicon = self._matched.get(language, frozenset())
        lengths = self._lengths.get(language, {})
        stretch = _stretches()
        # unmatched characters, or a word that a mark may still join
        pending = ""
        kind = ALONE
        place = 0
        while place < len(run):
            character = run[place]
            matched = ""
            for length in lengths.get(character, ()):
                end = place + length
                # A mark behind it would make another word of it.
                if run[place:end] in lexicon and stretch.get(run[end : end + 1]) != MARK:
                    matched = run[place : place + length]
                    break
            if matched:
                if pending:
                    yield pending
                pending = matched
                kind = ALONE
                place += len(matched)
                continue
            this_kind = stretch.get(character, ALONE)
            if pending and (this_kind == MARK or (this_kind != ALONE and this_kind == kind)):
                pending += character
            else:
                if pending:
                    yield pending
                pending = character
            kind = this_kind
            place += 1
        if pending:
            yield pending


def end_syllables(text: str) -> str:
    """The text with a tsheg behind every Tibetan syllable, also where none is written."""
    # No other script has characters there, so that most texts are not searched.
    if _TIBETAN.search(text):
        return _syllable_end().sub(TSHEG, text)
    return text


def has_marks(word: str) -> bool:
    """Whether a word in a script without spaces has combining marks."""
    return any(_stretches().get(character) in (MARK, SYLLABLE) for character in word)


def close_clusters(word: str) -> str:
    """The word with a mark of its own behind every character and the combining marks that follow it.

    Longest match with such words in such text ends at no combining mark.
    """
    return _cluster_end().sub(CLUSTER_END, word)


@functools.cache
def _cluster_end() -> re.Pattern:
    return re.compile(cluster_end())


def run_start() -> str:
    """The regular expression of the place before a run without spaces."""
    unspaced = among(characters.class_table() == UNSPACED)
    return f"(?<!{unspaced})(?={unspaced})"


def cluster_end() -> str:
    """The regular expression of the place behind a character and its combining marks."""
    marks = among(characters.stretch_table() == MARK)
    return f"(?<={among(characters.class_table() == UNSPACED)})(?!{marks})"


def _unspaced_words(entries: Iterable[str]) -> frozenset[str]:
    words = itertools.chain.from_iterable(entry.split(" ") for entry in entries)
    return frozenset(word for word in words if word and is_unspaced(word))


class Phrases:
    """Joins words that are written apart and have one entry, longest first: 'ice', 'cream'."""

    def __init__(self, entries: Iterable[str]):
        """`entries`: words, and phrases whose words are separated by one space; words are ignored."""
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
        result = []
        place = 0
        while place < len(words):
            count = 1
            for length in self._lengths.get(words[place], ()):
                if " ".join(words[place : place + length]) in self._entries:
                    count = length
                    break
            result.append(" ".join(words[place : place + count]))
            place += count
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
