"""Clauses to build pairs and reviews from, with the tables that they were drawn from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from clwe_jax.pocket.base import NP, PEOPLE, PRONOUNS, Clause, Meaning
from clwe_jax.pocket.generate import grammar
from clwe_jax.pocket.tasks import heldout

_DEFINITE = ("def", "this", "my", "our", "his", "her")
_PATIENCE = 50_000  # draws for a row

# Adjectives that exclude each other; where both compare, "A is bigger than B" is "B is smaller".
_OPPOSITES = (
    ("big", "small"),
    ("long", "short"),
    ("expensive", "cheap"),
    ("heavy", "light.weight"),
    ("young", "old.age"),
    ("new", "old.thing"),
    ("fast", "slow"),
    ("easy", "hard.difficult"),
    ("hot", "cold"),
    ("clean", "dirty"),
    ("rich", "poor"),
    ("loud", "quiet"),
    ("good", "bad"),
    ("hard.solid", "soft"),
    ("empty", "full"),
    ("wet", "dry"),
)
OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}


def opposite(clause: Clause) -> Clause:
    """The clause with the opposite adjective."""
    return clause._replace(adj=OPPOSITE[clause.adj])


def _clauses(parts) -> list[Clause]:
    """The clauses in nested tuples, among other things."""
    if isinstance(parts, Clause):
        return [parts]
    if isinstance(parts, str):
        return []
    return list(itertools.chain(*map(_clauses, parts)))


class DrawnEvent(NamedTuple):
    """A clause and its source."""

    clause: Clause
    table: object
    domain: str


class ClauseDraws(heldout.SplitSampler):
    """Draws the parts of rows, and lets only rows through that belong to a split.

    Args:
      task: name of the task; tasks draw different rows.
      language, split, seed, domains: as of the tasks.
      free: concepts that rows of all splits may have.
    """

    def __init__(
        self,
        task: str,
        language: str,
        split: str,
        seed: int,
        domains: tuple[str, ...],
        free: frozenset[str] = frozenset(),
    ):
        super().__init__(f"{task}/{language}/{split}/{seed}", split, domains)
        self.task = task
        self.free = free
        self.absent -= free
        self.grammar = grammar(language)

    def rows(self, labels, kinds, render) -> Iterator[tuple[tuple[str, ...], str]]:
        """Distinct rows (texts, label) without end, the labels in turns.

        Args:
          kinds: functions (draws, label) -> (template, parts), or None where a draw does not fit;
            a row draws one. A kind that the split has no words for is left out.
          render: parts -> texts.

        Raises:
          ValueError: the split has no words for any kind.
        """
        seen_texts: set[tuple[str, ...]] = set()
        kinds = list(kinds)
        for label in itertools.cycle(labels):
            while True:
                kind = kinds[int(self.uniform() * len(kinds))]
                parts = self._until(kind, label)
                if parts is None:
                    kinds.remove(kind)
                    if not kinds:
                        raise ValueError(
                            f"the domains {', '.join(dict.fromkeys(self.domains))} have too few "
                            f"words for {self.part} rows of {self.task}: take more domains"
                        )
                    continue
                texts = render(parts)
                if texts not in seen_texts:
                    break
            seen_texts.add(texts)
            yield texts, label

    def _until(self, kind, label: str):
        """The parts of the first draw of a kind that belongs to the split; None without one."""
        for _ in range(_PATIENCE):
            self.nouns.clear()
            row = kind(self, label)
            if row is None or heldout.template_part(f"{self.task}/{row[0]}") != self.part:
                continue
            concepts = set().union(*map(heldout.concepts_in, _clauses(row[1])))
            if heldout.fits(concepts - self.free, self.part):
                return row[1]
        return None

    def text(self, *clauses: Clause, frame: str = "say", language: str = "") -> str:
        """One or two clauses as a sentence of a language; '': of the rows' own."""
        second = clauses[1] if len(clauses) > 1 else None
        speaks = grammar(language) if language else self.grammar
        return speaks.render(Meaning(frame, "", clauses[0], second, "")).text

    def statement(self, tense: str | None = None, tables=None) -> DrawnEvent | None:
        """A positive event without a modal verb, whose subject is definite; None where it is not.

        Args:
          tense: its tense; None: any.
          tables: pairs of a domain and a table of events; None: all.
        """
        if tables:
            domain, table = self.pick(tables)
        else:
            domain = self.pick(self.domains)
            table = self.pick(self.world.events[domain])
        clause = self.event(table, domain, tense)
        subject = clause.subject
        simple = not (clause.negated or clause.modal or clause.often or subject.relative)
        if simple and subject.det in _DEFINITE:
            return DrawnEvent(clause, table, domain)
        return None

    @functools.cached_property
    def meetings(self) -> tuple:
        """The (domain, table) of events in which a person acts on a person."""
        kind = self.world.kind
        return tuple(
            (domain, table)
            for domain, table in self.actions
            if any(kind[noun] in PEOPLE for noun in table.whom or table.what)
        )

    @functools.cached_property
    def actions(self) -> tuple:
        """The (domain, table) of events of people."""
        actions = []
        for domain in dict.fromkeys(self.domains):
            tables = dict.fromkeys(self.world.events[domain])
            actions += [(domain, table) for table in tables if table.people]
        return tuple(actions)

    def other(self, options, *taken: str) -> str | None:
        """An entry of a table; None where it is one of `taken`."""
        entry = self.pick(options)
        return None if entry in taken else entry

    def comparison(self) -> tuple[Clause, tuple] | None:
        """'A is bigger than B' with an adjective that has an opposite, and the nouns to compare."""
        domain = self.pick(self.domains)
        if not self.world.comparisons[domain]:
            return None
        clause = self.still("more", domain)
        if clause is None or clause.negated or clause.adj not in OPPOSITE:
            return None
        if clause.subject.det != "def":
            return None
        compared = {clause.subject.noun, clause.obj.noun}
        groups = [nouns for nouns, _ in self.world.comparisons[domain] if compared <= set(nouns)]
        nouns = groups[0] if groups else ()
        # Both sides are of one form, so that they can change places.
        plural = clause.subject.plural and not self.world.lexicon.mass(clause.obj.noun)
        if self.world.kind[clause.obj.noun] == "unique":
            plural = False
        subject = NP(clause.subject.noun, plural)
        obj = NP(clause.obj.noun, plural)
        if self.uniform() < 0.5:  # the lexicon has some adjectives more often than their opposites
            return opposite(clause)._replace(subject=obj, obj=subject), nouns
        return clause._replace(subject=subject, obj=obj), nouns

    def people(self, np: NP | None) -> bool:
        """Whether a phrase is one definite person, or several, and no pronoun."""
        return bool(
            np
            and np.noun not in PRONOUNS
            and self.world.kind[np.noun] in PEOPLE
            and np.det in _DEFINITE
            and not (np.other or np.owner or np.relative)
        )
