"""Test dictionaries for lexicon induction: `xx-yy.5000-6500.txt`, as MUSE names them."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from typing import Iterable, Mapping, Sequence

from absl import logging

from clwe_jax.text.corpus import test_files
from clwe_jax.text.dictionary import pair_files
from clwe_jax.text.words.languages import IN_NAMES
from clwe_jax.text.dictionary.pair_files import TEST_SPLITS, PairFile
from clwe_jax.text.unpacking import ENDING
from clwe_jax.text.words.normalize import Normalizer

_OPTION = "config.evals.bli.data"
_NAME = re.compile(rf"({IN_NAMES})-({IN_NAMES})\.({TEST_SPLITS})\.txt{ENDING}")


@dataclasses.dataclass(frozen=True)
class TestSet:
    """A test dictionary: source word -> its translations, all normalised."""

    source: str
    target: str
    entries: Mapping[str, frozenset[str]]

    @property
    def name(self) -> str:
        """'de-en'."""
        return f"{self.source}-{self.target}"


def files(
    directory: str,
    languages: Sequence[str] | None = None,
    required: bool = False,
    option: str = _OPTION,
) -> dict[tuple[str, str], PairFile]:
    """The test dictionaries in a folder: (source, target) -> file, in the order of their names.

    Args:
      directory: folder with `xx-yy.5000-6500.txt` or `xx-yy.test.txt`; other files are ignored.
      languages: languages of a run, whose codes the result has where they mean a file's.
      required: whether a folder without test dictionaries is an error.
      option: the config option that names the folder, for errors.

    Raises:
      FileNotFoundError: the folder is missing, or holds no test dictionary where one is required.
    """
    by_pair: dict[tuple[str, str], PairFile] = {}
    expected = "test dictionaries xx-yy.5000-6500.txt"
    for match in test_files.match_names(directory, _NAME, option, expected, required):
        file = pair_files.parse_name(os.path.join(directory, match[0]), languages)
        by_pair.setdefault((file.source, file.target), file)
    return by_pair


def find(
    directory: str,
    languages: Sequence[str],
    normalizer: Normalizer,
    pairs: Iterable[tuple[str, str]] = (),
    option: str = _OPTION,
) -> list[TestSet]:
    """The test dictionaries in a folder between a run's languages; the log names the others.

    Args:
      normalizer: makes the keys by which words are compared.
      pairs: wanted directions (source, target), in this order; empty: all directions.
      option: as of `files`.

    Raises:
      FileNotFoundError: the folder is missing, or `pairs` is empty and the folder holds no test
        dictionary.
      ValueError: a test dictionary without pairs.
    """
    pairs = list(pairs)
    files_of = files(directory, languages, not pairs, option)
    if pairs:
        absent = ["-".join(pair) for pair in pairs if pair not in files_of]
        if absent:
            _warn_of_absent(directory, ", ".join(absent), absent[0])
    else:
        pairs = [pair for pair in files_of if set(pair) <= set(languages)]
        test_files.log_unlearned(directory, ("-".join(x) for x in files_of if x not in pairs))
    return [read(files_of[pair], normalizer) for pair in pairs if pair in files_of]


@functools.cache  # a run looks into a folder several times
def _warn_of_absent(directory: str, names: str, example: str) -> None:
    logging.warning(
        "%s has no test dictionary of %s (expected %s.5000-6500.txt): lexicon induction is not "
        "measured in these directions",
        directory,
        names,
        example,
    )


def read(file: PairFile, normalizer: Normalizer) -> TestSet:
    """Reads a test dictionary; lines that are not a pair are skipped and named in the log.

    Raises:
      ValueError: no line is a pair.
    """
    pairs = pair_files.read_pairs(file.path)
    entries: dict[str, set[str]] = {}
    for left, right in zip(pairs.left, pairs.right):
        word = normalizer.key(left, file.source)
        translation = normalizer.key(right, file.target)
        if word and translation:
            entries.setdefault(word, set()).add(translation)
        else:
            pairs.skip(f"{left} {right}", "a word has no visible characters")
    if pairs.bad_count:
        logging.warning(
            "%s: %d lines skipped: %s", file.path, pairs.bad_count, "; ".join(pairs.bad)
        )
    if not entries:
        raise ValueError(f"{file.path} holds no pairs: expected a source and a target word a line")
    translations = {word: frozenset(others) for word, others in entries.items()}
    return TestSet(file.source, file.target, translations)
