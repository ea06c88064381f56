"""The pieces that the page's sections are built of."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Iterable, Mapping, Sequence

from clwe_jax.report import figures
from clwe_jax.report.markup import Html, clip, tag

_OPEN_ROWS = 24  # longer tables start closed


@dataclasses.dataclass(frozen=True)
class Number:
    """A cell of a table: what is shown, and the value that its column is sorted by."""

    shown: Any
    value: float | None


def percent(value: float | None, baseline: float | None = None) -> Number:
    """A fraction in percent, with the difference to `baseline` in points beside it."""
    return Number((figures.percent(value), _change(value, baseline)), value)


def count(value: float | None) -> Number:
    """A whole number with commas."""
    return Number(figures.count(value), value)


def decimal(value: float | None) -> Number:
    """A figure that is neither a fraction nor a count."""
    return Number(figures.decimal(value), value)


def _change(value: float | None, baseline: float | None) -> Html | None:
    if value is None or baseline is None or not math.isfinite(value - baseline):
        return None
    kind = "up" if value > baseline else "down" if value < baseline else "soft"
    return tag("small", " ", figures.points(value - baseline), class_=kind)


def table(
    heads: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    total: Sequence[Any] | None = None,
    summary: str = "",
    open_rows: int = _OPEN_ROWS,
    **attributes: Any,
) -> Html:
    """A table that its columns' heads sort.

    Args:
      heads: of the columns.
      rows: cells: a `Number` is set right, anything else is text or Html.
      total: a last row that stays last.
      summary: the line that opens a table too long to start open; also closes a shorter one.
      open_rows: a longer table starts closed.
      **attributes: of the <table>, as for `tag`.
    """
    rows = list(rows)
    numeric = [any(isinstance(row[column], Number) for row in rows) for column in range(len(heads))]
    head = [
        tag("th", tag("button", name, type="button"), scope="col", class_="n" if right else None)
        for name, right in zip(heads, numeric, strict=True)
    ]
    body = [tag("tr", [_cell(cell) for cell in row]) for row in rows]
    if total is not None:
        body.append(tag("tr", [_cell(cell) for cell in total], class_="total"))
    whole = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), **attributes)
    whole = tag("div", whole, class_="scroll")
    if summary or len(rows) > open_rows:
        return tag("details", tag("summary", summary or f"All {len(rows)} rows"), whole)
    return whole


def _cell(cell: Any) -> Html:
    if isinstance(cell, Number):
        known = cell.value is not None and math.isfinite(cell.value)
        return tag("td", cell.shown, class_="n", data_v=cell.value if known else "-1e99")
    return tag("td", cell)


def tile(label: str, value: str, note: Any = None, first: bool = False) -> Html:
    """A headline figure."""
    kind = "tile first" if first else "tile"
    return tag("div", tag("span", label), tag("b", value), tag("span", note), class_=kind)


def language_tag(language: Any, languages: Sequence[str]) -> Html:
    """A language's code on its colour, which is the same all over the page."""
    name = str(language)
    place = languages.index(name) if name in languages else sum(name.encode("utf-8", "replace"))
    # Neighbours on the list lie a golden angle apart, so that their hues differ.
    hue = round(215 + place * 137.5) % 360
    return tag("span", clip(name, 12), class_="tag", style=f"--hue:{hue}")


def bar(share: float, mark: float | None = None, full: float = 1.0) -> Html:
    """A bar `share` long, and a stroke at `mark`, on a scale that ends at `full`."""
    scale = 100 / full if full > 0 else 0.0
    stroke = None
    if mark is not None:
        stroke = tag("u", style=f"left:{min(100.0, max(0.0, mark * scale)):.2f}%")
    filled = tag("i", style=f"width:{min(100.0, max(0.0, share * scale)):.2f}%")
    return tag("span", filled, stroke, class_="bar")


def facts(pairs: Mapping[str, Any]) -> Html | None:
    """Names and values side by side; those that are None are left out."""
    rows = [
        tag("div", tag("dt", name), tag("dd", value))
        for name, value in pairs.items()
        if value is not None
    ]
    return tag("dl", rows) if rows else None


def warning(title: str, items: Sequence[Any]) -> Html | None:
    """A box that cannot be overlooked."""
    if not items:
        return None
    points = [tag("li", item) for item in items]
    return tag("div", tag("b", title), tag("ul", points), class_="warning")
