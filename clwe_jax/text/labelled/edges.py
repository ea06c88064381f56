"""Labelled spans: the eight tasks of edge probing (Tenney et al. 2019, section 3; B8).

Every task reads the JSON lines of the published edge probing data, one sentence a line, whose words
have spaces between them; a span is [first word, word after the last one]:

    {"text": "He sleeps .", "targets": [{"span1": [1, 2], "span2": [0, 1], "label": "ARG0"}]}

A label is a text, or a list of texts where a pair of spans has several (`edge/spr`). Tasks of one
span have no "span2". `edge/pos` and `edge/entities` also read the files of `pos` and `ner`, and
`edge/deps` reads CoNLL-U with its ten columns. A row is one target.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any, Iterator, Sequence

from clwe_jax.pocket import tasks as pocket
from clwe_jax.text.labelled import Examples, Spanned, folders, scores
from clwe_jax.text.labelled.entities import entities
from clwe_jax.text.lines import fault, read_lines, quote_line
from clwe_jax.text.labelled.tagged import Ner, Pos, arcs

_EXPECTED = 'expected {"text": TEXT, "targets": [{"span1": [0, 1], "label": LABEL}, ...]}'


@dataclasses.dataclass(frozen=True)
class _Edges:
    """A task of labelled spans (`Task`), scored by micro-averaged F1.

    Attributes:
      domains: domains of the embedded world, with commas between them; '' for the laptop's eight.
    """

    domains: str = ""

    name = ""
    title = ""
    kind = "spans"
    texts = 2
    metric = "f1"
    embedded = False
    files = staticmethod(folders.find)
    counts = staticmethod(scores.label_counts)

    def read(self, path: str, language: str) -> Examples:
        lines = [(number, line) for number, line in read_lines(path) if line.strip()]
        if lines and lines[0][1].lstrip().startswith("{"):
            targets = (self._targets(path, number, line) for number, line in lines)
            rows = list(itertools.chain.from_iterable(targets))
            skip_counts: dict[str, int] = {}
        else:
            rows, skip_counts = self._read_tags(path, language)
        if not rows:
            raise ValueError(f"{path} has no labelled span: {_EXPECTED}")
        return Examples(tuple(rows), skip_counts)

    def _targets(self, path: str, number: int, line: str) -> Iterator[Spanned]:
        """The targets of a line of JSON."""
        try:
            sentence = json.loads(line)
            words = tuple(sentence["text"].split())
            targets = list(sentence["targets"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            fault(path, number, f"{error!r} in {quote_line(line)}: {_EXPECTED}")
        names = ("span1", "span2")[: self.texts]
        for target in targets:
            if not isinstance(target, dict) or {"span1", "span2", "label"} & target.keys() != {
                *names,
                "label",
            }:
                found = quote_line(json.dumps(target))
                expected = f"a target of {self.name} has {', '.join(names)} and label"
                fault(path, number, f"{expected}, found {found}")
            spans = tuple(
                self._span(path, number, target[name], name, len(words)) for name in names
            )
            labels = target["label"] if isinstance(target["label"], list) else [target["label"]]
            if not all(isinstance(label, str) and label for label in labels):
                fault(
                    path, number, f"label {target['label']!r}: expected a text or a list of texts"
                )
            yield Spanned(words, spans, tuple(sorted(set(labels))))

    def _span(self, path: str, number: int, span: Any, name: str, words: int) -> tuple[int, int]:
        pair = isinstance(span, list) and len(span) == 2
        if not pair or not all(type(place) is int for place in span):
            fault(path, number, f"{name} {span!r}: expected [first word, word after the last one]")
        first, end = span
        if not 0 <= first < end:
            expected = f"[first word, word after the last one], at most [0, {words}]"
            fault(path, number, f"{name} {span} is empty: expected {expected}")
        if end > words:
            fault(path, number, f"{name} {span} ends outside the sentence, which has {words} words")
        return first, end

    def _read_tags(self, path: str, language: str) -> tuple[list[Spanned], dict[str, int]]:
        """Rows of a file that is no JSON, and the reasons of rows that were left out."""
        fault(path, read_lines(path)[0][0], f"no JSON: {_EXPECTED}")

    def generate(self, language: str, split: str, rows: int, seed: int) -> Examples:
        sentences = pocket.SPANS[self.name](
            language, split, seed, pocket.join_domains(self.domains)
        )
        targets = ([Spanned(words, x, (y,)) for x, y in pairs] for words, pairs in sentences)
        first = itertools.islice(itertools.chain.from_iterable(targets), rows)
        return Examples(tuple(first))

    def score(
        self, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
    ) -> dict[str, float]:
        """{'f1', 'precision', 'recall'} as of `scores.f1`."""
        return scores.f1(self.counts(gold, predicted))


@dataclasses.dataclass(frozen=True)
class PartsOfSpeech(_Edges):
    """The part of speech of a word.

    Attributes:
      tags: number of tags, 17 or 12.
    """

    tags: int = 17

    def __post_init__(self):
        Pos(self.tags)  # refuses another number

    name = "edge/pos"
    title = "Edges: parts of speech"
    texts = 1
    embedded = True

    def _read_tags(self, path, language):
        tagged = Pos(self.tags).read(path, language)
        return list(_word_spans(tagged)), dict(tagged.skipped)

    def generate(self, language, split, rows, seed):
        # A sentence has three words or more.
        tagged = Pos(self.tags, self.domains).generate(language, split, rows // 3 + 1, seed)
        return Examples(tuple(itertools.islice(_word_spans(tagged), rows)))


class Constituents(_Edges):
    """The kind of a phrase."""

    name = "edge/consts"
    title = "Edges: constituents"
    texts = 1
    embedded = True


class Dependencies(_Edges):
    """The relation of a word (span1) to its head (span2); a root is its own head.

    Of CoNLL-U the universal relation is the label: 'nsubj' of 'nsubj:pass'.
    """

    name = "edge/deps"
    title = "Edges: dependencies"

    def _read_tags(self, path, language):
        rows: list[Spanned] = []
        for words, heads in arcs(path):
            rows += [
                Spanned(words, ((place, place + 1), (head, head + 1)), (relation,))
                for place, (head, relation) in enumerate(heads)
            ]
        return rows, {}


@dataclasses.dataclass(frozen=True)
class Entities(_Edges):
    """The type of a name.

    Attributes:
      types, ignored: types of names, by commas, and those of them that become O.
    """

    types: str = Ner.types
    ignored: str = ""

    name = "edge/entities"
    title = "Edges: names"
    texts = 1
    embedded = True

    def _read_tags(self, path, language):
        tagged = Ner(self.types, self.ignored).read(path, language)
        return list(_name_spans(tagged)), dict(tagged.skipped)

    def generate(self, language, split, rows, seed):
        # A tenth of the sentences has no name, the others have one or more.
        task = Ner(ignored=self.ignored, domains=self.domains)
        tagged = task.generate(language, split, rows + rows // 5 + 1, seed)
        return Examples(tuple(itertools.islice(_name_spans(tagged), rows)))


class Roles(_Edges):
    """The semantic role of a phrase (span2) for a verb (span1)."""

    name = "edge/srl"
    title = "Edges: roles"
    embedded = True


class Coreference(_Edges):
    """Whether two phrases are one: '1' or '0'."""

    name = "edge/coref"
    title = "Edges: coreference"
    embedded = True


class ProtoRoles(_Edges):
    """The properties (several) of an argument (span2) of a verb (span1): SPR."""

    name = "edge/spr"
    title = "Edges: proto-roles"


class Relations(_Edges):
    """The relation of two names or nouns: SemEval 2010, task 8."""

    name = "edge/relations"
    title = "Edges: relations"


def _word_spans(tagged: Examples) -> Iterator[Spanned]:
    for words, tags in tagged.rows:
        for place, tag in enumerate(tags):
            yield Spanned(words, ((place, place + 1),), (tag,))


def _name_spans(tagged: Examples) -> Iterator[Spanned]:
    for words, tags in tagged.rows:
        for name in entities(tags):
            yield Spanned(words, ((name.first, name.last + 1),), (name.type,))
