"""The senses of words: their shares, what is near them, their picture, and how they came about."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Mapping, Sequence

import matplotlib
from matplotlib import font_manager
from matplotlib.figure import Figure
import numpy as np

from clwe_jax.report import components, figures, plots
from clwe_jax.report.components import Number, language_tag
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run, finite, is_number
from clwe_jax.report.sections import languages_of, mapping, number

_MOST_WORDS = 12
_SIZE = (7.2, 5.0)  # inches of a picture
_FONT = 10
# What files are drawn in; on the page colours follow its light or dark scheme.
_FILE_STYLE = {
    "axes.labelcolor": "#1d232b",
    "figure.facecolor": "#ffffff",
    "svg.fonttype": "path",
}
# Fonts with Chinese and Japanese, of which a PNG needs one.
_EASTERN = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Source Han Sans", "IPAexGothic",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "Hiragino Sans", "Yu Gothic", "Microsoft YaHei",
)  # fmt: skip

_CURVES: tuple[tuple[str, tuple[tuple[str, str, str], ...], bool], ...] = (
    (
        "Assigned senses against those that were meant",
        (
            ("purity", "senses/purity", plots.BLUE),
            ("V-measure", "senses/v_measure", plots.GREEN),
            ("purity with one sense a word", "senses/one_sense_purity", plots.NEUTRAL),
        ),
        True,
    ),
    (
        "Chosen translations that mean what was meant",
        (
            ("sense of the translation", "senses/translation_accuracy", plots.BLUE),
            ("its word", "senses/translation_word_accuracy", plots.GREEN),
            ("drawn at random", "senses/translation_chance", plots.NEUTRAL),
        ),
        True,
    ),
    ("Enabled senses in use", (("", "senses/senses_in_use", plots.BLUE),), True),
    ("Entropy of a word's senses, nats", (("", "senses/sense_entropy", plots.BLUE),), False),
    ("Enabled senses of a word", (("", "senses/enabled_senses", plots.BLUE),), False),
)


def section(run: Run) -> Html | None:
    """The words' senses, and the figures over training; None for a run without senses."""
    found, order = mapping(run.extras.get("senses")), languages_of(run)
    parts: list[Html | None] = []
    words = found.get("words")
    shown = [_word(mapping(word), order) for word in (words if isinstance(words, list) else [])]
    shown = [word for word in shown if word is not None][:_MOST_WORDS]
    if shown:
        text = (
            "The senses that the model has learned of a few words; what their occurrences in text "
            "translate to, of those that the dictionary has; and the senses of other words whose "
            "vectors are nearest (cosine). A number after a word is that of its sense; it "
            "has no meaning beyond telling senses apart, and the two directions of a bidirectional "
            "model learn and number theirs by themselves. The pictures show the first two "
            "principal components of these vectors; a line joins a neighbour to its sense."
        )
        parts += [tag("p", text, class_="soft"), *shown]
    parts += [_census(found), _curves(run)]
    files = found.get("files")
    if isinstance(files, list) and files:
        tables = [clip(name, 80) for name in files if str(name).endswith((".tsv", ".pbtxt"))]
        text = (
            "The pictures as PNG and SVG, and vectors with their labels for an embedding projector "
            "(projector.tensorflow.org, or tensorboard --logdir WORKDIR/senses): "
        )
        parts.append(tag("p", text, ", ".join(tables) + ".", class_="note"))
    return Html("".join(part for part in parts if part)) or None


def _curves(run: Run) -> Html | None:
    charts = []
    for title, named, percent in _CURVES:
        lines = [
            Line(label, finite(run.series.get(name, {})), colour, dashed=colour == plots.NEUTRAL)
            for label, name, colour in named
        ]
        # A line that stays where it began tells nothing, and its axis would be all digits.
        if any(len(set(line.points.values())) > 1 for line in lines):
            charts.append(plots.chart(title, lines, x_label="step", percent=percent))
    return tag("div", charts, class_="charts") if charts else None


