"""The final summary in the terminal: the main columns of the report's tables of figures."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from typing import Mapping

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from clwe_jax.report import data, evaluations, figures, fill_metrics, pages, run_folder, training
from clwe_jax.report.data import Cell, Column, Language, Number, Stack, Word

_MAX_ROWS = 12  # rows of a table; the report has all of them
_LOG_WIDTH = 140  # characters of a line that no terminal limits


def print_summary(
    results: Mapping[str, float], workdir: str | os.PathLike[str], console: Console | None = None
) -> None:
    """Prints the run's figures as tables, the verdict on them, and the path of its report.

    Args:
      results: the figures by path, as in results.json.
      workdir: the run's folder.
      console: the console to print to; None: standard output.
    """
    console = console or _standard_console()
    run = dataclasses.replace(run_folder.read(workdir), results=dict(results), series={})
    sections = [build(run, ()) for build in (training.section, *evaluations.sections())]
    for section in run.extras.get("sections") or ():
        # The page names a section that is damaged.
        with contextlib.suppress(TypeError, ValueError):
            sections.append(data.section_from_json(section))
    for section in filter(None, sections):
        for block in fill_metrics.resolve(section.blocks, (run,)):
            if not isinstance(block, data.Table) or block.closed:
                continue
            if any(x.main for x in block.columns[1:]):
                title = f"{section.title}: {block.title}" if block.title else section.title
                console.print(_table(title, block))
    verdict = pages.choose_page(run).verdict(run)
    if verdict is not None:
        for text in filter(None, (verdict.text, *verdict.further, verdict.why)):
            console.print(text, markup=False, highlight=False)
        if verdict.command:
            console.print(f"  {verdict.command}", markup=False, highlight=False, soft_wrap=True)
    report = run.workdir / "report.html"
    if report.exists():
        console.print(f"Report: {report}", markup=False, highlight=False, soft_wrap=True)


def print_projection(
    before: Mapping[str, float], after: Mapping[str, float], console: Console | None = None
) -> None:
    """Prints the headline figures before and after a projection.

    Args:
      before: the run's figures by path.
      after: the figures after the projection, 'projected/{method}/...'.
      console: the console to print to; None: standard output.
    """
    headlines = evaluations.every_headline()
    methods = {name.split("/")[1] for name in after if name.count("/") > 1}
    columns = {"before": before}
    for method in sorted(methods):
        prefix = f"projected/{method}/"
        columns[method] = {
            x.removeprefix(prefix): y for x, y in after.items() if x.startswith(prefix)
        }
    columns = {name: x for name, x in columns.items() if any(y.mean in x for y in headlines)}
    rows = []
    for headline in headlines:
        values = [some.get(headline.mean) for some in columns.values()]
        if any(value is not None for value in values):
            rows.append([headline.label, *(Number(x, headline.form) for x in values)])
    heads = [Column("figure"), *(Column(name, "percent") for name in columns)]
    (console or _standard_console()).print(_table("Projection", data.Table(heads, rows)))


def _standard_console() -> Console:
    """Standard output; a log file has room for all columns of a comparison, which 80 characters cut."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _LOG_WIDTH
    return console


def _table(title: str, block: data.Table) -> Table:
    """The main columns of a table whose metrics are filled in."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="",
        box=box.SIMPLE_HEAD,
        min_width=len(title),
    )
    main_columns = [i for i, column in enumerate(block.columns) if not i or column.main]
    for i in main_columns:
        table.add_column(escape(block.columns[i].head), justify="right" if i else "left")
    for row in block.rows[:_MAX_ROWS]:
        table.add_row(*(_format_cell(row[i], block.columns[i]) for i in main_columns))
    if len(block.rows) > _MAX_ROWS:
        table.add_row(f"… {len(block.rows) - _MAX_ROWS} more in the report")
    if block.total is not None:
        table.add_section()
        table.add_row(
            *(_format_cell(block.total[i], block.columns[i]) for i in main_columns), style="bold"
        )
    return table


def _format_cell(cell: Cell, column: Column) -> str:
    if isinstance(cell, Number):
        return figures.FORMS[cell.form or column.form](cell.value)
    if isinstance(cell, Word):
        text = escape(cell.text)
        return f"[bold]{text}[/bold]" if cell.style == "strong" else text
    if isinstance(cell, Stack):
        return "\n".join(_format_cell(part, column) for part in cell.stack)
    if isinstance(cell, (list, tuple)):
        return " ".join(_format_cell(part, column) for part in cell)
    return escape(cell.language if isinstance(cell, Language) else str(cell))
