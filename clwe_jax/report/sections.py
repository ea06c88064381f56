"""The page's sections on text, training and the machine: from a run to HTML, None for no data."""

from __future__ import annotations

import json
from typing import Any, Iterable, Mapping

from clwe_jax.report import components, figures, plots
from clwe_jax.report.components import Number, language_tag
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run, finite, is_number

_RIGHT_TO_LEFT = frozenset(("ar", "ckb", "dv", "fa", "he", "pnb", "ps", "sd", "ug", "ur", "yi"))
_MAX_EXAMPLES = 14
_MAX_EXAMPLE_WORDS = 60


def languages_of(run: Run) -> list[str]:
    """The run's languages in the order of its config."""
    names = str(run.option("data.languages", "")).split(",")
    return [name.strip() for name in names if name.strip()]


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` where it is a mapping, else an empty one: extras are taken as they come."""
    return value if isinstance(value, Mapping) else {}


def number(value: Any) -> float | None:
    """`value` as a float where it is a number, else None."""
    return float(value) if is_number(value) else None


def in_order(names: Iterable[str], order: list[str]) -> list[str]:
    """Languages as the config orders them, others after them by name."""
    return sorted(names, key=lambda name: (order.index(name) if name in order else 1e9, name))


def training(run: Run, baseline: Run | None) -> Html | None:
    """Loss over the steps: in training, and on held-out text per language."""
    lines = []
    for label, name, colour in (
        ("all masked pieces", "train/loss", plots.BLUE),
        ("label in the text's language", "train/monolingual_loss", plots.GREEN),
        ("label in another language", "train/cross_lingual_loss", plots.ORANGE),
    ):
        lines.append(Line(label, finite(run.series.get(name, {})), colour))
    if baseline is not None:
        series = finite(baseline.series.get("train/loss", {}))
        lines.append(Line(baseline.name, series, plots.NEUTRAL, dashed=True))
    charts = []
    if any(line.points for line in lines):
        charts.append(
            plots.chart("Training loss", lines, x_label="step", y_label="nats per masked piece")
        )
    heldout = {
        name.split("/")[2]: finite(series)
        for name, series in run.series.items()
        if name.startswith("eval/mlm/") and name.endswith("/loss") and name.count("/") == 3
    }
    heldout = {language: series for language, series in heldout.items() if series}
    if heldout:
        charts.append(
            plots.chart(
                "Held-out loss by language",
                _heldout_lines(heldout, languages_of(run)),
                x_label="step",
                y_label="nats per masked piece",
            )
        )
    return tag("div", charts, class_="charts") if charts else None


_MORE = {
    "train/accuracy": "Accuracy on masked pieces",
    "train/learning_rate": "Learning rate",
    "train/grad_norm": "Gradient norm",
    "train/cross_lingual_share": "Cross-lingual labels",
}


def more_curves(run: Run) -> Html | None:
    """The curves that are looked at when the loss raises a question."""
    charts = []
    for name, title in _MORE.items():
        line = Line("", finite(run.series.get(name, {})), plots.BLUE)
        if len(line.points) > 1:
            fraction = name in ("train/accuracy", "train/cross_lingual_share")
            charts.append(plots.chart(title, [line], x_label="step", percent=fraction))
    if not charts:
        return None
    return tag("details", tag("summary", "More curves"), tag("div", charts, class_="charts"))


def skipped_steps(run: Run) -> list[str]:
    """A sentence on steps that were not applied; none where there were none."""
    bad = [step for step, share in finite(run.series.get("train/skipped", {})).items() if share > 0]
    if not bad:
        return []
    return [
        f"Steps with a non-finite loss were not applied: {len(bad)} of the logged intervals hold "
        f"some, the first ends at step {bad[0]:,}, the last at step {bad[-1]:,}."
    ]


def _heldout_lines(heldout: Mapping[str, Mapping[int, float]], order: list[str]) -> list[Line]:
    """A colour a language; where there are too many, their mean and the outermost in colour."""
    names = in_order(heldout, order)
    if len(names) <= plots.MAX_COLOURED:
        return [
            Line(name, heldout[name], plots.PALETTE[i], markers=len(heldout[name]) < 25)
            for i, name in enumerate(names)
        ]
    by_last = sorted(names, key=lambda name: list(heldout[name].values())[-1])
    named = by_last[:3] + by_last[-3:]
    rest = [Line("", heldout[name], plots.NEUTRAL, faint=True) for name in names]
    steps = sorted({step for series in heldout.values() for step in series})
    mean = {}
    for step in steps:
        values = [series[step] for series in heldout.values() if step in series]
        mean[step] = sum(values) / len(values)
    rest[0] = Line(f"{len(names)} languages", rest[0].points, plots.NEUTRAL, faint=True)
    coloured = [Line(name, heldout[name], plots.PALETTE[i + 1]) for i, name in enumerate(named)]
    return [*rest, *coloured, Line("mean", mean, plots.BLUE)]


def perplexity(run: Run) -> Html | None:
    """Held-out loss, perplexity and accuracy of the masked pieces per language."""
    found = figures.by_subject(run.figures, "eval/mlm")
    mean = found.pop("", {})
    if not found:
        return None
    order = languages_of(run)
    columns = [
        (head, name, cell)
        for head, name, cell in (
            ("Perplexity", "perplexity", components.decimal),
            ("Loss", "loss", components.decimal),
            ("Accuracy", "accuracy", components.percent),
            ("Cross-lingual labels", "cross_lingual_share", components.percent),
            ("Loss, own language", "monolingual_loss", components.decimal),
            ("Loss, other language", "cross_lingual_loss", components.decimal),
        )
        if any(name in metrics for metrics in found.values())
    ]

    def cells(metrics: Mapping[str, float]) -> list[Number]:
        return [cell(metrics.get(name)) for _, name, cell in columns]

    # A bidirectional model has figures of its directions as well.
    kind = "Language" if set(found) <= set(order) else "Language or direction"
    rows = [
        [language_tag(name, order) if name in order else clip(name), *cells(found[name])]
        for name in in_order(found, order)
    ]
    return Html(
        tag("h3", "Held-out text")
        + components.table(
            [kind, *(head for head, _, _ in columns)],
            rows,
            total=["mean", *cells(mean)] if mean else None,
        )
        + tag(
            "p",
            "Labels in another language are harder to guess: compare perplexities only between "
            "runs of the same task, else the loss on labels in the text's own language.",
            class_="note",
        )
    )


def languages(run: Run) -> Html | None:
    """What each language brought: text, share of the training, coverage by the dictionary."""
    found = {name: mapping(row) for name, row in mapping(run.extras.get("languages")).items()}
    if not found:
        return None
    order = languages_of(run)
    pairs = mapping(mapping(run.extras.get("dictionary")).get("pairs_by_language"))
    full = {
        key: max(number(row.get(key)) or 0.0 for row in found.values())
        for key in ("target_share", "sampled_share")
    }
    asked, has_shares = full["target_share"] > 0, max(full.values()) > 0
    rows = []
    for name, row in found.items():
        cells: list[Any] = [language_tag(name, order)]
        cells += [components.count(number(row.get(key))) for key in ("lines", "words")]
        if has_shares:
            target, sampled = number(row.get("target_share")), number(row.get("sampled_share"))
            cells += [components.percent(target)] * asked + [components.percent(sampled)]
            cells.append(components.bar(sampled or 0.0, target, max(full.values())))
        cells.append(components.percent(number(row.get("coverage"))))
        if pairs:
            cells.append(components.count(number(pairs.get(name))))
        cells.append(components.count(number(row.get("repaired"))))
        rows.append(cells)
    heads = ["Language", "Lines", "Words"]
    if has_shares:
        heads += ["Share asked", "Sampled", "Sampled | asked"] if asked else ["Sampled", ""]
    heads.append("In dictionary")
    if pairs:
        heads.append("Pairs")
    heads.append("Repaired lines")
    text = "In dictionary: the share of the running words that have an entry."
    if pairs:
        text += " Pairs: the dictionary's, with a word of the language on either side."
    temperature = number(run.option("data.temperature"))
    if has_shares and temperature is not None:
        text = f"Shares of the training pieces, sampled at temperature {temperature:g}. {text}"
    return Html(components.table(heads, rows) + tag("p", text, class_="note"))


def dictionary(run: Run) -> Html | None:
    """The merged dictionary and the vocabulary in a few numbers."""
    entries = mapping(run.extras.get("dictionary"))
    vocabulary = mapping(run.extras.get("vocabulary"))
    share = run.figures.get(
        "data/cross_lingual_share", run.figures.get("train/cross_lingual_share")
    )
    asked = number(run.option("task.cross_lingual_share"))
    labels = None
    if share is not None:
        labels = figures.percent(share)
        if asked is not None:
            labels += f" (asked {figures.percent(asked, 0)})"
    known = {
        "Dictionary pairs": _counted(entries.get("pairs")),
        "Dictionary words": _counted(entries.get("words")),
        "Cross-lingual labels": labels,
        "Vocabulary": " ".join(
            part
            for part in (_counted(vocabulary.get("size")), clip(vocabulary.get("kind") or ""))
            if part
        )
        or None,
    }
    parts = [components.facts(known)]
    samples = mapping(vocabulary.get("sample_pieces"))
    if samples:
        order = languages_of(run)
        rows = [
            [language_tag(name, order), tag("code", clip(_joined(pieces), 300))]
            for name, pieces in samples.items()
        ]
        parts.append(components.table(["Language", "Pieces"], rows, summary="Sample pieces"))
    parts = [part for part in parts if part is not None]
    return Html("".join(parts)) if parts else None


def _counted(value: Any) -> str | None:
    return figures.count(value) if is_number(value) else None


def _joined(pieces: Any) -> str:
    return " ".join(str(piece) for piece in pieces) if isinstance(pieces, list) else str(pieces)


def examples(run: Run) -> Html | None:
    """Code-switched inputs as in the paper's Fig. 1."""
    found = run.extras.get("examples")
    order = languages_of(run)
    shown = [_example(row, order) for row in found] if isinstance(found, list) else []
    if not shown:
        return None
    whole = [example for example in shown if example is not None]
    damaged = len(shown) - len(whole)
    text = (
        "Words in bold are masked, and the model is trained to predict the word that is shown. "
        "A coloured tag names the language of a word that was switched; the word that stood in "
        "the text is below it, where it was another."
    )
    note = f"{damaged} whose lists are of different lengths left out." if damaged else None
    return Html(
        tag("p", text)
        + "".join(whole[:_MAX_EXAMPLES])
        + (tag("p", note, class_="note") if note else "")
    )


def _example(row: Any, order: list[str]) -> Html | None:
    row = mapping(row)
    keys = ("original", "transformed", "masked", "languages")
    columns = [row.get(key) for key in keys]
    lengths = {len(column) if isinstance(column, list) else None for column in columns}
    if len(lengths) != 1 or None in lengths:
        return None
    own = str(row.get("language", ""))
    words = []
    for before, after, masked, language in zip(*columns, strict=True):
        switched = str(language) != own
        shown = tag("b", clip(after)) if masked else clip(after)
        words.append(
            tag(
                "span",
                tag("span", shown, lang=clip(language, 12)),
                language_tag(language, order) if switched else None,
                tag("small", clip(before)) if before != after else None,
                class_="word",
            )
        )
    left_out = len(words) - _MAX_EXAMPLE_WORDS
    if left_out > 0:
        more = tag("span", f"… {left_out} more words", class_="soft")
        words = [*words[:_MAX_EXAMPLE_WORDS], more]
    return tag(
        "div",
        language_tag(own, order),
        tag("div", words, dir="rtl" if own in _RIGHT_TO_LEFT else None, lang=clip(own, 12)),
        class_="example",
    )


def neighbours(run: Run) -> Html | None:
    """The words nearest to a few words, across languages."""
    found = run.extras.get("neighbours")
    order = languages_of(run)
    rows = []
    for row in found if isinstance(found, list) else []:
        row = mapping(row)
        near = row.get("neighbours")
        chips = [_chip(mapping(item), order) for item in (near if isinstance(near, list) else [])]
        if chips:
            word = tag("b", clip(row.get("word", ""))), " "
            word = tag("span", word, language_tag(row.get("language", ""), order), class_="chip")
            rows.append([word, chips])
    if not rows:
        return None
    return components.table(["Word", "Nearest words, with their similarity"], rows)


def _chip(item: Mapping[str, Any], order: list[str]) -> Html:
    language = item.get("language", "")
    score = number(item.get("score"))
    return tag(
        "span",
        tag("span", clip(item.get("word", "")), lang=clip(language, 12)),
        " ",
        language_tag(language, order),
        tag("span", f" {score:.2f}", class_="soft") if score is not None else None,
        class_="chip",
    )


def machine(run: Run) -> Html | None:
    """Speed, memory and the machine."""
    speed, memory = mapping(run.extras.get("speed")), mapping(run.extras.get("memory"))
    versions = mapping(run.extras.get("versions"))
    known = {
        "Device": clip(run.extras["device"], 120) if run.extras.get("device") else None,
        "CPU cores": _counted(run.extras.get("cores")),
        "Parameters": _counted(run.extras.get("parameters")),
        "Training speed": _with(figures.count, speed.get("tokens_per_second"), "{} pieces/s"),
        "Steps per second": _with(figures.decimal, speed.get("steps_per_second"), "{}"),
        "Compilation": _with(figures.seconds, speed.get("compile_seconds"), "{}"),
        "Wall time": _with(figures.seconds, speed.get("seconds"), "{}"),
        "Floating-point rate": _flops(speed),
        # Zero stands for what the platform does not tell.
        "Peak host memory": _with(figures.size, memory.get("peak_host_bytes") or None, "{}"),
        "Peak device memory": _with(figures.size, memory.get("peak_device_bytes") or None, "{}"),
        "Versions": ", ".join(
            f"{clip(name, 30)} {clip(version, 30)}" for name, version in versions.items()
        )
        or None,
    }
    return components.facts(known)


def _flops(speed: Mapping[str, Any]) -> str | None:
    flops, rate = number(speed.get("step_flops")), number(speed.get("steps_per_second"))
    return f"{figures.decimal(flops * rate / 1e9)} GFLOP/s" if flops and rate else None


def _with(form: Any, value: Any, pattern: str) -> str | None:
    return pattern.format(form(value)) if is_number(value) else None


def notes(run: Run) -> Html | None:
    """What the job wants known, and the counts of what it skipped."""
    found = run.extras.get("notes")
    items = [tag("li", clip(note, 2000)) for note in (found if isinstance(found, list) else [])]
    skipped = mapping(run.extras.get("skipped"))
    parts = [tag("ul", items) if items else None]
    if skipped:
        rows = [
            [clip(name, 200), components.count(value) if is_number(value) else clip(value, 400)]
            for name, value in skipped.items()
        ]
        parts.append(tag("h3", "Skipped or mended"))
        parts.append(components.table(["What", "Count"], rows))
    parts = [part for part in parts if part is not None]
    return Html("".join(parts)) if parts else None


def configuration(run: Run) -> Html:
    """The resolved config."""
    text = json.dumps(run.config, indent=2, sort_keys=True, ensure_ascii=False)
    head = tag("summary", "config.json, with every override applied")
    return tag("details", head, tag("pre", text))
