"""Sentences with names of people, places and organisations, which stand for ordinary noun phrases.

A name says nothing about its type, because no text for pretraining has it; its place in the
sentence does. People eat, meet and ask; companies buy, sell, lend and hire; one lives in a city.
Institutions have a common noun in their name.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from clwe_jax.pocket.base import NP, PEOPLE, PRONOUNS, Clause, Meaning, Place, Sentence
from clwe_jax.pocket.generate import grammar
from clwe_jax.pocket.lexicon import load
from clwe_jax.pocket.tasks import heldout
from clwe_jax.pocket.tasks.names import TYPE, Names, names

Row = tuple[tuple[str, ...], tuple[str, ...]]

# Verbs whose subject is a company where it is a name.
COMMERCE = frozenset(
    "buy sell lend lower raise.price pay deposit hire fire.dismiss make.factory build develop test "
    "install print send book.reserve need".split()
)
# Grounds for which a city stands.
_CITY_LIKE = frozenset(
    "city village capital.city street square market park.garden house garden room road border "
    "airport station kitchen mountain island beach lake river.water forest".split()
)
_SETTLED = ("in", "at", "on", "open")  # relations that a city or institution has
# Rows take turns: one has a person, the next a place, ..., and one in ten has no names.
_TURNS = ("PER", "LOC", "ORG") * 3 + ("",)
_WAITING = 100  # sentences of a type that are kept until its turn


class _Renamer:
    """Puts names into meanings."""

    def __init__(self, known: Names, generator: random.Random):
        self.known = known
        self.random = generator
        self.kinds = load().nouns

    def meaning(self, m: Meaning) -> Meaning:
        """The meaning with some of its noun phrases replaced by names."""
        # "The woman sings, and she dances": a company is neither he nor she.
        back = m.second is not None and m.second.subject.noun in PRONOUNS
        first = self.clause(m.first, companies=not back)
        return m._replace(first=first, second=m.second and self.clause(m.second))

    def clause(self, c: Clause, companies: bool = True) -> Clause:
        """The clause with names; those of companies only where they are wanted as subjects."""
        place = self.place(c.place)
        goal = self.place(c.goal)
        plain = c.kind == "event" and not (place or goal or c.tool or c.receiver)
        if plain and self.person(c.subject) and self.random.random() < 0.3:
            place = Place("in", NP(self.random.choice(self.known.cities), det="name"))
        if c.verb == "work" and self.random.random() < 0.6:
            place = Place("at", NP(self.random.choice(self.known.companies), det="name"))
        subject = c.subject
        if c.verb in COMMERCE and self.person(subject):
            if companies and not (subject.plural or subject.other) and self.random.random() < 0.9:
                subject = NP(self.random.choice(self.known.companies), det="name")
        elif c.kind != "there":
            subject = self.people(subject)
        obj = self.people(c.obj) if c.obj else None
        receiver = self.people(c.receiver) if c.receiver else None
        return c._replace(subject=subject, obj=obj, receiver=receiver, place=place, goal=goal)

    def person(self, np: NP) -> bool:
        """Whether the phrase is a person and no pronoun."""
        return np.noun not in PRONOUNS and self._kind(np.noun) in PEOPLE

    def _kind(self, noun: str) -> str:
        entry = self.kinds.get(noun)
        return entry["flags"][0] if entry else ""

    def people(self, np: NP) -> NP:
        """The phrase, or the name of a person; two names where it is plural."""
        is_plural = np.plural or np.other is not None
        able = self.person(np) and (np.other is None or self.person(np.other))
        if not able or self.random.random() < 0.35:
            return np
        first = self._one(self._kind(np.noun))
        if not is_plural:
            return NP(first, det="name")
        second = self._one(self._kind(np.other.noun if np.other else np.noun))
        while self._words(first) & self._words(second):  # "Anna and Anna Meyer" are one person
            second = self._one(self._kind(np.other.noun if np.other else np.noun))
        return NP(first, det="name", other=NP(second, det="name"))

    def _words(self, name: str) -> set[str]:
        return {word for word, tag in self.known.by_id[name].words if tag != "O"}

    def _one(self, kind: str) -> str:
        return self.random.choice(self.known.women if kind == "woman" else self.known.men)

    def place(self, place: Place | None) -> Place | None:
        """The place, or a city, or an institution with a name."""
        if place is None or place.relation not in (*_SETTLED, "to"):
            return place
        noun = place.ground.noun
        r = self.random.random()
        if noun in self.known.kinds and r < 0.85:
            ground = NP(self.random.choice(self.known.kinds[noun]), det="def")
            return Place(place.relation, ground)
        if noun in _CITY_LIKE and r < 0.6:
            return Place("in", NP(self.random.choice(self.known.cities), det="name"))
        return place


def _label_names(sentence: Sentence, known: Names) -> Row:
    """The words of a sentence and their tags; a name's token becomes its words."""
    pairs = []
    for token in sentence.tokens:
        name = known.by_id.get(token.concept or "")
        pairs += name.words if name else [(token.text, "O")]
    words, tags = zip(*pairs)
    return words, tags


def named_entities(
    language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]
) -> list[Row]:
    """Sentences with named entities: words and tags in IOB2 (PER, LOC, ORG).

    Of ten rows three have a person, three a place and three an organisation, and perhaps further
    names; one has none. No training row of any language has a name or template of the other splits.

    Args:
      language: one of `pocket.LANGUAGES`.
      split: 'train', 'dev' or 'test'.

    Raises:
      ValueError: an unknown language, split or domain.
    """
    heldout.check_split(split)
    grammar(language)
    name_lists = names(language, split)
    stream = heldout.meanings("entities", language, split, seed, domains)
    renamer = _Renamer(name_lists, random.Random(f"names/{language}/{split}/{seed}"))
    return list(itertools.islice(_rows(stream, name_lists, renamer, split), rows))


def _rows(stream: Iterator[Meaning], known: Names, renamer: _Renamer, split: str) -> Iterator[Row]:
    queues: dict[str, list[Meaning]] = {"PER": [], "LOC": [], "ORG": []}
    seen_texts: set[str] = set()
    for name_type in itertools.cycle(_TURNS):
        while True:
            if name_type and queues[name_type]:
                meaning = queues[name_type].pop()
            else:
                meaning = next(stream)
                if name_type:
                    meaning = renamer.meaning(meaning)
                    # A place that is added may make the template of another split.
                    fits = heldout.template_part(heldout.shape(meaning)) == split
                    types = _types(meaning) if fits else set()
                    if name_type not in types:
                        for type_ in types:
                            if len(queues[type_]) < _WAITING:
                                queues[type_].append(meaning)
                        continue
            sentence = known.grammar.render(meaning)
            words, tags = _label_names(sentence, known)
            # A question leaves out the phrase that it asks for, perhaps the name.
            if sentence.text not in seen_texts and (not name_type or f"B-{name_type}" in tags):
                seen_texts.add(sentence.text)
                yield words, tags
                break


def _types(meaning: Meaning) -> set[str]:
    types = set()
    for c in filter(None, (meaning.first, meaning.second)):
        grounds = [place.ground for place in (c.place, c.goal) if place]
        for np in filter(None, (c.subject, c.obj, c.receiver, *grounds)):
            types.add(TYPE.get(np.noun.rpartition(".")[0]))
    return types - {None}
