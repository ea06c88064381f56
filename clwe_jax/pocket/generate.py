"""Sentences, parallel sentences, dictionaries and ambiguous words of the embedded world."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from clwe_jax.pocket import functions
from clwe_jax.pocket.base import LANGUAGES, Grammar, Sentence
from clwe_jax.pocket.chinese import Chinese
from clwe_jax.pocket.english import English
from clwe_jax.pocket.french import French
from clwe_jax.pocket.german import German
from clwe_jax.pocket.japanese import Japanese
from clwe_jax.pocket.lexicon import load
from clwe_jax.pocket.meanings import Sampler
from clwe_jax.pocket.spanish import Spanish
from clwe_jax.pocket.world import world

GRAMMARS = {g.language: g for g in (German, English, Spanish, French, Japanese, Chinese)}
# Slots whose form a test dictionary lists; the first that a concept has is taken.
BASE_SLOTS = ("sg", "inf", "adj_sg", "word")


@functools.cache
def grammar(language: str) -> Grammar:
    """The grammar of a language, made once in a process.

    Raises:
      ValueError: a language outside `LANGUAGES`.
    """
    if language not in GRAMMARS:
        raise ValueError(
            f"the embedded world does not speak {language!r}; it speaks {', '.join(LANGUAGES)}"
        )
    return GRAMMARS[language](load())


def domains() -> tuple[str, ...]:
    """The names of all domains; the argument `among` of other functions takes some of them."""
    return tuple(world().events)


def sentences(
    language: str, seed: int = 0, split: str = "train", among: tuple[str, ...] = ()
) -> Iterator[Sentence]:
    """Yields sentences of one language without end, not parallel to other languages.

    No meaning is in both splits, for any seeds and languages.

    Args:
      language: one of `LANGUAGES`.
      split: 'train' or 'heldout'.
      among: domains to draw from; () means all.

    Raises:
      ValueError: an unknown language, split or domain.
    """
    render = grammar(language).render
    sampler = Sampler(f"{language}/{split}/{seed}", split, among)
    while True:
        yield render(sampler.draw())


def parallel(
    languages, count: int, seed: int = 0, split: str = "heldout", among: tuple[str, ...] = ()
) -> list[dict[str, Sentence]]:
    """`count` meanings, each rendered in every language: language -> sentence.

    Meanings are distinct, and so are the texts of each language.

    Args:
      languages: some of `LANGUAGES`.
      seed, split, among: as of `sentences`.
    """
    grammars = [grammar(language) for language in languages]
    sampler = Sampler(f"parallel/{split}/{seed}", split, among)
    seen_texts = {language: set() for language in languages}
    keys = set()
    rows = []
    while len(rows) < count:
        meaning = sampler.draw()
        if meaning.key in keys:
            continue
        row = {g.language: g.render(meaning) for g in grammars}
        if any(row[language].text in seen_texts[language] for language in row):
            continue
        keys.add(meaning.key)
        for language in row:
            seen_texts[language].add(row[language].text)
        rows.append(row)
    return rows


@functools.cache
def _forms(language: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """The forms of each concept: concept -> slot -> lower-cased single words."""
    lexicon = load()
    rules = grammar(language)
    table = {}
    for concept in lexicon.concepts:
        slots = dict(rules.forms(concept))
        for adverbials in (lexicon.times, lexicon.adverbs):
            if concept in adverbials:
                words = adverbials[concept][language].split()
                slots["word"] = tuple(w[1:] for w in words if w[0] == "*")
        table[concept] = {}
        for slot, words in slots.items():
            if words:
                lower = [word.lower() for word in words]
                table[concept][slot] = tuple(dict.fromkeys(lower))
    return table


@functools.cache
def concepts(language: str) -> dict[str, tuple[str, ...]]:
    """The concepts of each word of the language: lower-cased word -> concepts."""
    by_word: dict[str, dict[str, None]] = {}
    for concept, slots in _forms(language).items():
        for words in slots.values():
            for word in words:
                by_word.setdefault(word, {})[concept] = None
    return {word: tuple(each) for word, each in by_word.items()}


def ambiguous(language: str) -> dict[str, tuple[str, ...]]:
    """The words of the language with two or more concepts: lower-cased word -> concepts."""
    return {word: several for word, several in concepts(language).items() if len(several) > 1}


def translations(concept: str) -> dict[str, tuple[str, ...]]:
    """The lower-cased forms of a concept in every language, the base form first.

    Raises:
      KeyError: an unknown concept.
    """
    forms = {}
    for language in LANGUAGES:
        slots = _forms(language)[concept]
        order = sorted(slots, key=lambda s: BASE_SLOTS.index(s) if s in BASE_SLOTS else 9)
        forms[language] = tuple(dict.fromkeys(word for slot in order for word in slots[slot]))
    return forms


def dictionary(source: str, target: str, base_forms: bool = False) -> list[tuple[str, str]]:
    """Word pairs as in MUSE: lower-cased single words in all senses, with inflected forms.

    A form is paired with the forms of the same number, person and tense.

    Args:
      base_forms: keep one form of each content word (singular, infinitive) and no function words.
    """
    source_forms = _forms(source)
    target_forms = _forms(target)
    pairs: dict[tuple[str, str], None] = {}
    for concept, slots in source_forms.items():
        target_slots = target_forms[concept]
        if base_forms:
            slot = next((s for s in BASE_SLOTS if s in slots and s in target_slots), None)
            if slot:
                pairs[slots[slot][0], target_slots[slot][0]] = None
            continue
        for slot, words in slots.items():
            for word in words:
                for translation in target_slots.get(slot, ()):
                    pairs[word, translation] = None
    if not base_forms:
        pairs |= dict.fromkeys(functions.pairs(source, target))
    return list(pairs)
