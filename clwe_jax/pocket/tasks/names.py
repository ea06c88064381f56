"""Names of people, places and organisations, as nouns that the six grammars inflect."""

from __future__ import annotations

import functools
import itertools
from importlib import resources
from typing import NamedTuple

from clwe_jax.pocket import generate
from clwe_jax.pocket.base import Grammar
from clwe_jax.pocket.lexicon import COLUMNS, Lexicon, load

# Organisations with a common noun in their name: "the Nordex Bank", "das Hotel Nordex".
KINDS = (
    "bank.money",
    "hotel",
    "school",
    "university",
    "museum",
    "club.society",
    "restaurant",
    "hospital",
    "stadium",
    "library",
    "zoo",
)
COMPANY = "company"  # an organisation's name alone
# The part of an id before its number -> the type of entity.
TYPE = {"women": "PER", "men": "PER", "city": "LOC", COMPANY: "ORG", **dict.fromkeys(KINDS, "ORG")}
_UNSPACED = ("ja", "zh")
# Prepositions of companies: "at Nordex", "bei Nordex", "chez Nordex".
_COMPANY_FLAGS = ("at", "de=bei", "fr=chez", "ja=", "zh=")
_CITY_FLAGS = ("in", "de=in", "fr=à", "ja=", "zh=")


class Name(NamedTuple):
    """A name: its words with their tags in IOB2, and how the grammar inflects it."""

    words: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]
    article: str  # of German, or the gender of Spanish and French
    determiner: str  # as `NP.det`


class Names(NamedTuple):
    """The names of one language in one split, by id, and the grammar that knows them."""

    grammar: Grammar
    by_id: dict[str, Name]
    women: tuple[str, ...]
    men: tuple[str, ...]
    cities: tuple[str, ...]
    companies: tuple[str, ...]
    kinds: dict[str, tuple[str, ...]]


@functools.cache
def _lists() -> dict[str, list[str]]:
    """The sections of names.txt: lines of tables, words of lists."""
    path = resources.files("clwe_jax.pocket.tasks") / "names.txt"
    sections: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("=="):
            section = line.strip("= ")
            sections[section] = []
        elif line:
            sections[section] += [line] if "|" in line else line.split()
    return sections


def part(items: list[str], split: str) -> list[str]:
    """The items of a list for a split: the last fifth for 'test', the one before it for 'dev'."""
    fifth = len(items) // 5
    end = len(items) - fifth
    return {"train": items[: end - fifth], "dev": items[end - fifth : end], "test": items[end:]}[
        split
    ]


def _person(given: str, family: str, language: str) -> tuple[tuple[str, str], ...]:
    """A person's name; without a family name in European languages, without a given one in ja."""
    if language == "zh":
        return ((family + given, "B-PER"),)
    if language == "ja":
        words = ((family, "B-PER"), *(((given, "I-PER"),) if given else ()))
        return (*words, ("さん", "O"))
    return ((given, "B-PER"), *(((family, "I-PER"),) if family else ()))


def _tag_words(name: str, type_: str) -> tuple[tuple[str, str], ...]:
    return tuple((word, f"{'I' if n else 'B'}-{type_}") for n, word in enumerate(name.split()))


@functools.cache
def names(language: str, split: str) -> Names:
    lists = _lists()
    by_id = {}
    families = part(lists[f"families {language}"], split)
    people: dict[str, list[str]] = {"women": [], "men": []}
    for kind, flag, articles in (
        ("women", "woman", {"de": "die", "es": "f", "fr": "f"}),
        ("men", "person", {"de": "der", "es": "m", "fr": "m"}),
    ):
        given_names = part(lists[f"{kind} {language}"], split)
        pairs = list(itertools.product(given_names, families))
        short = [("", b) for b in families] if language == "ja" else [(a, "") for a in given_names]
        # Short names as often as whole ones; a Chinese name is always whole.
        short *= 0 if language == "zh" else len(pairs) // len(short)
        for number, (a, b) in enumerate([*pairs, *short]):
            key = f"{kind}.{number}"
            words = _person(a, b, language)
            by_id[key] = Name(words, (flag,), articles.get(language, ""), "name")
            people[kind].append(key)
    cities = []
    companies = []
    kinds = {}
    for number, line in enumerate(part(lists["cities"], split)):
        cells = dict(zip(COLUMNS, map(str.strip, line.split("|")), strict=True))
        key = f"city.{number}"
        gender = {"de": "das", "es": "f", "fr": "f"}.get(language, "")
        by_id[key] = Name(_tag_words(cells[language], "LOC"), _CITY_FLAGS, gender, "name")
        cities.append(key)
    for number, line in enumerate(part(lists["organisations"], split)):
        latin, *other_stems = map(str.strip, line.split("|"))
        stem = dict(zip(_UNSPACED, other_stems, strict=True)).get(language, latin)
        key = f"{COMPANY}.{number}"
        gender = {"de": "die", "es": "f", "fr": "f"}.get(language, "")
        by_id[key] = Name(_tag_words(stem, "ORG"), _COMPANY_FLAGS, gender, "name")
        companies.append(key)
        for kind in KINDS:
            key = f"{kind}.{number}"
            by_id[key] = _institution(kind, stem, language)
            kinds.setdefault(kind, []).append(key)
    women = tuple(people["women"])
    men = tuple(people["men"])
    grammar = _grammar(language, by_id)
    kinds = {kind: tuple(keys) for kind, keys in kinds.items()}
    return Names(grammar, by_id, women, men, tuple(cities), tuple(companies), kinds)


def _institution(kind: str, stem: str, language: str) -> Name:
    """'the Nordex Bank' with the article, inflection and place of its common noun."""
    entry = load().nouns[kind]
    spec = entry[language].partition(":")[0].split("/")[0].rstrip("*")
    if language in _UNSPACED or language == "en":
        noun = spec if language in _UNSPACED else spec[0].upper() + spec[1:]
        return Name(_tag_words(f"{stem} {noun}", "ORG"), entry["flags"], "", "def")
    article, _, noun = spec.partition(" ")
    return Name(
        _tag_words(f"{noun[0].upper() + noun[1:]} {stem}", "ORG"), entry["flags"], article, "def"
    )


def _grammar(language: str, by_id: dict[str, Name]) -> Grammar:
    """A grammar whose lexicon has the names, too."""
    base = load()
    space = "" if language in _UNSPACED else " "
    lexicon = Lexicon()
    lexicon.verbs = base.verbs
    lexicon.adjectives = base.adjectives
    lexicon.times = base.times
    lexicon.adverbs = base.adverbs
    lexicon.nouns = dict(base.nouns)
    for key, name in by_id.items():
        text = space.join(word for word, _ in name.words)
        spec = f"{name.article} {text}/-".lstrip() if space else text
        lexicon.nouns[key] = {language: spec, "flags": name.flags, "mass": True}
    return generate.GRAMMARS[language](lexicon)
