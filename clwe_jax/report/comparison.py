"""The page's sections on sentence retrieval and on two runs side by side."""

from __future__ import annotations

from typing import Any, Mapping

from clwe_jax.report import components, figures, plots
from clwe_jax.report.figures import ALL_PAIRS, METHODS
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run, differences, finite


def mean_last4(run: Run, method: str) -> float | None:
    """Retrieval by `method`: the mean of the last four layers, as reported or computed."""
    name = f"retrieval/mean_last4{METHODS[method]}"
    if name in run.figures:
        return run.figures[name]
    layers = figures.retrieval(run.figures).get(method, {}).get(ALL_PAIRS, {})
    return figures.mean_last4(layers)


def pair_name(pair: str) -> str:
    """'de-en' -> 'de → en', with spaces that do not break."""
    return clip(pair, 40).replace("-", "\u00a0→\u00a0")


def retrieval(run: Run, baseline: Run | None) -> Html | None:
    """Sentence retrieval: by layer as Fig. 3, over training, and by language pair."""
    parts = [_layers(run, baseline), _own(run, baseline)]
    return Html("".join(part for part in parts if part)) or None


def _own(run: Run, baseline: Run | None) -> Html | None:
    """Retrieval by pair with the encoder's own sentence vector."""
    found = figures.by_subject(run.figures, "retrieval")
    pairs = [pair for pair in found if "-" in pair and "mean" in found[pair]]
    if not pairs:
        return None
    theirs = figures.by_subject(baseline.figures, "retrieval") if baseline is not None else {}
    columns = {f"mean{suffix}": method for method, suffix in METHODS.items()}
    if any("coverage" in found[pair] for pair in pairs):
        columns["coverage"] = "Words with a vector"

    def cells(subject: str) -> list[components.Number]:
        ours, other = found.get(subject, {}), theirs.get(subject, {})
        shown = []
        for name in columns:
            cell = components.percent(ours.get(name), other.get(name))
            interval = _between(ours.get(f"{name}_low"), ours.get(f"{name}_high"))
            shown.append(components.Number((cell.shown, interval), ours.get(name)))
        return shown

    text = (
        "With one vector a sentence: of a model with layers, the mean of its pieces' vectors in "
        "the last four; of static vectors, the mean of its words' vectors, each weighted by its "
        "inverse document frequency. Counted is how often the nearest sentence is the translation."
    )
    table = components.table(
        ["Pair", *columns.values()],
        [[pair_name(pair), *cells(pair)] for pair in pairs],
        total=["mean", *cells("")] if "" in found and len(pairs) > 1 else None,
    )
    return Html(tag("p", text, class_="soft") + table)


def _layers(run: Run, baseline: Run | None) -> Html | None:
    found = figures.retrieval(run.figures)
    if not found:
        return _over_training(run, baseline)
    theirs = figures.retrieval(baseline.figures) if baseline is not None else {}
    text = (
        "A sentence is the mean of its pieces' vectors; counted is how often the nearest "
        "neighbour among all sentences of the other language is its translation. Plain: by "
        "cosine, as in the paper. Centered: after each language's mean vector was taken away. "
        "CSLS: by cosine, less the mean similarity to each side's ten nearest. The shaded layers "
        "are those that the mean of the last four is taken over; layer 0 is the embedding."
    )
    return Html(
        tag("p", text, class_="soft")
        + _by_layer(run, baseline, found, theirs)
        + tag("div", _by_pair(run, found, theirs), _over_training(run, baseline), class_="charts")
        + "".join(_pairs_by_layer(method, pairs) for method, pairs in found.items())
    )


def _by_layer(
    run: Run,
    baseline: Run | None,
    found: Mapping[str, Mapping[str, figures.Layers]],
    theirs: Mapping[str, Mapping[str, figures.Layers]],
) -> Html:
    drawn = [
        pairs[ALL_PAIRS] for side in (found, theirs) for pairs in side.values() if pairs[ALL_PAIRS]
    ]
    highest = max((value for layers in drawn for value in layers.values()), default=1.0)
    deepest = max((layer for layers in drawn for layer in layers), default=1)
    charts = []
    for method, pairs in found.items():
        layers = pairs[ALL_PAIRS]
        last = figures.last_layers(layers)
        lines = [Line(run.name, layers, plots.BLUE, markers=True)]
        if baseline is not None and method in theirs:
            other = theirs[method][ALL_PAIRS]
            lines.append(Line(baseline.name, other, plots.NEUTRAL, dashed=True, markers=True))
        charts.append(
            plots.chart(
                f"Accuracy by layer, {method}",
                lines,
                x_label="layer",
                percent=True,
                whole_x=True,
                x_range=(-0.5, deepest + 0.5),
                y_range=(0, min(1.02, 1.08 * highest) or 1.0),
                band=(last[0] - 0.5, last[-1] + 0.5) if last else None,
                size=(4.9, 3.4),
            )
        )
    return tag("div", charts, class_="charts three")


