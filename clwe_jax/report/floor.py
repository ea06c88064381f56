"""The dictionary floor and chance beside a run's figures, in tables and as lines of charts."""

from __future__ import annotations

import dataclasses
import re
from typing import Mapping, NamedTuple, Sequence

from clwe_jax.report.data import NEUTRAL, ORANGE, Chart, Column, Line, Number, Table
from clwe_jax.report.figures import SENTENCE_METHODS
from clwe_jax.report.run_folder import RunFolder

TEXT = (
    " Dictionary floor: the same measurement of word vectors that need no training, a random vector "
    "for each word of one language and the mean of its translations' vectors for each other word; "
    "sentences are weighted by word frequency. A trained model should be above it. Chance: one over "
    "the number of candidates."
)
_HEAD = "Dictionary floor"
_ARROW = "\u00a0→\u00a0"  # of `measures.pair_name`


def retrieval_path(run: RunFolder, ending: str = "", own: bool = False) -> str:
    """The path of the floor's retrieval figures, with a star for the pair.

    Args:
      ending: ending of the metric's name, such as '_csls'.
      own: whether the words of a sentence weigh as in the encoder's own sentence vector
        ('retrieval/mean'), which is for static vectors as in the floor's; else by SIF, if measured.
    """
    own = own and f"floor/retrieval/mean{ending}" in run.figures
    pooled = not own and any(name.startswith("floor/retrieval/sif/") for name in run.figures)
    return f"floor/retrieval/{'sif/' * pooled}*/mean{ending}"


def mean(run: RunFolder, path: str) -> float | None:
    """The mean over the pairs of a figure with a star for the pair; None if it was not measured."""
    return run.figures.get(path.replace("*/", ""))


class Beside(NamedTuple):
    """A figure and its floor over the same pairs of languages.

    Attributes:
      value, level: the means of the figure and of the floor.
      pairs: number of pairs; 0 where only means over pairs are known.
      whole: whether these are all pairs of the figure.
    """

    value: float
    level: float
    pairs: int
    whole: bool


def pairs_of(run: RunFolder, name: str) -> list[str]:
    """The pairs of languages, or directions, whose mean a figure is: of 'bli/p@1' those of 'bli/*/p@1'."""
    kind, _, metric = name.partition("/")
    # BLEU is the only figure of a pair: bleu/de-en.
    pattern = re.compile(rf"{re.escape(kind)}/([^/]+-[^/]+)(?:/{re.escape(metric)})?")
    return [found[1] for found in map(pattern.fullmatch, run.figures) if found]


def beside(run: RunFolder, name: str, path: str) -> Beside | None:
    """A figure beside its floor, over the pairs that both have; None where there is no floor.

    Args:
      name: path of the figure, a mean over pairs.
      path: path of the floor, with a star for the pair.
    """
    kind, _, metric = name.partition("/")
    pairs = pairs_of(run, name)
    both = [pair for pair in pairs if path.replace("*", pair) in run.figures]
    if both:
        values = [run.figures[f"{kind}/{pair}/{metric}"] for pair in both]
        levels = [run.figures[path.replace("*", pair)] for pair in both]
        count = len(both)
        return Beside(sum(values) / count, sum(levels) / count, count, count == len(pairs))
    level = mean(run, path)
    return None if level is None else Beside(run.figures[name], level, 0, True)


def method_of_retrieval(run: RunFolder) -> str:
    """The last method of `figures.SENTENCE_METHODS` with a floor, whose column stands beside it."""
    measured = [
        how for how, x in SENTENCE_METHODS.items() if mean(run, retrieval_path(run, x)) is not None
    ]
    return measured[-1] if measured else next(iter(SENTENCE_METHODS))


def with_baseline(
    tables: Sequence[Table], run: RunFolder, path: str, chance: str, method: str = ""
) -> list[Table]:
    """The tables of language pairs with a column for the floor and one for chance.

    Other runs add no columns: they share the dictionary and the test set.

    Args:
      tables: tables whose first column has the pairs.
      path, chance: paths of the figures, with a star for the pair.
      method: name of the floor's method, for the column's head.
    """
    made = []
    named = f"{_HEAD}, {method}" if method else _HEAD
    for table in tables:
        for head, figure in ((named, path), ("Chance", chance)):
            cells = [
                Number(run.figures.get(figure.replace("*", str(row[0]).replace(_ARROW, "-"))))
                for row in table.rows
            ]
            if all(cell.value is None for cell in cells):
                continue
            rows = [[*row, cell] for row, cell in zip(table.rows, cells)]
            # Of the pairs that the table has: the floor may have been measured on others too.
            known = [cell.value for cell in cells if cell.value is not None]
            total = table.total and [*table.total, Number(sum(known) / len(known))]
            columns = [*table.columns, Column(head, "percent")]
            table = dataclasses.replace(table, columns=columns, rows=rows, total=total)
        made.append(table)
    return made


def lines(ends: Sequence[float], values: Mapping[str, float | None]) -> list[Line]:
    """Level lines of a chart, each with its label; none for a value that was not measured.

    Args:
      ends: first and last place of the chart's x axis.
      values: label -> value.
    """
    colours = (ORANGE, NEUTRAL)
    return [
        Line(label, points=[(x, value) for x in ends], colour=colour, dash=2, compare=False)
        for (label, value), colour in zip(values.items(), colours)
        if value is not None
    ]


def with_level_lines(chart: Chart, values: Mapping[str, float | None]) -> Chart:
    """The chart, whose lines have points, with level lines from its first to its last point.

    Args:
      chart: chart; without points it stays as it is.
      values: label -> value; see `lines`.
    """
    places = [point[0] for line in chart.lines for point in line.points]
    if not places:
        return chart
    level = lines((min(places), max(places)), values)
    return dataclasses.replace(chart, lines=[*chart.lines, *level])


def levels(run: RunFolder, path: str, chance: str, method: str = "") -> dict[str, float | None]:
    """The labels and values of the lines of the floor and of chance.

    Args:
      path, chance: paths of the figures, with a star for the pair.
      method: name of the floor's method, for the label.
    """
    label = f"dictionary floor, {method}" if method else "dictionary floor"
    return {label: mean(run, path), "chance": mean(run, chance)}
