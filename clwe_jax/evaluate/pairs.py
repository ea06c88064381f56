"""Sentence pairs in the Tatoeba format: two files, line n of one translates line n of the other."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Sequence

from absl import logging

from clwe_jax.text.codes import wikipedia_code
from clwe_jax.text import test_files

# The source's side: tatoeba.deu-eng.deu (LASER, XTREME), or de-en.de.
_NAME = re.compile(r"((?:tatoeba\.)?([a-z_]+)-([a-z_]+)\.)\2")
_EXPECTED = "files tatoeba.xxx-eng.xxx and tatoeba.xxx-eng.eng, or xx-yy.xx and xx-yy.yy"


@dataclasses.dataclass(frozen=True)
class PairFiles:
    """The two files of a language pair."""

    source: str
    target: str
    source_path: str
    target_path: str

    @property
    def name(self) -> str:
        """'de-en'."""
        return f"{self.source}-{self.target}"


def find(directory: str, languages: Sequence[str]) -> list[PairFiles]:
    """The pairs of a folder whose languages are both among `languages`; the log names the others.

    Args:
      directory: folder with `tatoeba.xxx-eng.xxx` and `tatoeba.xxx-eng.eng` (ISO 639-3 codes), or
        `xx-yy.xx` and `xx-yy.yy`; other files are ignored.
      languages: two-letter codes.

    Returns:
      Sorted by name; empty when no pair has both languages.

    Raises:
      FileNotFoundError: the folder is missing or holds no pair.
      ValueError: one side of a pair is missing.
    """
    found: dict[str, PairFiles] = {}
    absent = []
    option = "config.evals.retrieval.data"
    for match in test_files.matching(directory, _NAME, option, _EXPECTED):
        stem, source, target = match.groups()
        pair = PairFiles(
            source=wikipedia_code(source),
            target=wikipedia_code(target),
            source_path=os.path.join(directory, match[0]),
            target_path=os.path.join(directory, stem + target),
        )
        if not os.path.exists(pair.target_path):
            raise ValueError(f"{pair.source_path} has no other side: {pair.target_path} is missing")
        if pair.source not in languages or pair.target not in languages:
            absent.append(pair.name)
        elif pair.name in found:
            logging.warning(
                "%s: left out, as %s is also in %s",
                pair.source_path, pair.name, found[pair.name].source_path,
            )  # fmt: skip
        else:
            found[pair.name] = pair
    test_files.log_unlearned(directory, absent)
    return [found[name] for name in sorted(found)]


def read(pair: PairFiles, limit: int = 0) -> tuple[list[str], list[str]]:
    """The sentences of both files.

    The log counts pairs with an empty side, which are left out. Byte order marks and Windows line
    ends are accepted; invalid UTF-8 is replaced.

    Args:
      pair: files that `find` returned.
      limit: maximum number of pairs, from the beginning of the files; 0: all.

    Raises:
      ValueError: the files are empty, or have different numbers of lines.
    """
    source, target = _lines(pair.source_path), _lines(pair.target_path)
    if len(source) != len(target):
        raise ValueError(
            f"{pair.source_path} has {len(source)} lines and {pair.target_path} has {len(target)}; "
            "line n of one must be the translation of line n of the other"
        )
    both = [(a, b) for a, b in zip(source, target) if a and b]
    if len(both) < len(source):
        logging.warning("%s: %d pairs are empty and left out", pair.name, len(source) - len(both))
    if not both:
        raise ValueError(f"{pair.source_path} and {pair.target_path} hold no sentences")
    both = both[: limit or None]
    return [a for a, _ in both], [b for _, b in both]


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
        # Not splitlines: U+2028 and similar characters do not end a line here.
        return [line.strip() for line in file]
