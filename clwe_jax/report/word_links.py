"""The section on word alignment: error rates, and sentence pairs with their links."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from clwe_jax.report import data
from clwe_jax.report.data import Block, Chart, Column, Dots, Line, Metric, Picture, Table

_NAME = re.compile(r"word_alignment/([a-z]+-[a-z]+)/(?:aer|layer(\d+)/aer)")
_FIGURES = {"aer": "AER", "precision": "Precision", "recall": "Recall", "f1": "F1"}
KIND = "word_alignment"  # of the rows of details that are shown


def sections(figures: Mapping[str, float], rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The section as JSON, for report.json; [] without figures.

    Args:
      rows: details of evaluators; those of `evaluate.word_alignment` are drawn.
    """
    matches = [match for match in map(_NAME.fullmatch, figures) if match]
    pairs = list(dict.fromkeys(match[1] for match in matches))
    if not pairs:
        return []
    columns = [
        Column("Pair"),
        *(Column(head, "percent") for head in _FIGURES.values()),
        Column("Sentences", "count", main=False),
    ]
    cells = [
        [
            pair.replace("-", " → "),
            *(Metric(f"word_alignment/{pair}/{x}") for x in _FIGURES),
            Metric(f"word_alignment/{pair}/sentences"),
        ]
        for pair in pairs
    ]
    total = ["mean", *(Metric(f"word_alignment/{x}") for x in _FIGURES), ""]
    blocks: list[Block] = [Table(columns, cells, total)]
    if any(match[2] for match in matches):
        lines = [Line(pair, f"word_alignment/{pair}/layer*/aer", compare=False) for pair in pairs]
        title = "Alignment error rate by layer"
        blocks.append(Chart(title, lines, x="layer", form="percent", whole_x=True))
    shown: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row.get("kind") == KIND:
            shown.setdefault("-".join(row["languages"]), []).append(row)
    for some in shown.values():
        row = max(some, key=_crossings)
        blocks += [picture(row, "found", "the model's"), picture(row, "sure", "gold, sure")]
    text = (
        "The alignment error rate of words of parallel sentences, linked by the vectors of the "
        "encoder (lower is better): precision counts possible gold links, recall the sure ones. "
        "The table is of the chosen layers (config.evals); the pictures show a short sentence of "
        "each pair in which the order of words differs most, the source's words on the left."
    )
    return [data.to_json(data.Section("Word alignment", text, blocks))]


def _crossings(row: Mapping[str, Any]) -> int:
    """The number of pairs of sure links that cross."""
    return sum(a < c and b > d for a, b in row["sure"] for c, d in row["sure"])


def picture(row: Mapping[str, Any], kind: str, name: str) -> Picture:
    """Two columns of words, from top to bottom, and lines between linked words."""
    sides = []
    for x, (side, language) in enumerate(zip(("source", "target"), row["languages"])):
        places = [(float(x), -float(y)) for y in range(len(row[side]))]
        sides.append(Dots(language, places, row[side], x))
    joins = [(sides[0].points[i], sides[1].points[j]) for i, j in row[kind]]
    return Picture(f"{' → '.join(row['languages'])}: {name} links", sides, joins)
