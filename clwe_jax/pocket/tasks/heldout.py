"""Words and templates that only the dev or test rows of a task have.

The parts are those of concepts, so that they hold in all languages at once: a concept that shares a
word with another one in any language is in the same part. A template is the shape of a sentence:
its frame, tenses and complements, without its words.
"""

from __future__ import annotations

import collections
import functools
import itertools
import zlib
from collections.abc import Iterable, Iterator

from clwe_jax.pocket import functions, generate
from clwe_jax.pocket.base import MODALS, Clause, Meaning
from clwe_jax.pocket.lexicon import Lexicon, load
from clwe_jax.pocket.meanings import Sampler

SPLITS = ("train", "dev", "test")
# The domains that the laptop's models are trained on.
DOMAINS = ("money", "nature", "kitchen", "sport", "travel", "school", "music", "animals")
_WORD_BUCKETS = 20  # three of them are dev, three test
_TEMPLATE_BUCKETS = 8  # two of them are dev, two test
_REDRAWS = 20  # draws from a table before a word of another split is taken
_PATIENCE = 200_000  # draws in a row without a row before a task gives up


def join_domains(domains: str) -> tuple[str, ...]:
    """The domains of a text with commas between them; '' means `DOMAINS`."""
    return tuple(name for name in domains.split(",") if name) or DOMAINS


def check_split(split: str) -> None:
    """Raises ValueError for a split outside `SPLITS`."""
    if split not in SPLITS:
        raise ValueError(f"split is one of {', '.join(SPLITS)}, not {split!r}")


def _bucket(key: str, buckets: int, each: int) -> str:
    number = zlib.crc32(key.encode()) % buckets
    return "dev" if number < each else "test" if number < 2 * each else "train"


@functools.cache
def part(concept: str) -> str:
    """The only split in which a concept occurs in labelled rows; 'train' means all splits."""
    return _parts()[concept]


@functools.cache
def _parts() -> dict[str, str]:
    lexicon = load()
    above = {concept: concept for concept in lexicon.concepts}

    def root(concept: str) -> str:
        while above[concept] != concept:
            concept = above[concept]
        return concept

    common = {concept for concept in lexicon.concepts if _common(lexicon, concept)}
    for language in generate.LANGUAGES:
        grammatical = set(itertools.chain(*(row[language] for row in functions.rows())))
        for word, concepts in generate.concepts(language).items():
            for concept in concepts:
                above[root(concept)] = root(concepts[0])
            if word in grammatical:
                common.add(concepts[0])
    groups = collections.defaultdict(list)
    for concept in lexicon.concepts:
        groups[root(concept)].append(concept)
    split_of = {}
    for group in groups.values():
        split = "train" if common & set(group) else _bucket(min(group), _WORD_BUCKETS, 3)
        split_of |= dict.fromkeys(group, split)
    return split_of


def _common(lexicon: Lexicon, concept: str) -> bool:
    """Whether all splits have the concept: numbers, times, adverbs, modal verbs, moods, reports."""
    if concept in lexicon.times or concept in lexicon.adverbs or concept in MODALS:
        return True
    flags = [
        table[concept]["flags"]
        for table in (lexicon.nouns, lexicon.verbs, lexicon.adjectives)
        if concept in table
    ]
    return any({"num", "report", "mood"} & set(each) for each in flags)


def fits(concepts: Iterable[str], split: str) -> bool:
    """Whether a row with these concepts belongs to a split.

    Training rows have no held-out concept; dev and test rows have one of their own, none of each
    other's.
    """
    parts = {part(concept) for concept in concepts}
    return parts <= {"train"} if split == "train" else split in parts and parts <= {"train", split}


class SplitSampler(Sampler):
    """Draws meanings, of words that its split may have where a table has any.

    Args:
      key: the seed.
      part: 'train', 'dev' or 'test'.

    Raises:
      ValueError: an unknown split or domain.
    """

    def __init__(self, key: str, part: str, domains: tuple[str, ...]):
        check_split(part)
        super().__init__(key, domains=domains)
        self.part = part
        self.absent = {c for c, own in _parts().items() if own not in ("train", part)}

    def pick(self, table):
        # `fits` decides; drawing again only saves draws that it would refuse.
        for _ in range(_REDRAWS):
            entry = super().pick(table)
            word = entry[1] if isinstance(entry, tuple) and len(entry) == 2 else entry
            if not isinstance(word, str) or word not in self.absent:
                break
        return entry


def template_part(template: str) -> str:
    """The only split with a template."""
    return _bucket(template, _TEMPLATE_BUCKETS, 2)


def shape(meaning: Meaning) -> str:
    """The template of a meaning."""
    clauses = [shape_of(clause) for clause in (meaning.first, meaning.second) if clause]
    return "/".join([meaning.frame, *clauses])


def shape_of(c: Clause) -> str:
    """The template of a clause."""
    parts = (c.obj, c.receiver, c.tool, c.place, c.goal, c.time, c.often, c.manner, c.modal)
    filled = "".join("01"[part is not None] for part in parts)
    return f"{c.kind}-{c.tense}-{filled}{c.negated:d}{c.fronted:d}"


def concepts_of(meaning: Meaning) -> set[str]:
    """The concepts of a meaning; pronouns are none."""
    clauses = [clause for clause in (meaning.first, meaning.second) if clause]
    return set().union(*map(concepts_in, clauses))


def concepts_in(c: Clause) -> set[str]:
    """The concepts of a clause; pronouns are none."""
    concepts = {c.verb, c.adj, c.time, c.often, c.manner, c.modal}
    grounds = [place.ground for place in (c.place, c.goal) if place]
    phrases = [c.subject, c.obj, c.receiver, c.tool, *grounds]
    while phrases:
        np = phrases.pop()
        if np:
            concepts |= {np.noun, np.adj, np.count}
            phrases += [np.owner, np.other]
            if np.relative:
                concepts |= {np.relative.verb}
                phrases.append(np.relative.obj)
    return concepts & _parts().keys()


def meanings(
    task: str, language: str, split: str, seed: int, domains: tuple[str, ...]
) -> Iterator[Meaning]:
    """Meanings of a split without end, with the words and templates of the split.

    Args:
      task: name of the task; tasks draw different meanings.
      language, split, seed: as of the tasks.

    Raises:
      ValueError: an unknown split or domain.
    """
    sampler = SplitSampler(f"{task}/{language}/{split}/{seed}", split, domains)
    while True:
        for _ in range(_PATIENCE):
            meaning = sampler.draw()
            if template_part(shape(meaning)) == split and fits(concepts_of(meaning), split):
                break
        else:
            raise ValueError(
                f"the domains {', '.join(domains)} have no held-out words for {split} rows of "
                f"{task}: take more domains"
            )
        yield meaning
