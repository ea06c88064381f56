"""Draws meanings, which are independent of languages.

A domain is drawn, then a frame, then the words. The lexicon's `events`, `properties` and `spots`
limit the words, so that verbs select their objects, tools and places.
"""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import random

from clwe_jax.pocket.base import NP, PEOPLE, POSSESSIVES, Clause, Meaning, Place
from clwe_jax.pocket.world import MODAL_TABLE, TENSES, split_of, world

# Question -> the parts that it asks for, which its sentence does not say.
_ASKED = {"who": ("subject",), "what": ("obj",), "where": ("place", "goal")}


def _concepts(part) -> Iterator[str]:
    """The concepts of a part of a meaning, and of its parts, in the order in which they are drawn."""
    if isinstance(part, Clause):
        who = (part.subject, part.adj, part.verb, part.obj, part.receiver, part.tool)
        part = (*who, part.goal, part.place, part.modal, part.time, part.often, part.manner)
    elif isinstance(part, NP):
        relative = part.relative and part.relative._replace(subject=None)
        part = (part.noun, part.adj, part.owner, part.count, part.other, relative)
    elif isinstance(part, Place):
        part = (part.ground,)
    if isinstance(part, str):
        yield part
    else:
        yield from itertools.chain.from_iterable(map(_concepts, part or ()))


