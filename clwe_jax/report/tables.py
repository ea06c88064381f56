"""The final summary in the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Mapping

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clwe_jax.report import figures
from clwe_jax.report.figures import SENTENCE_METHODS, WORD_METHODS

_MOST_ROWS = 12  # of a table; the report has them all

# Head of a column -> metric and the form of its numbers.
Columns = Mapping[str, tuple[str, Callable[[float | None], str]]]


def print_summary(
    results: Mapping[str, float],
    workdir: str | os.PathLike[str],
    console: Console | None = None,
) -> None:
    """Prints the run's figures as tables, and the path of its report.

    Args:
      results: the figures by path, as in results.json.
      workdir: the run's folder.
      console: where to print; None: standard output.
    """
    console = console or Console()
    for table in summary_tables(results):
        console.print(table)
    report = Path(workdir) / "report.html"
    if report.exists():
        console.print(f"Report: {report}", markup=False, highlight=False, soft_wrap=True)


def summary_tables(results: Mapping[str, float]) -> list[Table]:
    """Sentence retrieval, held-out text and lexicon induction, as far as they were measured."""
    percent = figures.percent
    main, ending = figures.word_method(results)
    found = [
        _table(results, "Sentence retrieval, mean of the last four layers", "retrieval", "pair",
               {name: (f"mean_last4{x}", percent) for name, x in SENTENCE_METHODS.items()}),
        _table(results, "Sentence retrieval, sentence vectors", "retrieval", "pair",
               {name: (f"mean{x}", percent) for name, x in SENTENCE_METHODS.items()}),
        _table(results, "Held-out masked words", "eval/mlm", "language",
               {"perplexity": ("perplexity", figures.decimal), "loss": ("loss", figures.decimal),
                "accuracy": ("accuracy", percent)}),
        _table(results, "Lexicon induction", "bli", "pair",
               {**{f"P@1 {name}": (f"p@1{x}", percent) for name, x in WORD_METHODS.items()
                   if name in ("nearest neighbour", main)},
                f"P@5 {main}": (f"p@5{ending}", percent),
                "covered": (f"p@1{ending}_covered", percent),
                "not same-surface": (f"p@1{ending}_distinct", percent),
                "coverage": ("coverage", percent)}),
    ]  # fmt: skip
    return [table for table in found if table is not None]


def print_projection(
    before: Mapping[str, float], after: Mapping[str, float], console: Console | None = None
) -> None:
    """Prints sentence retrieval and lexicon induction before and after a projection.

    Args:
      before: the run's figures by path.
      after: 'projected/{method}/...', the same figures after it.
      console: where to print; None: standard output.
    """
    methods = sorted({name.split("/")[1] for name in after if name.count("/") > 1})
    methods = [m for m in methods if any(n.startswith(f"projected/{m}/bli/") for n in after)]
    table = _empty("Projection", "figure", ["before", *methods])
    for name in (
        *(f"retrieval/mean_last4{suffix}" for suffix in SENTENCE_METHODS.values()),
        "bli/p@1", "bli/p@1_csls",
    ):  # fmt: skip
        if name in before:
            cells = [after.get(f"projected/{method}/{name}") for method in methods]
            table.add_row(name, *map(figures.percent, [before[name], *cells]))
    (console or Console()).print(table)


def _table(
    results: Mapping[str, float], title: str, prefix: str, subject: str, columns: Columns
) -> Table | None:
    """A row a subject with figures 'PREFIX/SUBJECT/METRIC', and their mean 'PREFIX/METRIC'."""
    found = figures.by_subject(results, prefix)
    mean = found.pop("", {})
    measured = {name for row in found.values() for name in row}
    columns = {head: column for head, column in columns.items() if column[0] in measured}
    if not columns:
        return None
    names = {name for name, _ in columns.values()}
    rows = [(name, row) for name, row in found.items() if names & row.keys()]
    table = _empty(title, subject, list(columns))
    for name, row in rows[:_MOST_ROWS]:
        table.add_row(escape(name), *(form(row.get(x)) for x, form in columns.values()))
    if len(rows) > _MOST_ROWS:
        table.add_row(f"… {len(rows) - _MOST_ROWS} more in the report")
    if names & mean.keys():
        table.add_section()
        cells = [form(mean.get(x)) for x, form in columns.values()]
        table.add_row("mean", *cells, style="bold")
    return table


def _empty(title: str, subject: str, columns: list[str]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="",
        box=box.SIMPLE_HEAD,
        min_width=len(title),
    )
    table.add_column(subject)
    for column in columns:
        table.add_column(column, justify="right")
    return table
