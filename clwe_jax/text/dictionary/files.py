"""The files of dictionaries and of test words in folders, found by their names."""

from __future__ import annotations

import itertools
import os
import re
from typing import Iterator, Mapping, Sequence

from absl import logging

from clwe_jax.text.corpus import test_files
from clwe_jax.text.dictionary import kaikki, pair_files
from clwe_jax.text.dictionary.pair_files import PairFile
from clwe_jax.text import unpacking
from clwe_jax.text.words.languages import name_in

_HINT = (
    "Name a directory of xx-yy.txt with --config.data.dictionaries=DIR ('' for none), or fetch "
    "the public ones: clwe-jax data muse --languages=de,es --out=DIR"
)
_ENGLISH = "en"
_RENAME = "if it has lines `word TAB translation`, rename it xx-yy.txt"
_MAX_NAMED = 3  # files of a folder that the log names
# Ending of a file that is not read -> what makes xx-yy.txt of it.
_ADVICE = {
    ".dix": (
        "of Apertium's files `lt-expand FILE | sed 's/:[<>]:/:/; s/<[^>]*>//g; s/:/\\t/'` makes lines "
        "`word TAB translation` for xx-yy.txt"
    ),
    ".dict.dz": "unpack it with `dictunzip`, and write lines `word TAB translation` to xx-yy.txt",
    ".ifo": "StarDict's: `pyglossary FILE xx-yy.csv` makes a table, whose first two columns are xx-yy.txt",
    ".tei": "FreeDict's: `pyglossary FILE xx-yy.csv` makes a table, whose first two columns are xx-yy.txt",
    ".csv": "write its two columns with a tab between them to xx-yy.txt",
    **dict.fromkeys((".json", ".jsonl", ".xml"), "write lines `word TAB translation` to xx-yy.txt"),
}
_JMDICT_FILE = re.compile(r"JMdict(?!.*\.(part|tmp)$).*")  # not an unfinished download
_TEST_SPLIT = re.compile(r"([0-9]+-[0-9]+|test)?")


def name_of(directory_or_files: str | Sequence[str]) -> str:
    """The folders' paths, or 'the dictionaries' for a list of files: the subject of a message."""
    return directory_or_files if isinstance(directory_or_files, str) else "the dictionaries"


def find(
    directory_or_files: str | Sequence[str], languages: Sequence[str] | None, pivot: str = ""
) -> list[PairFile]:
    """The files that `load` reads; JMdict has the source 'ja', kaikki's files '', both the target ''.

    Args:
      languages: languages of a run; None: all.
      pivot: a further language, whose pairs with them are read. '' takes English, or another one, where
        a language has no dictionary with any other one of the run's.

    Raises:
      FileNotFoundError, ValueError: as of `load`.
    """
    paths = _paths(directory_or_files)
    parsed = (_training_file(path, languages) for path in paths)
    files = [file for file in parsed if file]
    if not files:
        raise ValueError(
            f"{name_of(directory_or_files)} holds no xx-yy.txt, no JMdict and no JSON lines of "
            f"kaikki.org. {_describe_others(paths)}{_HINT}"
        )
    if languages is None:
        return files
    run_files = _files_between(files, languages)
    if through := pivot or _choose_pivot(files, run_files, languages):
        run_files = _files_between(files, [*languages, through])
    if not run_files:
        present = sorted(set(map("-".join, _pairs_of_all(files, languages))))
        raise ValueError(
            f"{name_of(directory_or_files)} holds no dictionary between any two of "
            f"{','.join(languages)}; it has {', '.join(present)}. {_describe_others(paths)}Change "
            "config.data.languages, or set config.data.dictionaries='' for a run without one."
        )
    return run_files


def _training_file(path: str, languages: Sequence[str] | None) -> PairFile | None:
    """The file to train on that a path names; None where the name is of a test or of no dictionary."""
    file = pair_files.parse_name(path, languages)
    if file and file.is_for_training:
        return file
    if _JMDICT_FILE.fullmatch(os.path.basename(path)):
        return PairFile(path, name_in("ja", languages), "", "")
    return PairFile(path, "", "", "") if kaikki.is_kaikki(path) else None


def find_rejected(
    directory_or_files: str | Sequence[str], languages: Sequence[str] | None
) -> list[PairFile]:
    """The files of rejected pairs `xx-yy.not.txt` between some languages; None: all.

    Raises:
      FileNotFoundError: a folder or a file is missing.
    """
    files = (pair_files.parse_name(path, languages) for path in _paths(directory_or_files))
    rejected = [file for file in files if file and file.split == pair_files.REJECTED]
    return rejected if languages is None else _files_between(rejected, languages)


