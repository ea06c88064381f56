"""Reads the lexicon: the files `lexicon/*.txt`, one domain each.

A file has sections that begin with `== name`; `#` begins a comment. In the sections `nouns`,
`verbs`, `adjectives`, `times` and `adverbs` a line is a concept, its columns separated by `|`:

    id | flags | en | de | es | fr | ja | zh

Nouns. Flags begin with a kind: `person`, `woman`, `animal`, `thing`, `unique` (always "the",
  singular), `num`, or for places `at`, `in`, `on`, `open`, followed by prepositions of single
  languages where those differ from the relation's (`de=an`). More flags: `shore` (one goes to its
  edge), `own` (may be somebody's, where `World.owned` would not say so).
  en `child/children`, `water/-` (mass noun); de `der Baum/Bäume`, weak `der Bär/Bären*`;
  es and fr `m libro`, plural after `/` where irregular; es `fa agua` (feminine with "el"),
  fr `m *hibou` (no elision); ja `犬:匹` and zh `狗:只` with their counters.
Verbs. Flags: `state` (no manner, no modal verb), `dwell` (needs a place), `report` (takes
  a clause), or `-`. en `eat/ate`; de `essen/isst/aß`, `ein~kaufen`; es `cerrar:ie`, or the forms
  in the order of `SLOTS`, `dar{doy,da,dan,di,dio,dieron}`; fr `acheter:è` or
  `boire{bois,boit,buvons,boivent,bu}`, ` être` where that is its auxiliary;
  ja `飲む:5`, `食べる:1`, `掃除する`, `~` for a state in -ている;
  zh `吃`, `!` where it takes no 了, `走 >到` before a goal, `讲 前` with the receiver before it.
  ` +word` is the preposition or particle of the object, in German with its case (`+auf:acc`).
Adjectives. Flags: `plain` (not compared), `mood` (of people, has causes) or `-`. en `big/bigger`;
  de `groß/größer`, attributive stem `teuer/teurer/teur`; es `cansado estar`,
  feminine and plural where irregular (`joven/joven/jóvenes`);
  fr `beau/belle/bel`, after `<` where it stands before its noun;
  ja `大きい`, `静か:な`, `緑:の`, `疲れる:1て` (a verb's state);
  zh `大!` (no 的), `红色:的` (predicate 是...的).
Times and adverbs. Flags: the tenses a time fits; `manner` or `often`. The starred word carries the
  concept.

    == sets        name = ids                    `$name` stands for them below
    == events      who > verbs > what > whom % tools @ places -> goals
    == properties  nouns : adjectives
    == spots       things @ places               a place is `id` or `relation:id`

Lists are in order of falling frequency. The error for a mistake names the file, the line and the
expected form.
"""

from __future__ import annotations

import dataclasses
import functools
from importlib import resources

from clwe_jax.pocket.base import NP, PLACES, PRONOUNS, Clause

COLUMNS = ("en", "de", "es", "fr", "ja", "zh")
TABLES = ("nouns", "verbs", "adjectives", "times", "adverbs")
RELATIONS = PLACES + ("inside", "under", "beside", "behind", "before", "to")
KINDS = ("person", "woman", "animal", "thing", "unique", "num") + PLACES


@dataclasses.dataclass(frozen=True)
class Event:
    """Who may do what to what, with what, where: lists of concept ids by falling frequency."""

    who: tuple[str, ...]
    verbs: tuple[str, ...]
    what: tuple[str, ...] = ()
    whom: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    goals: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass
