"""Pairs of a premise and a hypothesis: entailment, neutral or contradiction.

Most pairs are of a clause with details (place, time, tool, manner, adjectives) and the same clause
with fewer. A positive clause entails the one with fewer details, and a negated clause the one with
more; the reverse is neutral; a negation in one of the two is a contradiction. Other pairs compare
("A is bigger than B") or describe, with opposite adjectives. Negations and details are about as
frequent with each label, so that a hypothesis alone says almost nothing.
"""

from __future__ import annotations

import itertools

from clwe_jax.pocket.base import NP, Clause
from clwe_jax.pocket.tasks.draws import OPPOSITE, ClauseDraws, opposite
from clwe_jax.pocket.tasks.heldout import shape_of

Row = tuple[tuple[str, ...], str]
_WARMTH = frozenset(("hot", "warm", "cold"))  # two of them say something about each other
LABELS = ("entailment", "neutral", "contradiction")


def inference_pairs(
    language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]
) -> list[Row]:
    """Rows ((premise, hypothesis), label), the labels in turns.

    Args, errors: as of `named_entities`.
    """
    draws = ClauseDraws("inference", language, split, seed, domains)
    return [(texts, label) for texts, _, label in _draw_rows(draws, rows)]


def translated_pairs(
    language: str, other: str, split: str, rows: int, seed: int, domains: tuple[str, ...]
) -> list[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """The rows of `inference_pairs`, each with its texts in another language before the label."""
    draws = ClauseDraws("inference", language, split, seed, domains)
    return [
        (texts, tuple(draws.text(clause, language=other) for clause in clauses), label)
        for texts, clauses, label in _draw_rows(draws, rows)
    ]


def _draw_rows(
    draws: ClauseDraws, rows: int
) -> list[tuple[tuple[str, ...], tuple[Clause, ...], str]]:
    """Texts, the clauses that they say, and the label of each row."""
    kinds = (_vary_details,) * 8 + (_compare,) * 2 + (_describe,) * 2
    meanings: dict[tuple[str, ...], tuple[Clause, ...]] = {}

    def render(clauses: tuple[Clause, Clause]) -> tuple[str, ...]:
        texts = tuple(draws.text(clause) for clause in clauses)
        meanings.setdefault(texts, clauses)
        return texts

    labelled = itertools.islice(draws.rows(LABELS, kinds, render), rows)
    return [(texts, meanings[texts], label) for texts, label in labelled]


def _negate(c: Clause) -> Clause:
    return c._replace(negated=True)


def _drop_details(draws: ClauseDraws, c: Clause) -> Clause | None:
    """The clause without some of its details; None where it has none."""
    dwells = "dwell" in draws.world.lexicon.verbs[c.verb]["flags"]
    reductions = {
        "place": c.place and not dwells and c._replace(place=None),
        "time": c.time and c._replace(time=None, fronted=False),
        "manner": c.manner and c._replace(manner=None),
        "tool": c.tool and c._replace(tool=None),
        "subject": c.subject.adj and c._replace(subject=c.subject._replace(adj=None)),
        "obj": c.obj and c.obj.adj and c._replace(obj=c.obj._replace(adj=None)),
    }
    have = [key for key, clause in reductions.items() if clause]
    if not have:
        return None
    drop = [key for key in have if draws.uniform() < 0.6] or [draws.pick(have)]
    result = c
    for key in drop:
        result = result._replace(**{key: getattr(reductions[key], key)})
    return result._replace(fronted=result.fronted and result.time is not None)


def _vary_details(draws: ClauseDraws, label: str):
    """A clause with details, and the same clause with fewer; or another action: neutral."""
    if label == "neutral" and draws.uniform() < 0.3:
        return _act_otherwise(draws)
    event = draws.statement()
    general = event and _drop_details(draws, event.clause)
    if not general:
        return None
    specific = event.clause
    flip = draws.uniform() < 0.45
    pairs = {
        "entailment": ((specific, general), (_negate(general), _negate(specific))),
        "neutral": ((general, specific), (_negate(specific), _negate(general))),
        "contradiction": ((specific, _negate(general)), (_negate(general), specific)),
    }
    premise, hypothesis = pairs[label][flip]
    return f"{shape_of(premise)}>{shape_of(hypothesis)}", (premise, hypothesis)


def _act_otherwise(draws: ClauseDraws):
    """Another action of the same people, which neither follows nor is excluded."""
    event = draws.statement()
    if event is None:
        return None
    first = event.clause
    table = draws.pick(draws.world.events[event.domain])
    if first.subject.other or first.subject.noun not in table.who:
        return None
    second = draws.event(table, event.domain, first.tense, first.subject, simple=True)
    if second.verb == first.verb or second.often:
        return None
    second = second._replace(negated=draws.uniform() < 0.45)
    first = first._replace(negated=draws.uniform() < 0.45)
    return f"{shape_of(first)}&{shape_of(second)}", (first, second)


def _compare(draws: ClauseDraws, label: str):
    """'A is bigger than B' with 'B is smaller than A', or with a third thing."""
    comparison = draws.comparison()
    if comparison is None:
        return None
    first, nouns = comparison
    turned = first._replace(subject=first.obj, obj=first.subject)
    if label == "entailment":
        second = opposite(turned)
    elif label == "contradiction":
        second = turned if draws.uniform() < 0.5 else opposite(first)
    else:
        noun = draws.other(nouns, first.subject.noun, first.obj.noun)
        if noun is None:
            return None
        third = NP(noun, first.subject.plural and not draws.world.lexicon.mass(noun))
        if draws.world.kind[noun] == "unique":
            third = NP(noun)
        base = opposite(turned) if draws.uniform() < 0.5 else turned
        second = base._replace(subject=third) if draws.uniform() < 0.5 else base._replace(obj=third)
    return f"more-{first.tense}-{first.subject.plural}", (first, second)


def _describe(draws: ClauseDraws, label: str):
    """'A is big' with 'A is not small', 'A is small', or another property."""
    domain = draws.pick(draws.domains)
    clause = draws.still("is", domain) if draws.world.states[domain] else None
    if clause is None or clause.adj not in OPPOSITE or clause.subject.det not in ("def", "this"):
        return None
    clause = clause._replace(negated=False, time=None, fronted=False)
    clause = clause._replace(subject=clause.subject._replace(adj=None, other=None, relative=None))
    if label == "entailment":
        second = _negate(opposite(clause))
    elif label == "contradiction":
        second = opposite(clause) if draws.uniform() < 0.5 else _negate(clause)
    else:
        adjectives = next(a for n, a in draws.world.states[domain] if clause.subject.noun in n)
        adjective = draws.other(adjectives, clause.adj, OPPOSITE[clause.adj])
        if adjective is None or {adjective, clause.adj} & _WARMTH == {adjective, clause.adj}:
            return None
        second = clause._replace(adj=adjective, negated=draws.uniform() < 0.5)
    return f"is-{clause.tense}-{clause.subject.plural}-{clause.subject.det}", (clause, second)