class Sampler:
    """Draws meanings with one random generator."""

    def __init__(self, seed: str, split: str = "train", domains: tuple[str, ...] = ()):
        if split not in ("train", "heldout"):
            raise ValueError(f"split is 'train' or 'heldout', not {split!r}")
        generator = random.Random(seed)
        self.uniform = generator.random
        self.split = split
        self.world = world()
        self.domains = self.world.drawn(domains) if domains else self.world.domains
        self.nouns: list[str] = []  # of the sentence so far; none of them is an owner

    def pick(self, table):
        return table[int(self.uniform() * len(table))]

    def draw(self) -> Meaning:
        while True:
            self.nouns.clear()
            domain = self.pick(self.domains)
            frame = self.pick(self.world.frames[domain])
            clauses = self.build(frame, domain)
            if clauses is None:
                continue
            key = self.key_of(frame, *clauses)
            if split_of(key) == self.split:
                frame = "say" if frame in ("is", "more", "at", "there") else frame
                return Meaning(frame, domain, *clauses, key)

    def key_of(self, frame: str, first: Clause, second: Clause | None) -> str:
        """The concepts that the sentence says, in order."""
        parts = [first._replace(**dict.fromkeys(_ASKED.get(frame, ())))]
        if second:
            if self.world.lexicon.refers_back(first, second):
                second = second._replace(subject=None)
            # A contrast repeats these two parts.
            parts.append(second._replace(verb=None, receiver=None) if frame == "but" else second)
        return "|".join([frame, *_concepts(parts)])

    # Noun phrases.

    def noun_phrase(self, noun: str, role: str, owners=()) -> NP:
        """A noun phrase; `role` is 'subject', 'object', 'place', 'tool' or 'whom'."""
        u = self.uniform
        w = self.world
        self.nouns.append(noun)
        kind = w.kind[noun]
        adjective = None
        if noun in w.adjectives and u() < (0.15 if role == "place" else 0.3):
            adjective = self.pick(w.adjectives[noun])
        if kind == "unique":
            return NP(noun, adj=adjective)
        if owners and noun in w.owned and kind in ("thing", "animal") and u() < 0.05:
            owner = self.pick(owners)
            if owner not in self.nouns and w.kind[owner] in PEOPLE:
                self.nouns.append(owner)
                return NP(noun, adj=adjective, owner=NP(owner, u() < 0.15))
        mass = w.lexicon.nouns[noun]["mass"]
        r = u()
        if role == "place" or role == "tool" and not mass:
            det = "def" if r < 0.78 else "indef" if r < 0.86 else "this" if r < 0.9 else "my"
            if role == "tool":
                det = "indef" if r < 0.5 else "def" if r < 0.9 else "my"
            if det == "my":
                det = POSSESSIVES[int(u() * 4)] if noun in w.owned else "def"
            return NP(noun, False, det, adjective)
        if mass:
            det = "def" if role == "subject" or r < 0.35 else "indef" if r < 0.92 else "this"
            return NP(noun, False, det, adjective)
        plural = u() < 0.32
        if role == "subject":
            det = "def" if r < 0.72 else "indef" if r < 0.8 else "this" if r < 0.86 else "x"
        else:
            det = "def" if r < 0.36 else "indef" if r < 0.76 else "this" if r < 0.82 else "x"
        if det == "indef" and plural and role == "subject":
            det = "def"
        if det != "x":
            return NP(noun, plural, det, adjective)
        r = u()
        if r < 0.45:
            count = self.pick(w.counts)
            return NP(noun, True, "num", adjective, count)
        if r < 0.65:
            return NP(noun, True, "many", adjective)
        det = POSSESSIVES[int(u() * 4)] if noun in w.owned else "this"
        return NP(noun, plural, det, adjective)

    def subject(self, table, domain: str, rich: bool = True) -> NP:
        """The subject of an event: a pronoun, a coordination, a noun, or a noun with a relative."""
        u = self.uniform
        noun = self.pick(table.who)
        if table.people and u() < 0.1:
            pronoun = ("I", "we", "he", "she", "they")[int(u() * 5)]
            return NP(pronoun)
        np = self.noun_phrase(noun, "subject", table.who if not table.people else ())
        if not rich or np.owner or np.det == "indef":
            return np
        r = u()
        if r < 0.06:
            second = self.pick(table.who)
            if second != noun and self.world.kind[second] != "unique" and not np.adj:
                self.nouns.append(second)
                return np._replace(det="def", count=None, other=NP(second, u() < 0.2))
        elif r < 0.11:
            tables = self.world.relatives.get((domain, noun), ())
            if tables:
                other_table = self.pick(tables)
                verb = self.pick(other_table.verbs)
                object_noun = self.pick(other_table.what)
                obj = self.noun_phrase(object_noun, "object")
                tense = "past" if u() < 0.4 else "present"
                relative = Clause("event", np, verb, obj._replace(owner=None), tense=tense)
                return np._replace(det="def", count=None, relative=relative)
        return np

    # Clauses.

    def event(self, table, domain: str, tense=None, subject=None, simple=False) -> Clause:
        """A clause of an event. `simple`: neither modal nor negated, no adverb of time."""
        u = self.uniform
        w = self.world
        if subject is None:
            subject = self.subject(table, domain, not simple)
        verb = self.pick(table.verbs)
        flags = w.lexicon.verbs[verb]["flags"]
        tense = tense or self.pick(TENSES)
        obj = receiver = tool = place = goal = time = often = manner = modal = None
        if table.what:
            owners = table.who if table.people else ()
            obj = self.noun_phrase(self.pick(table.what), "object", owners)
            if u() < 0.06 and obj.det in ("def", "indef") and not (obj.adj or obj.owner):
                second = self.pick(table.what)
                if second != obj.noun:
                    self.nouns.append(second)
                    mass = w.lexicon.nouns[second]["mass"]
                    unique = w.kind[second] == "unique"
                    det = "def" if unique else obj.det
                    obj = obj._replace(other=NP(second, obj.plural and not (mass or unique), det))
        if table.whom:
            receiver = self.noun_phrase(self.pick(table.whom), "whom")
        if table.tools and u() < 0.55:
            tool = self.noun_phrase(self.pick(table.tools), "tool")
        rate = 0.55 if obj else 0.85
        if table.goals:
            goal = self.place(table.goals)
        elif table.places and ("dwell" in flags or u() < (0.3 if tool or receiver else rate)):
            place = self.place(table.places)
        human = table.people
        negated = not simple and u() < 0.09
        acting = "state" not in flags
        if not simple and human and acting and tense == "present" and u() < 0.3:
            modal = self.pick(MODAL_TABLE)
            negated = negated and modal in ("want", "can")
        if not simple and u() < (0.25 if place or tool or receiver else 0.5):
            time = self.pick(w.times[tense])
        elif not (negated or modal) and tense == "present" and u() < 0.2:
            often = self.pick(w.often)
        if table.alive and acting and not (negated or often or tool) and u() < 0.13:
            manner = self.pick(w.manners)
        fronted = time is not None and u() < 0.5
        parts = (obj, receiver, tool, place, goal, time, often, manner)
        return Clause("event", subject, verb, *parts, None, tense, negated, modal, fronted)

    def place(self, table) -> Place:
        """A place drawn from a table of (relation, noun)."""
        relation, noun = self.pick(table)
        return Place(relation, self.noun_phrase(noun, "place"))

    def still(self, frame: str, domain: str, tense=None) -> Clause | None:
        """A clause with the copula, of the kind `frame`; None when a draw does not fit."""
        u = self.uniform
        w = self.world
        tense = tense or ("past" if u() < 0.3 else "present")
        negated = u() < 0.1
        if frame in ("at", "there"):
            things, places = self.pick(w.spots[domain])
            noun = self.pick(things)
            if frame == "there":
                if w.kind[noun] == "unique":
                    return None
                subject = self.noun_phrase(noun, "object")
                if subject.det not in ("indef", "num", "many"):
                    subject = subject._replace(det="indef", owner=None)
                negated = negated and subject.det == "indef"
            else:
                subject = self.noun_phrase(noun, "subject")
            spot = self.place(places)
            if spot.ground.noun == noun:
                return None
            return Clause(frame, subject, place=spot, tense=tense, negated=negated)
        source = w.states if frame == "is" else w.comparisons
        nouns, adjectives = self.pick(source[domain])
        subject = self.noun_phrase(self.pick(nouns), "subject")
        adjective = self.pick(adjectives)
        if frame == "more" or subject.adj == adjective:
            subject = subject._replace(adj=None)
        standard = None
        if frame == "more":
            noun = self.pick(nouns)
            if noun == subject.noun:
                return None
            standard = NP(noun, subject.plural and not w.lexicon.nouns[noun]["mass"])
            if w.kind[noun] == "unique":
                standard = NP(noun)
        time = None
        if frame == "is" and w.kind[subject.noun] in PEOPLE and u() < 0.15:
            time = self.pick(w.times[tense])
        fronted = time is not None and u() < 0.5
        how = {"time": time, "tense": tense, "negated": negated, "fronted": fronted}
        return Clause(frame, subject, adj=adjective, obj=standard, **how)

    # Sentences.

    def build(self, frame: str, domain: str) -> tuple[Clause, Clause | None] | None:
        """The clauses of a frame; None when a draw does not fit."""
        u = self.uniform
        events = self.world.events[domain]
        if frame in ("is", "more", "at", "there"):
            clause = self.still(frame, domain)
            return clause and (clause, None)
        table = self.pick(events)
        if frame == "say":
            return self.event(table, domain), None
        if frame == "ask":
            if u() < 0.25 and self.world.spots[domain]:
                clause = self.still("there", domain)
                return clause and (clause._replace(negated=False), None)
            return self.event(table, domain)._replace(negated=False, fronted=False), None
        if frame in ("who", "what", "where"):
            return self.question(frame, domain, table)
        tense = "past" if u() < 0.45 else "present"
        if frame == "because":
            return self.because(domain, table, tense)
        if frame == "report":
            return self.report(domain, table, tense)
        if frame == "but":
            return self.contrast(domain, table, tense)
        if frame == "if":
            tense = "present"
        first = self.event(table, domain, tense, simple=True)
        if frame in ("when", "if"):
            first = first._replace(often=None)
        second_tense = "future" if frame == "if" and u() < 0.4 else tense
        back = u() < 0.35 and table.people
        subject = self.world.lexicon.pronoun_of(first.subject) if back else None
        second_table = table if subject else self.pick(events)
        second = self.event(second_table, domain, second_tense, subject, simple=True)
        return (first, second) if second.verb != first.verb else None

    def question(self, frame: str, domain: str, table):
        """A question with 'who', 'what' or 'where'; None when a draw does not fit."""
        clause = self.event(table, domain, simple=True)._replace(manner=None)
        verb = self.world.lexicon.verbs[clause.verb]
        if frame == "where":
            clause = clause._replace(often=None)
            if not (clause.place or clause.goal):
                return None
        elif frame == "who":
            if not table.people or clause.subject.noun not in self.world.kind:
                return None
        elif (
            not clause.obj
            or clause.receiver
            or any("+" in verb[language] for language in ("en", "de", "es", "fr", "zh"))
        ):
            return None
        elif not table.people and self.world.kind[clause.obj.noun] in PEOPLE:
            return None
        return clause, None

    def because(self, domain: str, table, tense: str):
        """A person's mood and its cause; None when a draw does not fit."""
        if not table.people:
            return None
        subject = self.noun_phrase(self.pick(table.who), "subject")._replace(adj=None)
        mood = self.pick(self.world.moods)
        back = self.world.lexicon.pronoun_of(subject) if self.uniform() < 0.5 else None
        cause_table = table if back else self.pick(self.world.events[domain])
        return (
            Clause("is", subject, adj=mood, tense=tense),
            self.event(cause_table, domain, tense, back, simple=True),
        )

    def report(self, domain: str, table, tense: str):
        """A clause that a person says or thinks; None when a draw does not fit."""
        speakers = self.pick(self.world.events[domain])
        if not speakers.people:
            return None
        subject = self.noun_phrase(self.pick(speakers.who), "subject")._replace(adj=None)
        verb = self.pick(self.world.reports)
        if self.uniform() < 0.25 and self.world.states[domain]:
            complement = self.still("is", domain, tense)._replace(time=None)
        else:
            complement = self.event(table, domain, tense, simple=True)
        return Clause("event", subject, verb, tense=tense), complement

    def contrast(self, domain: str, table, tense: str):
        """An action on one thing but not on another; None when a draw does not fit."""
        if not table.people or table.whom or len(table.choices) < 2:
            return None
        first = self.event(table, domain, tense, simple=True)
        if first.obj.other:
            return None
        noun = self.pick(table.what)
        if noun == first.obj.noun:
            return None
        obj = self.noun_phrase(noun, "object")
        obj = obj._replace(det="def", count=None, owner=None)
        subject = self.world.lexicon.pronoun_of(first.subject)
        parts = (subject, first.verb, obj, first.receiver)
        return first, Clause("event", *parts, tense=tense, negated=True)
