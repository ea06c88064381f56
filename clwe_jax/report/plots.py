"""Charts and pictures as inline SVG, drawn by matplotlib.

Text stays text, and its colours follow the page's light or dark scheme.
"""

from __future__ import annotations

import io
import itertools
import re
import warnings
from typing import Any, Sequence

import markupsafe
import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
import numpy as np

from clwe_jax.report.data import NEUTRAL, Chart, Dots, Picture, Points

# Mid-tones with enough contrast on white and on near-black, in the order of the page's hues of
# languages.
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
_GREY = "#7d8794"
_DASHES = ("-", (0, (4, 2.5)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
_MAX_POINTS = 300  # points of a line; longer lines are averaged in bins
_MARKED_POINTS = 25  # a line of fewer points shows each of them

# Places of a label beside its dot, the nearest first: directions and points of distance.
_ANGLES = np.arange(16) * np.pi / 8
_DISTANCES = np.repeat([1.0, 5, 10, 16, 24, 34, 46, 60], len(_ANGLES))[:, None]
_DIRECTIONS = np.tile(np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], 1), (8, 1))

# The dots of one colour, each with its style.
_DOTS = re.compile(r'<g( clip-path="[^"]*")>((?:\s*<use [^>]*style="[^"]*"/>)+)')
_STYLED = re.compile(r' style="([^"]*)"')

# Placeholders that the page replaces by its own colours.
_INK = "#010203"
_GRID = "#040506"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "clwe_jax",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": _INK,
    "lines.solid_capstyle": "round",
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
}


def colour(place: int) -> str:
    """The colour at a place of the palette, modulo its length; grey for NEUTRAL."""
    return _GREY if place == NEUTRAL else PALETTE[place % len(PALETTE)]


def svg(block: Chart | Picture, name: str, beside: int = 2) -> markupsafe.Markup:
    """The drawing of a chart or picture as an <svg> element that scales with the page.

    Args:
      block: a chart whose lines have points, or a picture.
      name: letters and digits, unique within the page.
      beside: number of drawings side by side: the text of three is relatively larger, and a picture alone
        has the width of the page.
    """
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # The reader's browser has the fonts of the page's text.
        warnings.filterwarnings("ignore", message="Glyph")
        if isinstance(block, Chart):
            figure = chart(block, beside == 3)
        else:
            figure = picture(block, wide=beside == 1)
        figure.patch.set_visible(False)
        return _to_inline_svg(figure, block.title, name, tight=isinstance(block, Picture))


def chart(block: Chart, small: bool = False) -> Figure:
    """A line chart at 72 units an inch."""
    figure = Figure(figsize=(4.9, 3.4) if small else (6.4, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.patch.set_visible(False)
    if block.band is not None:
        axes.axvspan(*block.band, color=_GRID, alpha=0.45, linewidth=0)
    for line in block.lines:
        xs, ys = thin_points(line.points)
        axes.plot(
            xs,
            ys,
            color=colour(line.colour or 0),
            linestyle=_DASHES[line.dash % len(_DASHES)],
            linewidth=0.9 if line.faint else 2.0,
            alpha=0.3 if line.faint else 1.0,
            marker="o" if len(xs) < _MARKED_POINTS and not line.faint else "",
            markersize=4.5,
        )
    axes.set_xlabel(block.x)
    axes.set_ylabel(block.y)
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=block.whole_x))
    axes.yaxis.set_major_locator(MaxNLocator(6))
    if block.y_range is not None:
        axes.set_ylim(*block.y_range)
    axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
    if block.form == "percent":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.3g}%"))
    return figure


def picture(block: Picture, titled: bool = False, wide: bool = False) -> Figure:
    """Dots in the plane, joined by thin lines; labels are moved until none covers another.

    Args:
      titled: whether the drawing has a title and a legend, for a file outside the page.
      wide: whether it is as wide as the page.
    """
    labelled = any(dots.labels for dots in block.dots)
    size = (7.2, 5.0) if labelled else (4.6, 3.9)
    if wide and labelled:
        size = 12.0, 6.2
    figure = Figure(size, dpi=72, layout="constrained")
    axes = figure.add_subplot()
    axes.patch.set_visible(False)
    if block.x:
        axes.set_xlabel(block.x)
        axes.set_ylabel(block.y)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.3g}%"))
    else:
        axes.spines["bottom"].set_visible(not labelled)
        axes.set_xticks([])
        axes.set_yticks([])
    axes.margins(*((0.12, 0.14) if labelled else (0.04, 0.04)))
    # One path for all lines: a path each would make the page several times larger.
    ends = [(*line, (np.nan, np.nan)) for line in block.joins]
    xs, ys = zip(*itertools.chain.from_iterable(ends)) if ends else ((), ())
    axes.plot(xs, ys, color=_GREY, linewidth=0.7, alpha=0.5, zorder=1)
    labels = []
    for dots in block.dots:
        area = 70 if dots.strong else 18 if labelled else 9
        xs, ys = zip(*dots.points, strict=True)
        axes.scatter(
            xs,
            ys,
            s=area,
            marker="D" if dots.strong else "o",
            color=colour(dots.colour),
            label=dots.label or "_nolegend_",
            alpha=1.0 if labelled else 0.6,
            linewidths=0,
            zorder=2 + dots.strong,
        )
        style = {"fontsize": 11.5, "fontweight": "bold"} if dots.strong else {"fontsize": 10}
        for (x, y), label in zip(dots.points, dots.labels):
            labels.append(axes.text(x, y, label[:24], zorder=4, **style))
    if titled:
        figure.suptitle(block.title, fontsize=11)
        figure.legend(loc="outside lower center", ncols=8, frameon=False, fontsize=10)
    if labels:
        _place_labels(figure, axes, labels, block.dots)
    return figure


