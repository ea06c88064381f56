"""The section on the senses of words, and their pictures as files."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping, Sequence
import warnings

from absl import logging
import matplotlib
from matplotlib import font_manager

from clwe_jax import atomic
from clwe_jax.report import figures, plots
from clwe_jax.report.data import (
    BLUE,
    GREEN,
    NEUTRAL,
    Block,
    Cell,
    Chart,
    Column,
    Dots,
    Language,
    Line,
    Number,
    Picture,
    Section,
    Stack,
    Table,
    Text,
    Word,
)
from clwe_jax.report.run_folder import RunFolder, finite

_MAX_WORDS = 12
# Colours of files; on the page drawings follow its light or dark scheme.
_FILE_STYLE = {"text.color": "#1d232b", "figure.facecolor": "#ffffff", "svg.fonttype": "path"}
# Fonts with Chinese and Japanese characters; a PNG needs one of them.
_EASTERN = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Source Han Sans",
    "IPAexGothic",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
)

_CHARTS = (
    Chart(
        "Assigned senses against the intended meanings",
        (
            Line("purity", "senses/purity", colour=BLUE),
            Line("V-measure", "senses/v_measure", colour=GREEN, compare=False),
            Line(
                "purity with one sense a word",
                "senses/one_sense_purity",
                (),
                NEUTRAL,
                2,
                compare=False,
            ),
        ),
        form="percent",
    ),
    Chart(
        "Chosen translations with the intended meaning",
        (
            Line("sense of the translation", "senses/translation_accuracy", colour=BLUE),
            Line("its word", "senses/translation_word_accuracy", colour=GREEN, compare=False),
            Line("drawn at random", "senses/translation_chance", (), NEUTRAL, 2, compare=False),
        ),
        form="percent",
    ),
    Chart("Enabled senses in use", (Line(metric="senses/senses_in_use"),), form="percent"),
    Chart("Entropy of a word's senses, nats", (Line(metric="senses/sense_entropy"),)),
    Chart("Enabled senses of a word", (Line(metric="senses/enabled_senses"),)),
)


def senses(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """The senses of a few words, the numbers of living and dead senses, and curves of training."""
    entry = run.extras.get("senses") or {}
    blocks: list[Block] = []
    for word in (entry.get("words") or ())[:_MAX_WORDS]:
        blocks += _word(word, run)
    text = (
        "The senses of a few words, the dictionary's translations of their occurrences in text, "
        "and the nearest senses of other words by the cosine of sense vectors. The number after a "
        "word only distinguishes its senses; the two directions of a bidirectional model learn "
        "and number theirs independently. The pictures show the first two principal components "
        "of the sense vectors; a line joins each neighbour to its sense."
    )
    if not blocks:
        text = ""
    blocks += [*_census(entry), *_over_training(run)]
    files = [name for name in entry.get("files") or () if name.endswith((".tsv", ".pbtxt"))]
    if files:
        blocks.append(
            Text(
                "The pictures as PNG and SVG, and vectors with their labels for an embedding "
                "projector (projector.tensorflow.org, or tensorboard --logdir WORKDIR/senses): "
                f"{', '.join(files)}."
            )
        )
    return Section("Senses", text, blocks) if blocks else None


def _over_training(run: RunFolder) -> list[Chart]:
    # A constant line shows nothing, and the ticks of its axis would have many digits.
    moving = []
    for chart in _CHARTS:
        series = [finite(run.series.get(x.metric, {})).values() for x in chart.lines]
        if any(len(set(values)) > 1 for values in series):
            moving.append(chart)
    return moving


def _census(entry: Mapping[str, Any]) -> list[Table]:
    """Numbers of living and dead senses of the frequent words, by direction."""
    names = {"used": "In use", "unused": "Never used", "removed": "Removed"}
    rows = []
    for direction, counts in (entry.get("census") or {}).items():
        total = sum(counts[name] for name in names)
        cells = [
            Number(counts[x], below=figures.percent(counts[x] / total) if total else "")
            for x in names
        ]
        rows.append([direction, Number(counts["words"]), Number(total), *cells])
    if not rows:
        return []
    heads = [Column(head, "count") for head in ("Words", "Senses", *names.values())]
    title = "Living and dead senses"
    note = "Dead senses have had no use since their seeding, or were removed for a small share."
    return [Table(["Senses of frequent words", *heads], rows, title=title, note=note)]


def _word(word: Mapping[str, Any], run: RunFolder) -> list[Block]:
    """A word's tables and pictures, one of each for each direction of the model."""
    tables = []
    pictures = []
    directions = word["directions"]
    for direction, details in directions.items():
        rows = _rows(word["word"], details["senses"])
        if not rows:
            continue
        title = f"{direction} model".capitalize() if len(directions) > 1 else "Sense"
        heads = [title, Column("Share", "percent"), "Translations", "Nearest senses", "Examples"]
        if not any(row[2] for row in rows):  # a model without a dictionary
            heads, *rows = ([x for i, x in enumerate(row) if i != 2] for row in (heads, *rows))
        tables.append(Table(heads, rows))
        if details.get("points"):
            title = word["word"] + (f", {direction} model" if len(directions) > 1 else "")
            pictures.append(picture(title, details["points"], run.languages))
    if not tables:
        return []
    title = [Word(word["word"], word["language"]), Language(word["language"])]
    return [Text(title=title), *tables, *pictures]


