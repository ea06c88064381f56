"""The files of dictionaries and of test words in folders, found by their names."""

from __future__ import annotations

import os
import re
from typing import Mapping, Sequence

from clwe_jax.text.dictionary import pair_files
from clwe_jax.text.dictionary.pair_files import PairFile

_JMDICT_FILE = re.compile(r"JMdict(?!.*\.(part|tmp)$).*")  # not an unfinished download
_TEST_SPLIT = re.compile(r"([0-9]+-[0-9]+)?")


def name_of(directory_or_files: str | Sequence[str]) -> str:
    """A folder's path, or 'the dictionaries' for a list of files: the subject of a message."""
    return directory_or_files if isinstance(directory_or_files, str) else "the dictionaries"


def find(
    directory_or_files: str | Sequence[str], languages: Sequence[str] | None
) -> list[PairFile]:
    """The files that `load` reads; JMdict has the source 'ja' and the target ''.

    Raises:
      FileNotFoundError, ValueError: as of `load`.
    """
    hint = (
        "Name a directory of xx-yy.txt with --config.data.dictionaries=DIR ('' for none), or fetch "
        "the public ones: python -m clwe_jax.text.dictionary download --out DIR"
    )
    if isinstance(directory_or_files, str):
        if not os.path.isdir(directory_or_files):
            fault = f"There is no dictionary directory {directory_or_files}"
            if os.path.isfile(directory_or_files):
                fault = f"{directory_or_files} is a file, not a directory of dictionaries"
            raise FileNotFoundError(f"{fault}. {hint}")
        names = sorted(os.listdir(directory_or_files))
        paths = [os.path.join(directory_or_files, name) for name in names]
    else:
        paths = list(directory_or_files)
        for path in paths:
            if not os.path.isfile(path):
                raise FileNotFoundError(f"There is no dictionary file {path}. {hint}")
    files = []
    for path in paths:
        file = pair_files.parse_name(path, languages)
        whole = file and file.split in ("", pair_files.WIKTIONARY)
        if whole and file.source != file.target:
            files.append(file)
        elif _JMDICT_FILE.fullmatch(os.path.basename(path)):
            files.append(PairFile(path, "ja", "", ""))
    wrong = pair_files.misspelled(map(os.path.basename, paths))
    if not files:
        raise ValueError(
            f"{name_of(directory_or_files)} holds no xx-yy.txt and no JMdict. {wrong}{hint}"
        )
    if languages is None:
        return files
    wanted = [f for f in files if {f.source, f.target} <= {*languages, ""}]
    if not wanted:
        there = ", ".join(sorted({f"{f.source}-{f.target}" for f in files if f.target}))
        raise ValueError(
            f"{name_of(directory_or_files)} holds no dictionary between any two of "
            f"{','.join(languages)}; it has {there or 'JMdict (ja)'}. {wrong}Change "
            "config.data.languages, or set config.data.dictionaries='' for a run without one."
        )
    return wanted


def tests(exclude: str | Sequence[str] | None, languages: Sequence[str] | None) -> list[PairFile]:
    """The files of test words that `load` leaves out.

    Raises:
      FileNotFoundError, ValueError: as of `load`.
    """
    if not exclude:
        return []
    all_files = []
    for place in [exclude] if isinstance(exclude, str) else exclude:
        if not os.path.exists(place):
            raise FileNotFoundError(
                f"There is no {place} to take test words from: see config.data.exclude_dictionaries"
            )
        if os.path.isdir(place):
            files = [f for f in pair_files.find(place, languages) if not f.split.startswith("0-")]
        else:
            files = [f for f in [pair_files.parse_name(place, languages)] if f]
        files = [f for f in files if _TEST_SPLIT.fullmatch(f.split)]
        all_files += files
        if not files:
            raise ValueError(f"{place} holds no test dictionary (xx-yy.5000-6500.txt, xx-yy.txt)")
    if languages is None:
        return all_files
    return [f for f in all_files if f.source in languages and f.target in languages]


def without_pairs(
    files: Sequence[PairFile], skipped: Mapping[str, int], left_out: int, clean: Sequence[str]
) -> str:
    """The message on dictionaries that have no pair to train on."""
    lost = [f"{count} lines of {name} are no pair of words" for name, count in skipped.items()]
    lost += [f"{left_out} pairs contain test words (config.data.exclude_tests)"] * bool(left_out)
    lost += [f"config.data.dictionary_clean={','.join(clean)} removes pairs"] * bool(clean)
    return (
        f"No pair of words is left of {', '.join(file.path for file in files)}: "
        f"{'; '.join(lost) or 'the files are empty'}. A dictionary has lines `word translation`; "
        "--config.data.dictionaries='' trains without one."
    )
