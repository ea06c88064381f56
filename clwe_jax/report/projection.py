"""Two languages' words in the plane, before and after alignment (joint-align, Fig. 1)."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import matplotlib
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
import numpy as np

from clwe_jax.report import plots
from clwe_jax.report.comparison import pair_name
from clwe_jax.report.markup import Html, tag
from clwe_jax.report.run_folder import Run, is_number
from clwe_jax.report.sections import mapping

_COLOURS = {"source": plots.BLUE, "target": plots.ORANGE, "shared": plots.GREEN}
_MOST_PAIRS = 6  # language pairs that are drawn
_TITLES = {"before": "before", "reallocated": "after reallocation", "after": "after alignment"}


def principal(groups: Mapping[str, np.ndarray]) -> dict[str, list[list[float]]]:
    """The first two principal components of several groups of vectors, found on all of them.

    Args:
      groups: name -> [N, D]; rows of unit length show directions, which is what is compared.

    Returns:
      name -> N points [x, y], rounded to four digits; signs such that the farthest point of each
      component is positive.
    """
    whole = np.concatenate(list(groups.values())).astype(np.float64)
    centered = whole - whole.mean(0)
    # D x D, not N x N, nor the N x D factor that a decomposition of the points would give.
    _, components = np.linalg.eigh(centered.T @ centered)
    plane = centered @ components[:, ::-1][:, :2]
    plane *= np.sign(plane[np.abs(plane).argmax(0), np.arange(plane.shape[1])])
    ends = np.cumsum([len(rows) for rows in groups.values()])[:-1]
    return {name: np.round(part, 4).tolist() for name, part in zip(groups, np.split(plane, ends))}


def section(run: Run) -> Html | None:
    """The pictures of each language pair, side by side."""
    found = mapping(mapping(run.extras.get("static")).get("projection"))
    drawn = []
    for pair, stages in list(found.items())[:_MOST_PAIRS]:
        panels = [
            _panel(str(pair), title, mapping(mapping(stages).get(stage)))
            for stage, title in _TITLES.items()
        ]
        panels = [panel for panel in panels if panel is not None]
        if panels:
            drawn.append(tag("div", panels, class_="charts three" if len(panels) > 2 else "charts"))
    if not drawn:
        return None
    text = (
        "Frequent words of two languages on the two directions in which they differ most, found "
        "anew for each picture. Lines join words that the dictionary translates to each other: "
        "the shorter they are, the better the two languages are aligned."
    )
    return Html(tag("p", text, class_="soft") + "".join(drawn))


def _panel(pair: str, title: str, stage: Mapping[str, Any]) -> Html | None:
    groups = {name: _points(stage.get(name)) for name in _COLOURS}
    groups = {name: points for name, points in groups.items() if len(points)}
    if not groups:
        return None
    source, _, target = pair.partition("-")
    names = {"source": f"{source} alone", "target": f"{target} alone", "shared": "shared"}
    if "shared" not in groups:
        names |= {"source": source, "target": target}
    with matplotlib.rc_context(plots.STYLE):
        figure = Figure(figsize=(4.6, 3.9), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        ends = [_points(ends) for ends in _pairs(stage.get("pairs"))]
        axes.add_collection(
            LineCollection(
                [end for end in ends if len(end) == 2],
                colors=plots.NEUTRAL,
                linewidths=0.7,
                alpha=0.55,
                zorder=1,
            )  # fmt: skip
        )
        for name, points in groups.items():
            axes.scatter(
                points[:, 0], points[:, 1], s=9, alpha=0.6, linewidths=0, zorder=2,
                color=_COLOURS[name],
            )  # fmt: skip
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.04)
        svg = plots.inline_svg(figure, f"{pair} {title}")
    legend = [
        tag("span", tag("i", style=f"border-top:.6em solid {_COLOURS[name]}"), names[name])
        for name in groups
    ]
    caption = tag("b", pair_name(pair), ", ", title), tag("span", legend, class_="legend")
    return tag("figure", tag("figcaption", caption), svg)


def _pairs(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _points(value: Any) -> np.ndarray:
    """[N, 2] of the points that are pairs of numbers."""
    if not isinstance(value, list):
        return np.zeros((0, 2))
    points = [
        point
        for point in value
        if isinstance(point, list) and len(point) == 2 and all(is_number(x) for x in point)
    ]
    return np.array(points, float).reshape(-1, 2)
