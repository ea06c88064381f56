"""The section on translation: BLEU and chrF by direction, examples; precision and recall of mining."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from clwe_jax.report import data
from clwe_jax.report.data import Block, Chart, Column, Line, Metric, Table, Word

KIND = "bleu"  # of the rows of details that are shown
_COLUMNS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "start/bleu": "BLEU word by word, vectors of the start",
    "floor/bleu": "BLEU word by word, dictionary",
}
_MINING = {"precision": "Precision", "recall": "Recall", "f1": "F1", "threshold": "Least margin"}


def sections(figures: Mapping[str, float], rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The section as JSON, for report.json; [] without figures.

    Args:
      rows: details of evaluators; those of `evaluate.bleu` are shown.
    """
    directions = [x.removeprefix("bleu/") for x in figures if x.startswith("bleu/")]
    directions = [x for x in directions if x != "mean"]
    paths = [x.split("/") for x in figures if x.startswith("mining/") and x.endswith("/f1")]
    mined = [path[1] for path in paths if len(path) == 3]  # the mean has no pair
    blocks: list[Block] = []
    if directions:
        measured = [path for path in _COLUMNS if f"{path}/mean" in figures]
        cells = [[_arrow(x), *(Metric(f"{y}/{x}") for y in measured)] for x in directions]
        total = ["mean", *(Metric(f"{x}/mean") for x in measured)]
        columns = [Column("Direction"), *(Column(_COLUMNS[x]) for x in measured)]
        shown = [row for row in rows if row.get("kind") == KIND]
        note = "; ".join(dict.fromkeys(row["signature"] for row in shown))
        note = note and f"sacrebleu's signatures of BLEU and chrF: {note}"
        blocks.append(Table(columns, cells, total, note=note))
        lines = [Line(_arrow(x), f"bleu/{x}") for x in directions]
        blocks.append(Chart("BLEU over training", lines, y="BLEU"))
        if shown:
            blocks.append(_examples(shown))
    if mined:
        forms = {"threshold": ""}
        columns = [Column(head, forms.get(name, "percent")) for name, head in _MINING.items()]
        columns.insert(0, Column("Pair"))
        cells = [[_arrow(x), *(Metric(f"mining/{x}/{y}") for y in _MINING)] for x in mined]
        blocks.append(Table(columns, cells, title="Bitext mining by margin"))
    if not blocks:
        return []
    said = []
    if directions:
        said.append(
            "Translations of held-out sentences, compared with their references in normalised words."
        )
    if any(path.endswith("/bleu/mean") for path in figures):
        said.append(
            "Word by word: each word becomes the nearest word of the other language by CSLS; the "
            "dictionary's vectors need no training."
        )
    if mined:
        said.append(
            "Mining of sentence pairs by the margin of their vectors: half of each side's sentences "
            "have their translation on the other side."
        )
    text = " ".join(said)
    return [data.to_json(data.Section("Translation", text, blocks))]


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
