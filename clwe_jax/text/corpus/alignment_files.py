"""Files of word alignments in Pharaoh's format, with the two sides of their sentences.

A line of links has `i-j` for a sure link of source word i and target word j, and `ipj` (or
`i?j`) for a possible one; a confidence behind it, `0-0:0.9`, is not read. The sentences stand in `xx-yy.src-tgt` (`source words ||| target words` a line), or in
two files `xx-yy.xx` and `xx-yy.yy`, or `test.xx` and `test.yy`, cut into words by spaces and tabs: an
ideographic space may be a word. The number of a sentence and a tab may stand before links and
sentences. NAACL's format has a link a line, `0001 3 4 S`, and sentences `<s snum=0001> ... </s>`.

Words are numbered from 0 or from 1, as the places of a file show; `xx-yy.0.gold` and `xx-yy.1.gold`
say it where they do not.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Mapping, NamedTuple, Sequence

from absl import logging

from clwe_jax.text.corpus import test_files
from clwe_jax.text.words.languages import name_in
from clwe_jax.text.lines import read_lines
from clwe_jax.text.unpacking import ENDING, find_packed, strip_compression

_NAME = re.compile(
    r"(?P<a>[a-z]{2,3}?)-?(?P<b>[a-z]{2,3})(\.(?P<first>[01]))?\.(gold|wa|align)" + ENDING
)
_NUMBERED = re.compile(r"(\d+)\t(.*)")
_NAACL_LINK = re.compile(r"(\d+)\s(\d+)\s(\d+)(?:\s([SP]))?(?:\s[\d.]+)?", re.IGNORECASE)
_NAACL_SENTENCE = re.compile(r"<s snum=\"?(\d+)\"?>(.*)</s>", re.IGNORECASE)
_LINK = re.compile(r"(\d+)([-pP?])(\d+)(?:[:/][\d.]+)?")
_LINKS_PER_STRAY = 100  # links of a file to one that may lie beyond its sentence
_EXPECTED = (
    "xx-yy.gold, xx-yy.wa or xx-yy.align with links `0-0 1-2`, beside xx-yy.src-tgt, or xx-yy.xx and "
    "xx-yy.yy,"
)
Link = tuple[int, int]
_Both = tuple[list[str], list[str]]  # the words of both sides of a sentence


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
      first: number of a sentence's first word, where the name of the links says it.
    """

    source: str
    target: str
    links: str
    sides: tuple[str, ...]
    first: int | None = None

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
    pairs = []
    absent = []
    for match in test_files.match_names(directory, _NAME, option, _EXPECTED):
        source = name_in(match["a"], languages)
        target = name_in(match["b"], languages)
        if source not in languages or target not in languages:
            absent.append(f"{source}-{target}")
            continue
        stem = os.path.join(directory, match[0].partition(".")[0])
        sides = _sides(stem, os.path.join(directory, "test"), match["a"], match["b"])
        links = os.path.join(directory, match[0])
        first = int(match["first"]) if match["first"] else None
        pairs.append(AlignmentFiles(source, target, links, sides, first))
    test_files.log_unlearned(directory, absent)
    return pairs


def _sides(stem: str, test: str, source: str, target: str) -> tuple[str, ...]:
    joint = f"{stem}.src-tgt"
    for names in ((joint,), *((f"{x}.{source}", f"{x}.{target}") for x in (stem, test))):
        sides = tuple(map(find_packed, names))
        if all(sides):
            return sides
    raise FileNotFoundError(
        f"{stem}.*: the sentences of the links are missing; expected {joint}, or {stem}.{source} and "
        f"{stem}.{target}"
    )


def read(files: AlignmentFiles, limit: int = 0) -> list[Linked]:
    """The sentences of a pair with their links.

    Published files have a few links beyond their sentences, which are left out and counted in the log.

    Args:
      limit: maximum number of sentences, from the beginning; 0: all.

    Raises:
      ValueError: sides of different length, a line that is no list of links, places that do not show
        whether they begin with 0 or 1, or more than one link in a hundred beyond its sentence; the
        message names the file and line.
    """
    link_rows = _read_links(files.links)
    pairs = _join(files, link_rows, _sentences(files))
    first = _first_place(files, [(row.links, sides) for row, sides in zip(link_rows, pairs)])
    logging.info("%s: words are numbered from %d", files.links, first)
    linked = []
    beyond = []
    count = 0
    for row, (source, target) in zip(link_rows, pairs):
        links = []
        for i, kind, j in row.links:
            count += 1
            if 0 <= i - first < len(source) and 0 <= j - first < len(target):
                links.append((i - first, kind, j - first))
            elif min(i, j) >= first:  # NAACL's 0 is no word
                beyond.append(
                    f"{files.links}:{row.line}: the link {i}-{j} is beyond the sentence of "
                    f"{len(source)} and {len(target)} words (numbered from {first})"
                )
        sure = frozenset((i, j) for i, kind, j in links if kind == "-")
        linked.append(Linked(source, target, sure, sure | {(i, j) for i, _, j in links}))
    if len(beyond) * _LINKS_PER_STRAY > count:
        raise ValueError(beyond[0])
    if beyond:
        logging.warning("%d of %d links are left out. %s", len(beyond), count, beyond[0])
    return linked[: limit or None]