def _rows(word: str, senses: Sequence[Mapping[str, Any]]) -> list[list[Cell]]:
    """A row for each sense in use, a row of unused senses, and a row of removed ones."""
    rows: list[list[Cell]] = []
    dead: dict[str, list[Cell]] = {"never used": [], "removed": []}
    for sense in senses:
        label = Word(f"{word}_{sense['sense']}", style="strong")
        if not sense["enabled"]:
            dead["removed"].append(label)
        elif not sense["uses"]:
            dead["never used"].append(label)
        else:
            share = Number(sense["share"], bar=(sense["share"], None))
            translations = [
                (x["language"], x["word"], _percent(x.get("share")))
                for x in sense.get("translations") or ()
            ]
            nearest = [
                (x["language"], f"{x['word']}_{x['sense']}", f"{x['score']:.2f}")
                for x in sense["nearest"]
            ]
            lines = [_mark_word(line, word) for line in sense["examples"]]
            words = (_by_language(translations), _by_language(nearest))
            rows.append([label, share, *words, Stack(lines)])
    rows += [
        [labels, Word(what, style="soft"), "", "", ""] for what, labels in dead.items() if labels
    ]
    return rows


def _percent(share: float | None) -> str:
    return "" if share is None else figures.percent(share, 0)


def _by_language(words: Sequence[tuple[str, str, str]]) -> Cell:
    """(language, word, figure after it) -> a line of words for each language."""
    lines: dict[str, list[Cell]] = {}
    for language, word, after in words:
        line = lines.setdefault(language, [Language(language)])
        line.append(Word(word, language, after=after))
    return Stack(list(lines.values())) if lines else ""


def _mark_word(line: str, word: str) -> Cell:
    """An example line with the word in bold."""
    # Scripts without spaces have no word boundaries.
    end = r"\b" if word.isascii() else ""
    parts = re.split(f"{end}({re.escape(word)}){end}", line[:160], flags=re.IGNORECASE)
    # `split` puts the word at the odd places.
    return [Word(x, style="strong") if i % 2 else x for i, x in enumerate(parts)]


def picture(title: str, points: Sequence[Mapping[str, Any]], languages: Sequence[str]) -> Picture:
    """A word's own senses and their neighbours, as in Figures 4-7 of the sense-aware paper.

    Args:
      points: objects with 'label', 'language', 'x' and 'y'; 'own' is true for the word's senses,
        and 'of' is the number of the point's own sense, or of the sense that it is a neighbour of.
      languages: the model's languages, whose order decides the colours.
    """
    own_point = {point["of"]: point for point in points if point.get("own")}
    dots: dict[tuple[str, bool], list[Mapping[str, Any]]] = {}
    for point in points:
        dots.setdefault((point["language"], bool(point.get("own"))), []).append(point)
    named_languages: set[str] = set()
    groups = []
    for (language, strong), group_points in dots.items():
        groups.append(
            Dots(
                "" if language in named_languages else language,
                [(point["x"], point["y"]) for point in group_points],
                [point["label"] for point in group_points],
                [*languages, language].index(language),
                strong,
            )
        )
        named_languages.add(language)
    joins = [
        ((own_point[point["of"]]["x"], own_point[point["of"]]["y"]), (point["x"], point["y"]))
        for point in points
        if not point.get("own") and point["of"] in own_point
    ]
    return Picture(title, groups, joins)


def write(
    folder: str,
    word: Mapping[str, Any],
    direction: str,
    senses: Mapping[str, Any],
    languages: Sequence[str],
) -> list[str]:
    """Writes the picture of a word's senses as PNG and SVG.

    Args:
      folder: an existing folder.
      word: an object with 'word' and 'language'.
      direction: name of the sense state.
      senses: an object with 'points'.
      languages: the model's languages.

    Returns:
      The files' names; an empty list if `senses` has no points.
    """
    if not senses["points"]:
        return []
    safe = re.sub(r"[^\w-]+", "_", f"{word['word']}_{word['language']}_{direction}")
    title = f"{word['word']} ({word['language']}), {direction}"
    plot = picture(title, senses["points"], languages)
    style = {**plots.STYLE, **_FILE_STYLE, "font.family": _families()}
    with matplotlib.rc_context(style), warnings.catch_warnings(record=True) as warned:
        warnings.filterwarnings("always", message="Glyph")
        figure = plots.picture(plot, titled=True)
        for kind in ("png", "svg"):
            dated = {"metadata": {"Date": None}} if kind == "svg" else {}
            with atomic.writing(os.path.join(folder, f"{safe}.{kind}"), "wb") as file:
                figure.savefig(file, format=kind, dpi=160, bbox_inches="tight", **dated)
    if any("Glyph" in str(x.message) for x in warned):
        logging.warning(
            "No installed font has some characters of the pictures of senses, which show boxes "
            "there; report.html shows them. A font such as Noto Sans CJK helps."
        )
    return [f"{safe}.png", f"{safe}.svg"]


def _families() -> list[str]:
    """DejaVu Sans, then the installed fonts for scripts that it lacks."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _EASTERN if name in installed)]
