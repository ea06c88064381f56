"""Files of word alignments in Pharaoh's format, with the two sides of their sentences.

A line of links has `i-j` for a sure link of source word i and target word j, and `ipj` (or `i?j`) for
a possible one. The sentences stand in `xx-yy.src-tgt` (`source words ||| target words` a line), or in
two files `xx-yy.xx` and `xx-yy.yy`, or `test.xx` and `test.yy`, cut into words by spaces and tabs: an
ideographic space may be a word.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import NamedTuple, Sequence

from absl import logging

from clwe_jax.text.corpus import test_files
from clwe_jax.text.words.languages import name_in
from clwe_jax.text.lines import read_lines

_NAME = re.compile(r"(?P<a>[a-z]{2,3}?)-?(?P<b>[a-z]{2,3})\.(gold|wa|align)")
_LINK = re.compile(r"(\d+)([-p?])(\d+)")
_LINKS_PER_STRAY = 100  # links of a file to one that may lie beyond its sentence
_EXPECTED = (
    "xx-yy.gold, xx-yy.wa or xx-yy.align with links `0-0 1-2`, beside xx-yy.src-tgt, or xx-yy.xx and "
    "xx-yy.yy,"
)
Link = tuple[int, int]


class Linked(NamedTuple):
    """Two sentences with the links of their words, numbered from 0.

    Attributes:
      sure: sure links (place in the source, place in the target).
      possible: possible links, the sure ones among them.
    """

    source: Sequence[str]
    target: Sequence[str]
    sure: frozenset[Link]
    possible: frozenset[Link]


@dataclasses.dataclass(frozen=True)
class AlignmentFiles:
    """The files of a language pair.

    Attributes:
      sides: one file of both sides, or the files of the source and of the target.
    """

    source: str
    target: str
    links: str
    sides: tuple[str, ...]

    @property
    def name(self) -> str:
        """'en-fr'."""
        return f"{self.source}-{self.target}"


def find(directory: str, languages: Sequence[str], option: str) -> list[AlignmentFiles]:
    """The aligned pairs of a folder whose languages are both among `languages`.

    The log names the others.

    Args:
      directory: the folder; other files are ignored.
      languages: two-letter codes.
      option: the config option that names the folder, for errors.

    Raises:
      FileNotFoundError: the folder is missing or holds no such file, or the sentences of one are
        missing.
    """
    pairs, absent = [], []
    for match in test_files.matching(directory, _NAME, option, _EXPECTED):
        source, target = name_in(match["a"], languages), name_in(match["b"], languages)
        if source not in languages or target not in languages:
            absent.append(f"{source}-{target}")
            continue
        stem = os.path.join(directory, os.path.splitext(match[0])[0])
        sides = _sides(stem, os.path.join(directory, "test"), match["a"], match["b"])
        pairs.append(AlignmentFiles(source, target, os.path.join(directory, match[0]), sides))
    test_files.log_unlearned(directory, absent)
    return pairs


def _sides(stem: str, test: str, source: str, target: str) -> tuple[str, ...]:
    both = f"{stem}.src-tgt"
    if os.path.exists(both):
        return (both,)
    for start in (stem, test):
        sides = f"{start}.{source}", f"{start}.{target}"
        if all(map(os.path.exists, sides)):
            return sides
    raise FileNotFoundError(
        f"{stem}.*: the sentences of the links are missing; expected {both}, or {stem}.{source} and "
        f"{stem}.{target}"
    )


def read(files: AlignmentFiles, limit: int = 0) -> list[Linked]:
    """The sentences of a pair with their links.

    Links are numbered from 0 or from 1: from 1 where no link of the file has a 0; the log says which.
    Published files have a few links beyond their sentences, which are left out and counted in the log.

    Args:
      limit: maximum number of sentences, from the beginning; 0: all.

    Raises:
      ValueError: sides of different length, a line that is no list of links, or more than one link in
        a hundred beyond its sentence; the message names the file and line.
    """
    lines = _lines(files.links)
    pairs = _sentences(files)
    if len(lines) != len(pairs):
        raise ValueError(
            f"{files.links} has {len(lines)} lines, and {' and '.join(files.sides)} have "
            f"{len(pairs)}: line n holds the links of sentence n"
        )
    parsed = [_links(line, files.links, number) for number, line in enumerate(lines, 1)]
    places = [place for row in parsed for i, _, j in row for place in (i, j)]
    first = 0 if 0 in places else 1
    logging.info("%s: words are numbered from %d", files.links, first)
    linked, beyond = [], []
    for number, ((source, target), row) in enumerate(zip(pairs, parsed), 1):
        moved = []
        for i, kind, j in row:
            if i - first < len(source) and j - first < len(target):
                moved.append((i - first, kind, j - first))
            else:
                beyond.append(
                    f"{files.links}:{number}: the link {i}-{j} is beyond the sentence of "
                    f"{len(source)} and {len(target)} words (numbered from {first})"
                )
        sure = frozenset((i, j) for i, kind, j in moved if kind == "-")
        linked.append(Linked(source, target, sure, sure | {(i, j) for i, _, j in moved}))
    if len(beyond) * _LINKS_PER_STRAY > len(places) // 2:
        raise ValueError(beyond[0])
    if beyond:
        logging.warning("%d of %d links are left out. %s", len(beyond), len(places) // 2, beyond[0])
    return linked[: limit or None]


def _sentences(files: AlignmentFiles) -> list[tuple[list[str], list[str]]]:
    if len(files.sides) == 1:
        pairs = []
        for number, line in enumerate(_lines(files.sides[0]), 1):
            source, mark, target = line.partition("|||")
            if not mark:
                raise ValueError(f"{files.sides[0]}:{number}: expected `source ||| target`")
            pairs.append((_words(source), _words(target)))
        return pairs
    sides = [list(map(_words, _lines(path))) for path in files.sides]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"{files.sides[0]} has {len(sides[0])} lines and {files.sides[1]} has {len(sides[1])}; "
            "line n of one must be the translation of line n of the other"
        )
    return list(zip(*sides))


def _links(line: str, path: str, number: int) -> list[tuple[int, str, int]]:
    links = []
    for part in line.split():
        match = _LINK.fullmatch(part)
        if not match:
            raise ValueError(
                f"{path}:{number}: {part!r} is no link; expected `3-4` (sure) or `3p4` (possible)"
            )
        links.append((int(match[1]), match[2], int(match[3])))
    return links


def _words(text: str) -> list[str]:
    return re.findall(r"[^ \t]+", text)


def _lines(path: str) -> list[str]:
    return [line.strip(" \t\r") for _, line in read_lines(path)]
