"""Charts as inline SVG: text stays text, colours follow the page's light or dark scheme."""

from __future__ import annotations

import dataclasses
import io
import re
from typing import Mapping, Sequence

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from clwe_jax.report.markup import Html, tag, text

# Mid-tones that keep their contrast on white and on near-black, in the order of the hues that the
# page gives to languages.
PALETTE = (
    "#3b7dd8",
    "#d6506a",
    "#2f9e6e",
    "#8f6bd1",
    "#dc8a1f",
    "#1fa2b8",
    "#d67ab1",
    "#86a02f",
    "#5c7cfa",
    "#c4673a",
)
BLUE, RED, GREEN, ORANGE = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[4]
NEUTRAL = "#7d8794"
MAX_COLOURED = len(PALETTE)
_MAX_POINTS = 300  # of a line; longer ones are averaged in bins

# Colours that the page replaces by its own.
_INK, _GRID = "#010203", "#040506"
# What every drawing of the page is made with.
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "clwe_jax",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "grid.color": _GRID,
    "grid.linewidth": 0.7,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.solid_capstyle": "round",
}


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a chart: x -> y, with its label in the legend ('' for none)."""

    label: str
    points: Mapping[float, float]
    colour: str
    dashed: bool = False
    faint: bool = False
    markers: bool = False


def chart(
    title: str,
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str = "",
    percent: bool = False,
    whole_x: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    band: tuple[float, float] | None = None,
    size: tuple[float, float] = (6.4, 3.6),
    note: str = "",
) -> Html:
    """A line chart in a <figure>: title, legend in HTML, SVG that scales with the page.

    Args:
      title: above the chart; also the chart's name for screen readers.
      lines: drawn in this order; those without points are left out.
      x_label: below the horizontal axis.
      y_label: beside the vertical axis, '' for none.
      percent: the y values are fractions and are labelled in percent.
      whole_x: the x axis counts something: every tick is a whole number.
      x_range: of the horizontal axis; None: the data's.
      y_range: of the vertical axis; None: the data's.
      band: a stretch of the x axis to shade.
      size: (width, height) in inches of 72 units; text is 11 units high.
      note: a sentence below the chart.
    """
    lines = [line for line in lines if line.points]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        if band is not None:
            axes.axvspan(*band, color=_GRID, alpha=0.45, linewidth=0)
        for line in lines:
            xs, ys = _thinned(line.points)
            axes.plot(
                xs,
                ys,
                color=line.colour,
                linestyle=(0, (4, 2.5)) if line.dashed else "-",
                linewidth=0.9 if line.faint else 2.0,
                alpha=0.3 if line.faint else 1.0,
                marker="o" if line.markers or len(xs) == 1 else "",
                markersize=4.5,
            )
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=whole_x))
        axes.yaxis.set_major_locator(MaxNLocator(6))
        if x_range is not None:
            axes.set_xlim(*x_range)
        if y_range is not None:
            axes.set_ylim(*y_range)
        axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
        if percent:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.3g}%"))
        svg = inline_svg(figure, title)
    return tag(
        "figure",
        tag("figcaption", tag("b", title), _legend(lines)),
        svg,
        tag("p", note, class_="note") if note else None,
    )


def _thinned(points: Mapping[float, float]) -> tuple[list[float], list[float]]:
    """The points as two lists; beyond _MAX_POINTS each point is the mean of its bin."""
    xs, ys = list(points), list(points.values())
    width = -(-len(xs) // _MAX_POINTS)
    if width <= 1:
        return xs, ys
    starts = range(0, len(xs), width)
    return (
        [sum(xs[i : i + width]) / len(xs[i : i + width]) for i in starts],
        [sum(ys[i : i + width]) / len(ys[i : i + width]) for i in starts],
    )


def _thousands(x: float, _: int) -> str:
    """1500 -> '1.5k', so that the steps of a long run fit under its axis."""
    if abs(x) >= 1e6:
        return f"{x / 1e6:g}M"
    return f"{x / 1e3:g}k" if abs(x) >= 1e3 else f"{x:g}"


def _legend(lines: Sequence[Line]) -> Html | None:
    named = [line for line in lines if line.label]
    if not named:
        return None
    items = []
    for line in named:
        kind = "dashed" if line.dashed else "solid"
        mark = tag("i", style=f"border-top:2.5px {kind} {line.colour}")
        items.append(tag("span", mark, line.label))
    return tag("span", items, class_="legend")


def inline_svg(figure: Figure, title: str) -> Html:
    """The figure as an <svg> element for a page that holds several of them."""
    buffer = io.StringIO()
    figure.savefig(
        buffer,
        format="svg",
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # The style sheet of one drawing would apply to the whole page; the page's own has its rules.
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    # Names within one drawing have to be unique within the page.
    prefix = re.sub(r"\W+", "-", title.lower())
    svg = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace(_INK, "currentColor").replace(_GRID, "var(--line)")
    svg = svg.replace("font-family: 'DejaVu Sans'", "font-family: var(--font)")
    head, _, rest = svg.partition(">")
    view = re.search(r'viewBox="[^"]*"', head)
    assert view is not None, "matplotlib writes a viewBox"
    return Html(f'<svg role="img" aria-label="{text(title)}" {view.group()}>{rest}')
