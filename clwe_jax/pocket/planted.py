"""Texts of the embedded world that share a known part of their lines, and the gold of mining.

Every language draws its text alone. `Shared` plants the same meanings in all of them, each once in
a text; the rest is unrelated, but the world is small, and a meaning may occur in two texts by
chance. `shared_pairs` finds all pairs, planted or not, so that precision and recall are exact.
"""

from __future__ import annotations

import collections
import itertools
import os
import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clwe_jax.pocket import generate
from clwe_jax.pocket.base import LANGUAGES, Meaning
from clwe_jax.pocket.meanings import Sampler

ORDERS = ("documents", "scattered")
# lines of a document
_SHORTEST = 20
_LONGEST = 40
_EXTRA = 0.05  # extra lines for each gap between two lines of a document


class Shared(NamedTuple):
    """Settings of the lines that the texts of different languages share.

    Attributes:
      share: share of each text's lines that are planted, the same meanings in every language.
      order: 'documents': 20 to 40 planted lines stand together, in one order in all languages, at
        different places of the texts; now and then a text has a line of its own between them.
        'scattered': planted lines stand anywhere.
      apart: whether each language draws its unrelated lines from domains of its own.
    """

    share: float = 0.0
    order: str = ORDERS[0]
    apart: bool = False


class PlantedLine(NamedTuple):
    """A line of a text: its meaning and, where it is planted, the number of the planted meaning."""

    meaning: Meaning
    number: int | None


class SharedPair(NamedTuple):
    """Two lines that say the same.

    Attributes:
      source, target: line numbers in the two texts, from 1.
      planted: whether the pair is planted; if not, it occurs by chance.
    """

    source: int
    target: int
    planted: bool


def lines(
    language: str, count: int, seed: int = 0, among: tuple[str, ...] = (), shared: Shared = Shared()
) -> Iterator[PlantedLine]:
    """Yields the `count` lines of a language's text, all of the split 'train'.

    Without planted lines and domains apart, they are the first ones of `generate.sentences`.

    Raises:
      ValueError: an unknown language, domain or order, a share outside [0, 1], or fewer domains
        than languages where these must be apart.
    """
    generate.grammar(language)  # an unknown language is named before anything is drawn
    if shared.order not in ORDERS or not 0 <= shared.share <= 1:
        raise ValueError(f"share is in [0, 1] and order one of {', '.join(ORDERS)}, not {shared}")
    meanings = _meanings(round(shared.share * count), seed, among)
    planted = {meaning.key for meaning in meanings}
    own_domains = _own_domains(language, among) if shared.apart else among
    sampler = Sampler(f"{language}/train/{seed}", "train", own_domains)
    for number in _layout(language, count, len(meanings), seed, shared.order):
        if number is not None:
            yield PlantedLine(meanings[number], number)
            continue
        meaning = sampler.draw()
        while meaning.key in planted:
            meaning = sampler.draw()
        yield PlantedLine(meaning, None)


def shared_pairs(
    source: str,
    target: str,
    count: int,
    seed: int = 0,
    among: tuple[str, ...] = (),
    shared: Shared = Shared(),
) -> list[SharedPair]:
    """All pairs of lines of two texts that say the same, ordered by their line numbers.

    A pair says the same if one line is what its language makes of the other line's meaning: Chinese
    has one text for 'the dog sleeps' and 'the dogs sleep', and pairs with both. Lines that occur
    twice are in several pairs. Arguments as of `lines`.
    """
    pair = (source, target)
    # language -> of its lines; (language, rendered in) -> texts
    numbers = {}
    texts = {}
    for language in pair:
        numbers[language] = []
        for output_language in pair:
            texts[language, output_language] = []
        for line in lines(language, count, seed, among, shared):
            numbers[language].append(line.number)
            for output_language in pair:
                text = generate.grammar(output_language).render(line.meaning).text
                texts[language, output_language].append(text)
    equal_pairs = set(_equal(texts[source, target], texts[target, target]))
    equal_pairs.update(_equal(texts[source, source], texts[target, source]))
    source_ids = numbers[source]
    target_ids = numbers[target]
    return [
        SharedPair(i + 1, j + 1, source_ids[i] is not None and source_ids[i] == target_ids[j])
        for i, j in sorted(equal_pairs)
    ]


def read_pairs(path: str | os.PathLike) -> list[SharedPair]:
    """The pairs of a file of `write_shared`."""
    with open(path, encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return [SharedPair(int(i), int(j), kind == "planted") for i, j, kind in rows]


def _equal(here: Iterable[str], there: Iterable[str]) -> Iterator[tuple[int, int]]:
    """The places of equal texts in two lists."""
    places = collections.defaultdict(list)
    for j, text in enumerate(there):
        places[text].append(j)
    for i, text in enumerate(here):
        for j in places.get(text, ()):
            yield i, j


def _meanings(count: int, seed: int, among: tuple[str, ...]) -> list[Meaning]:
    """`count` distinct meanings, the same ones for every language."""
    sampler = Sampler(f"shared/train/{seed}", "train", among)
    meanings: dict[str, Meaning] = {}
    while len(meanings) < count:
        meaning = sampler.draw()
        meanings.setdefault(meaning.key, meaning)
    return list(meanings.values())


def _own_domains(language: str, among: tuple[str, ...]) -> tuple[str, ...]:
    """The domains that no other language draws from."""
    place = LANGUAGES.index(language)
    names = among or generate.domains()
    if len(names) <= place:
        raise ValueError(
            f"{language} has no domain of its own among {', '.join(names)}: texts apart need "
            f"{len(LANGUAGES)} domains, one for each language of the embedded world"
        )
    return names[place :: len(LANGUAGES)]


def _layout(language: str, count: int, planted: int, seed: int, order: str) -> list[int | None]:
    """The number of the planted meaning of each line of a text, None for an unrelated line."""
    lengths = random.Random(f"documents/{seed}")
    places = random.Random(f"{language}/places/{seed}")
    unrelated = count - planted
    start = 0
    blocks = []
    while start < planted:
        length = lengths.randint(_SHORTEST, _LONGEST) if order == "documents" else 1
        block: list[int | None] = []
        for number in range(start, min(start + length, planted)):
            if block and unrelated and places.random() < _EXTRA:
                block.append(None)
                unrelated -= 1
            block.append(number)
        blocks.append(block)
        start += length
    blocks += [[None]] * unrelated
    places.shuffle(blocks)
    return list(itertools.chain(*blocks))
