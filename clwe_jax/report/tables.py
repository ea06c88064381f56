"""The final summary in the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clwe_jax.report import figures, induction
from clwe_jax.report.figures import ALL_PAIRS, METHODS

_MOST_ROWS = 12  # of a table; the report has them all


def print_summary(
    results: Mapping[str, float],
    workdir: str | os.PathLike[str],
    console: Console | None = None,
) -> None:
    """Prints the run's figures as tables, and where its report is.

    Args:
      results: the figures by path, as in results.json.
      workdir: the run's folder.
      console: where to print; None: standard output.
    """
    console = console or Console()
    for table in (retrieval_table(results), language_table(results), induction_table(results)):
        if table is not None:
            console.print(table)
    report = Path(workdir) / "report.html"
    if report.exists():
        console.print(f"Report: {report}", markup=False, highlight=False, soft_wrap=True)


def retrieval_table(results: Mapping[str, float]) -> Table | None:
    """Sentence retrieval by pair, the mean of the last four layers; None without figures."""
    found = figures.retrieval(results)
    means = {
        method: results[f"retrieval/mean_last4{suffix}"]
        for method, suffix in METHODS.items()
        if f"retrieval/mean_last4{suffix}" in results
    }
    methods = [method for method in METHODS if method in found or method in means]
    if not methods:
        return None
    table = _table("Sentence retrieval, mean of the last four layers", "pair", methods)
    pairs = sorted({pair for method in found.values() for pair in method} - {ALL_PAIRS})
    for pair in pairs[:_MOST_ROWS]:
        values = [figures.mean_last4(found.get(m, {}).get(pair, {})) for m in methods]
        table.add_row(escape(pair), *(figures.percent(value) for value in values))
    _say_left_out(table, len(pairs))
    table.add_section()
    last = []
    for method in methods:
        computed = figures.mean_last4(found.get(method, {}).get(ALL_PAIRS, {}))
        last.append(figures.percent(means.get(method, computed)))
    table.add_row("mean", *last, style="bold")
    return table


def language_table(results: Mapping[str, float]) -> Table | None:
    """Held-out loss, perplexity and accuracy by language; None without figures."""
    found = figures.by_subject(results, "eval/mlm")
    mean = found.pop("", {})
    if not found:
        return None
    columns = {
        "perplexity": figures.decimal,
        "loss": figures.decimal,
        "accuracy": figures.percent,
    }
    columns = {n: form for n, form in columns.items() if any(n in row for row in found.values())}
    table = _table("Held-out masked words", "language", list(columns))
    for language, metrics in list(found.items())[:_MOST_ROWS]:
        table.add_row(escape(language), *(form(metrics.get(n)) for n, form in columns.items()))
    _say_left_out(table, len(found))
    if mean:
        table.add_section()
        cells = [form(mean.get(name)) for name, form in columns.items()]
        table.add_row("mean", *cells, style="bold")
    return table


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
    table = _table("Projection", "figure", ["before", *methods])
    for name in (
        *(f"retrieval/mean_last4{suffix}" for suffix in METHODS.values()),
        "bli/p@1", "bli/p@1_csls",
    ):  # fmt: skip
        if name in before:
            cells = [after.get(f"projected/{method}/{name}") for method in methods]
            table.add_row(name, *map(figures.percent, [before[name], *cells]))
    (console or Console()).print(table)


def induction_table(results: Mapping[str, float]) -> Table | None:
    """Bilingual lexicon induction by pair in all readings; None without figures."""
    found = figures.by_subject(results, "bli")
    pairs = {pair: row for pair, row in found.items() if "-" in pair}
    main = induction.main_method(pairs)
    columns = {
        "P@1": "p@1",
        f"P@1 {induction.METHODS[main]}": f"p@1{main}",
        "P@5": f"p@5{main}",
        "covered": f"p@1{main}_covered",
        "not same-surface": f"p@1{main}_distinct",
        "coverage": "coverage",
    }
    if not main:
        del columns[f"P@1 {induction.METHODS[main]}"]
    measured = {name for row in pairs.values() for name in row}
    columns = {head: name for head, name in columns.items() if name in measured}
    if not any(name.startswith("p@1") for name in columns.values()):
        return None
    table = _table("Lexicon induction", "pair", list(columns))
    for pair, row in list(pairs.items())[:_MOST_ROWS]:
        cells = [figures.percent(row.get(name)) for name in columns.values()]
        table.add_row(escape(pair), *cells)
    _say_left_out(table, len(pairs))
    if "" in found and len(pairs) > 1:
        table.add_section()
        cells = [figures.percent(found[""].get(name)) for name in columns.values()]
        table.add_row("mean", *cells, style="bold")
    return table


def _table(title: str, subject: str, columns: list[str]) -> Table:
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


def _say_left_out(table: Table, rows: int) -> None:
    if rows > _MOST_ROWS:
        table.add_row(f"… {rows - _MOST_ROWS} more in the report")
