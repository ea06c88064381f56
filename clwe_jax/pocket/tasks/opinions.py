"""Reviews that praise or complain, and texts of one domain.

A review is a neutral event and one or two opinions: a property ("The soup was delicious"), a mood
and its cause ("I am angry because the waiter lost the menu"), or a feeling ("We do not love this
song"). A negation turns an opinion round, and stands as often in praise as in complaints.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from clwe_jax.pocket.base import NP, PRONOUNS, Clause, Grammar, Meaning
from clwe_jax.pocket.generate import grammar
from clwe_jax.pocket.lexicon import load
from clwe_jax.pocket.tasks import heldout
from clwe_jax.pocket.tasks.draws import ClauseDraws
from clwe_jax.pocket.tasks.heldout import shape_of

Row = tuple[tuple[str, ...], str]
LABELS = ("pos", "neg")

_GOOD = frozenset(
    "good beautiful interesting clean delicious fresh sweet clever kind.nice polite honest strong "
    "famous healthy brave elegant".split()
)
_BAD = frozenset(
    "bad broken dirty boring dangerous weak sour loud slow hard.difficult expensive angry".split()
)
_MOODS = {"pos": ("happy", "satisfied"), "neg": ("angry", "sad")}
_FEELINGS = ("love", "admire")
_OPINIONS = _GOOD | _BAD | {*_FEELINGS}
_NEGATED = 0.3  # share of opinions with a negation


def reviews(language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]) -> list[Row]:
    """Rows ((review,), 'pos' or 'neg'), the labels in turns.

    The words of opinions occur in all splits; things and actions are held out.

    Args, errors: as of `named_entities`.
    """
    draws = ClauseDraws("opinions", language, split, seed, domains, free=_OPINIONS)

    def render(sentences) -> tuple[str]:
        texts = [draws.text(*clauses, frame=frame) for frame, *clauses in sentences]
        return (draws.grammar.space.join(texts),)

    return list(itertools.islice(draws.rows(LABELS, (_review,), render), rows))


def _review(draws: ClauseDraws, label: str):
    """A neutral event in half of the reviews, and one or two opinions of one domain."""
    domain = draws.pick(draws.domains)
    events = draws.world.events[domain]
    clauses = []
    templates = []
    if draws.uniform() < 0.5:
        event = draws.event(draws.pick(events), domain, "past", simple=True)
        if event.verb in _FEELINGS:
            return None
        clauses.append(("say", event))
        templates.append("event")
    for _ in range(1 + (draws.uniform() < 0.4)):
        negated = draws.uniform() < _NEGATED
        # "We do not love it" is a complaint; no verb says the same without a negation.
        kinds = [_property, _mood] if not negated else [_property]
        kinds += [_feeling] if (label == "neg") == negated else []
        opinion = draws.pick(kinds)(draws, label, domain, negated)
        if opinion is None or opinion[1] in clauses:
            return None
        templates.append(opinion[0])
        clauses.append(opinion[1])
    return "+".join(templates), clauses


def _property(draws: ClauseDraws, label: str, domain: str, negated: bool):
    """'This soup is delicious', or 'not cold'."""
    polar_adjectives = _GOOD if (label == "pos") != negated else _BAD
    tables = []
    for nouns, adjectives in draws.world.states[domain]:
        matches = [a for a in adjectives if a in polar_adjectives]
        if matches:
            tables.append((nouns, matches))
    if not tables:
        return None
    nouns, adjectives = draws.pick(tables)
    noun = draws.pick(nouns)
    tense = "past" if draws.uniform() < 0.5 else "present"
    unique = draws.world.kind[noun] == "unique"
    det = "this" if draws.uniform() < 0.3 and not unique else "def"
    is_plural = not (unique or draws.world.lexicon.mass(noun)) and draws.uniform() < 0.3
    clause = Clause(
        "is", NP(noun, is_plural, det), adj=draws.pick(adjectives), tense=tense, negated=negated
    )
    return f"property-{tense}-{negated}-{det}", ("say", clause)


def _mood(draws: ClauseDraws, label: str, domain: str, negated: bool):
    """'I am happy because ...' with an action of another person."""
    table = draws.pick(draws.world.events[domain])
    tense = "past" if draws.uniform() < 0.5 else "present"
    cause = draws.event(table, domain, tense, simple=True)
    if cause.subject.noun in PRONOUNS:
        return None
    me = Clause("is", NP("I"), adj=draws.pick(_MOODS[label]), tense=tense)
    return f"mood-{shape_of(cause)}", ("because", me, cause)


def _feeling(draws: ClauseDraws, label: str, domain: str, negated: bool):
    """'We love this song', or 'We do not love this song'."""
    table = draws.pick(draws.world.events[domain])
    if not table.what:
        return None
    noun = draws.pick(table.what)
    det = "def" if draws.world.kind[noun] == "unique" else "this"
    clause = Clause("event", NP("we"), draws.pick(_FEELINGS), NP(noun, det=det), negated=negated)
    return f"feeling-{negated}-{det}", ("say", clause)


def topics(language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]) -> list[Row]:
    """Rows ((text,), domain): two sentences of one domain, the domains in turns.

    Each text has a word that only this domain's lexicon has.

    Args, errors: as of `named_entities`.
    """
    owners = load().domain_of
    rules = grammar(language)
    streams = [
        heldout.meanings(f"topics/{domain}", language, split, seed, (domain,)) for domain in domains
    ]
    domain_of: dict[tuple[str], str] = {}
    for domain, stream in itertools.cycle(zip(domains, streams)):
        if len(domain_of) == rows:
            break
        meanings = (m for m in stream if any(owners[x] == domain for x in heldout.concepts_of(m)))
        while (text := _text(rules, meanings)) in domain_of:
            pass
        domain_of[text] = domain
    return list(domain_of.items())


def _text(rules: Grammar, meanings: Iterator[Meaning]) -> tuple[str]:
    """The next two meanings as one text."""
    return (rules.space.join(rules.render(next(meanings)).text for _ in range(2)),)
