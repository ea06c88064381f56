"""Pairs of sentences with nearly the same words: paraphrases or not, and graded similarity.

As in PAWS (Zhang et al. 2019), two people change places, or two clauses change their subjects, so
that the order of words decides. A paraphrase moves the time, turns two clauses round, or compares
with the opposite adjective.
"""

from __future__ import annotations

import itertools

from clwe_jax.pocket.base import PRONOUNS, Clause
from clwe_jax.pocket.tasks.draws import ClauseDraws, opposite
from clwe_jax.pocket.tasks.heldout import shape_of

Row = tuple[tuple[str, ...], str]
DIFFERENT = "different"
PARAPHRASE = "paraphrase"
_MAX_SCORE = 5  # the score of sentences that mean the same


def paraphrase_pairs(
    language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]
) -> list[Row]:
    """Rows ((sentence, sentence), 'paraphrase' or 'different'), the labels in turns.

    Args, errors: as of `named_entities`.
    """
    draws = ClauseDraws("paraphrases", language, split, seed, domains)
    kinds = (_exchange_people,) * 2 + (_turn_clauses,) * 2 + (_compare,)

    def render(pair) -> tuple[str, str]:
        return tuple(draws.text(*c, frame="and" if len(c) > 1 else "say") for c in pair)

    return list(itertools.islice(draws.rows((PARAPHRASE, DIFFERENT), kinds, render), rows))


def _exchange_people(draws: ClauseDraws, label: str):
    """Two people and a time, which stands at the beginning in one sentence only."""
    event = draws.statement(tables=draws.meetings)
    if event is None or not event.clause.time:
        return None
    c = event.clause
    role = "receiver" if draws.people(c.receiver) else "obj"
    partner = getattr(c, role)
    if not (draws.people(c.subject) and draws.people(partner)) or partner.noun == c.subject.noun:
        return None
    swapped_clause = c._replace(subject=partner, **{role: c.subject})
    if draws.uniform() < 0.5:  # else a sentence with unusual roles would give the label away
        c, swapped_clause = swapped_clause, c
    second_clause = (c if label == PARAPHRASE else swapped_clause)._replace(fronted=not c.fronted)
    return f"moved-{shape_of(c)}", ((c,), (second_clause,))


def _turn_clauses(draws: ClauseDraws, label: str):
    """Two actions of different people."""
    tense = "past" if draws.uniform() < 0.5 else "present"
    events = [draws.statement(tense, draws.actions) for _ in range(2)]
    if None in events:
        return None
    a, b = (e.clause._replace(time=None, fronted=False, manner=None) for e in events)
    if not (draws.people(a.subject) and draws.people(b.subject)):
        return None
    if a.subject.noun == b.subject.noun or a.verb == b.verb:
        return None
    template = f"turned-{shape_of(a)}+{shape_of(b)}"
    turned_pair = (a._replace(subject=b.subject), b._replace(subject=a.subject))
    first, turned_pair = ((a, b), turned_pair) if draws.uniform() < 0.5 else (turned_pair, (a, b))
    if label == PARAPHRASE:
        return template, (first, first[::-1])
    return template, (first, turned_pair if draws.uniform() < 0.5 else turned_pair[::-1])


def _compare(draws: ClauseDraws, label: str):
    """'A is bigger than B': 'B is smaller than A', or the same the wrong way round."""
    comparison = draws.comparison()
    if comparison is None:
        return None
    first = comparison[0]
    turned = first._replace(subject=first.obj, obj=first.subject)
    if label == PARAPHRASE:
        second = opposite(turned)
    else:
        second = turned if draws.uniform() < 0.5 else opposite(first)
    return f"compared-{first.tense}-{first.subject.plural}", ((first,), (second,))


def similar_pairs(
    language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]
) -> list[Row]:
    """Rows ((sentence, sentence), '0.0' to '5.0'): five times the share of common parts.

    Subject, verb, object, place and time are the parts; a changed part is another word of its kind.
    At 0 the sentences are of different domains. The scores come in turns.

    Args, errors: as of `named_entities`.
    """
    draws = ClauseDraws("similarity", language, split, seed, domains)
    levels = [str(level) for level in range(_MAX_SCORE + 1)]

    def render(pair) -> tuple[str, str]:
        return draws.text(pair[0]), draws.text(pair[1])

    graded = itertools.islice(draws.rows(levels, (_grade,), render), rows)
    return [(texts, f"{float(level):.1f}") for texts, level in graded]


def _grade(draws: ClauseDraws, label: str):
    """A clause, and one with the share of its parts that the label asks for."""
    event = draws.statement()
    if event is None or event.clause.subject.other or event.clause.subject.noun in PRONOUNS:
        return None
    c = event.clause
    table = event.table
    template = f"graded-{shape_of(c)}"
    if label == "0":
        second = draws.statement()
        return (template, (c, second.clause)) if second and second.domain != event.domain else None
    parts = ["subject", "verb", *(x for x in ("obj", "place", "time") if getattr(c, x))]
    kept_count = round(len(parts) * int(label) / _MAX_SCORE)
    # A sentence of few parts has the scores of its own only roughly.
    if abs(_MAX_SCORE * kept_count / len(parts) - int(label)) > 0.7:
        return None
    fixed = [part for part in parts if part == "verb" and len(set(table.verbs)) == 1]
    changed_parts = set(parts)
    while len(changed_parts) > len(parts) - kept_count:
        changed_parts.discard(fixed.pop() if fixed else draws.pick(parts))
    if not changed_parts and not c.time:
        return None
    second = c
    for part in sorted(changed_parts):
        second = _change_part(draws, second, part, table)
        if second is None:
            return None
    if c.time and "time" not in changed_parts:
        second = second._replace(fronted=not c.fronted)
    return template, (c, second)


def _change_part(draws: ClauseDraws, c: Clause, part: str, table) -> Clause | None:
    """The clause with another word in one part; None where the draw does not fit."""
    if part == "verb":
        verb = draws.other(table.verbs, c.verb)
        return verb and c._replace(verb=verb)
    if part == "time":
        time = draws.other(draws.world.times[c.tense], c.time)
        return time and c._replace(time=time)
    if part == "place":
        place = draws.place(table.places)
        return c._replace(place=place) if place.ground.noun != c.place.ground.noun else None
    options = table.who if part == "subject" else table.what
    noun = draws.other(options, getattr(c, part).noun)
    if noun is None:
        return None
    phrase = draws.noun_phrase(noun, "subject" if part == "subject" else "object")
    return c._replace(**{part: phrase._replace(adj=None)})