def _place_labels(figure: Figure, axes: Any, labels: list[Any], groups: Sequence[Dots]) -> None:
    """Puts each label where it covers least of the dots and of the labels before it, near its own dot."""
    # Labels are placed in the final layout, which must not change after that.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    points = list(itertools.chain.from_iterable(dots.points for dots in groups))
    centres = axes.transData.transform(points)
    sizes = [len(dots.points) for dots in groups]
    reach = np.repeat([6 if dots.strong else 3 for dots in groups], sizes)[:, None]
    covered = np.concatenate([centres - reach, centres + reach], 1)  # left, bottom, right, top
    starts = np.cumsum([0, *sizes])
    places = [start + np.arange(len(dots.labels)) for start, dots in zip(starts, groups)]
    for label, place in zip(labels, itertools.chain.from_iterable(places)):
        extent = label.get_window_extent()
        half = np.array([extent.width, extent.height]) / 2
        middles = centres[place] + _DIRECTIONS * (half + reach[place] + _DISTANCES)
        boxes = np.concatenate([middles - half, middles + half], 1)[:, None]
        sides = np.minimum(boxes, covered)[..., 2:] - np.maximum(boxes, covered)[..., :2]
        best = np.maximum(sides, 0).prod(-1).sum(1).argmin()
        covered = np.concatenate([covered, boxes[best]])
        x, y = axes.transData.inverted().transform(middles[best])
        label.set(x=x, y=y, ha="center", va="center")


def thin_points(points: Points) -> tuple[list[float], list[float]]:
    """x and y of the points; of more than _MAX_POINTS points, the means of bins."""
    xs = [point[0] for point in points]
    ys = [point[1] for point in points]
    width = -(-len(xs) // _MAX_POINTS)
    if width <= 1:
        return xs, ys
    bins = [slice(i, i + width) for i in range(0, len(xs), width)]
    return [_mean(xs[part]) for part in bins], [_mean(ys[part]) for part in bins]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _thousands(x: float, _: int) -> str:
    """1500 -> '1.5k', so that the steps of a long run fit under its axis."""
    if abs(x) >= 1e6:
        return f"{x / 1e6:g}M"
    return f"{x / 1e3:g}k" if abs(x) >= 1e3 else f"{x:g}"


def _share_style(dots: re.Match[str]) -> str:
    """The dots with their style at the group where all have the same one."""
    styles = set(_STYLED.findall(dots[2]))
    if len(styles) > 1:
        return dots[0]
    return f'<g{dots[1]} style="{styles.pop()}">{_STYLED.sub("", dots[2])}'


def _to_inline_svg(figure: Figure, title: str, name: str, tight: bool) -> markupsafe.Markup:
    """The figure for a page that holds several of them."""
    buffer = io.StringIO()
    figure.savefig(
        buffer,
        format="svg",
        # Labels may reach beyond the axes.
        bbox_inches="tight" if tight else None,
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    # The style sheet of a drawing would apply to the whole page, whose own one has these rules; matplotlib
    # repeats each text in a comment.
    for part in ("<metadata>.*?</metadata>", "<style.*?</style>", "<!--.*?-->"):
        drawing = re.sub(part, "", drawing, flags=re.DOTALL)
    # A hundredth of a point is finer than any screen; text keeps its digits.
    drawing = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), drawing)
    drawing = _DOTS.sub(_share_style, drawing)
    # Ids in a drawing have to be unique on the page.
    drawing = re.sub(r'(\sid="|href="#|url\(#)', rf"\g<1>{name}-", drawing)
    drawing = drawing.replace(_INK, "currentColor").replace(_GRID, "var(--line)")
    drawing = drawing.replace("font-family: 'DejaVu Sans'", "font-family: var(--font)")
    head, _, body = drawing.partition(">")
    view = re.search(r'viewBox="[^"]*"', head)
    assert view is not None, "matplotlib writes a viewBox"
    label = markupsafe.escape(title)
    return markupsafe.Markup(f'<svg role="img" aria-label="{label}" {view.group()}>{body}')
