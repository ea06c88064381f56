"""The files of an evaluation in a folder, found by their names."""

from __future__ import annotations

import os
import re
from typing import Callable, Iterable, Sequence

from absl import logging

from clwe_jax.text import unpacking

_NAMED = 4  # files of a folder that an error names


def match_names(
    directory: str, pattern: re.Pattern[str], option: str, expected: str, required: bool = True
) -> list[re.Match[str]]:
    """The matches of a pattern with the names of a folder's files, sorted by name.

    Args:
      pattern: pattern of a whole name; other files are ignored.
      option: the config option that names the folder, for the error.
      expected: the expected files, for the error.
      required: whether a folder without such a file is an error.

    Raises:
      FileNotFoundError: the folder is missing, or holds no such file where one is required.
    """
    is_folder = os.path.isdir(directory)
    names = unpacking.list_folder(directory) if is_folder else []
    matches = [match for match in map(pattern.fullmatch, names) if match]
    if not is_folder or (required and not matches):
        fault = "holds no file of the expected name" if is_folder else "is not a folder"
        if wrong := explain_capitals(names, lambda x: bool(pattern.fullmatch(x))):
            fault += f"; {wrong}"
        elif names:
            fault += f"; it has {list_names(names)}"
        raise FileNotFoundError(
            f"{directory} {fault} ({option}). Expected {expected} there; --{option}='' reads no "
            "such files"
        )
    return matches


def explain_capitals(names: Iterable[str], is_known: Callable[[str], bool]) -> str:
    """What to do with a file whose languages are in capitals, 'EN-IT.txt'; '' without such."""
    wrong = next((x for x in names if not is_known(x) and is_known(x.lower())), "")
    return f"{wrong}: write languages in lower case, rename it {wrong.lower()}" if wrong else ""


def list_names(names: Sequence[str]) -> str:
    """The first names of a folder, for an error."""
    return ", ".join(names[:_NAMED]) + (" ..." if len(names) > _NAMED else "")


def log_unlearned(directory: str, names: Iterable[str]) -> None:
    """Logs the test sets that are left out because of their languages."""
    if listed := ", ".join(names):
        logging.info(
            "%s: left out, as the model has not learned both languages: %s", directory, listed
        )
