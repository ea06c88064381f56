"""The page's section on bilingual lexicon induction, and the names of its metrics."""

from __future__ import annotations

import re
from typing import Any, Mapping

from clwe_jax.report import components, figures, plots
from clwe_jax.report.comparison import pair_name
from clwe_jax.report.components import Number
from clwe_jax.report.markup import Html, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run

# The endings of the metrics of `evaluate.bli`, as people read them.
METHODS = {"": "nearest neighbour", "_csls": "CSLS", "_softmax": "inverted softmax"}
_HEADS = {"": "NN", "_csls": "CSLS", "_softmax": "inv. softmax"}  # of columns
_MAIN = ("_csls", "", "_softmax")  # the first that was measured is the figure to quote
_VARIANTS = {"": "All test pairs", "_distinct": "Without pairs of one and the same string"}
_SPLITS = {"frequency": "By frequency rank of the source word", "tag": "By part of speech"}
_LAYER = re.compile(r"layer(\d+)/(.+)")
_CURVES = {"p@1": ("cosine", plots.BLUE), "p@1_csls": ("CSLS", plots.GREEN)}

Metrics = Mapping[str, float]


def section(run: Run, baseline: Run | None) -> Html | None:
    """Induction by pair in both readings, with and without same-surface pairs; splits; layers."""
    found = _figures(run)
    pairs = [pair for pair in found if "-" in pair]
    if not pairs:
        return None
    theirs = _figures(baseline) if baseline is not None else {}
    parts = [tag("p", _text(found, pairs), class_="soft")]
    for variant, title in _VARIANTS.items():
        drawn = _variant(found, theirs, pairs, variant)
        if drawn is not None:
            parts += [tag("h3", title), drawn]
    for split, title in _SPLITS.items():
        drawn = _split(found, pairs, split)
        if drawn is not None:
            parts += [tag("h3", title), drawn]
    return Html("".join(parts) + (_by_layer(run, baseline) or ""))


def _text(found: Mapping[str, Metrics], pairs: list[str]) -> str:
    text = (
        "P@k is how often one of the k nearest frequent words of the other language is a "
        "translation that the test dictionary has; MRR is the mean of one over the place of the "
        "first (0 beyond ten). All words: a source word without a vector is taken to translate to "
        "itself, and one whose translations are no candidates is wrong. Covered: of the words that "
        "have a vector and a translation among the candidates, as MUSE's script counts. NN is the "
        "nearest neighbour by cosine; P@5, P@10 and MRR are those of "
        f"{METHODS[main_method(found)]}. Below a figure: its 95% interval over words."
    )
    if any("isolated" in found[pair] for pair in pairs):
        text += (
            " A contextual word is the mean of its vectors in context. Isolated: words that do not "
            "occur in the sample of text and were encoded by themselves."
        )
    return text


def main_method(found: Mapping[str, Metrics]) -> str:
    """The ending of the metrics of the method to quote: CSLS where it was measured."""
    names = {name for metrics in found.values() for name in metrics}
    return next((ending for ending in _MAIN if f"p@1{ending}" in names), "")


def mean(run: Run, name: str = "p@1") -> float | None:
    """The mean over the pairs, as reported or computed; None where nothing was measured."""
    found = _figures(run)
    if name in found.get("", {}):
        return found[""][name]
    values = [metrics[name] for pair, metrics in found.items() if "-" in pair and name in metrics]
    return sum(values) / len(values) if values else None


def _figures(run: Run) -> dict[str, Metrics]:
    return figures.by_subject(run.figures, "bli")


def _variant(
    found: Mapping[str, Metrics], theirs: Mapping[str, Metrics], pairs: list[str], variant: str
) -> Html | None:
    names = {name for pair in pairs for name in found[pair]}
    main = main_method(found)
    columns = [(f"P@1 {_HEADS[ending]}", f"p@1{ending}{variant}") for ending in METHODS]
    columns += [
        ("P@5", f"p@5{main}{variant}"),
        ("P@10", f"p@10{main}{variant}"),
        ("MRR", f"mrr{main}{variant}"),
    ]
    columns += [
        (f"Covered: P@1 {_HEADS[ending]}", f"p@1{ending}{variant}_covered") for ending in METHODS
    ]
    columns += [("Covered", f"coverage{variant}"), ("Words", f"words{variant}")]
    columns += [] if variant else [("Isolated", "isolated")]
    columns = [(head, name) for head, name in columns if name in names]
    if not any(name.startswith("p@") for _, name in columns):
        return None

    def cells(subject: str) -> list[Number]:
        ours, other = found.get(subject, {}), theirs.get(subject, {})
        return [_cell(name, ours, other) for _, name in columns]

    return components.table(
        ["Pair", *(head for head, _ in columns)],
        [[pair_name(pair), *cells(pair)] for pair in pairs],
        total=["mean", *cells("")] if "" in found and len(pairs) > 1 else None,
    )


def _cell(name: str, ours: Metrics, theirs: Metrics) -> Number:
    value = ours.get(name)
    if name.startswith("words"):
        return components.count(value)
    if name.startswith("mrr"):
        return components.decimal(value)
    cell = components.percent(value, theirs.get(name))
    low, high = ours.get(f"{name}_low"), ours.get(f"{name}_high")
    if low is None or high is None:
        return cell
    interval = tag("small", f"{100 * low:.1f}–{100 * high:.1f}", class_="interval")
    return Number((cell.shown, interval), value)


def _split(found: Mapping[str, Metrics], pairs: list[str], split: str) -> Html | None:
    """P@1 of parts of the source words, a column a part, the number of words below."""
    main = main_method(found)
    parts = {
        name.split("/")[1]
        for pair in pairs
        for name in found[pair]
        if name.startswith(f"{split}/") and name.count("/") == 2
    }
    if not parts:
        return None
    order = sorted(parts, key=lambda part: (_first_number(part), part))
    rows = []
    for pair in pairs:
        cells: list[Any] = [pair_name(pair)]
        for part in order:
            value = found[pair].get(f"{split}/{part}/p@1{main}")
            words = found[pair].get(f"{split}/{part}/words")
            below = tag("small", f"{figures.count(words)} words", class_="interval")
            cells.append(Number((figures.percent(value), below if words else None), value))
        rows.append(cells)
    heads = [part.replace("-", "–") if split == "frequency" else part for part in order]
    return components.table(["Pair", *heads], rows)


def _first_number(part: str) -> int:
    first = part.partition("-")[0]
    return int(first) if first.isdigit() else 0


def _by_layer(run: Run, baseline: Run | None) -> Html | None:
    lines = []
    for side in (run, baseline):
        if side is None:
            continue
        for name, (label, colour) in _CURVES.items():
            ours = side is run
            label = label if ours else f"{label}, {side.name}"
            points = _layers(_figures(side), name)
            lines.append(Line(label, points, colour, dashed=not ours, markers=True))
    if not any(line.points for line in lines):
        return None
    drawn = plots.chart(
        "P@1 by layer, mean over pairs",
        lines,
        x_label="layer",
        percent=True,
        whole_x=True,
    )
    return tag("div", drawn, class_="charts")


def _layers(found: Mapping[str, Metrics], name: str) -> dict[int, float]:
    values: dict[int, list[float]] = {}
    for pair, metrics in found.items():
        for metric, value in metrics.items():
            match = _LAYER.fullmatch(metric)
            if "-" in pair and match and match[2] == name:
                values.setdefault(int(match[1]), []).append(value)
    return {layer: sum(some) / len(some) for layer, some in sorted(values.items())}
