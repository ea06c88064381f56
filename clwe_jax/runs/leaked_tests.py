"""The report's line on test sentences that stand in what a run learned from; see `text.leaks`."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterator, Mapping, Sequence

from clwe_jax.cached import CachedResult
from clwe_jax.text import leaks, stamps

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
    if not text or not tests:
        return ""
    pocket = os.path.join(workdir, "pocket")
    embedded = all(place.startswith(pocket) for place in text)
    return CachedResult(
        os.path.join(workdir, _KEPT),
        {"text": text, "tests": tests},
        functools.partial(_find, text, tests, _MOST_OF_POCKET if embedded else _MOST),
        stamps=stamps.stamps(leaks.files([*text, *tests])),
        required=False,
    ).result()


def _find(text: Sequence[str], tests: Sequence[str], limit: int) -> str:
    found = leaks.find(text, tests, limit)
    if not found.tests or not found.lines:
        return ""
    command = f"clwe-jax leaks --text={','.join(text)} --tests={','.join(tests)}"
    return f"Test sentences in what was learned from: {found}. {command} names them."
