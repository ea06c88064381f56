"""The page's section on bilingual lexicon induction."""

from __future__ import annotations

import re
from typing import Mapping

from clwe_jax.report import components, figures, plots
from clwe_jax.report.comparison import pair_name
from clwe_jax.report.markup import Html, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run

_LAYER = re.compile(r"layer(\d+)/(.+)")
_HEADS = {
    "p@1": "P@1",
    "p@1_csls": "P@1, CSLS",
    "p@5": "P@5",
    "p@5_csls": "P@5, CSLS",
    "p@1_covered": "P@1, covered",
    "p@1_csls_covered": "P@1, CSLS, covered",
    "coverage": "Covered",
    "isolated": "Isolated",
    "words": "Words",
}
_CURVES = {"p@1": ("cosine", plots.BLUE), "p@1_csls": ("CSLS", plots.GREEN)}

Metrics = Mapping[str, float]


def section(run: Run, baseline: Run | None) -> Html | None:
    """Induction by language pair, and by layer where that was measured."""
    found = _figures(run)
    pairs = {pair: metrics for pair, metrics in found.items() if "-" in pair}
    if not pairs:
        return None
    theirs = _figures(baseline) if baseline is not None else {}
    names = {name for metrics in pairs.values() for name in metrics if not _LAYER.fullmatch(name)}
    known = [name for name in _HEADS if name in names]
    columns = [*known, *sorted(names - set(known))]

    def cells(subject: str) -> list[components.Number]:
        ours, other = found.get(subject, {}), theirs.get(subject, {})
        return [_cell(name, ours.get(name), other.get(name)) for name in columns]

    text = (
        "Each word of a test dictionary is the mean of its vectors in context; P@k is how often "
        "the k nearest frequent words of the other language hold one of its translations. Covered: "
        "of the words that have a translation among those frequent words. Isolated: words that "
        "do not occur in the sample of text and were encoded by themselves."
    )
    table = components.table(
        ["Pair", *(_HEADS.get(name, name.replace("_", " ")) for name in columns)],
        [[pair_name(pair), *cells(pair)] for pair in pairs],
        total=["mean", *cells("")] if "" in found else None,
    )
    return Html(tag("p", text, class_="soft") + table + (_by_layer(run, baseline) or ""))


def mean(run: Run, name: str = "p@1") -> float | None:
    """The mean over the pairs, as reported or computed; None where nothing was measured."""
    found = _figures(run)
    if name in found.get("", {}):
        return found[""][name]
    values = [metrics[name] for pair, metrics in found.items() if "-" in pair and name in metrics]
    return sum(values) / len(values) if values else None


def _figures(run: Run) -> dict[str, dict[str, float]]:
    return figures.by_subject(run.figures, "bli")


def _cell(name: str, value: float | None, other: float | None) -> components.Number:
    if name == "words":
        return components.count(value)
    return components.percent(value, other if name.startswith("p@") else None)


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
