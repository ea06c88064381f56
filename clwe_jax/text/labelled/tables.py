"""Tables of labelled texts: one row a line, columns separated by tabs, or by commas in `.csv`.

A first line of known names (premise, sentence1, label, language, ...) says which column is which; a
file without one has the task's own order. Quotes are text, except in `.csv` and around a cell with
doubled quotes (SIB-200).
"""

from __future__ import annotations

import csv
import io
import itertools
from typing import Mapping, NamedTuple, Sequence

from clwe_jax.text.lines import describe_json, fault, quote_line, read_lines, split_cells
from clwe_jax.text.unpacking import strip_compression

_MEANINGS = {
    "first": "premise sentence1 text sentence_1",
    "second": "hypothesis hypo summary sentence2 sentence_2",
    "label": "label gold_label category",
    "language": "language lang",
}
_NAMES: dict[str, str] = {}
for _meaning, _names in _MEANINGS.items():
    _NAMES |= dict.fromkeys(_names.split(), _meaning)


class Cells(NamedTuple):
    """A row of a table: its line, and its cells by 'first', 'second', 'label' and 'language'."""

    number: int
    cells: dict[str, str]


def header(path: str) -> dict[str, int]:
    """Column by meaning, where the first line of the file names its columns; else empty."""
    rows = _read_rows(path)
    return _columns(rows[0][1]) if rows else {}


def languages(path: str) -> list[str]:
    """The languages that a column of the file names; none where it has no such column."""
    place = header(path).get("language")
    if place is None:
        return []
    rows = _read_rows(path)[1:]
    return sorted({cells[place].strip() for _, cells in rows if len(cells) > place})


def _read_rows(path: str) -> list[tuple[int, list[str]]]:
    """The lines of a file and their cells, without the comments (#) before the first row."""
    rows = _split(path, read_lines(path))
    comments = list(itertools.takewhile(lambda row: row[1][0].startswith("#"), rows))
    table_rows = rows[len(comments) :]
    # A text may begin with #: a row has as many cells as the others.
    if table_rows and all(len(cells) != len(table_rows[0][1]) for _, cells in comments):
        return table_rows
    return rows


def _columns(cells: Sequence[str]) -> dict[str, int]:
    columns: dict[str, int] = {}
    for place, cell in enumerate(cells):
        meaning = _NAMES.get(cell.strip().lower())
        if meaning:
            columns.setdefault(meaning, place)
    return columns if "label" in columns and "first" in columns else {}


def read(path: str, order: Mapping[str, int], expected: str) -> list[Cells]:
    """The rows of a table.

    Args:
      path: the file.
      order: column by meaning, in files that do not name their columns.
      expected: description of the columns, for errors.

    Raises:
      ValueError: a row with another number of columns than the first, or no row.
    """
    rows = _read_rows(path)
    header_order = _columns(rows[0][1]) if rows else {}
    columns = max(order.values()) + 1
    if header_order:
        if order.keys() - header_order.keys():
            fault(path, rows[0][0], f"expected columns {expected}, found {', '.join(rows[0][1])}")
        columns = len(rows[0][1])
        order = header_order
        rows = rows[1:]
    if not rows:
        raise ValueError(f"{path} holds no row: expected {expected}")
    table = []
    for number, cells in rows:
        if len(cells) != columns:
            row = f"{quote_line(' | '.join(cells))}{describe_json(cells[0])}"
            text = f"expected {columns} columns ({expected}), found {len(cells)}: {row}"
            fault(path, number, text)
        table.append(Cells(number, {key: cells[place].strip() for key, place in order.items()}))
    return table


def _split(path: str, lines: Sequence[tuple[int, str]]) -> list[tuple[int, list[str]]]:
    # Some published files are named .csv and have tabs.
    if strip_compression(path).endswith(".csv") and lines and "\t" not in lines[0][1]:
        first = lines[0][0] - 1
        reader = csv.reader(io.StringIO("\n".join(line for _, line in lines), newline=""))
        try:
            return [(first + reader.line_num, cells) for cells in reader if cells]
        except csv.Error as error:
            fault(path, first + reader.line_num, f"{error}. A quote may be open in a line above")
    return [(number, split_cells(line)) for number, line in lines if line.strip()]
