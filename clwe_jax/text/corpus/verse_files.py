"""Bibles verse by verse: a file a translation, whose verses pair by equal references."""

from __future__ import annotations

import dataclasses
import itertools
import os
from typing import Iterable, Mapping, Sequence

from clwe_jax.text.corpus import verse_references
from clwe_jax.text.corpus.verse_references import Selection
from clwe_jax.text.lines import fault, iterate_lines, quote_line

VREF = "vref.txt"
_JOINED = "<range>"  # the vref layout's mark of a verse that belongs to the one before
_ALONE = f"{_JOINED} without a verse right before it"
_PROBED = 3  # lines that show whether a file is a table of verses


@dataclasses.dataclass(frozen=True)
class Verses:
    """A translation.

    Attributes:
      texts: reference of a verse, the first one of several that are joined -> text, in order.
      joined: the first reference of verses that are joined -> all of them.
      skipped: kind of fault -> number of lines that were left out.
    """

    texts: Mapping[str, str]
    joined: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    skipped: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def select(self, selection: Selection) -> Verses:
        """The verses of a selection."""
        if selection.is_all:
            return self
        texts = {key: text for key, text in self.texts.items() if key in selection}
        joined = {key: verses for key, verses in self.joined.items() if key in texts}
        return Verses(texts, joined, self.skipped)


def is_table(lines: Iterable[str]) -> bool:
    """Whether one of the first lines begins with a reference and a tab; a header may stand before it."""
    first = itertools.islice(filter(str.strip, lines), _PROBED)
    parts = (line.partition("\t") for line in first)
    return any(tab and verse_references.parse(reference) for reference, tab, _ in parts)


def read_table(path: str, lines: Iterable[str]) -> Verses:
    """The verses of lines 'MAT 5:12<TAB>text'.

    A reference that comes again adds its text to the verse, as 5:12a and 5:12b do; the text `<range>`
    says that the verse belongs to the one before.
    """
    texts: dict[str, str] = {}
    spans: dict[str, list[str]] = {}
    faults = Faults(path)
    head = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        reference, _, text = line.partition("\t")
        verses = verse_references.parse(reference)
        text = text.partition("\t")[0].strip()
        if not verses:
            faults.add("without a reference", number)
        elif text == _JOINED and head:
            spans[head] += verses
        elif text == _JOINED:
            faults.add(_ALONE, number)
        elif text:
            head = verses[0]
            texts[head] = f"{texts[head]} {text}" if head in texts else text
            spans.setdefault(head, []).extend(x for x in verses if x not in spans.get(head, ()))
        else:
            head = ""
    joined = {key: tuple(verses) for key, verses in spans.items() if len(verses) > 1}
    return Verses(texts, joined, faults.counts)


def read_vref(path: str, lines: Sequence[str], references: Sequence[str]) -> Verses:
    """The verses of a file with a line for each reference, empty where the verse is absent."""
    texts: dict[str, str] = {}
    spans: dict[str, list[str]] = {}
    faults = Faults(path)
    head = ""
    for number, (line, reference) in enumerate(zip(lines, references, strict=True), 1):
        text = line.strip()
        if text != _JOINED:
            head = reference if text else ""
        elif not head:
            faults.add(_ALONE, number)
        if not head:
            continue
        spans.setdefault(head, []).append(reference)
        if text != _JOINED:
            texts[head] = text
    joined = {key: tuple(verses) for key, verses in spans.items() if len(verses) > 1}
    return Verses(texts, joined, faults.counts)


def find_references(path: str) -> str:
    """The file `vref.txt` beside a file; '' without one."""
    beside = os.path.join(os.path.dirname(path), VREF)
    return beside if os.path.isfile(beside) else ""


def references_beside(path: str) -> list[str]:
    """The references of the vref layout for a file: those of `vref.txt` beside it, or the usual ones."""
    beside = find_references(path)
    if not beside:
        return list(verse_references.of_vref())
    references = []
    for number, name in enumerate(iterate_lines(beside), 1):
        verses = verse_references.parse(name)
        if len(verses) != 1:
            fault(beside, number, f"{quote_line(name)} is no reference, such as MAT 5:12")
        references.append(verses[0])
    return references


def pair(first: Verses, second: Verses) -> tuple[list[tuple[str, str]], int]:
    """The verses of two translations that both have, and how many were left out.

    Verses that one side joins are joined on the other. They are left out where the other side lacks
    one of them: a part is no translation of the whole.
    """
    joins = [*first.joined.values(), *second.joined.values()]
    among = set().union(*joins)
    if not among:
        return [(text, second.texts[x]) for x, text in first.texts.items() if x in second.texts], 0
    group_of = _groups(joins)
    pairs = []
    left_out = 0
    seen_groups: set[str] = set()
    for reference, text in first.texts.items():
        if reference not in among:
            if reference in second.texts:
                pairs.append((text, second.texts[reference]))
            continue
        group = group_of[reference]
        if group[0] in seen_groups:
            continue
        seen_groups.add(group[0])
        sides = [_join(side, group) for side in (first, second)]
        if all(sides):
            pairs.append((sides[0], sides[1]))
        elif any(x in second.texts for x in group):
            left_out += 1
    return pairs, left_out


def _join(verses: Verses, group: Sequence[str]) -> str:
    """The text of some verses; '' where the translation lacks one of them."""
    references: set[str] = set()
    for reference in group:
        if reference in verses.texts:
            references.update(verses.joined.get(reference, (reference,)))
    if not references >= set(group):
        return ""
    return " ".join(verses.texts[x] for x in group if x in verses.texts)


def _groups(joins: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Each verse -> all verses that stand with it in one text, on one side or by a chain of both."""
    group_of: dict[str, list[str]] = {}
    for verses in joins:
        members = set(verses).union(*(group_of.get(x, ()) for x in verses))
        group = sorted(members, key=verse_references.order_of)
        for reference in group:
            group_of[reference] = group
    return group_of


class Faults:
    """Counts of the lines of a file that are left out, with the first line of each kind."""

    def __init__(self, path: str):
        self._path = path
        self._lines: dict[str, list[int]] = {}

    def add(self, fault: str, number: int) -> None:
        """Counts line `number`, which has a fault: 'without a reference'."""
        self._lines.setdefault(fault, []).append(number)

    @property
    def counts(self) -> dict[str, int]:
        """'lines of FILE without a reference (line 7 first)' -> their number."""
        return {
            f"lines of {self._path} {fault} (line {numbers[0]} first)": len(numbers)
            for fault, numbers in self._lines.items()
        }
