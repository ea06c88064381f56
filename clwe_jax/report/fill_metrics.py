"""Fills in the metrics that tables and charts name, for the run and the runs beside it."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Sequence

from clwe_jax.report import data, figures
from clwe_jax.report.data import Chart, Closed, Column, Facts, Line, Metric, Number, Table
from clwe_jax.report.run_folder import RunFolder, finite

_MAX_COLUMNS = 8  # columns of a table that shows all of them at once
# Colours of other runs in a chart of one metric.
_OTHERS = (data.NEUTRAL, data.RED, data.VIOLET, data.ORANGE)


def resolve(blocks: Sequence[data.Block], runs: Sequence[RunFolder]) -> list[data.Block]:
    """The blocks with the figures of the page's run, then of the others; empty blocks are left out."""
    resolved: list[data.Block] = []
    for block in filter(None, (_resolve_block(block, runs) for block in blocks)):
        resolved += _fold(block) if isinstance(block, Table) else [block]
    return resolved


def _fold(table: Table) -> list[Table]:
    """A wide table as its main columns, and the whole table closed below them."""
    main = [i for i, column in enumerate(table.columns) if not i or column.main]
    is_narrow = len(table.columns) <= _MAX_COLUMNS or len(main) < 2
    if is_narrow or len(main) == len(table.columns) or table.closed or table.filters:
        return [table]

    def take_main(cells: Sequence[data.Cell]) -> list[data.Cell]:
        return [cells[i] for i in main]

    first = dataclasses.replace(
        table,
        columns=[table.columns[i] for i in main],
        rows=[take_main(row) for row in table.rows],
        total=None if table.total is None else take_main(table.total),
    )
    title = f"All {len(table.columns)} columns"
    return [first, dataclasses.replace(table, title="", note="", closed=title)]


def _resolve_block(block: data.Block, runs: Sequence[RunFolder]) -> data.Block | None:
    if isinstance(block, Table):
        return _resolve_table(block, runs) if block.rows else None
    if isinstance(block, Chart):
        lines = _resolve_lines(block.lines, runs)
        # A chart of single points, or of other runs only, is left out.
        has_curve = any(not line.dash and len(line.points) > 1 for line in lines)
        return dataclasses.replace(block, lines=lines) if has_curve else None
    if isinstance(block, Facts):
        facts = {
            name: _resolve_cell(x, "", runs[0], None) if isinstance(x, Metric) else x
            for name, x in block.facts.items()
        }
        return dataclasses.replace(block, facts=facts)
    if isinstance(block, Closed):
        parts = resolve(block.blocks, runs)
        return dataclasses.replace(block, blocks=parts) if parts else None
    return block


def _resolve_table(table: Table, runs: Sequence[RunFolder]) -> Table:
    """The table with other runs' columns, right of each main column that they measured."""
    columns: list[Column] = []
    origins: list[tuple[int, RunFolder | None]] = []  # (place of the given column, the other run)
    all_rows = [*table.rows, *([table.total] if table.total is not None else [])]
    filters = []
    for place, column in enumerate(table.columns):
        column = Column(column) if isinstance(column, str) else column
        if place in table.filters:
            filters.append(len(columns))
        columns.append(column)
        origins.append((place, None))
        metrics = {cell.metric for row in all_rows if isinstance(cell := row[place], Metric)}
        for run in runs[1:] if column.main else ():
            if metrics & run.figures.keys():
                columns.append(dataclasses.replace(column, head=f"{column.head}, {run.name}"))
                origins.append((place, run))
    resolved_rows = []
    for row in all_rows:
        cells = []
        for (place, run), column in zip(origins, columns):
            cells.append(_resolve_cell(row[place], column.form, runs[0], run))
        resolved_rows.append(cells)
    # A column of dashes says nothing, except which of the page's columns another run lacks.
    indices = []
    for i, (_, run) in enumerate(origins):
        empty = all(_is_empty(row[i]) for row in resolved_rows)
        if not i or run or i in filters or not empty:
            indices.append(i)
    resolved_rows = [[row[i] for i in indices] for row in resolved_rows]
    rows = resolved_rows[: len(table.rows)]
    total = resolved_rows[-1] if table.total is not None else None
    return dataclasses.replace(
        table,
        columns=[columns[i] for i in indices],
        rows=rows,
        total=total,
        filters=[indices.index(i) for i in filters],
    )


def _is_empty(cell: data.Cell) -> bool:
    """Whether a cell shows only a dash, or nothing."""
    if isinstance(cell, Number):
        return cell.value is None
    return isinstance(cell, str) and cell in ("", "–")


def _resolve_cell(cell: data.Cell, form: str, run: RunFolder, other: RunFolder | None) -> data.Cell:
    """A cell in the run's own column, or in another run's column, which shows only metrics."""
    if not isinstance(cell, Metric):
        if other is not None:
            return ""
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            return Number(cell, form)
        if isinstance(cell, Number):
            return dataclasses.replace(cell, form=cell.form or form)
        return cell
    mine = run.figures.get(cell.metric)
    if other is not None:
        theirs = other.figures.get(cell.metric)
        change = None if mine is None or theirs is None else mine - theirs
        return Number(theirs, form, change=change)
    low, high = (run.figures.get(f"{cell.metric}_{end}") for end in ("low", "high"))
    return Number(mine, form, low, high)


def _resolve_lines(lines: Sequence[Line], runs: Sequence[RunFolder]) -> list[Line]:
    """Each line, followed by the same line of every other run, dashed."""
    new_lines = []
    compared = sum(bool(line.metric and line.compare) for line in lines)
    for place, line in enumerate(lines):
        colour = place if line.colour is None else line.colour
        for number, run in enumerate(runs if line.metric else runs[:1]):
            if number and not line.compare:
                continue
            points = list(_points(line, run).items()) if line.metric else line.points
            if not points:
                continue
            label = line.label
            if number or (not label and line.metric and line.compare and len(runs) > 1):
                label = f"{label}, {run.name}" if label else run.name
            # In a chart of one metric the colour shows the run, else it shows the metric.
            shade = _OTHERS[(number - 1) % len(_OTHERS)] if number and compared == 1 else colour
            values = {"label": label, "points": points, "colour": shade}
            new_lines.append(dataclasses.replace(line, **values, dash=line.dash or number))
    return new_lines


def _points(line: Line, run: RunFolder) -> dict[float, float]:
    if "*" in line.metric:
        return figures.over_star(run.figures, line.metric)
    return finite(run.series.get(line.metric, {}))


def group_neighbours(
    blocks: Sequence[data.Block], types: tuple[type, ...]
) -> list[list[data.Block]]:
    """The blocks in groups: neighbours of these types together, each other block alone."""
    groups: list[list[data.Block]] = []
    for together, group in itertools.groupby(blocks, lambda block: isinstance(block, types)):
        groups += [list(group)] if together else [[block] for block in group]
    return groups
