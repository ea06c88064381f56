"""Finds the test sentences, or near copies of them, that stand in what a run learns from.

    clwe-jax leaks --text=DIR,FILE --tests=DIR [--out=leaks.tsv]

--text names text, pairs and dictionaries; --tests names the test sets. A copy differs only in case, punctuation,
white space and the leading number of a list. A near copy of a sentence of eight words or more has three quarters of
its sequences of three words in one line. Sentences of fewer than three words occur anywhere by chance, so the command
does not look for them. In scripts without spaces each character is a word. Columns are read separately; of .conllu,
only the lines '# text =' are read. Each test sentence is named once, with its nearest line.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import itertools
import os
import sys
from typing import Iterable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import atomic, terminal
from clwe_jax.text.corpus.repeats import sentence_key
from clwe_jax.text.lines import LineCounts, iterate_blocks
from clwe_jax.text.unpacking import strip_compression
from clwe_jax.text.words import characters

_LEAST = 3  # words of a sentence that is looked for
_NEAR = 8  # words of a sentence whose near copies are looked for
_SHARE = 0.75  # of its sequences of three words, in a near copy
_LISTED = 10  # leaks that the terminal shows
_COMMENT = "# text = "

Place = tuple[str, int]  # a file and the number of a line, from 1


@dataclasses.dataclass(frozen=True)
class Leak:
    """A test sentence that stands in the text.

    Attributes:
      test, text: where it stands.
      share: of its sequences of words that the line has; 1 for a copy.
      sentence: the test sentence.
    """

    test: Place
    text: Place
    share: float
    sentence: str


@dataclasses.dataclass(frozen=True)
class Leaks:
    """What was found.

    Attributes:
      tests: sentences that were looked for, equal ones once.
      lines: lines of text that were read.
      leaks: the leaks, in the order of the tests.
      unread: file -> why it was not read.
    """

    tests: int
    lines: int
    leaks: Sequence[Leak]
    unread: Mapping[str, str]

    def __str__(self) -> str:
        copies = sum(leak.share == 1 for leak in self.leaks)
        line = (
            f"{copies:,} of {self.tests:,} different test sentences stand in the {self.lines:,} lines of text, "
            f"and near copies of {len(self.leaks) - copies:,} more"
        )
        if not self.leaks:
            return line
        files = collections.Counter(os.path.basename(leak.test[0]) for leak in self.leaks)
        named = files.most_common(3)
        parts = [f"{count:,} of {name}" for name, count in named]
        rest = len(self.leaks) - sum(count for _, count in named)
        parts += [f"{rest:,} of other files"] if rest else []
        return f"{line}; together {len(self.leaks):,}, {', '.join(parts)}"


def find(text: Iterable[str], tests: Iterable[str], limit: float | None = None) -> Leaks:
    """The test sentences that stand in text.

    Args:
      text, tests: files and folders; a file under both is a test.
      limit: bytes of each file of text that are read; None: all.
    """
    unread_files: dict[str, str] = {}
    places: dict[str, tuple[Place, str]] = {}  # key -> where the sentence stands, and itself
    test_files = {os.path.realpath(path): path for path in files(tests)}
    for path in test_files.values():
        for number, sentence in _sentences(path, None, unread_files):
            key = sentence_key(sentence)
            if len(_units(key)) >= _LEAST:
                places.setdefault(key, ((path, number), sentence))
    # A sequence of three words -> the test sentences that have it; test sentence -> how many it has.
    tests_with: dict[tuple[str, ...], list[str]] = {}
    sizes: dict[str, int] = {}
    for key in places:
        units = _units(key)
        if len(units) >= _NEAR:
            grams = set(_grams(units))
            sizes[key] = len(grams)
            for gram in grams:
                tests_with.setdefault(gram, []).append(key)
    best: dict[str, tuple[float, Place]] = {}
    lines = 0
    for path in files(text):
        if os.path.realpath(path) in test_files:
            continue
        for number, sentence in _sentences(path, limit, unread_files):
            lines += 1
            key = sentence_key(sentence)
            shares = _find_near(key, tests_with, sizes)
            if key in places:
                shares[key] = 1.0
            for test, share in shares.items():
                if share > best.get(test, (0.0, None))[0]:
                    best[test] = share, (path, number)
    leaks = [
        Leak(place, best[key][1], best[key][0], sentence)
        for key, (place, sentence) in places.items()
        if key in best
    ]
    return Leaks(len(places), lines, leaks, unread_files)


def _find_near(
    key: str, tests_with: Mapping[tuple[str, ...], Sequence[str]], sizes: Mapping[str, int]
) -> dict[str, float]:
    """The tests of which a line is a near copy, with the share of their sequences that it has."""
    shared = {gram for gram in _grams(_units(key)) if gram in tests_with}
    counts = collections.Counter(itertools.chain.from_iterable(map(tests_with.get, shared)))
    # Below 1: the line is no copy, whatever stands around the test sentence in it.
    return {
        test: min(count / sizes[test], 0.999)
        for test, count in counts.items()
        if count >= _SHARE * sizes[test]
    }


def _units(key: str) -> Sequence[str]:
    """The words of a key; of scripts without spaces, each character."""
    return (key if key.isascii() else key.translate(_make_spacing())).split()


@functools.cache
def _make_spacing() -> dict[int, str]:
    letters = np.flatnonzero(characters.class_table() == characters.UNSPACED)
    return {code: f" {chr(code)} " for code in letters.tolist()}


def _grams(units: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(units, units[1:], units[2:], strict=False)


def files(places: Iterable[str]) -> Iterator[str]:
    """The files among places and in their folders, without hidden ones and Python's own."""
    for place in places:
        if os.path.isfile(place):
            yield place
        # A folder of texts may hold links to those of each language.
        for folder, inner, names in os.walk(place, followlinks=True):
            inner[:] = sorted(name for name in inner if not name.startswith((".", "__")))
            yield from (os.path.join(folder, name) for name in sorted(names) if name[0] != ".")


