"""Example sentences of a word and its translation, in which both are marked, and how words are spelled."""

from __future__ import annotations

import collections
import functools
import re
import unicodedata
from typing import Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

EXAMPLES = 2  # of a word
_FEWEST = 4  # words of a sentence that shows something
_LOOKED_AT = 400  # sentences of a word that are looked at, the shortest first

# Parts of a sentence: text, a marked word, text, a marked word, ...
Parts = list[str]
Cut = Callable[[str, str], Sequence[str]]  # (piece of text, language) -> keys of its words
_HYPHENS = re.compile(r"[\s\-‐‑–—]+")
# What stands behind another end, as of a sentence or before its quotation, has a capital in any case.
_INSIDE = re.compile(r"[^\W_],?$")


class Example(NamedTuple):
    """A sentence with a word, its translation with one of the word's translations, and their reference."""

    source: Parts
    target: Parts
    reference: str


class ExampleFinder:
    """Sentences of two languages that translate each other, looked up by their words.

    A sentence is shown in parts, of which every second one is marked.
    """

    def __init__(
        self, text: GivenText, pair: tuple[str, str], normalizer: Normalizer, segmenter: Segmenter
    ) -> None:
        """Args:
        text: the sentences as text and as words.
        pair: the two languages.
        normalizer, segmenter: with which the words were cut.
        """
        self._cut = lambda piece, language: segmenter.words(normalizer(piece, language), language)
        self._pair = pair
        pairs_text = text.parallel
        rows = pairs_text.pairs.get(pair)
        if rows is None:
            rows = pairs_text.pairs.get(pair[::-1], np.zeros((0, 2), np.int64))[:, ::-1]
        self._rows = rows
        self._sentences = [pairs_text.sentences.get(language, ()) for language in pair]
        self._references = pairs_text.references.get(pair[1], {})
        self._words = [_words_of(text, language) for language in pair]

    @functools.cached_property
    def _places(self) -> dict[str, list[int]]:
        """Word of the first language -> the pairs of sentences that have it, the shortest first."""
        lengths = [len(self._words[0].get(row, ())) for row in self._rows[:, 0].tolist()]
        places_of: dict[str, list[int]] = {}
        for place in np.argsort(lengths, kind="stable").tolist():
            if lengths[place] >= _FEWEST:
                for word in dict.fromkeys(self._words[0][int(self._rows[place, 0])]):
                    places_of.setdefault(word, []).append(place)
        return places_of

    @functools.cached_property
    def _spellings(self) -> list[dict[str, str]]:
        return [
            spell_words(sentences, language, self._cut)
            for language, sentences in zip(self._pair, self._sentences)
        ]

    def spell(self, side: int, word: str) -> str | None:
        """A word as most sentences of a side write it, 'Jesus' for 'jesus'; None where none shows it."""
        return self._spellings[side].get(word)

    def find(self, word: str, translations: Sequence[str]) -> list[Example]:
        """Short sentences with a word whose translations have one of its translations.

        Args:
          word, translations: their keys; an earlier translation is looked for first.
        """
        translation_at: dict[int, str] = {}
        for translation in translations:
            for place in self._places.get(word, ())[:_LOOKED_AT]:
                if len(translation_at) < EXAMPLES and place not in translation_at:
                    if translation in self._words[1].get(int(self._rows[place, 1]), ()):
                        translation_at[place] = translation
        return [
            Example(
                self._mark(0, place, word),
                self._mark(1, place, translation),
                self._references.get(int(self._rows[place, 1]), ""),
            )
            for place, translation in translation_at.items()
        ]

    def _mark(self, side: int, place: int, word: str) -> Parts:
        sentence = self._sentences[side][int(self._rows[place, side])]
        return mark(sentence, word, self._pair[side], self._cut)


def mark(sentence: str, word: str, language: str, cut: Cut) -> Parts:
    """The parts of a sentence in which the word of a key is marked: text, word, text, ..."""
    parts = [""]
    for piece in re.split(r"(\s+)", sentence):
        if word not in cut(piece, language):
            parts[-1] += piece
            continue
        # Of a piece of several words, the word alone; where it is written otherwise, all but punctuation.
        at = piece.lower().find(word)
        end = at + len(word)
        if at < 0 or len(piece.lower()) != len(piece):
            at, end = _letters(piece)
        parts[-1] += piece[:at]
        parts += [piece[at:end], piece[end:]]
    return parts


def spell_words(sentences: Iterable[str], language: str, cut: Cut) -> dict[str, str]:
    """Word -> its most frequent spelling inside sentences, where a capital is no capital of a beginning."""
    piece_counts: collections.Counter[str] = collections.Counter()
    for sentence in sentences:
        inside = False
        for piece in _HYPHENS.split(sentence):
            if inside and piece.lower() != piece.upper():  # letters that have no case say nothing
                piece_counts[piece] += 1
            inside = bool(_INSIDE.search(piece))
    counts: dict[str, collections.Counter[str]] = {}
    for piece, count in piece_counts.items():
        at, end = _letters(piece)
        words = cut(piece[at:end], language)
        if len(words) == 1:
            counts.setdefault(words[0], collections.Counter())[piece[at:end]] += count
    return {word: spellings.most_common(1)[0][0] for word, spellings in counts.items()}


def _letters(piece: str) -> tuple[int, int]:
    """Where the letters of a piece of text begin and end, without punctuation beside them."""
    # A combining mark is a part of its letter.
    places = [place for place, x in enumerate(piece) if unicodedata.category(x)[0] in "LMN"] or [0]
    return places[0], places[-1] + 1


def _words_of(text: GivenText, language: str) -> Mapping[int, list[str]]:
    """The row of each sentence -> its words."""
    corpus = text.corpus
    if language not in corpus.ids:
        return {}
    splits = corpus.splits[language].tolist()
    ids = corpus.ids[language].tolist()
    places = corpus.places[language].tolist()
    return {
        place: [corpus.words[i] for i in ids[first:last]]
        for place, first, last in zip(places, splits[:-1], splits[1:])
    }
