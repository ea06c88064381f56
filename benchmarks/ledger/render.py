"""The generated pages: docs/results.md, small_languages.md, clcr_results.md, speed.md, reproduction.md, and README's table."""

from __future__ import annotations

import os
import shlex
from typing import Any, Collection, Iterator, Mapping, Sequence

from clwe_jax import atomic
from benchmarks.ledger import layout, orders, readme, rows
from clwe_jax.runs.environment import ROOT
from clwe_jax.options import shipped

# Page of tables -> its layout, in the ledger's folder.
TABLES = {
    "docs/results.md": "results.toml",
    "docs/small_languages.md": "small_languages.toml",
    "docs/clcr_results.md": "clcr_results.toml",
    "docs/speed.md": "speed.toml",
}
PAGES = (*TABLES, "docs/reproduction.md", readme.README, readme.MINUTES)
_NOTE = "<!-- Made by `python -m benchmarks.ledger render` from benchmarks/ledger/. Do not change it by hand. -->"
_LEDGER = "../benchmarks/ledger"

Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def pages(ledger: str = rows.FOLDER) -> dict[str, str]:
    """Path of each page, from the project's folder -> its text."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows.read(ledger):
        by_name.setdefault(row["name"], []).append(row)
    published = layout.published(ledger)
    tables = (layout.tables(ledger, name) for name in TABLES.values())
    made = [
        [*_tables(page, by_name, published), *_foot(_rows_of(page), by_name)] for page in tables
    ]
    _, _, items = layout.items(ledger)
    compared = {name for x in items for order in x.orders for name in (order.better, order.worse)}
    made.append([*_reproduction(by_name, published, ledger), *_foot(compared, by_name)])
    texts = ["\n".join([_NOTE, "", *lines, ""]) for lines in made]
    with open(os.path.join(rows.ROOT, readme.README), encoding="utf-8") as file:
        texts.append(readme.filled(file.read(), by_name))
    texts.append(readme.minutes(by_name, list(shipped.configs())))
    return dict(zip(PAGES, texts))


def write(ledger: str = rows.FOLDER) -> None:
    """Writes the pages."""
    for path, text in pages(ledger).items():
        atomic.write(os.path.join(ROOT, path), text)


def differing(ledger: str = rows.FOLDER) -> list[str]:
    """The first line of each page that is not as it would be rendered now."""
    differences = []
    for path, text in pages(ledger).items():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            there = file.read()
        lines = zip(there.splitlines() + ["(end)"], text.splitlines() + ["(end)"])
        for number, (old, new) in enumerate(lines, 1):
            if old != new:
                differences.append(f"{path}:{number}: {old!r}; the ledger gives {new!r}")
                break
    return differences


def _rows_of(page: layout.TablesPage) -> set[str]:
    """The names of the rows that a page of tables shows."""
    return {line.row for table in page.tables for line in table.lines}


def _foot(names: Collection[str], by_name: Rows) -> list[str]:
    """When and at how many commits the rows of these names were measured."""
    some = [row for name in names for row in by_name.get(name, ())]
    dates = sorted(row["date"] for row in some)
    commits = {row["commit"] for row in some}
    if not some:
        return []
    return [
        "",
        f"*{len(some)} rows, measured from {dates[0]} to {dates[-1]} at {len(commits)} commits. "
        "`python -m benchmarks.ledger measure` measures them again, the oldest first.*",
    ]


def _tables(page: layout.TablesPage, by_name: Rows, published: Any) -> Iterator[str]:
    yield from (f"# {page.title}", "", page.text.strip())
    for table in page.tables:
        lines = list(_lines(table, by_name, published))
        if not lines:
            continue
        yield from ("", f"## {table.title}", "")
        if table.text:
            yield from (table.text.strip(), "")
        heads = ["", *table.columns, *(["minutes", "GB"] if table.cost else [])]
        yield _cells(heads)
        yield "|" + "---|" * len(heads)
        yield from lines
        tested = [(order.text, _verdict(order, by_name)) for order in table.orders]
        shown = [f"- {text}: **{answer}**." for text, answer in tested if answer != orders.ABSENT]
        if shown:
            yield from ("", *shown)


def _lines(table: layout.ResultsTable, by_name: Rows, published: Any) -> Iterator[str]:
    for line in table.lines:
        if line.published:
            name, _, row = line.published.partition("/")
            values = published[name][row]
            cells = [values.get(column, "–") for column in table.published]
            yield _cells([f"*{line.label or row}*", *cells, *(["–", "–"] if table.cost else [])])
        elif line.row in by_name:
            some, metrics = by_name[line.row], line.figures or table.figures
            for label, own in _systems(line, metrics, some):
                figures = [orders.figure(some, metric) for metric in own]
                cells = [_shown(figure, form) for figure, form in zip(figures, table.forms)]
                cost = _cost(some) if table.cost else []
                yield _cells([_link(line, label, some, own[0]), *cells, *cost])


def _systems(
    line: layout.TableLine, metrics: Sequence[str], some: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Sequence[str]]]:
    """(label, metrics) of each line that a row becomes."""
    if not line.each:
        return [(line.label or line.row, metrics)]
    names = {
        metric.removeprefix(line.each).partition("/")[0]
        for row in some
        for metric in row["figures"]
        if metric.startswith(line.each)
    }
    made = [(name, [f"{line.each}{name}/{metric}" for metric in metrics]) for name in names]

    def best(system: tuple[str, Sequence[str]]) -> tuple[float, str]:
        figure = orders.figure(some, system[1][0])
        return -figure.value if figure else 0.0, system[0]

    return sorted(made, key=best)


def _cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _link(
    line: layout.TableLine, label: str, some: Sequence[Mapping[str, Any]], metric: str
) -> str:
    count = orders.count_seeds(some, metric)
    seeds = f", {count} seeds" if count > 1 else ""
    return f"[{label}]({_LEDGER}/{rows.file_of(some[0])}){seeds}"


def _cost(some: Sequence[Mapping[str, Any]]) -> list[str]:
    """Minutes of processor time and peak gigabytes, the mean over the seeds."""
    minutes = sum(row["seconds"]["processor"] for row in some) / len(some) / 60
    memory = sum(row["memory"]["host_peak"] for row in some) / len(some) / 1e9
    return [f"{minutes:.1f}", f"{memory:.1f}"]


def _shown(figure: orders.Figure | None, form: str, items: bool = False) -> str:
    """A figure, with half of its interval over seeds, and with `items` also over test items."""
    if figure is None:
        return "–"
    scale = {"percent": 100, "gigabytes": 1e-9}.get(form, 1)
    value, error = scale * figure.value, scale * (figure.error or 0)
    digits = 1
    if form not in ("percent", "gigabytes"):
        # Three digits that count; a count has none behind the point.
        large = (abs(value) >= limit for limit in (1, 10, 1000))
        digits = 0 if value == round(value) and not error else 3 - sum(large)
    known = figure.error is not None and (items or figure.seeds > 1)
    ends = f" ± {error:,.{digits}f}" if known else ""
    return f"{value:,.{digits}f}{ends}"


def _verdict(order: layout.ClaimedOrder, by_name: Rows) -> str:
    better, worse = by_name.get(order.better, ()), by_name.get(order.worse, ())
    return orders.verdict(better, worse, order.metric, order.other)


def _reproduction(by_name: Rows, published: Any, ledger: str) -> Iterator[str]:
    text, papers, items = layout.items(ledger)
    yield from ("# Reproduction", "", text.strip(), "")
    yield _cells(["", "content", "does the paper's order hold here?"])
    yield "|---|---|---|"
    answers = {item.name: _answer(item, by_name) for item in items}
    for item in items:
        anchor = item.name.lower().replace(" ", "-")
        yield _cells([f"[{item.name}](#{anchor})", item.title, answers[item.name]])
    for letter, paper in papers.items():
        yield from ("", f"## {letter}: {paper}")
        for item in items:
            if item.name.startswith(f"{letter} "):
                yield from ("", f"### {item.name}", "")
                yield from _item_lines(item, answers[item.name], by_name, published)


def _answer(item: layout.Item, by_name: Rows) -> str:
    """The answer to whether the paper's order holds."""
    if item.verdict:
        return item.verdict
    given = [_verdict(order, by_name) for order in item.orders]
    for answer in (orders.NO, orders.ABSENT, orders.SAME):
        if fitting := [x for x in given if x.startswith(answer)]:
            return max(fitting, key=len)
    # An answer that rests on one seed says so.
    return max(given, key=len, default=orders.YES)


