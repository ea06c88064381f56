"""What the report says of word alignment: its headline and its section."""

from __future__ import annotations

import itertools
import re
from typing import Any, Mapping, Sequence

from clwe_jax.report.data import Block, Chart, Column, Dots, Line, Metric, Picture, Section, Table
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder

_NAME = "word_alignment"
_PATH = re.compile(rf"{_NAME}/([a-z]+-[a-z]+)/(?:aer|layer(\d+)/aer)")
_FIGURES = {"aer": "AER", "precision": "Precision", "recall": "Recall", "f1": "F1"}
HEADLINES = (Headline(f"{_NAME}/*/f1", "Word alignment, F1"),)


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Error rates by pair and layer, and sentence pairs with their links."""
    matches = [match for match in map(_PATH.fullmatch, run.figures) if match]
    pairs = list(dict.fromkeys(match[1] for match in matches))
    if not pairs:
        return None
    columns = [
        Column("Pair"),
        *(Column(head, "percent") for head in _FIGURES.values()),
        Column("Sentences", "count", main=False),
    ]
    cells = []
    for pair in pairs:
        figures = [Metric(f"{_NAME}/{pair}/{x}") for x in (*_FIGURES, "sentences")]
        cells.append([pair.replace("-", " → "), *figures])
    total = ["mean", *(Metric(f"{_NAME}/{x}") for x in _FIGURES), ""]
    blocks: list[Block] = [Table(columns, cells, total)]
    if any(match[2] for match in matches):
        lines = [Line(pair, f"{_NAME}/{pair}/layer*/aer", compare=False) for pair in pairs]
        title = "Alignment error rate by layer"
        blocks.append(Chart(title, lines, x="layer", form="percent", whole_x=True))
    examples: dict[str, list[Mapping[str, Any]]] = {}
    for row in run.examples(_NAME):
        examples.setdefault("-".join(row["languages"]), []).append(row)
    for rows in examples.values():
        row = max(rows, key=_crossings)
        blocks += [picture(row, "found", "the model's"), picture(row, "sure", "gold, sure")]
    text = (
        "The alignment error rate of words of parallel sentences, linked by the vectors of the "
        "encoder (lower is better): precision counts possible gold links, recall the sure ones. "
        "The table is of the chosen layers (config.evals); the pictures show a short sentence of "
        "each pair in which the order of words differs most, the source's words on the left."
    )
    return Section("Word alignment", text, blocks)


def _crossings(row: Mapping[str, Any]) -> int:
    """The number of pairs of sure links that cross."""
    links = itertools.product(row["sure"], repeat=2)
    return sum(a < c and b > d for (a, b), (c, d) in links)


def picture(row: Mapping[str, Any], kind: str, name: str) -> Picture:
    """Two columns of words, from top to bottom, and lines between linked words."""
    sides = []
    for x, (side, language) in enumerate(zip(("source", "target"), row["languages"])):
        places = [(float(x), -float(y)) for y in range(len(row[side]))]
        sides.append(Dots(language, places, row[side], x))
    joins = [(sides[0].points[i], sides[1].points[j]) for i, j in row[kind]]
    return Picture(f"{' → '.join(row['languages'])}: {name} links", sides, joins)
