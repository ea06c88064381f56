"""The page's sections on the other runs: differing options, and all figures side by side."""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from clwe_jax.report.data import Column, Metric, Section, Table, Word
from clwe_jax.report.run_folder import Run, differences

# Prefixes of the figures that other sections show.
_SHOWN = (
    "retrieval/", "bli/", "eval/mlm/", "train/", "similarity/", "floor/retrieval/", "floor/bli/",
    "speed/", "compare/", "order/",
)  # fmt: skip
_MOST_OPTIONS = 12  # in a warning


def fairness(run: Run, other: Run) -> list[str]:
    """Sentences on conditions that make a comparison of two runs unfair; empty for a fair one."""
    found = []
    if run.step != other.step:
        found.append(f"{run.name} is at step {run.step:,}, {other.name} at step {other.step:,}.")
    unfair = [d for d in differences((run, other)) if not d.fair]
    for difference in unfair[:_MOST_OPTIONS]:
        ours, theirs = (str(value)[:60] or "''" for value in difference.values)
        found.append(f"config.{difference.option}: {ours} here, {theirs} there.")
    if len(unfair) > _MOST_OPTIONS:
        found.append(f"{len(unfair) - _MOST_OPTIONS} more options differ: see Comparison.")
    return found


def section(run: Run, others: Sequence[Run]) -> Section | None:
    """The other runs, the options in which the runs differ, and the figures that they share."""
    if not others:
        return None
    runs = (run, *others)
    listed = "; ".join(f"{other.name} in {other.workdir}" for other in others)
    text = f"Beside the figures of this run stand the figures of {listed}."
    options = [
        [Word(d.option, style="code"), *("–" if x is None else str(x) for x in d.values)]
        for d in differences(runs)
    ]
    blocks = [Table(["Option", *(r.name for r in runs)], options)] if options else []
    if not options:
        text += " The configs are the same."
    shared = [
        name
        for name in sorted(run.figures)
        if any(name in other.figures for other in others) and not name.endswith(("_low", "_high"))
    ]
    if shared:
        blocks.append(_table(run, shared, closed="All figures that another run has too"))
    return Section("Comparison", text, blocks)


def other_figures(run: Run, others: Sequence[Run]) -> Section | None:
    """The results that no other section shows, under their metric names."""
    shown = set(_metrics(run.extras.get("sections")))
    names = [
        name
        for name in sorted(run.results)
        if not name.startswith(_SHOWN)
        and name.removesuffix("_low").removesuffix("_high") not in shown
    ]
    return Section("Other figures", "", [_table(run, names)]) if names else None


def _table(run: Run, names: Sequence[str], closed: str = "") -> Table:
    columns = ["Figure", Column(run.name)]
    return Table(columns, [[Word(x, style="code"), Metric(x)] for x in names], closed=closed)


def _metrics(value: Any) -> Iterator[str]:
    """The metrics that sections of report.json name."""
    if isinstance(value, dict):
        if "metric" in value:
            yield str(value["metric"])
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _metrics(part)