def _census(found: Mapping[str, Any]) -> Html | None:
    """How many senses live: of the frequent words, by direction."""
    names = {"words": "Words", "used": "In use", "unused": "Never used", "removed": "Removed"}
    rows = []
    for name, counts in mapping(found.get("census")).items():
        counts = {key: number(mapping(counts).get(key)) for key in names}
        whole = sum(counts[key] or 0 for key in ("used", "unused", "removed"))
        cells = [components.count(counts["words"]), components.count(whole)]
        rows.append([clip(name), *cells, *(_part(counts[x], whole) for x in list(names)[1:])])
    if not rows:
        return None
    text = "Never used since they were seeded, or removed for too small a share: dead senses."
    heads = ["Senses of frequent words", "Words", "Senses", *list(names.values())[1:]]
    table = components.table(heads, rows)
    return Html(tag("h3", "Living and dead senses") + table + tag("p", text, class_="note"))


def _part(value: float | None, whole: float) -> Number:
    if value is None or not whole:
        return components.count(value)
    share = tag("small", f" {figures.percent(value / whole)}", class_="soft")
    return Number((figures.count(value), share), value)


def _word(word: Mapping[str, Any], order: list[str]) -> Html | None:
    name, language = clip(word.get("word", "")), word.get("language", "")
    tables, drawings = [], []
    directions = mapping(word.get("directions"))
    for direction, found in directions.items():
        found = mapping(found)
        senses = found.get("senses")
        senses = [mapping(x) for x in (senses if isinstance(senses, list) else [])]
        rows = _rows(name, senses, order)
        if not rows:
            continue
        title = f"{clip(direction)} model" if len(directions) > 1 else "Sense"
        heads = [title.capitalize(), "Share", "Translations", "Nearest senses", "Examples"]
        if not any(row[2] for row in rows):  # a model without a dictionary
            heads, *rows = ([x for i, x in enumerate(row) if i != 2] for row in (heads, *rows))
        tables.append(components.table(heads, rows, open_rows=100))
        points = _points(found.get("points"))
        if points:
            drawings.append(_drawing(name, str(direction), points, order, len(directions) > 1))
    if not tables:
        return None
    title = tag("h3", name, " ", language_tag(language, order))
    return Html(title + "".join(tables) + tag("div", drawings, class_="charts"))


def _rows(word: str, senses: Sequence[Mapping[str, Any]], order: list[str]) -> list[list[Any]]:
    """A row for each sense in use, one for those never used, and one for those removed."""
    rows, dead = [], {"never used": [], "removed": []}
    for sense in senses:
        label = tag("b", f"{word}_{clip(sense.get('sense', '?'), 6)}")
        if sense.get("enabled") is False:
            dead["removed"].append(label)
        elif not number(sense.get("uses")):
            dead["never used"].append(label)
        else:
            share = number(sense.get("share"))
            shown = Number((figures.percent(share), components.bar(share or 0.0)), share)
            translations = _by_language(sense.get("translations"), order, _translation)
            nearest = _by_language(sense.get("nearest"), order, _near)
            rows.append([label, shown, translations, nearest, _examples(sense, word)])
    for what, labels in dead.items():
        if labels:
            named = Html(", ".join(labels))
            rows.append([named, Number(tag("span", what, class_="soft"), 0.0), "", "", ""])
    return rows


def _by_language(
    value: Any, order: list[str], described: Callable[[Mapping[str, Any]], tuple[str, str | None]]
) -> Html:
    """A line of words for each language; a word as `described` has it, and the figure after it."""
    chips: dict[str, list[Html]] = {}
    for item in value if isinstance(value, list) else []:
        item = mapping(item)
        language = str(item.get("language", ""))
        label, figure = described(item)
        after = tag("span", f" {figure}", class_="soft") if figure is not None else None
        name = tag("span", label, lang=clip(language, 12))
        chips.setdefault(language, []).append(tag("span", name, after, class_="chip"))
    lines = [tag("div", language_tag(language, order), " ", x) for language, x in chips.items()]
    return Html("".join(lines))


