"""What the report says of translations: their headline and their section."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from clwe_jax.report.data import Block, Chart, Column, Line, Metric, Section, Table, Word
from clwe_jax.report.headline import FLOOR, Headline, pairs_of
from clwe_jax.report.run_folder import RunFolder

_NAME = "bleu"
HEADLINES = (
    Headline(
        f"{_NAME}/*",
        "BLEU",
        form="",
        floors=(f"{FLOOR}{_NAME}/*",),
        sentence="BLEU {} of 100",
        meaning="0 to 100, by sacrebleu in normalised words",
        baseline="the dictionary alone word by word",
    ),
)
_COLUMNS = {
    _NAME: "BLEU",
    "chrf": "chrF",
    f"start/{_NAME}": "BLEU word by word, vectors of the start",
    f"{FLOOR}{_NAME}": "BLEU word by word, dictionary",
}


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """BLEU and chrF by direction, BLEU over training, and the first sentences."""
    directions = pairs_of(HEADLINES[0].path, run.figures)
    if not directions:
        return None
    rows = run.examples(_NAME)
    metrics = [path for path in _COLUMNS if f"{path}/mean" in run.figures]
    cells = [[_arrow(x), *(Metric(f"{y}/{x}") for y in metrics)] for x in directions]
    total = ["mean", *(Metric(f"{x}/mean") for x in metrics)]
    columns = [Column("Direction"), *(Column(_COLUMNS[x]) for x in metrics)]
    signatures = "; ".join(dict.fromkeys(row["signature"] for row in rows))
    note = f"sacrebleu's signatures of BLEU and chrF: {signatures}" if rows else ""
    lines = [Line(_arrow(x), f"{_NAME}/{x}") for x in directions]
    blocks: list[Block] = [
        Table(columns, cells, total, note=note),
        Chart("BLEU over training", lines, y="BLEU"),
    ]
    if rows:
        blocks.append(_examples(rows))
    text = "Translations of held-out sentences, compared with their references in normalised words."
    if {*metrics} - {_NAME, "chrf"}:
        text += (
            " Word by word: each word becomes the nearest word of the other language by CSLS; the "
            "dictionary's vectors need no training."
        )
    return Section("Translation", text, blocks)


def _examples(rows: Sequence[Mapping[str, Any]]) -> Table:
    cells = []
    for row in rows:
        source, target = row["direction"].split("-")
        texts = (row["source"], source), (row["translation"], target), (row["reference"], target)
        cells.append([_arrow(row["direction"]), *(Word(text, code) for text, code in texts)])
    columns = ["Direction", "Sentence", "Translation", "Reference"]
    return Table(columns, cells, title="The first sentences")


def _arrow(direction: str) -> str:
    return direction.replace("-", " → ")