def _sentences(path: str, limit: float | None, unread: dict[str, str]) -> Iterator[tuple[int, str]]:
    """The columns of a file's lines with the lines' numbers; a file that is no text goes to `unread`."""
    number = 0
    is_treebank = strip_compression(path).endswith(".conllu")
    try:
        for block in iterate_blocks(path, LineCounts(), limit):
            for line in block:
                number += 1
                if is_treebank:
                    line = line.removeprefix(_COMMENT) if line.startswith(_COMMENT) else ""
                yield from ((number, column) for column in line.split("\t") if column.strip())
    except (OSError, ValueError) as error:
        unread[path] = str(error)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints what leaks; ends with 1 and a message on an error."""
    parser = argparse.ArgumentParser(
        prog="clwe-jax leaks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--text", required=True, metavar="DIR,FILE", help="what a run learns from")
    parser.add_argument("--tests", required=True, metavar="DIR,FILE", help="the test sets")
    parser.add_argument("--out", default="", metavar="FILE", help="file for a table of all leaks")
    options = parser.parse_args(arguments)
    terminal.command_log(logging.INFO)
    sides = [x.split(",") for x in (options.text, options.tests)]
    missing = list(itertools.filterfalse(os.path.exists, itertools.chain.from_iterable(sides)))
    if missing:
        sys.exit(f"error: {missing[0]} is neither a file nor a folder")
    leaks = find(*sides)
    for path, reason in leaks.unread.items():
        print(f"not read: {path} ({reason})")
    if not leaks.tests:
        sys.exit(
            f"error: {options.tests} has no sentence of {_LEAST} words or more: name files with a sentence a line, or in columns"
        )
    if not leaks.lines:
        sys.exit(f"error: {options.text} has no line of text: name a folder or a file of text")
    print(leaks)
    for leak in leaks.leaks[:_LISTED]:
        print(f"  {_name(leak.test)} {_kind(leak)} {_name(leak.text)}: {leak.sentence}")
    if options.out:
        rows = ["test\tkind\ttext\tsentence"]
        rows += [f"{_name(x.test)}\t{_kind(x)}\t{_name(x.text)}\t{x.sentence}" for x in leaks.leaks]
        atomic.write(options.out, "\n".join(rows) + "\n")
        print(f"{options.out}: all {len(leaks.leaks):,}")
    elif len(leaks.leaks) > _LISTED:
        print(f"  and {len(leaks.leaks) - _LISTED:,} more: --out=FILE writes them all")


def _name(place: Place) -> str:
    return f"{place[0]}:{place[1]}"


def _kind(leak: Leak) -> str:
    return "=" if leak.share == 1 else f"~{leak.share:.2f}"


if __name__ == "__main__":
    terminal.until_stopped(main)