def log_unread(directory_or_files: str | Sequence[str]) -> None:
    """Counts and names the files that are neither dictionaries nor tests by their names."""
    unread_names = []
    for path in _paths(directory_or_files):
        file = pair_files.parse_name(path)
        is_other = file and (file.split == pair_files.REJECTED or _TEST_SPLIT.fullmatch(file.split))
        if not is_other and not _training_file(path, None):
            unread_names.append(os.path.basename(path))
    if unread_names:
        logging.info(
            "%s: %d files are no dictionaries by their names and are not read: %s%s",
            name_of(directory_or_files),
            len(unread_names),
            ", ".join(unread_names[:_MAX_NAMED]),
            ", ..." if len(unread_names) > _MAX_NAMED else "",
        )


def pivot_of(files: Sequence[PairFile], languages: Sequence[str] | None, pivot: str = "") -> str:
    """The language through which dictionaries are composed, of files that `find` returned; or ''."""
    if pivot or languages is None:
        return pivot
    return _choose_pivot(files, _files_between(files, languages), languages)


def _paths(directory_or_files: str | Sequence[str]) -> list[str]:
    if isinstance(directory_or_files, str):
        return list(itertools.chain.from_iterable(map(_list_files, directory_or_files.split(","))))
    for path in directory_or_files:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"There is no dictionary file {path}. {_HINT}")
    return list(directory_or_files)


def _list_files(folder: str) -> list[str]:
    """The paths of a folder's files, sorted by name."""
    if not os.path.isdir(folder):
        fault = f"There is no dictionary directory {folder}"
        if os.path.isfile(folder):
            fault = f"{folder} is a file, not a directory of dictionaries"
        raise FileNotFoundError(f"{fault}. {_HINT}")
    return [os.path.join(folder, name) for name in unpacking.list_folder(folder)]


def _pairs_of(file: PairFile, languages: Sequence[str]) -> set[tuple[str, str]]:
    """The pairs of languages of a file, as a run calls them; of JMdict those with English."""
    if file.target:
        return {(file.source, file.target)}
    english = name_in(_ENGLISH, languages)
    if file.source:
        return {(file.source, english)}
    return {(name_in(x, languages), english) for x in kaikki.languages_of(file.path)}


def _pairs_of_all(files: Sequence[PairFile], languages: Sequence[str]) -> Iterator[tuple[str, str]]:
    return itertools.chain.from_iterable(_pairs_of(file, languages) for file in files)


def _files_between(files: Sequence[PairFile], languages: Sequence[str]) -> list[PairFile]:
    """The files with pairs between some languages."""
    return [
        file
        for file in files
        if any(set(pair) <= set(languages) for pair in _pairs_of(file, languages))
        # JMdict has glosses in many languages.
        or (file.source in languages and not file.target)
    ]


def _languages_without_pair(wanted: Sequence[PairFile], languages: Sequence[str]) -> list[str]:
    """The languages that no file pairs with another one."""
    pairs = _pairs_of_all(wanted, languages)
    paired = set().union(*(pair for pair in pairs if set(pair) <= set(languages)))
    return [language for language in languages if language not in paired]


def _choose_pivot(
    files: Sequence[PairFile], wanted: Sequence[PairFile], languages: Sequence[str]
) -> str:
    """A language of no text that has dictionaries with all languages that have none with another one,
    and with one language more; English before others; '' where there is none."""
    unpaired_languages = _languages_without_pair(wanted, languages)
    pairs = set(map(frozenset, _pairs_of_all(files, languages)))
    candidates = set(itertools.chain.from_iterable(pairs)).difference(languages)
    for candidate in sorted(candidates, key=lambda x: (x != _ENGLISH, x)):
        paired = [x for x in languages if frozenset((x, candidate)) in pairs]
        if unpaired_languages and len(paired) > 1 and set(unpaired_languages) <= set(paired):
            return candidate
    return ""


def _describe_others(paths: Sequence[str]) -> str:
    """Sentences on the files that are no dictionaries by their names, and what to do."""
    names = map(os.path.basename, paths)
    if wrong := test_files.explain_capitals(names, lambda x: bool(pair_files.parse_name(x))):
        return f"{wrong}. "
    unread = (path for path in filter(os.path.isfile, paths) if not _training_file(path, None))
    return unpacking.describe_unread(unread, _ADVICE, _RENAME)


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
                f"There is no {place} to take test words from: mend config.data.exclude_dictionaries"
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
    faults = [f"{count} lines of {name} are no pair of words" for name, count in skipped.items()]
    first_bad = (pair_files.read_pairs(file.path).bad[:1] for file in files if file.target)
    faults += itertools.chain.from_iterable(first_bad)
    faults += [f"{left_out} pairs contain test words (config.data.exclude_tests)"] * bool(left_out)
    faults += [f"config.data.dictionary_clean={','.join(clean)} removes pairs"] * bool(clean)
    return (
        f"No pair of words is left of {', '.join(file.path for file in files)}: "
        f"{'; '.join(faults) or 'the files are empty'}. A dictionary has lines `word translation`; "
        "--config.data.dictionaries='' trains without one."
    )
