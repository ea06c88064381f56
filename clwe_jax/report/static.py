"""The page's sections on static embeddings: lexicon induction, reallocation, refinement."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from clwe_jax.report import components, figures, plots
from clwe_jax.report.comparison import pair_name
from clwe_jax.report.components import Number, language_tag
from clwe_jax.report.markup import Html, clip, tag
from clwe_jax.report.plots import Line
from clwe_jax.report.run_folder import Run, is_number
from clwe_jax.report.sections import languages_of, mapping, number

# The endings of `evaluate.lexicon`'s metrics, as people read them.
METHODS = {"": "nearest neighbour", "_csls": "CSLS", "_softmax": "inverted softmax"}
_HEADS = {"": "NN", "_csls": "CSLS", "_softmax": "inv. softmax"}  # of columns
_MAIN = ("_csls", "", "_softmax")  # the first that was measured is the figure to quote
_SPLITS = {"frequency": "By frequency rank of the source word", "tag": "By part of speech"}
_MOST_EXAMPLES = 24

Metrics = Mapping[str, float]


def is_static(run: Run) -> bool:
    """Whether the run is one of static embeddings."""
    return run.option("job") in ("static", "align")


def main_method(found: Mapping[str, Metrics]) -> str:
    """The ending of the metrics of the method to quote: CSLS where it was measured."""
    names = {name for metrics in found.values() for name in metrics}
    return next((ending for ending in _MAIN if f"p@1{ending}" in names), "")


def tiles(run: Run, baseline: Run | None) -> list[Html]:
    """The headline figures of a static run."""
    found = figures.by_subject(run.figures, "bli")
    if not found.get(""):
        return []
    theirs = figures.by_subject(baseline.figures, "bli").get("", {}) if baseline else {}
    ending = main_method(found)
    made = []
    for label, name in (
        (f"Lexicon induction, P@1 {METHODS[ending]}", f"p@1{ending}"),
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
        ("Sentence retrieval, CSLS", "sentences/acc@1_csls"),
        ("Sentence retrieval", "sentences/acc@1"),
    ):
        if name in run.figures:
            made.append(components.tile(label, figures.percent(run.figures[name])))
            break
    return made


def induction(run: Run, baseline: Run | None) -> Html | None:
    """Lexicon induction by pair: both readings, with and without same-surface pairs, and splits."""
    found = figures.by_subject(run.figures, "bli")
    pairs = [pair for pair in found if "-" in pair]
    if not pairs:
        return None
    theirs = figures.by_subject(baseline.figures, "bli") if baseline is not None else {}
    text = (
        "P@k is how often one of the k nearest words of the other language is a translation that "
        "the test dictionary has; MRR the mean of one over the place of the first (0 beyond ten). "
        "All words: a source word without a vector is taken to translate to itself, and one whose "
        "translations have no vector is wrong. Covered: of the words that have a vector and a "
        "translation with one, as MUSE's script counts. NN is the nearest neighbour by cosine; "
        f"P@5, P@10 and MRR are those of {METHODS[main_method(found)]}. Below a figure: its 95% "
        "interval over words."
    )
    parts = [tag("p", text, class_="soft")]
    for variant, title in (
        ("", "All test pairs"),
        ("_distinct", "Without pairs of one and the same string"),
    ):
        parts.append(tag("h3", title))
        parts.append(_variant(found, theirs, pairs, variant))
    for split, title in _SPLITS.items():
        drawn = _split(found, pairs, split)
        if drawn is not None:
            parts += [tag("h3", title), drawn]
    return Html("".join(parts))


def _variant(
    found: Mapping[str, Metrics], theirs: Mapping[str, Metrics], pairs: list[str], variant: str
) -> Html:
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
    columns = [(head, name) for head, name in columns if name in names]

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


def sentences(run: Run, baseline: Run | None) -> Html | None:
    """Sentence translation retrieval by pair."""
    found = figures.by_subject(run.figures, "sentences")
    pairs = [pair for pair in found if "-" in pair]
    if not pairs:
        return None
    theirs = figures.by_subject(baseline.figures, "sentences") if baseline is not None else {}
    columns = {"acc@1": "Cosine", "acc@1_csls": "CSLS", "coverage": "Words with a vector"}

    def cells(subject: str) -> list[Number]:
        ours, other = found.get(subject, {}), theirs.get(subject, {})
        return [_cell(name, ours, other) for name in columns]

    text = (
        "A sentence is the mean of its words' vectors, each weighed by its inverse document "
        "frequency; counted is how often the nearest sentence is the translation."
    )
    table = components.table(
        ["Pair", *columns.values()],
        [[pair_name(pair), *cells(pair)] for pair in pairs],
        total=["mean", *cells("")] if "" in found and len(pairs) > 1 else None,
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