def _item_lines(item: layout.Item, answer: str, by_name: Rows, published: Any) -> Iterator[str]:
    yield f"{item.title}. Order: **{answer}**. {item.reason}"
    yield ""
    yield f"- here: `{item.command}`"
    for order in item.orders:
        yield f"- {order.text}: {_verdict(order, by_name)}{_both(order, by_name)}"
    table = published.get(item.name, {})
    for row in item.rows or table:
        if row in table:
            columns = [x for x in item.columns or table[row] if x in table[row]]
            values = ", ".join(f"{column} {table[row][column]}" for column in columns)
            yield f"- the paper, {row}: {values}"
    if item.scale:
        yield f"- at scale: `{item.scale}`"


def _both(order: layout.ClaimedOrder, by_name: Rows) -> str:
    """The figures of both systems."""
    sides = ((order.better, order.metric), (order.worse, order.other or order.metric))
    short = _without_shared_words(order.better, order.worse)
    shown = []
    for (name, metric), label in zip(sides, short):
        figure = orders.figure(by_name.get(name, ()), metric)
        if figure is None:
            absent = [label for (name, _), label in zip(sides, short) if name not in by_name]
            return f" ({', '.join(absent) or metric})"
        shown.append(f"{label} {_shown(figure, order.form, items=True)}")
    return f" ({'; '.join(shown)})"


def _without_shared_words(name: str, other: str) -> tuple[str, str]:
    """The names of two rows, each its system and the options that the other lacks."""
    (system, *own), (second, *others) = name.split(), other.split()
    first = [system, *(word for word in own if word not in others)]
    return " ".join(first), " ".join([second, *(word for word in others if word not in own)])


def commands(ledger: str = rows.FOLDER) -> list[str]:
    """The configs that the layout of reproduction.md names, for the test that they exist."""
    _, _, items = layout.items(ledger)
    words = [word for item in items for word in shlex.split(f"{item.command} {item.scale}")]
    return [
        word.partition("=")[2].partition(":")[0] for word in words if word.startswith("--config=")
    ]
