"""The page's sections on the other runs: differing options, and all figures side by side."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Sequence

from clwe_jax.report import evaluations
from clwe_jax.report.data import Column, Metric, Section, Table, Word
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder, differences

# Beginnings of the figures of a training, which the report's own sections show.
_TRAINING = ("eval/mlm/", "train/", "speed/")
_MAX_OPTIONS = 3  # in a warning
_MAX_LETTERS = 30  # of an option's value there


def unfair_conditions(run: RunFolder, other: RunFolder) -> list[str]:
    """Sentences on conditions that make a comparison of two runs unfair; empty for a fair one.

    An option that one of the two kinds of runs does not have is no such condition.
    """
    sentences = []
    if run.step != other.step:
        sentences.append(
            f"{run.name} is at step {run.step:,}, {other.name} at step {other.step:,}."
        )
    unfair = [d for d in differences((run, other)) if not d.fair and None not in d.values]
    if unfair:
        texts = []
        for d in unfair[:_MAX_OPTIONS]:
            values = [str(value)[:_MAX_LETTERS] or "''" for value in d.values]
            texts.append(f"{d.option} ({', '.join(values)})")
        count = len(unfair) - _MAX_OPTIONS
        tail = f" and {count} more options, which the section Comparison lists" if count > 0 else ""
        sentences.append(f"The runs differ in {', '.join(texts)}{tail}.")
    return sentences


def section(
    run: RunFolder, others: Sequence[RunFolder], headlines: Iterable[Headline]
) -> Section | None:
    """The figures that the runs share, the headlines first, and the options in which they differ."""
    if not others:
        return None
    runs = (run, *others)
    listed = "; ".join(f"{other.name} in {other.workdir}" for other in others)
    text = f"Beside the figures of this run stand the figures of {listed}."
    options = [
        [Word(d.option, style="code"), *("–" if x is None else str(x) for x in d.values)]
        for d in differences(runs)
    ]
    common_names = [
        name
        for name in sorted(run.figures)
        if any(name in other.figures for other in others) and not name.endswith(("_low", "_high"))
    ]
    main = [x.mean for x in headlines if x.mean in common_names]
    blocks = [_table(run, main)] if main else []
    if common_names:
        blocks.append(_table(run, common_names, closed="All figures that another run has too"))
    if options:
        heads = ["Option", *(r.name for r in runs)]
        closed = f"The {len(options)} options in which the runs differ"
        blocks.append(Table(heads, options, closed=closed))
    else:
        text += " The configs are the same."
    return Section("Comparison", text, blocks)


def other_figures(
    run: RunFolder, others: Sequence[RunFolder], shown_prefixes: Sequence[str] = ()
) -> Section | None:
    """The results that no other section shows, under their metric names.

    Args:
      shown_prefixes: beginnings of the names of results that the wing's own sections show.
    """
    shown_metrics = set(_find_metrics(run.extras.get("sections")))
    prefixes = *_TRAINING, *evaluations.prefixes(), *shown_prefixes
    names = [
        name
        for name in sorted(run.results)
        if not name.startswith(prefixes)
        and name.removesuffix("_low").removesuffix("_high") not in shown_metrics
    ]
    text = ""
    if "data/masked_words" in names:
        text = "Figures of data/ count what the training read; masked words are those that are predicted."
    return Section("Other figures", text, [_table(run, names)]) if names else None


def _table(run: RunFolder, names: Sequence[str], closed: str = "") -> Table:
    columns = ["Figure", Column(run.name)]
    return Table(columns, [[Word(x, style="code"), Metric(x)] for x in names], closed=closed)


def _find_metrics(value: Any) -> Iterator[str]:
    """The metrics that sections of report.json name."""
    if isinstance(value, dict):
        if "metric" in value:
            yield str(value["metric"])
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _find_metrics(part)
