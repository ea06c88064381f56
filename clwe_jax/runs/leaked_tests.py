"""The report's line on test sentences that stand in what a run learned from."""

from __future__ import annotations

import functools
import itertools
import os
import shlex
from typing import Any, Callable, Iterable, Mapping, Sequence

from clwe_jax.cached import CachedResult
from clwe_jax.text import leaks, stamps
from clwe_jax.text.corpus import corpora, parallel_files
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.labelled import folders
from clwe_jax.text.unpacking import is_readable
from clwe_jax.text.words.languages import name_in

# (place, languages of the run) -> the files there that the run reads.
Finder = Callable[[str, Sequence[str]], Iterable[str]]


def _find_all(place: str, languages: Sequence[str]) -> Iterable[str]:
    return leaks.files([place])


def _find_text(place: str, languages: Sequence[str]) -> Iterable[str]:
    return itertools.chain.from_iterable(corpora.files_of(place, x) for x in languages)


def _find_pairs(place: str, languages: Sequence[str]) -> Iterable[str]:
    bitexts, _ = parallel_files.find(place, languages, "pairs")
    return set().union(*(bitext.paths for bitext in bitexts))


def _find_test_pairs(place: str, languages: Sequence[str]) -> Iterable[str]:
    # Verses that are held out stand in a file that is learned from.
    return [] if parallel_files.split_place(place)[1].parts else _find_pairs(place, languages)


def _find_dictionaries(place: str, languages: Sequence[str]) -> Iterable[str]:
    return [file.path for file in dictionary_files.find(place, languages)]


def _find_labelled(place: str, languages: Sequence[str]) -> Iterable[str]:
    paths = folders.find(place).items()
    return [path for name, path in paths if name_in(name, languages) in languages]


# An option that names what a run learns from -> the folder of the embedded world that 'pocket' stands for,
# and the finder of its files.
_LEARNED: dict[tuple[str, str], tuple[str, Finder]] = {
    ("data", "source"): ("text", _find_text),
    ("data", "dictionaries"): ("dictionaries", _find_dictionaries),
    ("data", "pairs"): ("parallel", _find_pairs),
    ("task", "parallel"): ("parallel", _find_pairs),
    ("finish", "pairs"): ("parallel", _find_pairs),
    ("compare", "parallel"): ("parallel", _find_pairs),
    ("clcr", "parallel"): ("parallel", _find_pairs),
}
# Evaluators, whose other tests are all files of their folders.
_TESTS: dict[str, Finder] = dict.fromkeys(("retrieval", "bleu", "mining"), _find_test_pairs)
_POCKET_TESTS = "retrieval"
_KEPT = "leaks.json"  # the line in the run's folder, for the next report
# Bytes of each file that are read: some seconds beside a training. Those of the embedded world are small runs'.
_MOST = 16 << 20
_MOST_OF_POCKET = 1 << 18


def describe(values: Mapping[str, Any], workdir: str) -> str:
    """The line; '' where the options name no test sentences or nothing that is learned from.

    Args:
      values: the config.
      workdir: the run's folder, which has the embedded world's files.
    """

    def option(section: str, name: str) -> str:
        return str((values.get(section) or {}).get(name) or "")

    languages = [x for x in option("data", "languages").split(",") if x]
    pocket = os.path.join(workdir, "pocket")
    training_sources = [(option(*path), folder, find) for path, (folder, find) in _LEARNED.items()]
    rows = [row.partition(":")[2] for row in option("transfer", "train").split(",")]  # en:FILE
    training_sources.append((",".join(rows), "", _find_all))
    test_sources = []
    for name, evaluator in (values.get("evals") or {}).items():
        find = _TESTS.get(evaluator.get("name") or name, _find_all)
        test_sources.append((str(evaluator.get("data") or ""), _POCKET_TESTS, find))
    test_sources.append((option("transfer", "tests"), _POCKET_TESTS, _find_labelled))
    text = _files_by_place(training_sources, pocket, languages)
    tests = _files_by_place(test_sources, pocket, languages)
    if not text or not tests:
        return ""
    text_files = list(dict.fromkeys(itertools.chain.from_iterable(text.values())))
    test_files = list(dict.fromkeys(itertools.chain.from_iterable(tests.values())))
    limit = _MOST_OF_POCKET if all(place.startswith(pocket) for place in text) else _MOST
    arguments = [f"--text={_name(text)}", f"--tests={_name(tests)}"]
    command = f"clwe-jax leaks {shlex.join(arguments)}"
    return CachedResult(
        os.path.join(workdir, _KEPT),
        {"text": list(text), "tests": list(tests)},
        functools.partial(_find, text_files, test_files, limit, command),
        stamps=stamps.stamps([*text_files, *test_files]),
        required=False,
    ).result()


def _files_by_place(
    named: Sequence[tuple[str, str, Finder]], pocket: str, languages: Sequence[str]
) -> dict[str, list[str]]:
    """Place -> its files, for (an option's value, its folder of the embedded world, its finder)."""
    files: dict[str, list[str]] = {}
    for value, folder, find in named:
        for part in value.removeprefix("text:").split(","):
            place = os.path.join(pocket, folder) if part == "pocket" else part
            paths = _find_files(find, place, languages) if place else []
            if paths:
                files.setdefault(place, []).extend(paths)
    return files


def _name(files: Mapping[str, Sequence[str]]) -> str:
    """The places, or their files where a place is no name of a file or folder (DIR/train, DIR@JOH)."""
    existing = ([x] if os.path.exists(x) else paths for x, paths in files.items())
    return ",".join(itertools.chain.from_iterable(existing))


def _find_files(find: Finder, place: str, languages: Sequence[str]) -> list[str]:
    if not languages or os.path.isfile(place):
        find = _find_all
    try:
        return sorted(filter(is_readable, find(place, languages)))
    except (OSError, ValueError):
        return []  # such as 'mined': what the run reads it has found


def _find(text: Sequence[str], tests: Sequence[str], limit: int, command: str) -> str:
    leaked = leaks.find(text, tests, limit)
    if not leaked.tests or not leaked.lines:
        return ""
    return f"Test sentences in the text that the run learned from: {leaked}. {command} names them."
