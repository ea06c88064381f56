"""Sentence pairs in the Tatoeba format: two files, line n of one translates line n of the other."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Sequence

from absl import logging

from clwe_jax.evaluate.codes import wikipedia_code

# tatoeba.deu-eng.deu (LASER, XTREME), or de-en.de.
_NAME = re.compile(r"(?:tatoeba\.)?(?P<source>[a-z_]+)-(?P<target>[a-z_]+)\.(?P<side>[a-z_]+)")
_EXPECTED = "Expected files tatoeba.xxx-eng.xxx and tatoeba.xxx-eng.eng, or xx-yy.xx and xx-yy.yy"


@dataclasses.dataclass(frozen=True)
class PairFiles:
    """The files of a language pair's two sides."""

    source: str
    target: str
    source_path: str
    target_path: str

    @property
    def name(self) -> str:
        """'de-en'."""
        return f"{self.source}-{self.target}"


def find(directory: str, languages: Sequence[str]) -> list[PairFiles]:
    """The pairs in a folder between two of the languages; the log names the others.

    Args:
      directory: holds `tatoeba.xxx-eng.xxx` and `tatoeba.xxx-eng.eng` (ISO 639-3 codes), or
        `xx-yy.xx` and `xx-yy.yy`; other files are ignored.
      languages: two-letter codes.

    Returns:
      Sorted by name; empty when no pair has both languages.

    Raises:
      FileNotFoundError: the folder is missing or holds no pairs.
      ValueError: one side of a pair is missing.
    """
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{directory} is not a folder (config.evals.retrieval.data). {_EXPECTED} there; "
            "--config.evals.retrieval.data='' leaves retrieval out."
        )
    found: dict[str, PairFiles] = {}
    absent = []
    names = sorted(os.listdir(directory))
    for name in names:
        match = _NAME.fullmatch(name)
        if not match or match["side"] != match["source"]:
            continue
        stem = name.removesuffix(match["side"])
        pair = PairFiles(
            source=wikipedia_code(match["source"]),
            target=wikipedia_code(match["target"]),
            source_path=os.path.join(directory, name),
            target_path=os.path.join(directory, stem + match["target"]),
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
    if not found and not absent:
        raise FileNotFoundError(f"{directory} holds no sentence pairs. {_EXPECTED}.")
    if absent:
        logging.info(
            "%s: left out, as the model has not learned both languages: %s",
            directory, ", ".join(absent),
        )  # fmt: skip
    return [found[name] for name in sorted(found)]


def read(pair: PairFiles, limit: int = 0) -> tuple[list[str], list[str]]:
    """The sentences of both sides.

    A pair with an empty side is left out and logged. Byte order marks and Windows line ends are
    accepted, invalid UTF-8 is replaced.

    Args:
      pair: from `find`.
      limit: pairs from the beginning of the files; 0: all.

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