def _over_training(run: Run, baseline: Run | None) -> Html | None:
    lines = []
    colours = (plots.BLUE, plots.ORANGE, plots.GREEN)
    for (method, suffix), colour in zip(METHODS.items(), colours, strict=True):
        for side in (run, baseline):
            if side is None:
                continue
            points = finite(side.series.get(f"retrieval/mean_last4{suffix}", {}))
            ours = side is run
            label = method if ours else f"{method}, {side.name}"
            line = Line(label, points, colour, dashed=not ours, markers=ours)
            # A single point says no more than the table does.
            if len(points) > 1:
                lines.append(line)
    if not lines:
        return None
    return plots.chart(
        "Over training, mean of the last four layers", lines, x_label="step", percent=True
    )


def _by_pair(
    run: Run,
    found: Mapping[str, Mapping[str, figures.Layers]],
    theirs: Mapping[str, Mapping[str, figures.Layers]],
) -> Html:
    def cells(pair: str) -> list[components.Number]:
        values = []
        for method, pairs in found.items():
            ours = figures.mean_last4(pairs.get(pair, {}))
            other = figures.mean_last4(theirs.get(method, {}).get(pair, {}))
            cell = components.percent(ours, other)
            values.append(components.Number((cell.shown, _interval(run, pair, method)), ours))
        return values

    pairs = sorted({pair for method in found.values() for pair in method} - {ALL_PAIRS})
    table = components.table(
        ["Pair", *found],
        [[pair_name(pair), *cells(pair)] for pair in pairs],
        total=["mean", *cells(ALL_PAIRS)],
    )
    notes = []
    if any(name.endswith("_low") for name in run.figures if name.startswith("retrieval/")):
        notes.append("Below a figure: its 95% interval for this number of sentences.")
    if theirs:
        notes.append("Beside a figure: the difference to the baseline in points.")
    cut = run.figures.get("retrieval/cut", 0.0)
    if cut > 0:
        notes.append(f"{figures.percent(cut)} of the sentences were too long and were cut.")
    return tag(
        "div",
        tag("b", "By language pair, mean of the last four layers"),
        table,
        tag("p", " ".join(notes), class_="note") if notes else None,
    )


def _interval(run: Run, pair: str, method: str) -> Html | None:
    """The interval of a pair's figure as the evaluator gives it."""
    name = f"retrieval/{pair}/mean_last4{METHODS[method]}"
    return _between(run.figures.get(f"{name}_low"), run.figures.get(f"{name}_high"))


def _between(low: float | None, high: float | None) -> Html | None:
    if low is None or high is None:
        return None
    return tag("small", f"{100 * low:.1f}–{100 * high:.1f}", class_="interval")


def _pairs_by_layer(method: str, pairs: Mapping[str, figures.Layers]) -> Html:
    layers = sorted({layer for accuracies in pairs.values() for layer in accuracies})
    rows = [
        [pair_name(pair), *(components.percent(accuracies.get(layer)) for layer in layers)]
        for pair, accuracies in pairs.items()
        if pair != ALL_PAIRS
    ]
    return components.table(
        ["Pair", *(f"layer {layer}" for layer in layers)],
        rows,
        summary=f"Every pair and layer, {method}",
    )


def fairness(run: Run, baseline: Run) -> list[str]:
    """Sentences on why the two runs may not be compared; empty when they may."""
    found = []
    if run.step != baseline.step:
        found.append(
            f"{run.name} is at step {run.step:,}, {baseline.name} at step {baseline.step:,}."
        )
    unfair = [d for d in differences(run, baseline) if not d.fair]
    for difference in unfair[:12]:
        found.append(
            f"config.{clip(difference.option, 80)}: {clip(difference.ours)} here, "
            f"{clip(difference.theirs)} there."
        )
    if len(unfair) > 12:
        found.append(f"{len(unfair) - 12} more options differ: see Comparison.")
    return found


def compared(run: Run, baseline: Run) -> Html:
    """Which run stands beside this one, and every option on which the two differ."""
    found = differences(run, baseline)
    text = tag(
        "p", "Beside the figures of this run stand those of ", tag("b", baseline.name), " in ",
        tag("code", baseline.workdir), "."
    )  # fmt: skip
    if not found:
        return Html(text + tag("p", "The two configs are the same."))
    rows = [
        [tag("code", clip(d.option, 80)), clip(d.ours, 200), clip(d.theirs, 200)] for d in found
    ]
    return Html(text + components.table(["Option", run.name, baseline.name], rows))


_SHOWN = ("retrieval/", "bli/", "eval/mlm/", "train/", "similarity/")


def others(run: Run, baseline: Run | None) -> Html | None:
    """The results that no other section shows, as they are named."""
    names = [name for name in sorted(run.results) if not name.startswith(_SHOWN)]
    if not names:
        return None
    heads: list[Any] = ["Figure", run.name]
    theirs = baseline.figures if baseline is not None else {}
    both = any(name in theirs for name in names)
    if both:
        heads.append(baseline.name)
    rows = []
    for name in names:
        row: list[Any] = [tag("code", clip(name, 120)), components.decimal(run.results[name])]
        if both:
            row.append(components.decimal(theirs.get(name)))
        rows.append(row)
    return components.table(heads, rows)
