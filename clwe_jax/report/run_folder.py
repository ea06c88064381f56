"""Reads a run's folder, of which only config.json is required."""

from __future__ import annotations

import itertools
import dataclasses
import functools
import json
import math
import os
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

Series = dict[int, float]  # step -> value, steps ascending

# Sections of the config that may differ in a fair comparison, and sections that are not compared.
_METHOD = ("system", "task", "objective", "job")
_NOT_COMPARED = ("report", "plan", "checkpoint", "mesh", "scale")


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """The contents of a run's folder.

    Attributes:
      workdir: the folder.
      config: the resolved config.
      results: the final figures by path; fractions, not percent.
      series: metric path -> step -> value.
      extras: report.json, which the job writes beside its figures.
      problems: sentences on files that could not be read.
      label: the run's name on the page; '': its system's name.
      has_results: whether the run has written its results; they are {} where it measures nothing.
    """

    workdir: Path
    config: dict[str, Any]
    results: dict[str, float]
    series: dict[str, Series]
    extras: dict[str, Any]
    problems: tuple[str, ...] = ()
    label: str = ""
    has_results: bool = True

    def option(self, path: str, default: Any = None) -> Any:
        """The value of an option such as 'train.steps'."""
        node: Any = self.config
        for key in path.split("."):
            if not isinstance(node, Mapping) or key not in node:
                return default
            node = node[key]
        return node

    @property
    def name(self) -> str:
        """The system's name, or the folder's where the config gives none."""
        return self.label or str(self.option("system") or self.workdir.resolve().name)

    @property
    def languages(self) -> list[str]:
        """The run's languages in the order of its config."""
        names = str(self.option("data.languages", "")).split(",")
        return [name.strip() for name in names if name.strip()]

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Languages in the order of the config, then other names in alphabetical order."""
        order = {name: place for place, name in enumerate(self.languages)}
        return sorted(names, key=lambda name: (order.get(name, len(order)), name))

    def test_folder(self, name: str) -> str:
        """The last part of the path of an evaluator's test data; '' where the config names none."""
        path = str(self.option(f"evals.{name}.data") or "")
        return "the embedded world" if path == "pocket" else os.path.basename(path.rstrip("/"))

    def examples(self, name: str) -> Sequence[Mapping[str, Any]]:
        """The rows that an evaluator kept for its section."""
        return (self.extras.get("evaluations") or {}).get(name) or ()

    @property
    def step(self) -> int:
        """The last step with a metric; 0 without any metric."""
        return max(itertools.chain(*self.series.values()), default=0)

    @functools.cached_property
    def figures(self) -> dict[str, float]:
        """The results, and the last logged value of the training's metrics; of all where there are no results."""
        series = {name: list(finite(points).values()) for name, points in self.series.items()}
        logged = {name: values[-1] for name, values in series.items() if values}
        if self.results:  # a measurement of other test sets has removed the earlier figures
            logged = {
                name: value
                for name, value in logged.items()
                if name.startswith(("train/", "data/"))
            }
        return {**logged, **self.results}


def read(workdir: str | os.PathLike[str]) -> RunFolder:
    """Reads WORKDIR's config.json, metrics.jsonl, results.json and report.json.

    Of a metric that a resumed run logged twice for a step, the last value counts.

    Raises:
      FileNotFoundError: the folder holds no run (no config.json).
      ValueError: config.json is not a JSON object.
    """
    folder = Path(workdir)
    problems: list[str] = []
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} holds no run: it has no config.json. Train one there with "
            f"python -m clwe_jax.main --config=configs/dict_mlm_50.py --workdir={folder}"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {error.lineno}: not JSON ({error.msg})") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected an object with the options of the run")
    results = _read_object(folder / "results.json", problems)
    return RunFolder(
        workdir=folder,
        config=config,
        results={name: float(value) for name, value in results.items() if is_number(value)},
        series=read_series(folder, problems),
        extras=_read_object(folder / "report.json", problems),
        has_results=(folder / "results.json").exists(),
        problems=tuple(problems),
    )


def is_number(value: Any) -> bool:
    """True for an int or float (NaN and infinity too), False for a bool and anything else."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _read_object(path: Path, problems: list[str]) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (json.JSONDecodeError, OSError) as error:
        problems.append(f"{path.name} could not be read ({error}); its part is left out.")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{path.name} does not hold an object; its part is left out.")
        return {}
    return value


def read_series(
    folder: str | os.PathLike[str], problems: list[str] | None = None
) -> dict[str, Series]:
    """Metric path -> its values in metrics.jsonl, {} without it; `problems` gets a sentence on bad lines."""
    path = Path(folder) / "metrics.jsonl"
    problems = [] if problems is None else problems
    series_of: dict[str, Series] = {}
    bad_lines = []
    if path.exists():
        with open(path, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                    name = row["name"]
                    step = int(row["step"])
                    value = float(row["value"])
                except (ValueError, KeyError, TypeError, OverflowError):
                    bad_lines.append(number)
                    continue
                series_of.setdefault(str(name), {})[step] = value
    if bad_lines:
        problems.append(
            f"{path.name}: {len(bad_lines)} unreadable line{'s' * (len(bad_lines) > 1)} skipped, "
            f"the first is line {bad_lines[0]}."
        )
    return {name: dict(sorted(series.items())) for name, series in series_of.items()}


def label_distinctly(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """The runs; runs of the same name get labels with their folders."""
    names = [run.name for run in runs]
    labelled = []
    for run in runs:
        if names.count(run.name) > 1:
            run = dataclasses.replace(run, label=f"{run.name} ({run.workdir})")
        labelled.append(run)
    return labelled


@dataclasses.dataclass(frozen=True)
class Difference:
    """An option in which runs differ.

    Attributes:
      option: its path.
      values: one per run; None for a run without the option.
      fair: whether runs of a fair comparison may differ in it.
    """

    option: str
    values: tuple[Any, ...]
    fair: bool


def differences(runs: Sequence[RunFolder]) -> list[Difference]:
    """The options in which runs differ, unfair ones first."""
    flat = [_flatten(run.config) for run in runs]
    differing = []
    for option in sorted(set().union(*flat)):
        section = option.split(".")[0]
        values = tuple(options.get(option) for options in flat)
        how_often = section == "evals" and option.endswith(".every_steps")
        if section in _NOT_COMPARED or how_often or all(value == values[0] for value in values):
            continue
        differing.append(Difference(option, values, fair=section in _METHOD))
    return sorted(differing, key=lambda difference: difference.fair)


def _flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat.update(_flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def finite(series: Series) -> Series:
    """The points of a series with finite values."""
    return {step: value for step, value in series.items() if math.isfinite(value)}
