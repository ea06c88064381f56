"""Charts hold what they were given, as text that can be read and shapes that can be seen."""

import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np

from clwe_jax.report import plots
from clwe_jax.report.data import BLUE, RED, Chart, Dots, Line, Picture

SVG = "{http://www.w3.org/2000/svg}"


def svg_of(markup):
    spaces = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="x" '
    return ElementTree.fromstring(str(markup).replace("<svg ", spaces))


def chart(*lines, title="T", name="d1", **options):
    return plots.svg(Chart(title, lines, **options), name)


def drawn(svg, colour):
    """The points of the paths in one colour."""
    paths = [p for p in svg.iter(SVG + "path") if f"stroke: {colour}" in p.get("style", "")]
    return [re.findall(r"[ML] ([\d.-]+) ([\d.-]+)", path.get("d")) for path in paths]


LINE = Line("a", points=[(0, 0.0), (1, 1.0)], colour=BLUE)


def test_lines_are_drawn_where_the_figures_are():
    line = Line("a", points=[(0, 0.1), (1, 0.5), (2, 0.3)], colour=RED)
    markup = chart(line, x="layer", form="percent")
    ((a, b, c),) = [
        [(float(x), float(y)) for x, y in path]
        for path in drawn(svg_of(markup), plots.colour(RED))
        if len(path) == 3
    ]
    assert a[0] < b[0] < c[0] and abs((b[0] - a[0]) - (c[0] - b[0])) < 1e-3
    # The y axis of SVG points down.
    assert abs((a[1] - b[1]) / (c[1] - b[1]) - 2) < 1e-3


def test_ticks_of_small_figures_keep_their_digits():
    rates = Line("rate", points=[(0, 0.0005), (1, 0.003)], colour=BLUE)
    texts = [node.text for node in svg_of(chart(rates)).iter(SVG + "text")]
    assert {"0.0005", "0.0010", "0.0030"} <= set(texts)


def test_labels_are_text_and_ticks_are_percent():
    texts = [
        node.text for node in svg_of(chart(LINE, x="layer", form="percent")).iter(SVG + "text")
    ]
    assert "layer" in texts and "60%" in texts


def test_the_page_sets_the_colours_of_text_and_grid():
    markup = chart(LINE, band=(0.2, 0.8))
    assert "#010203" not in markup and "#040506" not in markup
    assert "fill: currentColor" in markup and "stroke: var(--line)" in markup
    assert "#ffffff" not in markup.lower() and "#000000" not in markup
    assert "<style" not in markup and "<metadata" not in markup and "http" not in markup


def test_ids_of_two_charts_do_not_meet_and_references_hold():
    both = [chart(LINE, name=name) for name in ("d1", "d2")]
    ids = [re.findall(r'\bid="([^"]+)"', markup) for markup in both]
    assert not set(ids[0]) & set(ids[1])
    for markup, own in zip(both, ids, strict=True):
        assert len(own) == len(set(own))
        assert set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', markup)[0]) - {""} <= set(own)


def test_labels_are_escaped_and_dollars_are_not_mathematics():
    hostile = "<script>alert(1)</script>$x_1$"
    markup = chart(LINE, title=hostile, x=hostile)
    assert "<script" not in markup
    assert hostile in [node.text for node in svg_of(markup).iter(SVG + "text")]
    assert svg_of(markup).get("aria-label") == hostile
    points = [(0, 0), (1, 1), (2, 0)]
    markup = plots.svg(Picture(hostile, [Dots("", points, [hostile[:20], "$b$", "c"])]), "d1")
    texts = [node.text for node in svg_of(markup).iter(SVG + "text")]
    assert "<script" not in markup and sorted(texts) == sorted([hostile[:20], "$b$", "c"])


def test_long_lines_are_averaged_not_cut():
    xs, ys = plots.thin_points([(step, float(step % 7)) for step in range(100_000)])
    assert len(xs) <= 300
    assert xs[0] < 500 and xs[-1] > 99_000
    assert abs(sum(ys) / len(ys) - 3) < 0.01
    short = [(step, float(step)) for step in range(300)]
    assert plots.thin_points(short) == tuple(map(list, zip(*short)))


def test_the_same_figures_give_the_same_bytes():
    assert chart(LINE) == chart(LINE)
    picture = Picture("T", [Dots("", [(0, 0), (0.01, 0), (1, 1)], ["one", "two", "three"])])
    assert plots.svg(picture, "d1") == plots.svg(picture, "d1")


def test_labels_do_not_cover_each_other():
    draw = np.random.default_rng(0)
    points = draw.normal(size=(20, 2)).tolist()
    labels = [f"word_{i}" for i in range(20)]
    dots = [Dots("en", points[:3], labels[:3], strong=True), Dots("", points[3:], labels[3:])]
    with matplotlib.rc_context({**plots.STYLE, "figure.dpi": 72}):
        figure = plots.picture(Picture("T", dots))
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    covered = [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if min(boxes[i].x1, boxes[j].x1) - max(boxes[i].x0, boxes[j].x0) > 2
        and min(boxes[i].y1, boxes[j].y1) - max(boxes[i].y0, boxes[j].y0) > 2
    ]
    assert len(boxes) == 20 and not covered


def test_a_picture_of_a_share_against_a_cost_has_axes():
    dots = [Dots("", [(0.5, 0.2), (50.0, 0.9)], ["cheap", "dear"])]
    axes = plots.picture(Picture("T", dots, x="minutes", y="Retrieval")).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == (
        "minutes",
        "Retrieval",
        "log",
    )
    assert axes.yaxis.get_major_formatter()(0.9, 0) == "90%"
    assert not plots.picture(Picture("T", dots)).axes[0].get_xlabel()
