"""The test file of each language in a folder, by the names that published sets have."""

from __future__ import annotations

import itertools
import os
import re
from typing import Callable, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.text.words.languages import english_names, three_letters, two_letters
from clwe_jax.text.corpus import test_files
from clwe_jax.text.unpacking import is_program, list_folder, strip_compression

# Codes of three letters -> ours; esp and ned are CoNLL's. Other parts of names have three letters too.
_THREE = {
    **{code: code for code in (*english_names(), *options.MBERT_LANGUAGES.split(","))},
    **two_letters(),
    "esp": "es",
    "ned": "nl",
}
# Parts of a name that say what the file is for; the lowest rank of a language is taken.
_NEVER = 9
_RANK = {
    **dict.fromkeys("test testb".split(), 0),
    **dict.fromkeys("dev devel testa val valid validation".split(), 2),
    **dict.fromkeys("train training".split(), _NEVER),
}
_UNNAMED = 1
_OTHER = (".md", ".py", ".sh")  # endings of files without labels


def split_name(name: str) -> tuple[str, int]:
    """Language and rank of a file's name; '' for a name without a language.

    The language is a known code in lower case between dots, hyphens and underscores; of several the
    last of the fewest letters. What a hyphen or underscore puts right behind a code is its region or
    treebank: `de.tsv`, `pt-br.tsv`, `de_gsd-ud-test.conllu`, `dev-de.tsv`, `esp.testb`, `ceb.tsv`.
    """
    between = [] if name.endswith(_OTHER) else strip_compression(name).split(".")
    parts = [re.split("[-_]", part) for part in between]
    codes = list(itertools.chain.from_iterable(map(_languages_of, parts)))
    code = min(reversed(codes), key=len, default="")
    language = _THREE.get(code, code)
    ranks = [_RANK[x] for x in itertools.chain.from_iterable(parts) if x in _RANK]
    return language, max(ranks) if ranks else _UNNAMED


def _languages_of(pieces: Sequence[str]) -> list[str]:
    """The pieces that are codes, without those right behind another one."""
    pairs = zip(["", *pieces], pieces)
    return [x for before, x in pairs if _is_language(x) and not _is_language(before)]


def _is_language(piece: str) -> bool:
    return piece in _THREE or len(piece) == 2 and three_letters(piece) != piece


def _list_candidates(directory: str) -> list[tuple[str, int, str]]:
    """(language, rank, name) of the files that may hold test rows: no program (conlleval.pl), no training set."""
    candidates = []
    for name in list_folder(directory):
        path = os.path.join(directory, name)
        language, rank = split_name(name)
        if rank != _NEVER and os.path.isfile(path) and not is_program(path):
            candidates.append((language, rank, name))
    return candidates


def find(directory: str) -> dict[str, str]:
    """Language -> its test file in a folder: the one named test, else unnamed, else dev.

    Raises:
      FileNotFoundError: no such folder.
      ValueError: no file of a language, or several equally good ones of one language.
    """
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{directory!r} is no folder: expected one test file a language, such as de.tsv"
        )
    names = list_folder(directory)
    names_by_rank: dict[str, dict[int, list[str]]] = {}
    for language, rank, name in _list_candidates(directory):
        if language:
            names_by_rank.setdefault(language, {}).setdefault(rank, []).append(name)
    files = {}
    for language, by_rank in sorted(names_by_rank.items()):
        best = by_rank[min(by_rank)]
        if len(best) > 1:
            raise ValueError(
                f"{directory} holds several test files of {language}: {', '.join(best)}. Keep one "
                "of them, or put the others into another folder"
            )
        files[language] = os.path.join(directory, best[0])
    if not files:
        hint = test_files.explain_capitals(names, lambda x: bool(split_name(x)[0]))
        if names and not hint:
            hint = f"it has {test_files.list_names(names)}"
        raise ValueError(
            f"{directory} holds no test file of a language: expected names such as de.tsv, "
            f"de.test.tsv, test-de.tsv or de_gsd-ud-test.conllu. {hint}"
        )
    strays = [x for x in names if not split_name(x)[0]]
    if strays:
        logging.info(
            "%s: left out, as their names have no known language: %s", directory, ", ".join(strays)
        )
    return files


def find_shared_files(directory: str, languages: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """Language -> a file that holds several languages and whose name has none.

    Args:
      languages: path -> the languages that a file names in a column; the log names a file that is no text.
    """
    files: dict[str, str] = {}
    for language, _, name in sorted(_list_candidates(directory), key=lambda x: x[1]):
        path = os.path.join(directory, name)
        try:
            for named in () if language else languages(path):
                files.setdefault(named, path)
        except ValueError as error:  # a paper, or the archive of the files beside it
            logging.warning("Left out: %s", error)
    return files