class Domain:
    """The events, properties and spots of one domain."""

    name: str
    events: list[Event] = dataclasses.field(default_factory=list)
    properties: list[tuple[tuple[str, ...], tuple[str, ...]]] = dataclasses.field(
        default_factory=list
    )
    spots: list[tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = dataclasses.field(
        default_factory=list
    )


class Lexicon:
    """All concepts and domains.

    `nouns`, `verbs`, `adjectives`, `times` and `adverbs` map a concept id to its entry, a dict with a
    string for each of the six languages and 'flags', a tuple. `concepts` lists all ids in order.
    """

    def __init__(self):
        self.nouns: dict[str, dict] = {}
        self.verbs: dict[str, dict] = {}
        self.adjectives: dict[str, dict] = {}
        self.times: dict[str, dict] = {}
        self.adverbs: dict[str, dict] = {}
        self.domains: dict[str, Domain] = {}
        self.domain_of: dict[str, str] = {}
        self._sets: dict[str, tuple[str, ...]] = {}

    @property
    def concepts(self) -> list[str]:
        """All concept ids, in the order of the files."""
        return list(self.domain_of)

    def mass(self, noun: str) -> bool:
        """Whether the noun is a mass noun, which has no plural."""
        return self.nouns[noun]["mass"]

    def pronoun_of(self, np: NP) -> NP:
        """The pronoun that refers back to a person; a pronoun itself is repeated."""
        if np.noun in PRONOUNS:
            return np
        nouns = (np.noun, np.other.noun) if np.other else (np.noun,)
        women = all(self.nouns[noun]["flags"][0] == "woman" for noun in nouns)
        if np.plural or np.other:
            return NP("they.women" if women else "they")
        return NP("she" if women else "he")

    def refers_back(self, first: Clause, second: Clause | None) -> bool:
        """Whether the subject of a second clause is the pronoun of the first one's."""
        return second is not None and second.subject == self.pronoun_of(first.subject)

    def read(self, files: list[tuple[str, str]]) -> None:
        """Reads (name, text) of every file: first all concepts, then the events of each domain.

        Raises:
          ValueError: a mistake in a line; the message names file and line.
        """
        lines = [(name, *line) for name, text in files for line in _lines(name, text)]
        for name, number, section, line in lines:
            if section in TABLES:
                self._add_concept(f"{name}:{number}", name.removesuffix(".txt"), section, line)
            elif section == "sets":
                key, _, ids = line.partition("=")
                self._sets[key.strip()] = self._ids(f"{name}:{number}", ids)
        for name, number, section, line in lines:
            source = f"{name}:{number}"
            domain = name.removesuffix(".txt")
            domain = self.domains.setdefault(domain, Domain(domain))
            if section == "events":
                domain.events.append(self._event(source, line))
            elif section == "properties":
                nouns, _, adjectives = line.partition(":")
                known_nouns = self._find_ids(source, self.nouns, nouns)
                known_adjectives = self._find_ids(source, self.adjectives, adjectives)
                domain.properties.append((known_nouns, known_adjectives))
            elif section == "spots":
                things, _, places = line.partition("@")
                known_things = self._find_ids(source, self.nouns, things)
                domain.spots.append((known_things, self._places(source, places)))

    def _add_concept(self, where: str, domain: str, section: str, line: str) -> None:
        columns = [column.strip() for column in line.split("|")]
        if len(columns) != 2 + len(COLUMNS) or not all(columns):
            raise ValueError(
                f"{where}: expected `id | flags | en | de | es | fr | ja | zh`, found "
                f"{len(columns)} columns: {line!r}"
            )
        concept, flags = columns[:2]
        table = getattr(self, section)
        # A season is a noun and a time; an action is never a quality.
        rivals = (self.verbs, self.adjectives) if section in ("verbs", "adjectives") else (table,)
        if any(concept in rival for rival in rivals):
            raise ValueError(f"{where}: {concept} is there already; give the sense another id")
        entry = dict(zip(COLUMNS, columns[2:], strict=True), flags=tuple(flags.split()))
        if section == "nouns":
            if entry["flags"][0] not in KINDS:
                raise ValueError(f"{where}: {flags!r} is no kind of noun; kinds: {' '.join(KINDS)}")
            entry["mass"] = columns[2].endswith("/-")
        table[concept] = entry
        self.domain_of.setdefault(concept, domain)

    def _ids(self, where: str, text: str) -> tuple[str, ...]:
        ids: list[str] = []
        for word in text.split():
            if word[0] == "$" and word[1:] not in self._sets:
                raise ValueError(f"{where}: no set {word} is defined above")
            ids.extend(self._sets[word[1:]] if word[0] == "$" else [word])
        return tuple(dict.fromkeys(ids))

    def _find_ids(self, where: str, table: dict, text: str) -> tuple[str, ...]:
        """The ids in a text, which are all in a table."""
        ids = self._ids(where, text)
        absent = [i for i in ids if i not in table]
        if absent or not ids:
            raise ValueError(f"{where}: no such concept: {' '.join(absent) or '(none given)'}")
        return ids

    def _places(self, where: str, text: str) -> tuple[tuple[str, str], ...]:
        places = []
        for word in self._ids(where, text):
            relation, colon, noun = word.rpartition(":")
            self._find_ids(where, self.nouns, noun)
            # A written "in" means inside ("in the bag"), not the preposition of the place itself.
            relation = "inside" if relation == "in" else relation
            if not colon:
                relation = self.nouns[noun]["flags"][0]
            if relation not in RELATIONS:
                raise ValueError(f"{where}: {word}: write the relation, as `beside:{noun}`")
            places.append((relation, noun))
        return tuple(places)

    def _event(self, where: str, line: str) -> Event:
        line, _, goals = line.partition("->")
        line, _, places = line.partition("@")
        line, _, tools = line.partition("%")
        who, *parts = line.split(">")
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"{where}: expected `who > verbs > what > whom`, found {line!r}")
        return Event(
            self._find_ids(where, self.nouns, who),
            self._find_ids(where, self.verbs, parts[0]),
            *[self._find_ids(where, self.nouns, part) for part in parts[1:]],
            tools=tools and self._find_ids(where, self.nouns, tools) or (),
            places=places and self._places(where, places) or (),
            goals=goals and self._places(where, goals) or (),
        )


def _lines(name: str, text: str):
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line.startswith("=="):
            section = line.strip("= ")
            if section not in TABLES + ("sets", "events", "properties", "spots"):
                raise ValueError(f"{name}:{number}: no such section: {section!r}")
        elif line:
            if not section:
                raise ValueError(
                    f"{name}:{number}: expected a section, `== nouns`, before {line!r}"
                )
            yield number, section, line


@functools.cache
def load() -> Lexicon:
    """The package's lexicon, read once in a process."""
    folder = resources.files("clwe_jax.pocket") / "lexicon"
    files = sorted(f.name for f in folder.iterdir() if f.name.endswith(".txt"))
    lexicon = Lexicon()
    lexicon.read([(name, (folder / name).read_text(encoding="utf-8")) for name in files])
    return lexicon