def _near(item: Mapping[str, Any]) -> tuple[str, str | None]:
    score = number(item.get("score"))
    label = f"{clip(item.get('word', ''), 40)}_{clip(item.get('sense', '?'), 6)}"
    return label, None if score is None else f"{score:.2f}"


def _translation(item: Mapping[str, Any]) -> tuple[str, str | None]:
    share = number(item.get("share"))
    return clip(item.get("word", ""), 40), None if share is None else figures.percent(share, 0)


def _examples(sense: Mapping[str, Any], word: str) -> Html:
    lines = sense.get("examples")
    shown = []
    for line in lines if isinstance(lines, list) else []:
        # Split keeps the word itself at the odd places. Scripts without spaces have no word ends.
        end = r"\b" if word.isascii() else ""
        parts = re.split(f"{end}({re.escape(word)}){end}", clip(line, 160), flags=re.IGNORECASE)
        marked = [tag("b", part) if place % 2 else part for place, part in enumerate(parts)]
        shown.append(tag("div", marked, style="margin-bottom:.3rem"))
    return Html("".join(shown))


def _points(value: Any) -> list[Mapping[str, Any]]:
    """The points that have a label and a place."""
    points = [mapping(point) for point in (value if isinstance(value, list) else [])]
    return [
        point
        for point in points
        if point.get("label") and all(is_number(point.get(axis)) for axis in "xy")
    ]


def _drawing(
    word: str, direction: str, points: Sequence[Mapping[str, Any]], order: list[str], several: bool
) -> Html:
    title = f"{word}, {direction} model" if several else word
    with matplotlib.rc_context(plots.STYLE):
        figure = draw(points, order)
        figure.patch.set_visible(False)
        svg = plots.inline_svg(figure, f"senses of {title}")
    languages = dict.fromkeys(str(point.get("language", "")) for point in points)
    legend = [
        tag("span", tag("i", style=f"border-top:.6em solid {_colour(name, order)}"), clip(name, 12))
        for name in languages
    ]
    caption = tag("b", title), tag("span", legend, class_="legend")
    return tag("figure", tag("figcaption", caption), svg)


def _colour(language: str, order: Sequence[str]) -> str:
    place = list(order).index(language) if language in order else len(order)
    return plots.PALETTE[place % plots.MAX_COLOURED]


def draw(points: Sequence[Mapping[str, Any]], order: Sequence[str]) -> Figure:
    """Senses in the plane, labelled as in the paper's figures 4-7: a word's own and those near.

    Args:
      points: each with 'label', 'language', 'x', 'y'; 'own' is true for the word's senses, and 'of'
        is the number of the one that it is (near).
      order: the languages, which colours follow.
    """
    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.patch.set_visible(False)
    own = {point.get("of"): point for point in points if point.get("own")}
    for point in points:
        colour = _colour(str(point.get("language", "")), order)
        mine = bool(point.get("own"))
        centre = own.get(point.get("of"))
        if centre is not None and not mine:
            axes.plot(
                (centre["x"], point["x"]), (centre["y"], point["y"]),
                color=plots.NEUTRAL, linewidth=0.8, alpha=0.45, zorder=1,
            )  # fmt: skip
        axes.scatter(
            point["x"], point["y"], s=70 if mine else 18, marker="D" if mine else "o",
            color=colour, linewidths=0, zorder=3 if mine else 2,
        )  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines["bottom"].set_visible(False)
    axes.margins(0.12, 0.08)
    _label(axes, points)
    return figure


