"""Writes README's deciding table and the minutes of `clwe-jax list` from the ledger.

    python benchmarks/deciding_table.py          # after new rows in benchmarks/ledger/

The figures are those of the default runs, without overrides, on the embedded world; the mean over seeds.
A system without a row has a dash.
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any, NamedTuple

from clwe_jax import atomic
from clwe_jax.listed import MINUTES
from clwe_jax.options import shipped

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEDGER = ROOT / "benchmarks" / "ledger"
BEGIN, END = "<!-- deciding table: python benchmarks/deciding_table.py -->", "<!-- end of the table -->"


class Row(NamedTuple):
    """A row of the table; `figure` is a metric's path, shown after `label`, and `floor` its floor."""

    have: str
    want: str
    config: str
    label: str
    figure: str
    floor: str = ""


_RETRIEVAL = ("sentences found", "retrieval/mean_csls", "floor/retrieval/mean_csls")
ROWS = (
    Row("text, a dictionary", "vectors of words and sentences", "joint_dictionary", *_RETRIEVAL),
    Row("a dictionary, no time", "the same, without training", "dictionary_vectors", *_RETRIEVAL),
    Row("texts that share documents", "the same, and the translations in them", "mined_vectors", *_RETRIEVAL),
    Row("text, a dictionary", "a language model, in minutes", "warm_dict_mlm", "sentences found",
        "retrieval/mean_last4_csls", "floor/retrieval/sif/mean_csls"),
    Row("the same, and days", "the paper's DICT-MLM", "dict_mlm_50", "sentences found",
        "retrieval/mean_last4_csls", "floor/retrieval/sif/mean_csls"),
    Row("vectors of each language", "one space of them", "align_procrustes", "words translated",
        "bli/p@1_csls"),
    Row("labels in one language", "names in the others", "ner_bilstm_crf", "F1",
        "zero_shot/ner/mean_f1"),
    Row("sentences and translations", "sentence vectors, a translator", "laser", "sentences found",
        "retrieval/mean"),
    Row("text in two languages", "a translator", "unsupervised_mt", "BLEU", "bleu/mean"),
    Row("ambiguous words", "their senses", "bi_saelmo_context", "purity", "senses/purity"),
)  # fmt: skip


def rows() -> dict[str, list[dict[str, Any]]]:
    """Name of each config -> the ledger's lines of its default runs."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(LEDGER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.setdefault(row["name"], []).append(row)
    return found


def minutes(some: list[dict[str, Any]]) -> float:
    """The mean processor time of some runs, in minutes."""
    return sum(row["seconds"]["processor"] for row in some) / len(some) / 60


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """The table in Markdown."""
    lines = [
        "| you have | you want | `clwe-jax --config=` | minutes | GB | it reaches (floor) |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        cost, reached = ["–", "–"], "–"
        some = found.get(row.config)
        if some:
            memory = max(x["memory"]["host_peak"] for x in some) / 1e9
            cost = [f"{minutes(some):.0f}", f"{memory:.1f}"]
            values = [_mean(some, name) for name in (row.figure, row.floor)]
            if values[0] is not None:
                percent = 1 if row.figure.startswith("bleu") else 100
                shown = [f"{percent * x:.1f}" for x in values if x is not None]
                reached = f"{row.label}: {shown[0]}" + (f" ({shown[1]})" if shown[1:] else "")
        lines.append("| " + " | ".join([row.have, row.want, f"`{row.config}`", *cost, reached]) + " |")
    return "\n".join(lines)


def _mean(some: list[dict[str, Any]], name: str) -> float | None:
    """A figure's mean over seeds; the ledger keeps some figures as [value, low, high]."""
    values = [row["figures"][name] for row in some if name in row["figures"]]
    plain = [value[0] if isinstance(value, list) else value for value in values]
    return sum(plain) / len(plain) if plain else None


def filled(readme: str, found: dict[str, list[dict[str, Any]]]) -> str:
    """README's text with the table between its marks."""
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    made, count = re.subn(
        pattern, lambda _: f"{BEGIN}\n{table(found)}\n{END}", readme, flags=re.DOTALL
    )
    assert count == 1, f"README.md has {count} places for the table"
    return made


def main() -> None:
    """Writes README.md and configs/minutes.json."""
    found, readme = rows(), ROOT / "README.md"
    atomic.write(readme, filled(readme.read_text(encoding="utf-8"), found))
    known = {x: round(max(minutes(found[x]), 0.1), 1) for x in shipped.configs() if x in found}
    atomic.write_json(ROOT / "configs" / MINUTES, known)


if __name__ == "__main__":
    main()
