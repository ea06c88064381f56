"""The test file of each language in a folder, by the names that published sets have."""

from __future__ import annotations

import os
import re
from typing import Callable, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.text.words.languages import english_names, two_letters
from clwe_jax.text.corpus.test_files import list_names
from clwe_jax.text.unpacking import strip_compression

# Codes of three letters -> ours; esp and ned are CoNLL's. Other parts of names have three letters too.
_THREE = {
    **{code: code for code in (*english_names(), *options.MBERT_LANGUAGES.split(","))},
    **two_letters(),
    "esp": "es",
    "ned": "nl",
}
_NO_LANGUAGE = "ud"  # de_gsd-ud-test.conllu
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

    The language is a part of two letters, or of three known ones, in lower case, between dots and
    hyphens; of several the last of the fewest letters. Of a part such as `de_gsd` it is the first:
    `de.tsv`, `de_gsd-ud-test.conllu`, `dev-de.tsv`, `test.de.tsv.gz`, `esp.testb`, `ceb.tsv`.
    """
    between = [] if name.endswith(_OTHER) else re.split("[.-]", strip_compression(name))
    codes = [next(filter(_is_language, part.split("_")), "") for part in between]
    code = min(filter(None, reversed(codes)), key=len, default="")
    language = _THREE.get(code, code)
    parts = "_".join(between).split("_")
    ranks = [_RANK[part] for part in parts if part in _RANK]
    return language, max(ranks) if ranks else _UNNAMED


def _is_language(part: str) -> bool:
    return part in _THREE or part != _NO_LANGUAGE and bool(re.fullmatch("[a-z]{2}", part))


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
    names = sorted(os.listdir(directory))
    names_by_rank: dict[str, dict[int, list[str]]] = {}
    for name in names:
        language, rank = split_name(name)
        hidden = name.startswith(".") or not os.path.isfile(os.path.join(directory, name))
        if language and rank != _NEVER and not hidden:
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
        capital_names = [x for x in names if not split_name(x)[0] and split_name(x.lower())[0]]
        hint = f"; rename {capital_names[0]} to {capital_names[0].lower()}" if capital_names else ""
        if names and not capital_names:
            hint = f"; it has {list_names(names)}"
        raise ValueError(
            f"{directory} holds no test file of a language: expected names such as de.tsv, "
            f"de.test.tsv, test-de.tsv or de_gsd-ud-test.conllu{hint}"
        )
    strays = [x for x in names if not x.startswith(".") and not split_name(x)[0]]
    if strays:
        logging.info(
            "%s: left out, as their names have no known language: %s", directory, ", ".join(strays)
        )
    return files


def find_shared_files(directory: str, languages: Callable[[str], Sequence[str]]) -> dict[str, str]:
    """Language -> a file that holds several languages and whose name has none.

    Args:
      languages: path -> the languages that a file names in a column.
    """
    names = [(split_name(name), name) for name in sorted(os.listdir(directory))]
    candidates = sorted((rank, name) for (language, rank), name in names if not language)
    files: dict[str, str] = {}
    for rank, name in candidates:
        path = os.path.join(directory, name)
        if rank != _NEVER and not name.startswith(".") and os.path.isfile(path):
            for language in languages(path):
                files.setdefault(language, path)
    return files