def _label(axes: Any, points: Sequence[Mapping[str, Any]]) -> None:
    """Labels beside their points where they cover no other one, the word's own senses first."""
    low, high = np.array([axes.get_xlim(), axes.get_ylim()]).T
    # Points of the picture, 72 an inch, margins aside.
    scale = np.array(_SIZE) * 72 / (high - low)
    places = (np.array([(point["x"], point["y"]) for point in points]) - low) * scale
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in places]
    ink = matplotlib.rcParams["axes.labelcolor"]
    for i in sorted(range(len(points)), key=lambda i: not points[i].get("own")):
        label, mine = clip(points[i]["label"], 24), bool(points[i].get("own"))
        size = _FONT + 1.5 * mine
        width, height = _width(label) * size, 1.15 * size
        others = [box for j, box in enumerate(taken) if j != i]
        best = min(
            _offsets(width, height, reach=7 if mine else 5),
            key=lambda offset: _overlap(_box(places[i], offset, width, height), others),
        )
        taken.append(_box(places[i], best, width, height))
        # The width is an estimate: what is to stay beside the point is the end that is near it.
        left = best[0] + width < 0
        axes.annotate(
            label, (points[i]["x"], points[i]["y"]), (best[0] + width * left, best[1]),
            textcoords="offset points", fontsize=size, fontweight="bold" if mine else "normal",
            color=ink, zorder=4, va="bottom", ha="right" if left else "left",
            annotation_clip=False,
        )  # fmt: skip


def _width(label: str) -> float:
    """In units of the font's size; Chinese and Japanese characters are about twice as wide."""
    return sum(1.0 if ord(character) > 0x2E7F else 0.62 for character in label)


def _offsets(width: float, height: float, reach: float) -> list[tuple[float, float]]:
    """Of a label's lower left corner: right, left, above and below its point, near ones first."""
    found = []
    for far in (0.0, 8.0, 16.0, 26.0):
        for x, y in (
            (reach, -height / 2), (-reach - width, -height / 2), (-width / 2, reach),
            (-width / 2, -reach - height), (reach, 2), (reach, -height - 2),
            (-reach - width, 2), (-reach - width, -height - 2),
        ):  # fmt: skip
            rises = np.sign(y + height / 2)
            found.append((x, y + far * (rises if rises else 1.0)))
    return found


def _box(place, offset, width: float, height: float) -> tuple[float, float, float, float]:
    x, y = place[0] + offset[0], place[1] + offset[1]
    return x, y, x + width, y + height


def _overlap(box, others) -> float:
    """The area that a box shares with others."""
    rest = np.asarray(others)
    wide = np.minimum(box[2], rest[:, 2]) - np.maximum(box[0], rest[:, 0])
    high = np.minimum(box[3], rest[:, 3]) - np.maximum(box[1], rest[:, 1])
    return float((np.maximum(wide, 0) * np.maximum(high, 0)).sum())


def write(
    folder: str, word: Mapping[str, Any], direction: str, found: Mapping[str, Any],
    order: Sequence[str],
) -> list[str]:  # fmt: skip
    """Writes the picture of a word's senses as PNG and SVG.

    Args:
      folder: an existing one.
      word: with 'word' and 'language'.
      direction: of the sense state.
      found: with 'points', see `draw`.
      order: the languages.

    Returns:
      The files' names; none where there is nothing to draw.
    """
    points = _points(found.get("points"))
    if not points:
        return []
    safe = re.sub(r"[^\w-]+", "_", f"{word['word']}_{word['language']}_{direction}")
    with matplotlib.rc_context({**plots.STYLE, **_FILE_STYLE, "font.family": _families()}):
        figure = draw(points, order)
        figure.suptitle(f"{word['word']} ({word['language']}), {direction}", fontsize=_FONT + 1)
        for language in dict.fromkeys(str(point.get("language", "")) for point in points):
            figure.axes[0].scatter([], [], color=_colour(language, order), label=language)
        figure.legend(loc="outside lower center", ncols=8, frameon=False, fontsize=_FONT)
        for kind in ("png", "svg"):
            path = os.path.join(folder, f"{safe}.{kind}")
            dated = {"metadata": {"Date": None}} if kind == "svg" else {}
            figure.savefig(f"{path}.tmp", format=kind, dpi=160, **dated)
            os.replace(f"{path}.tmp", path)
    return [f"{safe}.png", f"{safe}.svg"]


def _families() -> list[str]:
    """DejaVu Sans, and after it what there is for scripts that it lacks."""
    there = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _EASTERN if name in there)]
