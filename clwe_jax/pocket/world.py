"""The lexicon as tables to draw from.

Draws have Zipf-like frequencies: item r of a list (r = 0, 1, ...) has weight 1 / (r + 2).
"""

from __future__ import annotations

import functools
import zlib

from clwe_jax.pocket.base import PEOPLE
from clwe_jax.pocket.lexicon import Event, Lexicon, load

HELDOUT_BUCKETS = 8
# Nobody says "my river": in these domains only nouns with the flag `own` take a possessive.
OUTDOORS = ("nature", "weather", "city", "sea")
FRAMES = {
    "say": 50,
    "is": 8,
    "more": 5,
    "at": 5,
    "there": 5,
    "ask": 5,
    "who": 2,
    "what": 3,
    "where": 3,
    "and": 5,
    "but": 4,
    "when": 6,
    "if": 4,
    "because": 5,
    "report": 5,
}
TENSES = ("present",) * 9 + ("past",) * 8 + ("future",) * 3
MODAL_TABLE = ("want",) * 3 + ("can",) * 3 + ("must",) * 2 + ("may.permission",) * 2


def zipf(items: tuple, offset: int = 2, size: int = 96) -> tuple:
    """A table that repeats item r in proportion to 1 / (r + offset); about `size` entries."""
    weights = [1 / (r + offset) for r in range(len(items))]
    total = sum(weights)
    table = []
    for item, weight in zip(items, weights, strict=True):
        table += [item] * max(1, round(size * weight / total))
    return tuple(table)


def split_of(key: str) -> str:
    """'heldout' for one key in `HELDOUT_BUCKETS`, else 'train'; every process agrees."""
    return "train" if zlib.crc32(key.encode()) % HELDOUT_BUCKETS else "heldout"


class _EventTables:
    """The lists of an event as tables to draw from."""

    def __init__(self, event: Event, lexicon: Lexicon):
        self.who = zipf(event.who)
        self.verbs = zipf(event.verbs)
        self.what = zipf(event.what)
        self.whom = zipf(event.whom)
        self.tools = zipf(event.tools)
        self.places = zipf(event.places)
        self.goals = zipf(event.goals)
        kinds = [lexicon.nouns[who]["flags"][0] for who in event.who]
        self.people = all(kind in PEOPLE for kind in kinds)
        self.alive = all(kind in (*PEOPLE, "animal") for kind in kinds)
        self.choices = tuple(dict.fromkeys(event.what))


class World:
    """All tables of a lexicon."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon
        self.adjectives: dict[str, tuple] = {}
        self.events: dict[str, tuple] = {}
        self.relatives: dict[tuple[str, str], tuple] = {}
        self.states: dict[str, tuple] = {}
        self.comparisons: dict[str, tuple] = {}
        self.spots: dict[str, tuple] = {}
        self.frames: dict[str, tuple] = {}
        by_noun: dict[str, list] = {}
        for domain in lexicon.domains.values():
            for nouns, adjectives in domain.properties:
                for noun in nouns:
                    by_noun.setdefault(noun, []).extend(adjectives)
        self.adjectives = {n: zipf(tuple(dict.fromkeys(a)), 3) for n, a in by_noun.items()}
        self.kind = {n: e["flags"][0] for n, e in lexicon.nouns.items()}
        self.owned = {
            n
            for n, kind in self.kind.items()
            if "own" in lexicon.nouns[n]["flags"]
            or kind in ("thing", "animal")
            and lexicon.domain_of[n] not in OUTDOORS
        }
        self.counts = zipf(tuple(n for n, kind in self.kind.items() if kind == "num"), 1)
        self.moods = tuple(a for a, e in lexicon.adjectives.items() if "mood" in e["flags"])
        self.reports = tuple(v for v, e in lexicon.verbs.items() if "report" in e["flags"])
        self.manners = zipf(self._adverbs("manner"))
        self.often = zipf(self._adverbs("often"))
        self.times = {
            tense: zipf(tuple(t for t, e in lexicon.times.items() if tense in e["flags"]), 8)
            for tense in ("present", "past", "future")
        }
        for name, domain in lexicon.domains.items():
            if domain.events:
                self._tables(name, domain)
        self.domains = self.drawn()

    def drawn(self, among: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The table to draw domains from.

        Args:
          among: names of domains; () means all.

        Raises:
          ValueError: an unknown domain.
        """
        for name in among:
            if name not in self.events:
                raise ValueError(
                    f"the embedded world has no domain {name!r}; its domains are "
                    f"{', '.join(self.events)}"
                )
        return zipf(tuple(name for name in self.events if not among or name in among), 12, 240)

    def _adverbs(self, flag: str) -> tuple[str, ...]:
        return tuple(a for a, e in self.lexicon.adverbs.items() if flag in e["flags"])

    def _tables(self, name, domain) -> None:
        tables = [_EventTables(event, self.lexicon) for event in domain.events]
        self.events[name] = zipf(tuple(tables), 6, 192)
        for table in tables:
            for who in table.who:
                relatives = self.relatives.setdefault((name, who), ())
                if table.what and not table.whom and table not in relatives:
                    self.relatives[name, who] = (*relatives, table)
        plain = {
            a for a, e in self.lexicon.adjectives.items() if {"plain", "mood"} & set(e["flags"])
        }
        states = []
        comparisons = []
        for nouns, adjectives in domain.properties:
            states.append((zipf(nouns), zipf(adjectives)))
            gradable = tuple(a for a in adjectives if a not in plain)
            if gradable and len(nouns) > 1:
                comparisons.append((zipf(nouns), zipf(gradable)))
        self.states[name] = tuple(states)
        self.comparisons[name] = tuple(comparisons)
        self.spots[name] = tuple((zipf(things), zipf(places)) for things, places in domain.spots)
        frames = []
        for frame, weight in FRAMES.items():
            if frame == "is" and not states or frame == "more" and not comparisons:
                continue
            if frame in ("at", "there") and not domain.spots:
                continue
            frames += [frame] * weight
        self.frames[name] = tuple(frames)


@functools.cache
def world() -> World:
    """The tables of the package's lexicon."""
    return World(load())
