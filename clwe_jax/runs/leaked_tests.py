"""The report's line on test sentences that stand in what a run learned from; see `text.leaks`."""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any, Iterable, Mapping, Sequence

from clwe_jax.cached import CachedResult
from clwe_jax.text import leaks, stamps
from clwe_jax.text.corpus import corpora, parallel_files
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.labelled import folders

# Options that name what a run learns from -> the folder of the embedded world that 'pocket' stands for.
_LEARNED = {
    ("data", "source"): "text",
    ("data", "dictionaries"): "dictionaries",
    ("data", "pairs"): "parallel",
    ("task", "parallel"): "parallel",
    ("finish", "pairs"): "parallel",
    ("transfer", "train"): "",
}
_OF_PAIRS = ("pairs", "parallel", "retrieval", "bleu", "mining")  # options and evaluators
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
    # By place: the files there.
    text: dict[str, list[str]] = {}
    tests: dict[str, list[str]] = {}

    def add(files: dict[str, list[str]], name: str, value: str, pocket: str) -> None:
        for part in value.removeprefix("text:").split(","):
            part = part.partition(":")[2] if name == "train" else part  # en:FILE
            place = os.path.join(workdir, "pocket", pocket) if part == "pocket" else part
            if place and (found := sorted(_files_of(name, place, languages))):
                files.setdefault(place, []).extend(found)

    for (section, name), pocket in _LEARNED.items():
        add(text, name, option(section, name), pocket)
    for name, evaluator in (values.get("evals") or {}).items():
        add(tests, evaluator.get("name") or name, str(evaluator.get("data") or ""), _POCKET_TESTS)
    add(tests, "tests", option("transfer", "tests"), _POCKET_TESTS)
    text_files, test_files = (
        list(dict.fromkeys(itertools.chain.from_iterable(x.values()))) for x in (text, tests)
    )
    if not text_files or not test_files:
        return ""
    pocket = os.path.join(workdir, "pocket")
    embedded = all(place.startswith(pocket) for place in text)
    command = f"clwe-jax leaks --text={','.join(text)} --tests={','.join(tests)}"
    return CachedResult(
        os.path.join(workdir, _KEPT),
        {"text": list(text), "tests": list(tests)},
        functools.partial(
            _find, text_files, test_files, _MOST_OF_POCKET if embedded else _MOST, command
        ),
        stamps=stamps.stamps([*text_files, *test_files]),
        required=False,
    ).result()


def _files_of(name: str, place: str, languages: Sequence[str]) -> Iterable[str]:
    """The files of a place that the run reads for an option or evaluator, found by the reader of their format."""
    if not languages or os.path.isfile(place):
        return leaks.files([place])
    try:
        if name == "source":
            found = (corpora.files_of(place, language) for language in languages)
            return list(itertools.chain.from_iterable(found))
        if name in _OF_PAIRS:
            bitexts, _ = parallel_files.find(place, languages, name)
            # Verses that are held out stand in a file that is learned from.
            paths = (x.paths for x in bitexts if not x.selection.parts)
            return set(itertools.chain.from_iterable(paths))
        if name == "dictionaries":
            return [file.path for file in dictionary_files.find(place, languages)]
        if name == "tests":
            return [path for language, path in folders.find(place).items() if language in languages]
    except (OSError, ValueError):
        return []  # such as 'mined': what the run reads it has found
    return leaks.files([place])


def _find(text: Sequence[str], tests: Sequence[str], limit: int, command: str) -> str:
    found = leaks.find(text, tests, limit)
    if not found.tests or not found.lines:
        return ""
    return f"Test sentences in what was learned from: {found}. {command} names them."
