"""The page's sections on static embeddings: reallocation, refinement, similarity, files."""

from __future__ import annotations

from typing import Any, Sequence

from clwe_jax.report import components, figures, induction, plots
from clwe_jax.report.comparison import pair_name
from clwe_jax.report.components import language_tag
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run, is_number
from clwe_jax.report.sections import languages_of, mapping, number

_MOST_EXAMPLES = 24

def is_static(run: Run) -> bool:
    """Whether the run is one of static embeddings."""
    return run.option("job") in ("static", "align")


def tiles(run: Run, baseline: Run | None) -> list[Html]:
    """The headline figures of a static run."""
    found = figures.by_subject(run.figures, "bli")
    if not found.get(""):
        return []
    theirs = figures.by_subject(baseline.figures, "bli").get("", {}) if baseline else {}
    ending = induction.main_method(found)
    made = []
    for label, name in (
        (f"Lexicon induction, P@1 {induction.METHODS[ending]}", f"p@1{ending}"),
        ("of covered words", f"p@1{ending}_covered"),
        ("without same-surface pairs", f"p@1{ending}_distinct"),
    ):
        value, other = found[""].get(name), theirs.get(name)
        if value is None:
            continue
        note = None
        if other is not None:
            note = f"{baseline.name} {figures.percent(other)}, {figures.points(value - other)}"
        made.append(components.tile(label, figures.percent(value), note, first=not made))
    for label, name in (
        ("Sentence retrieval, CSLS", "retrieval/mean_csls"),
        ("Sentence retrieval", "retrieval/mean"),
    ):
        if name in run.figures:
            made.append(components.tile(label, figures.percent(run.figures[name])))
            break
    return made


def vocabulary(run: Run) -> Html | None:
    """How many words went where in vocabulary reallocation, with examples."""
    static = mapping(run.extras.get("static"))
    found = mapping(static.get("vocabulary"))
    counts = {str(name): mapping(row) for name, row in mapping(found.get("languages")).items()}
    if not counts:
        return None
    order = languages_of(run)
    columns = [
        ("Words", "words"), ("Its own", "own"), ("Shared", "shared"),
        ("Given to another", "lost"),
    ]  # fmt: skip
    columns = [
        (h, key) for h, key in columns if any(is_number(r.get(key)) for r in counts.values())
    ]
    rows = [
        [language_tag(name, order), *(components.count(number(row.get(key))) for _, key in columns)]
        for name, row in counts.items()
    ]
    parts = [components.table(["Language", *(head for head, _ in columns)], rows)]
    if found.get("text"):
        parts.insert(0, tag("p", clip(found["text"], 1000), class_="soft"))
    examples = mapping(found.get("examples"))
    rows = []
    for name, words in examples.items():
        words = words if isinstance(words, list) else []
        shown = [tag("span", clip(word, 40), class_="chip") for word in words[:_MOST_EXAMPLES]]
        if shown:
            head = "shared" if name == "shared" else language_tag(name, order)
            rows.append([head, shown])
    if rows:
        parts.append(components.table(["Went to", "For example"], rows))
    return Html("".join(parts))


def refinement(run: Run) -> Html | None:
    """What each alignment tells of its fit: figures in a table, series as curves."""
    static = mapping(run.extras.get("static"))
    found = {str(pair): mapping(info) for pair, info in mapping(static.get("alignments")).items()}
    if not found:
        return None
    single, series = [], {}
    for pair, info in found.items():
        row = {}
        for name, value in info.items():
            if is_number(value) or isinstance(value, str):
                row[str(name)] = value
            elif isinstance(value, list) and value and all(is_number(x) for x in value):
                row[str(name)] = value[-1]
                if len(value) > 1:
                    series.setdefault(str(name), {})[pair] = value
        single.append((pair, row))
    names = list(dict.fromkeys(name for _, row in single for name in row))
    table = components.table(
        ["Map", *(name.replace("_", " ") for name in names)],
        [[pair_name(pair), *(_value(row.get(name)) for name in names)] for pair, row in single],
    )
    charts = [
        plots.chart(
            f"Alignment: {name.replace('_', ' ')}",
            [
                Line(pair, dict(enumerate(values, 1)), plots.PALETTE[i % len(plots.PALETTE)],
                     markers=len(values) < 25)
                for i, (pair, values) in enumerate(lines.items())
            ],
            x_label="round",
            whole_x=True,
        )
        for name, lines in series.items()
    ]  # fmt: skip
    return Html(table + (tag("div", charts, class_="charts") if charts else ""))


def _value(value: Any) -> Any:
    return components.decimal(value) if is_number(value) else clip(value if value else "–", 60)


def similarity(run: Run) -> Html | None:
    """Word similarity by set: Spearman's correlation and coverage."""
    rows: dict[str, dict[str, float]] = {}
    for name, value in run.figures.items():
        prefix, _, rest = name.partition("/")
        subject, _, metric = rest.rpartition("/")
        if prefix == "similarity" and subject:
            rows.setdefault(subject, {})[metric] = value
    if not rows:
        return None
    text = "Spearman's correlation of cosines with people's scores, over the pairs with vectors."
    table = components.table(
        ["Set", "Correlation", "Covered", "Pairs"],
        [
            [
                clip(subject, 80),
                components.decimal(row.get("spearman")),
                components.percent(row.get("coverage")),
                components.count(row.get("pairs")),
            ]
            for subject, row in sorted(rows.items())
        ],
    )
    return Html(tag("p", text, class_="soft") + table)


def files(run: Run) -> Html | None:
    """What the folder holds for other programs: vectors and induced dictionaries."""
    induced = mapping(mapping(run.extras.get("static")).get("induced"))
    rows = [
        [tag("code", f"induced/{clip(pair, 40)}.txt"), components.count(number(count))]
        for pair, count in induced.items()
    ]
    if not rows:
        return None
    text: Sequence[Any] = (
        "Pairs of words that are each other's nearest by CSLS, in MUSE's format: ",
        tag("code", "--config.data.dictionaries=WORKDIR/induced"),
        " pretrains DICT-MLM on them. Vectors of all languages in one space are in ",
        tag("code", "vectors/"),
        ".",
    )
    return Html(tag("p", text, class_="soft") + components.table(["File", "Pairs"], rows))


def stages(run: Run) -> Html | None:
    """Seconds that each part of the run took."""
    found = mapping(mapping(run.extras.get("static")).get("stages"))
    known = {
        clip(name, 60).capitalize(): figures.seconds(float(value))
        for name, value in found.items()
        if is_number(value)
    }
    return components.facts(known) if known else None
