"""The evaluators of the registry, as the report asks them: headlines, sections and test sets."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Mapping, Sequence

from clwe_jax import registry
from clwe_jax.report import headline
from clwe_jax.report.data import Section
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder

# (run, other runs) -> a section, None without figures.
Builder = Callable[[RunFolder, Sequence[RunFolder]], Section | None]


def headlines() -> dict[str, Sequence[Headline]]:
    """Name of an evaluator -> the headlines that it declares, in ascending order of their weight."""
    return _read_declarations("headlines", ())


def every_headline() -> list[Headline]:
    """The headlines of all evaluators."""
    return list(itertools.chain(*headlines().values()))


def sections() -> list[Builder]:
    """The evaluators' sections, in the order of the registry."""
    return [build for build in _read_declarations("section", None).values() if build]


def prefixes() -> list[str]:
    """Beginnings of the names of figures that sections of evaluators show, those of floors too."""
    names = [f"{name}/" for name, build in _read_declarations("section", None).items() if build]
    return [*names, *(headline.FLOOR + name for name in names)]


def headlines_by_key() -> dict[str, Headline]:
    """Key of a comparison -> the last headline that has it, whose outcomes it prefers (`compare.measured`)."""
    return {x.key: x for x in every_headline() if x.key}


def names_with_floor() -> list[str]:
    """Names of the evaluators with a headline that has a floor of the dictionary."""
    declared = headlines().items()
    return [name for name, some in declared if any(x.has_dictionary_floor for x in some)]


def describe_tests(run: RunFolder, name: str) -> str:
    """The test sets of an evaluator: 'muse, 12 directions, 18,000 words, 33,924 pairs'."""
    describe = _read_declarations("describe_tests", None).get(name)
    return describe(run) if describe else run.test_folder(name)


def _read_declarations(attribute: str, default: Any) -> Mapping[str, Any]:
    """Name of an evaluator -> what its class declares."""
    names = registry.TABLES["evaluator"]
    return {name: getattr(registry.lookup("evaluator", name), attribute, default) for name in names}
