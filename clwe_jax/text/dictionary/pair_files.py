"""Files of word pairs in the format of MUSE (Conneau et al. 2017): a pair a line, in two columns.

The columns are separated by a space, or by a tab where a word or its translation has spaces.
`xx-yy.txt` is a dictionary, and `xx-yy.wiktionary.txt` one that is merged with it; `xx-yy.not.txt` has
pairs that a person has rejected, which no dictionary and no link may have; `xx-yy.0-5000.txt`
and `xx-yy.5000-6500.txt` are its training and test split, `xx-yy.train.txt` and `xx-yy.test.txt` those
of VecMap. Each may be compressed.
"""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Iterable, Iterator, NamedTuple, Sequence

from clwe_jax.text.lines import (
    BOM,
    LineCounts,
    decode_lines,
    is_other_encoding,
    read_bytes,
    refuse_encoding,
    refuse_wide,
)
from clwe_jax.text.unpacking import ENDING, list_folder
from clwe_jax.text.words.languages import IN_NAMES, name_in

_NAME = re.compile(rf"({IN_NAMES})-({IN_NAMES})(?:\.(.+))?\.txt{ENDING}")
WIKTIONARY = "wiktionary"  # in the name of a dictionary beside another one
_TRAINED = re.compile(rf"({WIKTIONARY}|0-\d+|train)?")  # of MUSE, of VecMap
REJECTED = "not"  # in the name of a file of rejected pairs
TEST_SPLITS = "5000-6500|test"  # in names of test dictionaries: of MUSE, of VecMap
_NAMED_LINES = 3  # bad lines of a file that the log describes
_MANY_BAD = 20  # bad lines from which a file is of another format, if it has no more pairs
_MORE_COLUMNS = (
    "`cut -f1,2` keeps two, and `sed 's/ *[[{][^]}]*[]}]//g'` takes dict.cc's remarks away"
)
_NUMBERED = "`cut -f2,3` leaves the numbers out"
_NUMBER = re.compile(r"\d+(\.\d+)?")


class PairFile(NamedTuple):
    """A file of word pairs.

    Attributes:
      split: the part of its name between the languages and '.txt'; '' for a complete dictionary.
    """

    path: str
    source: str
    target: str
    split: str

    @property
    def is_for_training(self) -> bool:
        """Whether it is a whole dictionary or a training part, of two languages."""
        return self.source != self.target and bool(_TRAINED.fullmatch(self.split))


def parse_name(path: str, languages: Sequence[str] | None = None) -> PairFile | None:
    """The file that a path names; None where the name is not one of word pairs.

    Args:
      languages: languages of a run, whose codes the result has where they mean the file's.
    """
    match = _NAME.fullmatch(os.path.basename(path))
    if not match:
        return None
    source = name_in(match[1], languages)
    target = name_in(match[2], languages)
    return PairFile(path, source, target, match[3] or "")


def find(directory: str, languages: Sequence[str] | None = None) -> list[PairFile]:
    """The files of word pairs in a directory, by name; other files are ignored."""
    paths = (os.path.join(directory, name) for name in list_folder(directory))
    files = (parse_name(path, languages) for path in paths)
    return [file for file in files if file]


@dataclasses.dataclass
class ListedPairs:
    """The pairs of a file.

    Attributes:
      bad: descriptions of the first bad lines.
      windows: number of lines that end in a carriage return, which is removed.
    """

    left: list[str]
    right: list[str]
    bad: list[str] = dataclasses.field(default_factory=list)
    bad_count: int = 0
    windows: int = 0

    def skip(self, line: int | str, what: str) -> None:
        """Records a bad line, by its number or its text."""
        self.bad_count += 1
        if len(self.bad) < _NAMED_LINES:
            self.bad.append(f"line {line!r}: {what}")


def read_pairs(path: str) -> ListedPairs:
    """The raw pairs of a file in MUSE's format, in the order of the file.

    A line has two columns, separated by a tab or, where it has no tab, by spaces. A third column
    behind a tab may be a number, such as the pair's weight, and is not read. A line with another
    number of columns, or that is not UTF-8, is skipped, counted and described.

    Raises:
      OSError: the file cannot be read.
      ValueError: as of `lines.open_binary`, a fifth of the lines is not UTF-8, or half of many are no pair.
    """
    data = read_bytes(path)
    refuse_wide(path, data)
    pairs = ListedPairs([], [], windows=data.count(b"\r\n") + data.endswith(b"\r"))
    try:
        lines: Iterable[str] = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        lines = _decode(data, path, pairs)
    del data
    add_left = pairs.left.append
    add_right = pairs.right.append
    for number, line in enumerate(lines, 1):
        columns = line.split(" ")
        common = len(columns) == 2 and columns[0] and columns[1]
        if not common or "\t" in line or line[-1] == "\r":
            # The fast path above covers `word SPACE word`; this one covers all other lines.
            line = line.strip()
            if not line:
                continue
            columns = line.split("\t") if "\t" in line else line.split()
            columns = [column.strip() for column in columns]
            if len(columns) == 3 and "\t" in line and _NUMBER.fullmatch(columns[2]):
                columns = columns[:2]
            if line[0] == "#" and (" " in columns[0] or len(columns) > 2):
                continue  # a comment: a word that begins with # has a translation alone beside it
            if len(columns) != 2 or not all(columns):
                hint = ""
                if len(columns) > 2 and "\t" in line:
                    hint = f" ({_NUMBERED if columns[0].isdigit() else _MORE_COLUMNS})"
                pairs.skip(number, f"expected 2 columns, found {len(columns)}{hint}: {line[:60]!r}")
                continue
        add_left(columns[0])
        add_right(columns[1])
    if pairs.bad_count >= max(_MANY_BAD, len(pairs.left)):
        raise ValueError(f"{path}: {pairs.bad_count:,} lines are no pair of words: {pairs.bad[0]}")
    return pairs


def _decode(data: bytes, path: str, pairs: ListedPairs) -> Iterator[str]:
    """The lines of a file; one that is not UTF-8 is skipped, and empty here."""
    counts = LineCounts()
    decode_lines(data.removesuffix(b"\n"), counts)
    if is_other_encoding(counts.lines, counts.repaired_lines):
        refuse_encoding(path, f"{counts.repaired_lines:,} of {counts.lines:,} lines")
    return _skip_undecodable(data.removeprefix(BOM).split(b"\n"), pairs)


def _skip_undecodable(lines: Sequence[bytes], pairs: ListedPairs) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            pairs.skip(number, f"not UTF-8: {line[:60]!r}")
            yield ""
