"""Parallel sentences of the embedded world with gold word alignments."""

from __future__ import annotations

import collections
import functools
from typing import NamedTuple, Sequence

from clwe_jax.pocket import functions, generate
from clwe_jax.pocket.base import Sentence, Token

_MARKS = {"。": ".", "？": "?", "，": ",", "、": ","}  # marks -> those of other scripts
# French forms that the table has in full
_ELIDED = {"l": "le", "d": "de", "qu": "que", "j": "je", "s": "si"}


class LinkedSentences(NamedTuple):
    """Two sentences of one meaning with the links of their words.

    Attributes:
      source, target: the words; marks are words too.
      sure: links (place in the source, place in the target) that have no alternative.
      possible: all links that a translation allows; `sure` is a part of them.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


def link_sentences(
    source: str,
    target: str,
    count: int,
    seed: int = 0,
    split: str = "heldout",
    among: tuple[str, ...] = (),
) -> list[LinkedSentences]:
    """`count` parallel sentences with gold alignments; arguments as of `generate.parallel`."""
    rows = generate.parallel((source, target), count, seed, split, among)
    return [links(row[source], row[target]) for row in rows]


def links(source: Sentence, target: Sentence) -> LinkedSentences:
    """The gold alignment of two sentences of one meaning.

    Two words may be linked where they express one concept of the lexicon, where the table of
    function words translates one by the other (に and で too), and where they are
    marks of one kind. A link is sure
    where neither of its words has another possible link.
    """
    words = _translations(source.language, target.language)
    languages = source.language, target.language
    possible = []
    for i, a in enumerate(source.tokens):
        for j, b in enumerate(target.tokens):
            if _may_link(a, b, languages, words):
                possible.append((i, j))
    left, right = (collections.Counter(link[side] for link in possible) for side in (0, 1))
    sure = [(i, j) for i, j in possible if left[i] == 1 and right[j] == 1]
    texts: list[Sequence[str]] = [
        tuple(token.text for token in side.tokens) for side in (source, target)
    ]
    return LinkedSentences(texts[0], texts[1], frozenset(sure), frozenset(possible))


def _may_link(
    a: Token, b: Token, languages: tuple[str, str], words: frozenset[tuple[str, str]]
) -> bool:
    if a.concept or b.concept:
        return a.concept == b.concept
    x, y = (_plain(token.text, language) for token, language in zip((a, b), languages))
    # Apostrophes have no meaning of their own: one elides, another one makes a possessive.
    return (x, y) in words or (x == y and x in _MARKS.values())


def _plain(word: str, language: str) -> str:
    word = _MARKS.get(word, word.lower())
    return _ELIDED.get(word, word) if language == "fr" else word


@functools.cache
def _translations(source: str, target: str) -> frozenset[tuple[str, str]]:
    return frozenset(functions.list_links(source, target))
