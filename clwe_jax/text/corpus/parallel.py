"""Parallel text in files: line n of one side translates line n of the other.

Files of two languages: `xx-yy.xx` and `xx-yy.yy`, `tatoeba.xxx-eng.xxx` and `tatoeba.xxx-eng.eng`
(ISO 639-3), or `xx-yy.tsv` with two columns. Files of two languages or more: `train.en`, `train.de`,
`train.fr` have the same text in all; the option names their beginning, `DIR/train`. Each may end in
`.gz`.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from typing import Sequence

from absl import logging

from clwe_jax.text.words.languages import name_in
from clwe_jax.text.lines import iterate_lines

HELP = (
    "expected xx-yy.xx and xx-yy.yy, tatoeba.xxx-eng.xxx and .eng, or xx-yy.tsv in a folder, in lower "
    "case; or DIR/train for DIR/train.xx and DIR/train.yy"
)
_PAIR = re.compile(r"(?:tatoeba\.)?([a-z_]+)-([a-z_]+)")


@dataclasses.dataclass(frozen=True)
class Files:
    """The text of a language pair.

    Attributes:
      paths: a file for each side, or one file with two columns.
    """

    source: str
    target: str
    paths: tuple[str, ...]

    @property
    def name(self) -> str:
        """'de-en'."""
        return f"{self.source}-{self.target}"


@dataclasses.dataclass
class Pairs:
    """Sentences and their translations.

    Attributes:
      source, target: the texts of both sides, equally many.
      skipped: kind of fault -> number of lines that were left out.
    """

    source: list[str]
    target: list[str]
    skipped: dict[str, int] = dataclasses.field(default_factory=dict)


def find(place: str, languages: Sequence[str], option: str) -> list[Files]:
    """The language pairs at a place; the log names those of other languages.

    Args:
      place: a folder, or the beginning of file names: `DIR/train`.
      languages: codes of the languages that the model knows; files may have the other codes of them.
      option: the config option that names the place, for messages.

    Raises:
      FileNotFoundError: neither a folder nor files that begin so.
      ValueError: no pair of the languages, one side of a pair is missing, a pair is the same
        language twice, or two files have one beginning and language.
    """
    pairs, absent = _find(place, languages, option)
    if not pairs:
        raise ValueError(
            f"config.{option}={place} has no two of the model's languages {', '.join(languages)}; it "
            f"has {', '.join(absent)}. Add them to --config.data.languages"
        )
    return pairs


def tested(place: str, languages: Sequence[str], option: str) -> list[Files]:
    """The language pairs of an evaluation: each once, sorted by name; there may be none.

    Raises:
      FileNotFoundError, ValueError: as of `find`.
    """
    by_name: dict[str, Files] = {}
    for files in _find(place, languages, option)[0]:
        first = by_name.setdefault(files.name, files)
        if first is not files:
            logging.warning(
                "%s: left out, as %s is also in %s", files.paths[0], files.name, first.paths[0]
            )
    return [by_name[name] for name in sorted(by_name)]


def _find(place: str, languages: Sequence[str], option: str) -> tuple[list[Files], list[str]]:
    """The pairs of the languages, and the names of the others."""
    folder, stem = (place, "") if os.path.isdir(place) else os.path.split(place)
    sides: dict[str, dict[str, str]] = {}
    for name in sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else ():
        begin, _, end = name.removesuffix(".gz").rpartition(".")
        if begin == stem if stem else _PAIR.fullmatch(begin):
            sides.setdefault(begin, {}).setdefault(end, os.path.join(folder, name))
    if not sides:
        raise FileNotFoundError(f"config.{option}={place} names no parallel text: {HELP}")
    pairs, absent = [], []
    for begin, paths in sides.items():
        for pair in _pairs_of(begin, paths, languages, several=bool(stem)):
            known = {pair.source, pair.target} <= set(languages)
            pairs.append(pair) if known else absent.append(pair.name)
    if absent:
        logging.info("%s: left out, as the model has other languages: %s", place, ", ".join(absent))
    return pairs, absent


def _pairs_of(
    begin: str, paths: dict[str, str], languages: Sequence[str], several: bool
) -> list[Files]:
    if several:
        files: dict[str, str] = {}
        for end, path in paths.items():
            language = name_in(end, languages)
            first = files.setdefault(language, path)
            if first is not path:
                raise ValueError(
                    f"{first} and {path} are both in {language}: keep one of them, or name "
                    "the other by another language"
                )
        if len(files) < 2:
            raise ValueError(f"{next(iter(paths.values()))} has no other side: {HELP}")
        return [Files(a, b, (files[a], files[b])) for a, b in itertools.combinations(files, 2)]
    first, second = _PAIR.fullmatch(begin).groups()
    source, target = name_in(first, languages), name_in(second, languages)
    if source == target:
        raise ValueError(f"{next(iter(paths.values()))} is the same language twice: {begin}")
    pairs = []
    if "tsv" in paths:
        pairs.append(Files(source, target, (paths["tsv"],)))
    there = [side for side in (first, second) if side in paths]
    if len(there) == 1:
        missing = second if there == [first] else first
        raise ValueError(f"{paths[there[0]]} has no other side: {begin}.{missing} is missing")
    if there:
        pairs.append(Files(source, target, (paths[first], paths[second])))
    return pairs


def read(files: Files, limit: int = 0) -> Pairs:
    """The sentence pairs of a language pair, without those that have an empty side.

    Byte order marks and Windows line ends are accepted; invalid UTF-8 is replaced.

    Args:
      limit: most lines, from the beginning; 0: all.

    Raises:
      ValueError: sides of different length, a damaged .gz file, UTF-16, or no pair.
    """
    name = " and ".join(files.paths)
    skipped: dict[str, int] = {}
    if len(files.paths) == 1:
        lines = list(iterate_lines(files.paths[0]))[: limit or None]
        rows = [line.split("\t") for line in lines if line.strip()]
        bad = sum(len(row) < 2 for row in rows)
        if bad:
            skipped[f"lines of {name} without two columns"] = bad
        both = [(row[0].strip(), row[1].strip()) for row in rows if len(row) > 1]
    else:
        source, target = ([x.strip() for x in iterate_lines(path)] for path in files.paths)
        if len(source) != len(target):
            raise ValueError(
                f"{files.paths[0]} has {len(source):,} lines and {files.paths[1]} {len(target):,}: "
                "line n of one must translate line n of the other"
            )
        both = list(zip(source, target))[: limit or None]
    pairs = [(a, b) for a, b in both if a and b]
    if len(pairs) < len(both):
        skipped[f"lines of {name} with an empty side"] = len(both) - len(pairs)
    for what, count in skipped.items():
        logging.warning("%d %s are left out", count, what)
    if not pairs:
        raise ValueError(f"{name}: no line has a sentence and its translation")
    return Pairs([a for a, _ in pairs], [b for _, b in pairs], skipped)
