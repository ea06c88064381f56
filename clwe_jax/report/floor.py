"""The dictionary floor and chance beside a run's figures, in tables and as lines of charts."""

from __future__ import annotations

import itertools
import dataclasses
from typing import Mapping, Sequence

from clwe_jax.report.data import NEUTRAL, ORANGE, Chart, Line
from clwe_jax.report.headline import mean_of, pairs_of
from clwe_jax.report.run_folder import RunFolder

TEXT = (
    "\nDictionary floor: what the dictionary reaches without training, if each word of one language gets "
    "a random vector and each word of the others the mean of its translations' vectors; a sentence is "
    "the mean of its words, of which frequent ones count less. A trained model should be above it. "
    "Chance: one over the number of candidates."
)
_HEAD = "Dictionary floor"


def columns(
    run: RunFolder, path: str, chance: str, method: str = ""
) -> dict[str, dict[str, float]]:
    """The columns of the floor and of chance: head -> pair -> value.

    Args:
      path, chance: paths of the figures, with a star for the pair.
      method: name of the floor's method, for the column's head.
    """
    floor_head = f"{_HEAD}, {method}" if method else _HEAD
    return {
        head: {x: run.figures[figure.replace("*", x)] for x in pairs_of(figure, run.figures)}
        for head, figure in ((floor_head, path), ("Chance", chance))
    }


def lines(ends: Sequence[float], values: Mapping[str, float | None]) -> list[Line]:
    """Level lines of a chart, over the ends of its x axis, for each label and value that was measured."""
    colours = (ORANGE, NEUTRAL)
    return [
        Line(label, points=[(x, value) for x in ends], colour=colour, dash=2, compare=False)
        for (label, value), colour in zip(values.items(), colours)
        if value is not None
    ]


def with_level_lines(chart: Chart, values: Mapping[str, float | None]) -> Chart:
    """A chart with level lines from its first to its last point; unchanged without points."""
    points = itertools.chain(*(line.points for line in chart.lines))
    places = [x for x, _ in points]
    if not places:
        return chart
    level = lines((min(places), max(places)), values)
    return dataclasses.replace(chart, lines=[*chart.lines, *level])


def levels(run: RunFolder, path: str, chance: str, method: str = "") -> dict[str, float | None]:
    """The labels and values of the lines of the floor and of chance; arguments as of `columns`."""
    label = f"dictionary floor, {method}" if method else "dictionary floor"
    return {label: run.figures.get(mean_of(path)), "chance": run.figures.get(mean_of(chance))}
