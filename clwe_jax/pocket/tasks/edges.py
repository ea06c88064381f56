"""Sentences with labelled spans, for edge probing: constituents, roles and coreference (B8).

A target is (spans, label): one span or two, each (first word, word after the last one). The spans
are the phrases that the grammar made; a phrase that a sentence has twice is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from clwe_jax.pocket.base import NP, PRONOUNS, Meaning, Place, Sentence, Token
from clwe_jax.pocket.generate import grammar
from clwe_jax.pocket.tasks import heldout
from clwe_jax.pocket.tasks.function_words import tag

Span = tuple[int, int]
Target = tuple[tuple[Span, ...], str]
Row = tuple[tuple[str, ...], list[Target]]
_PATIENCE = 5_000  # meanings in a row without a row before a task gives up
# Part of a clause -> its role.
_ROLES = {
    "subject": "agent",
    "obj": "patient",
    "receiver": "recipient",
    "tool": "instrument",
    "place": "location",
    "goal": "goal",
    "time": "time",
    "often": "frequency",
    "manner": "manner",
}


class _Traced(NamedTuple):
    """A sentence and the places of its phrases.

    Attributes:
      sentence: its words.
      phrases: `NP`, `Place` or the concept of an adverbial -> its span.
    """

    meaning: Meaning
    sentence: Sentence
    phrases: dict[Any, Span]


def _trace(language: str, meaning: Meaning) -> _Traced:
    sentence, phrase_tokens = grammar(language).render_with_phrases(meaning)
    phrases: dict[Any, Span] = {}
    for phrase, tokens in phrase_tokens:
        places = _places(sentence.tokens, tokens)
        if len(places) == 1:
            phrases[phrase] = places[0]
    return _Traced(meaning, sentence, phrases)


def _places(tokens: tuple[Token, ...], part: tuple[Token, ...]) -> list[Span]:
    """The spans at which `part` stands; the first word of a sentence has a capital."""
    size = len(part)
    plain_tokens = _plain(tokens)
    plain_part = _plain(part)
    starts = range(len(tokens) - size + 1)
    return [(k, k + size) for k in starts if plain_tokens[k : k + size] == plain_part]


def _plain(tokens: tuple[Token, ...]) -> list[tuple[str, str | None]]:
    return [(token.text.lower(), token.concept) for token in tokens]


def _constituents(traced: _Traced) -> list[Target]:
    """Every phrase with its kind: NP, PP or ADVP."""
    tokens = traced.sentence.tokens
    labels = {}
    for phrase, span in traced.phrases.items():
        if isinstance(phrase, str):
            label = "ADVP"
        elif isinstance(phrase, Place) or tag(tokens, span[0], traced.sentence.language) == "ADP":
            label = "PP"
        else:
            label = "NP"
        labels[span] = label
    return [((span,), label) for span, label in sorted(labels.items())]


def _roles(traced: _Traced) -> list[Target]:
    """Each verb with each of its arguments and adverbials, and the role."""
    targets = []
    meaning = grammar(traced.sentence.language).place_subjects(traced.meaning)
    for c in filter(None, (meaning.first, meaning.second)):
        verbs = [k for k, x in enumerate(traced.sentence.tokens) if c.verb and x.concept == c.verb]
        if len(verbs) != 1:
            continue
        for part, role in _ROLES.items():
            span = traced.phrases.get(getattr(c, part))
            if span is None and isinstance(getattr(c, part), Place):  # one phrase in some languages
                span = traced.phrases.get(getattr(c, part).ground)
            if span is not None and not span[0] <= verbs[0] < span[1]:
                targets.append((((verbs[0], verbs[0] + 1), span), role))
    return targets


def _coreference(traced: _Traced) -> list[Target]:
    """A pronoun with the phrase that it refers to ('1'), and with every other phrase ('0')."""
    first = traced.meaning.first
    second = traced.meaning.second
    lexicon = grammar(traced.sentence.language).lexicon
    if first.subject.noun in PRONOUNS or not lexicon.refers_back(first, second):
        return []
    pronoun, antecedent = (traced.phrases.get(c.subject) for c in (second, first))
    if pronoun is None or antecedent is None:
        return []
    labels = {
        span: "0"
        for phrase, span in traced.phrases.items()
        if isinstance(phrase, NP)
        and phrase.noun not in PRONOUNS
        and (span[1] <= antecedent[0] or antecedent[1] <= span[0])
    }
    return [((pronoun, span), label) for span, label in sorted({**labels, antecedent: "1"}.items())]


def _rows(
    task: str,
    targets: Callable[[_Traced], list[Target]],
    language: str,
    split: str,
    seed: int,
    domains: tuple[str, ...],
) -> Iterator[Row]:
    seen_texts = set()
    without = 0
    for meaning in heldout.meanings(task, language, split, seed, domains):
        traced = _trace(language, meaning)
        spans = targets(traced)
        if spans and traced.sentence.text not in seen_texts:
            seen_texts.add(traced.sentence.text)
            yield tuple(token.text for token in traced.sentence.tokens), spans
            without = 0
        without += 1
        if without > _PATIENCE:
            raise ValueError(
                f"the embedded world's sentences of {language!r} have no more {task}: "
                f"leave the language out of config.data.languages, or take more domains"
            )


def constituents(language: str, split: str, seed: int, domains: tuple[str, ...]) -> Iterator[Row]:
    """Yields distinct sentences without end, with their phrases: NP, PP and ADVP.

    Args, errors: as of `entities.named_entities`.
    """
    return _rows("constituents", _constituents, language, split, seed, domains)


def roles(language: str, split: str, seed: int, domains: tuple[str, ...]) -> Iterator[Row]:
    """As `constituents`, with pairs of a verb and one of its phrases; the label is its role."""
    return _rows("roles", _roles, language, split, seed, domains)


def coreference(language: str, split: str, seed: int, domains: tuple[str, ...]) -> Iterator[Row]:
    """As `constituents`, with pairs of a pronoun and a phrase: '1' where both are one, else '0'.

    Japanese often leaves the pronoun out; its sentences are those that have it.

    Raises:
      ValueError: Spanish, which always leaves it out.
    """
    return _rows("coreference", _coreference, language, split, seed, domains)
