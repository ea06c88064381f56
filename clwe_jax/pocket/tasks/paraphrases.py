"""Pairs of sentences with nearly the same words: paraphrases or not.

As in PAWS (Zhang et al. 2019), two people change places, or two clauses change their subjects, so
that the order of words decides. A paraphrase moves the time, turns two clauses round, or compares
with the opposite adjective.
"""

from __future__ import annotations

import itertools

from clwe_jax.pocket.tasks.draws import ClauseDraws, opposite
from clwe_jax.pocket.tasks.heldout import shape_of

Row = tuple[tuple[str, ...], str]
DIFFERENT = "different"
PARAPHRASE = "paraphrase"
_SYMMETRIC = ("meet", "marry")  # "A meets B" means "B meets A"


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
    if event is None or not event.clause.time or event.clause.verb in _SYMMETRIC:
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
