"""The report's line on test sentences that stand in what a run learned from; see `text.leaks`."""

from __future__ import annotations

import functools
import os
import re
from typing import Any, Iterable, Iterator, Mapping, Sequence

from clwe_jax.cached import CachedResult
from clwe_jax.text import leaks, stamps
from clwe_jax.text.words.languages import has_name, name_in

# Options that name what a run learns from -> the folder of the embedded world that 'pocket' stands for.
_LEARNED = {
    ("data", "source"): "text",
    ("data", "dictionaries"): "dictionaries",
    ("data", "pairs"): "parallel",
    ("task", "parallel"): "parallel",
    ("finish", "pairs"): "parallel",
    ("transfer", "train"): "",
}
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

    def existing_paths(value: str, pocket: str) -> Iterator[str]:
        for part in value.removeprefix("text:").split(","):
            place = os.path.join(workdir, "pocket", pocket) if part == "pocket" else part
            if part and os.path.exists(place):
                yield place

    def option(section: str, name: str) -> str:
        return str((values.get(section) or {}).get(name) or "")

    text: list[str] = []
    for (section, name), pocket in _LEARNED.items():
        text += existing_paths(option(section, name), pocket)
    named = [str(x.get("data") or "") for x in (values.get("evals") or {}).values()]
    named.append(option("transfer", "tests"))
    tests: list[str] = []
    for value in dict.fromkeys(named):
        tests += existing_paths(value, _POCKET_TESTS)
    languages = [x for x in option("data", "languages").split(",") if x]
    text_files, test_files = (_of_languages(leaks.files(x), languages) for x in (text, tests))
    if not text_files or not test_files:
        return ""
    pocket = os.path.join(workdir, "pocket")
    embedded = all(place.startswith(pocket) for place in text)
    command = f"clwe-jax leaks --text={','.join(text)} --tests={','.join(tests)}"
    return CachedResult(
        os.path.join(workdir, _KEPT),
        {"text": text, "tests": tests},
        functools.partial(
            _find, text_files, test_files, _MOST_OF_POCKET if embedded else _MOST, command
        ),
        stamps=stamps.stamps([*text_files, *test_files]),
        required=False,
    ).result()


def _of_languages(paths: Iterable[str], languages: Sequence[str]) -> list[str]:
    """The files without those whose name has a language that is none of these; []: all files."""

    def is_read(path: str) -> bool:
        parts = filter(has_name, re.split("[-.]", os.path.basename(path)))
        return {name_in(part, languages) for part in parts} <= set(languages)

    return [path for path in paths if not languages or is_read(path)]


def _find(text: Sequence[str], tests: Sequence[str], limit: int, command: str) -> str:
    found = leaks.find(text, tests, limit)
    if not found.tests or not found.lines:
        return ""
    return f"Test sentences in what was learned from: {found}. {command} names them."