class _SentenceLinks(NamedTuple):
    """The links of a sentence, with the number that the file gives it, '' for none, and the line."""

    number: str
    line: int
    links: list[tuple[int, str, int]]


def _read_links(path: str) -> list[_SentenceLinks]:
    lines = _lines(path)
    if lines and all(map(_NAACL_LINK.fullmatch, filter(None, lines))):
        by_number: dict[str, _SentenceLinks] = {}
        for line, text in enumerate(lines, 1):
            if match := _NAACL_LINK.fullmatch(text):
                number = str(int(match[1]))
                kind = "p" if match[4] in ("P", "p") else "-"
                row = by_number.setdefault(number, _SentenceLinks(number, line, []))
                row.links.append((int(match[2]), kind, int(match[3])))
        return list(by_number.values())
    numbers, texts = _split_numbers(lines)
    return [
        _SentenceLinks(number, line, _links(text, path, line))
        for line, (number, text) in enumerate(zip(numbers, texts), 1)
    ]


def _split_numbers(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The numbers of sentences before the lines of a file, '' for none, and the rest of the lines."""
    for pattern in (_NUMBERED, _NAACL_SENTENCE):
        matches = list(map(pattern.fullmatch, lines))
        if lines and all(matches):
            return [str(int(x[1])) for x in matches if x], [x[2].strip() for x in matches if x]
    return [""] * len(lines), list(lines)


def _join(
    files: AlignmentFiles, rows: Sequence[_SentenceLinks], sentences: Mapping[str, _Both]
) -> list[_Both]:
    """The sentences of both sides for each row of links: by their numbers, else line by line."""
    if all(row.number in sentences for row in rows) and rows and rows[0].number:
        return [sentences[row.number] for row in rows]
    if len(rows) != len(sentences):
        raise ValueError(
            f"{files.links} has {len(rows)} lines, and {' and '.join(files.sides)} have "
            f"{len(sentences)}: line n holds the links of sentence n"
        )
    return list(sentences.values())


def _first_place(
    files: AlignmentFiles, rows: Sequence[tuple[list[tuple[int, str, int]], _Both]]
) -> int:
    """The number of a sentence's first word: 0 or 1.

    A 0 counts from 0, a place of as many as the sentence has words from 1. Where both occur, the 0 is
    NAACL's mark of no word if the other is no stray link.

    Raises:
      ValueError: neither occurs, and the name of the file does not say it.
    """
    if files.first is not None:
        return files.first
    links: list[tuple[int, int, _Both]] = []
    for row, sides in rows:
        links += [(i, j, sides) for i, _, j in row]
    zeros = sum(min(i, j) == 0 for i, j, _ in links)
    lasts = sum(i == len(sides[0]) or j == len(sides[1]) for i, j, sides in links)
    if zeros:
        return int(lasts * _LINKS_PER_STRAY > len(links))
    if links and not lasts:
        remedy = "number words from 0, and link a first word"
        if _NAME.fullmatch(os.path.basename(files.links)):
            stem, ending = os.path.splitext(strip_compression(files.links))
            remedy = f"rename the file {stem}.0{ending} or {stem}.1{ending}"
        raise ValueError(
            f"{files.links}: no link shows whether words are numbered from 0 or from 1, as none has a "
            f"0 or the number of words of its sentence: {remedy}"
        )
    return 1


def _sentences(files: AlignmentFiles) -> dict[str, _Both]:
    """The number of a sentence, or of its line -> its words on both sides."""
    if len(files.sides) == 1:
        numbers, texts = _split_numbers(_lines(files.sides[0]))
        pairs = []
        for number, line in enumerate(texts, 1):
            source, mark, target = line.partition("|||")
            if not mark:
                raise ValueError(f"{files.sides[0]}:{number}: expected `source ||| target`")
            pairs.append((_words(source), _words(target)))
    else:
        (numbers, source), (_, target) = (_split_numbers(_lines(path)) for path in files.sides)
        if len(source) != len(target):
            raise ValueError(
                f"{files.sides[0]} has {len(source)} lines and {files.sides[1]} has {len(target)}; "
                "line n of one must be the translation of line n of the other"
            )
        pairs = list(zip(map(_words, source), map(_words, target)))
    if len(set(numbers)) < len(pairs):
        numbers = [str(number) for number in range(1, len(pairs) + 1)]
    return dict(zip(numbers, pairs))


def _links(line: str, path: str, number: int) -> list[tuple[int, str, int]]:
    links = []
    for part in filter(None, re.split(r"[\s,]+", line)):
        match = _LINK.fullmatch(part)
        if not match:
            raise ValueError(
                f"{path}:{number}: {part!r} is no link; expected `3-4` (sure) or `3p4` (possible)"
            )
        links.append((int(match[1]), "-" if match[2] == "-" else "p", int(match[3])))
    return links


def _words(text: str) -> list[str]:
    return re.findall(r"[^ \t]+", text)


def _lines(path: str) -> list[str]:
    return [line.strip(" \t\r") for _, line in read_lines(path)]
