"""The layouts of the generated pages: benchmarks/ledger/results.toml, speed.toml and reproduction.toml."""

from __future__ import annotations

import csv
import dataclasses
import os
import tomllib
from typing import Any, Mapping, NamedTuple, Sequence

FORMS = ("percent", "fraction", "number", "gigabytes")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableLine:
    """A line of a table.

    Attributes:
      row: the name of the ledger's rows; '' for a published line.
      label: the line's first cell; '': the row's name.
      figures: its metrics, one a column; (): the table's.
      published: 'TABLE/ROW' of published.csv, whose columns are the table's `published`.
      each: the beginning of metrics, such as 'compare/', behind which systems stand: the row becomes
        a line for each of them, the best first, and `figures` follow the system's name.
    """

    row: str = ""
    label: str = ""
    figures: Sequence[str] = ()
    published: str = ""
    each: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClaimedOrder:
    """An order of two systems that somebody claims.

    Attributes:
      text: the order in words.
      better, worse: the names of the ledger's rows.
      metric: the metric, or a pattern of metrics whose mean counts.
      other: the metric of the worse system; '': the same.
      form: one of FORMS, of both figures.
    """

    text: str
    better: str
    worse: str
    metric: str
    other: str = ""
    form: str = "percent"

    def __post_init__(self) -> None:
        _check(self.form, self.text)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResultsTable:
    """A table of a page of tables.

    Attributes:
      title, text: heading and sentences.
      columns: heads of the columns.
      figures: the metric of each column.
      form: one of FORMS, of all figures; or one for each column.
      published: the columns of published.csv that stand for `figures`.
      cost: whether minutes of processor time and gigabytes of memory are shown.
      orders: orders that the table is to show.
    """

    title: str
    text: str = ""
    columns: Sequence[str] = ()
    figures: Sequence[str] = ()
    form: str | Sequence[str] = "percent"
    published: Sequence[str] = ()
    cost: bool = True
    lines: Sequence[TableLine] = ()
    orders: Sequence[ClaimedOrder] = ()

    def __post_init__(self) -> None:
        for form in self.forms:
            _check(form, self.title)
        for line in self.lines:
            if len(line.figures or self.figures) != len(self.columns) and not line.published:
                raise ValueError(
                    f"{self.title}: {line.row} has {len(line.figures or self.figures)} figures for "
                    f"{len(self.columns)} columns"
                )

    @property
    def forms(self) -> Sequence[str]:
        """The form of each column."""
        return [self.form] * len(self.columns) if isinstance(self.form, str) else self.form


class TablesPage(NamedTuple):
    """A page: its heading, introduction and tables."""

    title: str
    text: str
    tables: Sequence[ResultsTable]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """A table or figure of a paper.

    Attributes:
      name: 'A Table 2'.
      title: its content.
      command: the command that makes it in small.
      reason: a sentence.
      verdict: the verdict where no order is tested; '': that of the orders.
      scale: the command of the scale at which it is to be tried; '' where the small one decides.
      rows, columns: rows and columns of published.csv to show; (): all.
      orders: the orders of the paper.
    """

    name: str
    title: str
    command: str
    reason: str
    verdict: str = ""
    scale: str = ""
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    orders: Sequence[ClaimedOrder] = ()


def tables(ledger: str, name: str) -> TablesPage:
    """The page of a file such as 'results.toml'.

    Raises:
      ValueError: an unknown key or a line of another number of figures; the message names it.
    """
    content = _read(ledger, name)
    made = [_made(ResultsTable, x, lines=TableLine, orders=ClaimedOrder) for x in content["table"]]
    return TablesPage(content["title"], content["text"], made)


def items(ledger: str) -> tuple[str, Mapping[str, str], list[Item]]:
    """The introduction, letter -> paper, and the items of reproduction.toml; errors as of `tables`."""
    content = _read(ledger, "reproduction.toml")
    return (
        content["text"],
        content["papers"],
        [_made(Item, x, orders=ClaimedOrder) for x in content["item"]],
    )


def published(ledger: str) -> dict[str, dict[str, dict[str, str]]]:
    """Table -> row -> column -> the published value, of published.csv."""
    values: dict[str, dict[str, dict[str, str]]] = {}
    with open(os.path.join(ledger, "published.csv"), encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            row = values.setdefault(line["table"], {}).setdefault(line["row"], {})
            row[line["column"]] = line["value"]
    return values


def _read(ledger: str, name: str) -> dict[str, Any]:
    path = os.path.join(ledger, name)
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is no TOML: {error}") from error


def _check(form: str, name: str) -> None:
    if form not in FORMS:
        raise ValueError(f"{name}: form {form!r} is none of {', '.join(FORMS)}")


def _made(cls: type, values: Mapping[str, Any], **inner: type) -> Any:
    try:
        parts = {x: [y(**part) for part in values.get(x, ())] for x, y in inner.items()}
        return cls(**{**values, **parts})
    except TypeError as error:
        name = values.get("name", values.get("title"))
        raise ValueError(f"the layout of {name!r}: {error}") from error
