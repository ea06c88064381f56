"""Charts hold what they were given, as text that can be read and shapes that can be seen."""

import re
import xml.etree.ElementTree as ElementTree

from clwe_jax.report import plots
from clwe_jax.report.plots import Line, chart

SVG = "{http://www.w3.org/2000/svg}"


def svg_of(markup):
    start, end = markup.index("<svg"), markup.index("</svg>") + len("</svg>")
    text = markup[start:end].replace(
        "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="x" '
    )
    return ElementTree.fromstring(text)


def drawn(svg, colour):
    """The points of the paths in one colour."""
    paths = [p for p in svg.iter(SVG + "path") if f"stroke: {colour}" in p.get("style", "")]
    return [re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", path.get("d")) for path in paths]


def test_lines_are_drawn_where_the_figures_are():
    points = {0: 0.1, 1: 0.5, 2: 0.3}
    markup = chart("Accuracy", [Line("a", points, plots.RED)], x_label="layer", percent=True)
    ((a, b, c),) = [
        [(float(x), float(y)) for x, y in path] for path in drawn(svg_of(markup), plots.RED)
    ]
    assert a[0] < b[0] < c[0] and abs((b[0] - a[0]) - (c[0] - b[0])) < 1e-3
    # The y axis of SVG points down.
    assert abs((a[1] - b[1]) / (c[1] - b[1]) - 2) < 1e-3


def test_labels_are_text_and_ticks_are_percent():
    markup = chart("T", [Line("a", {0: 0.0, 1: 1.0}, plots.BLUE)], x_label="layer", percent=True)
    texts = [node.text for node in svg_of(markup).iter(SVG + "text")]
    assert "layer" in texts and "60%" in texts


def test_the_page_sets_the_colours_of_text_and_grid():
    markup = chart("T", [Line("a", {0: 0.0, 1: 1.0}, plots.BLUE)], x_label="x", band=(0.2, 0.8))
    assert plots._INK not in markup and plots._GRID not in markup
    assert "fill: currentColor" in markup and "stroke: var(--line)" in markup
    assert "#ffffff" not in markup.lower() and "#000000" not in markup
    assert "<style" not in markup and "<metadata" not in markup and "http" not in markup


def test_ids_of_two_charts_do_not_meet_and_references_hold():
    both = [
        chart(title, [Line("a", {0: 0, 1: 1}, plots.BLUE, markers=True)], x_label="x")
        for title in ("One", "Two")
    ]
    ids = [re.findall(r'\bid="([^"]+)"', markup) for markup in both]
    assert not set(ids[0]) & set(ids[1])
    for markup, own in zip(both, ids, strict=True):
        assert len(own) == len(set(own))
        assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', markup)[0]) - {""} <= set(own)


def test_labels_are_escaped_and_dollars_are_not_mathematics():
    hostile = "<script>alert(1)</script>$x_1$"
    markup = chart(hostile, [Line(hostile, {0: 1, 1: 2}, plots.BLUE)], x_label=hostile)
    assert "<script" not in markup
    assert hostile in [node.text for node in svg_of(markup).iter(SVG + "text")]
    assert svg_of(markup).get("aria-label") == hostile


def test_long_lines_are_averaged_not_cut():
    xs, ys = plots._thinned({step: float(step % 7) for step in range(100_000)})
    assert len(xs) <= plots._MAX_POINTS
    assert xs[0] < 500 and xs[-1] > 99_000
    assert abs(sum(ys) / len(ys) - 3) < 0.01
    short = {step: float(step) for step in range(plots._MAX_POINTS)}
    assert plots._thinned(short) == (list(short), list(short.values()))


def test_the_same_figures_give_the_same_bytes():
    lines = [Line("a", {0: 0.3, 1: 0.4}, plots.BLUE)]
    assert chart("T", lines, x_label="x") == chart("T", lines, x_label="x")
