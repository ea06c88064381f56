"""The pocket world's interface: sentences, parallel sentences, dictionaries, ambiguous words."""

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
# The slot that a concept is listed under in a test dictionary, best first.
BASE_SLOTS = ("sg", "inf", "adj_sg", "word")


@functools.cache
def grammar(language: str) -> Grammar:
    """The grammar of a language, made once a process.

    Raises:
      ValueError: the pocket world does not speak the language.
    """
    if language not in GRAMMARS:
        raise ValueError(
            f"the embedded world does not speak {language!r}; it speaks {', '.join(LANGUAGES)}"
        )
    return GRAMMARS[language](load())


def domains() -> tuple[str, ...]:
    """What the pocket world can talk about, for the argument `among` of the other functions."""
    return tuple(world().events)


def sentences(
    language: str, seed: int = 0, split: str = "train", among: tuple[str, ...] = ()
) -> Iterator[Sentence]:
    """Endless sentences of one language, not parallel to those of the others.

    Args:
      language: which of `LANGUAGES`.
      seed: other seeds, other sentences.
      split: 'train' or 'heldout'.
      among: the domains to draw from; all where there are none.

    No meaning of the split 'train' is one of 'heldout', whatever the seed and the language.
    """
    render = grammar(language).render
    sampler = Sampler(f"{language}/{split}/{seed}", split, among)
    while True:
        yield render(sampler.draw())


def parallel(
    languages, count: int, seed: int = 0, split: str = "heldout", among: tuple[str, ...] = ()
) -> list[dict[str, Sentence]]:
    """`count` meanings (of the domains `among`, or of all), each rendered in every language.

    No two rows have the same meaning, nor the same text in any of the languages.
    """
    grammars = [grammar(language) for language in languages]
    sampler = Sampler(f"parallel/{split}/{seed}", split, among)
    seen = {language: set() for language in languages}
    keys, rows = set(), []
    while len(rows) < count:
        meaning = sampler.draw()
        if meaning.key in keys:
            continue
        row = {g.language: g.render(meaning) for g in grammars}
        if any(row[language].text in seen[language] for language in row):
            continue
        keys.add(meaning.key)
        for language in row:
            seen[language].add(row[language].text)
        rows.append(row)
    return rows


@functools.cache
def _forms(language: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """concept -> slot -> lower-cased single words."""
    lexicon, rules = load(), grammar(language)
    table = {}
    for concept in lexicon.concepts:
        slots = dict(rules.forms(concept))
        for adverbials in (lexicon.times, lexicon.adverbs):
            if concept in adverbials:
                words = adverbials[concept][language].split()
                slots["word"] = tuple(w[1:] for w in words if w[0] == "*")
        table[concept] = {
            slot: tuple(dict.fromkeys(word.lower() for word in words))
            for slot, words in slots.items()
            if words
        }
    return table


@functools.cache
def concepts(language: str) -> dict[str, tuple[str, ...]]:
    """Lower-cased word of the language: the concepts that it stands for."""
    found: dict[str, dict[str, None]] = {}
    for concept, slots in _forms(language).items():
        for words in slots.values():
            for word in words:
                found.setdefault(word, {})[concept] = None
    return {word: tuple(each) for word, each in found.items()}


def ambiguous(language: str) -> dict[str, tuple[str, ...]]:
    """Lower-cased words of the language that stand for two or more concepts."""
    return {word: found for word, found in concepts(language).items() if len(found) > 1}


def translations(concept: str) -> dict[str, tuple[str, ...]]:
    """A concept's lower-cased surface forms in every language, the base form first.

    Raises:
      KeyError: there is no such concept.
    """
    found = {}
    for language in LANGUAGES:
        slots = _forms(language)[concept]
        order = sorted(slots, key=lambda s: BASE_SLOTS.index(s) if s in BASE_SLOTS else 9)
        found[language] = tuple(dict.fromkeys(word for slot in order for word in slots[slot]))
    return found


def dictionary(source: str, target: str, base_forms: bool = False) -> list[tuple[str, str]]:
    """Word pairs as MUSE has them: lower-cased single words, all senses, inflected forms too.

    A form is paired with the forms of the same number, person and tense. `base_forms` keeps one
    form of each content word (singular, infinitive) and leaves function words out.
    """
    here, there = _forms(source), _forms(target)
    pairs: dict[tuple[str, str], None] = {}
    for concept, slots in here.items():
        others = there[concept]
        if base_forms:
            slot = next((s for s in BASE_SLOTS if s in slots and s in others), None)
            if slot:
                pairs[slots[slot][0], others[slot][0]] = None
            continue
        for slot, words in slots.items():
            for word in words:
                for other in others.get(slot, ()):
                    pairs[word, other] = None
    if not base_forms:
        pairs |= dict.fromkeys(functions.pairs(source, target))
    return list(pairs)
