"""The page's sections on sentence retrieval, lexicon induction and word similarity."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from clwe_jax.report import figures
from clwe_jax.report.data import BLUE, GREEN, Chart, Column, Line, Metric, Number, Section, Table
from clwe_jax.report.figures import SENTENCE_METHODS, WORD_METHODS
from clwe_jax.report.run_folder import Run, finite

_LAYER = re.compile(r"layer(\d+)/(.+)")
_SHORT = {"nearest neighbour": "NN", "inverted softmax": "inv. softmax"}  # in heads of columns
_SPLITS = {"frequency": "By frequency rank of the source word", "tag": "By part of speech"}


def pair_name(pair: str) -> str:
    """'de-en' -> 'de → en', with spaces that do not break."""
    return pair.replace("-", "\u00a0→\u00a0")


def retrieval(run: Run, others: Sequence[Run]) -> Section | None:
    """Sentence retrieval by layer (as in Fig. 3 of the DICT-MLM paper), over training, by pair."""
    pairs = figures.pairs_of(run.figures, "retrieval")
    over_training = _over_training(run)
    if not pairs and over_training is None:
        return None
    blocks = _by_layer(run, others)
    text = (
        "Counted is how often the nearest neighbour among all sentences of the other language is "
        "the translation. Plain: by cosine. Centered: after each language's mean vector was "
        "subtracted. CSLS: by cosine, less the mean similarity to each side's ten nearest."
    )
    if blocks:
        text = (
            "A sentence is the mean of its pieces' vectors in a layer; layer 0 is the embedding. "
            f"{text} The shaded layers are the last four."
        )
    readings = {
        "mean_last4": "By language pair, mean of the last four layers",
        "mean": "By language pair, the encoder's own sentence vector",
    }
    for name, title in readings.items():
        blocks += _by_pair(run, others, pairs, name, title)
    if over_training is not None:
        blocks.append(over_training)
    layers = sorted({int(m[1]) for row in pairs.values() for x in row if (m := _LAYER.match(x))})
    for method, ending in SENTENCE_METHODS.items() if layers else ():
        columns = [Column(f"layer {k}", "percent", main=False) for k in layers]
        rows = [
            [pair_name(pair), *(Metric(f"retrieval/{pair}/layer{k}/acc@1{ending}") for k in layers)]
            for pair in pairs
        ]
        closed = f"Every pair and layer, {method}"
        blocks.append(Table(["Pair", *columns], rows, closed=closed))
    return Section("Sentence retrieval", text, blocks)


def _by_layer(run: Run, others: Sequence[Run]) -> list[Chart]:
    metrics = {method: f"retrieval/layer*/acc@1{x}" for method, x in SENTENCE_METHODS.items()}
    drawn = [figures.over_star(r.figures, x) for r in (run, *others) for x in metrics.values()]
    highest = max((value for layers in drawn for value in layers.values()), default=0.0)
    deepest = max((layer for layers in drawn for layer in layers), default=0)
    charts = []
    for method, metric in metrics.items():
        last = [layer for layer in figures.over_star(run.figures, metric) if layer > 0][-4:]
        if last:
            charts.append(
                Chart(
                    f"Accuracy by layer, {method}",
                    [Line(metric=metric, colour=BLUE)],
                    x="layer",
                    form="percent",
                    whole_x=True,
                    x_range=(-0.5, deepest + 0.5),
                    y_range=(0, min(1.02, 1.08 * highest) or 1.0),
                    band=(last[0] - 0.5, last[-1] + 0.5),
                )
            )
    return charts


def _over_training(run: Run) -> Chart | None:
    metrics = {method: f"retrieval/mean_last4{x}" for method, x in SENTENCE_METHODS.items()}
    # A single point says no more than the table does.
    lines = [
        Line(method, metric)
        for method, metric in metrics.items()
        if len(finite(run.series.get(metric, {}))) > 1
    ]
    title = "Over training, mean of the last four layers"
    return Chart(title, lines, form="percent") if lines else None


def _by_pair(
    run: Run,
    others: Sequence[Run],
    pairs: Mapping[str, Mapping[str, float]],
    name: str,
    title: str,
) -> list[Table]:
    columns = {
        f"{name}{ending}": Column(method, "percent")
        for method, ending in SENTENCE_METHODS.items()
        if any(f"{name}{ending}" in row for row in pairs.values())
    }
    if not columns:
        return []
    if any("coverage" in row for row in pairs.values()):
        columns["coverage"] = Column("Words with a vector", "percent", main=False)
    rows = [[pair_name(x), *(Metric(f"retrieval/{x}/{m}") for m in columns)] for x in pairs]
    notes = []
    if any(f"retrieval/{x}/{m}_low" in run.figures for x in pairs for m in columns):
        notes.append("Below a figure: its 95% interval for this number of sentences.")
    if others:
        notes.append(
            "Beside the figure of another run: by how many points this run is above (+) or below "
            "(−) it."
        )
    cut = run.figures.get("retrieval/cut", 0.0)
    if cut > 0:
        notes.append(f"{figures.percent(cut)} of the sentences were too long and were cut.")
    total = ["mean", *(Metric(f"retrieval/{m}") for m in columns)]
    note = " ".join(notes)
    return [Table([Column("Pair"), *columns.values()], rows, total, title=title, note=note)]


def induction(run: Run, others: Sequence[Run]) -> Section | None:
    """Lexicon induction by pair: all readings that were measured, parts of the words, layers."""
    pairs = figures.pairs_of(run.figures, "bli")
    measured = {name for row in pairs.values() for name in row}
    if not measured:
        return None
    main, _ = figures.word_method(run.figures)
    text = (
        "P@k is how often one of the k nearest words of the other language is a translation that "
        "the test dictionary has; MRR is the mean of one over the place of the first (0 beyond "
        "ten). NN is the nearest neighbour by cosine; P@5, P@10 and MRR are measured by "
        f"{main}. Covered: of the words that have a vector and a translation with one, as MUSE's "
        "script counts; otherwise a source word without a vector is taken to translate to itself, "
        "and a word whose translations have no vector is wrong."
    )
    if any(name.endswith("_low") for name in measured):
        text += " Below a figure: its 95% interval over words."
    if "isolated" in measured:
        text += (
            " A word's vector is the mean of its vectors in context; isolated words do not occur "
            "in the sample of text and were encoded by themselves."
        )
    blocks = [_variant(run, pairs, measured, "", "All test pairs")]
    if any("_distinct" in name for name in measured):
        title = "Without pairs of one and the same string"
        blocks.append(_variant(run, pairs, measured, "_distinct", title))
    blocks += [_split(run, pairs, split) for split in _SPLITS if _parts(measured, split)]
    return Section("Lexicon induction", text, [*blocks, _induction_by_layer((run, *others))])


def _variant(
    run: Run, pairs: Mapping[str, Mapping[str, float]], measured: set[str], variant: str, title: str
) -> Table:
    main, ending = figures.word_method(run.figures)
    heads = {
        f"p@1{x}{variant}": Column(f"P@1 {_SHORT.get(name, name)}", "percent", name == main)
        for name, x in WORD_METHODS.items()
    }
    heads |= {
        f"p@5{ending}{variant}": Column("P@5", "percent", main=False),
        f"p@10{ending}{variant}": Column("P@10", "percent", main=False),
        f"mrr{ending}{variant}": Column("MRR", main=False),
    }
    for name, x in WORD_METHODS.items():
        head = f"Covered: P@1 {_SHORT.get(name, name)}"
        heads[f"p@1{x}{variant}_covered"] = Column(head, "percent", name == main)
    heads |= {
        f"coverage{variant}": Column("Covered", "percent", main=False),
        f"isolated{variant}": Column("Isolated", "percent", main=False),
        f"words{variant}": Column("Words", "count", main=False),
    }
    heads = {name: column for name, column in heads.items() if name in measured}
    rows = [[pair_name(pair), *(Metric(f"bli/{pair}/{x}") for x in heads)] for pair in pairs]
    total = ["mean", *(Metric(f"bli/{x}") for x in heads)] if len(pairs) > 1 else None
    return Table([Column("Pair"), *heads.values()], rows, total, title=title)


def _parts(measured: set[str], split: str) -> list[str]:
    parts = {name.split("/")[1] for name in measured if name.startswith(f"{split}/")}

    def first_rank(part: str) -> int:
        first = part.partition("-")[0]
        return int(first) if first.isdigit() else 0

    return sorted(parts, key=lambda part: (first_rank(part), part))


def _split(run: Run, pairs: Mapping[str, Mapping[str, float]], split: str) -> Table:
    """P@1 of parts of the source words, a column a part, the number of words below."""
    _, ending = figures.word_method(run.figures)
    parts = _parts({name for row in pairs.values() for name in row}, split)
    rows = []
    for pair, found in pairs.items():
        cells = []
        for part in parts:
            words = found.get(f"{split}/{part}/words")
            below = f"{figures.count(words)} words" if words else ""
            cells.append(Number(found.get(f"{split}/{part}/p@1{ending}"), "percent", below=below))
        rows.append([pair_name(pair), *cells])
    heads = [part.replace("-", "–") if split == "frequency" else part for part in parts]
    return Table(["Pair", *heads], rows, title=_SPLITS[split])


def _induction_by_layer(runs: Sequence[Run]) -> Chart:
    lines = []
    for dash, run in enumerate(runs):
        for name, ending, colour in (("cosine", "", BLUE), ("CSLS", "_csls", GREEN)):
            values: dict[int, list[float]] = {}
            for row in figures.pairs_of(run.figures, "bli").values():
                for layer, value in figures.over_star(row, f"layer*/p@1{ending}").items():
                    values.setdefault(layer, []).append(value)
            points = [(layer, sum(some) / len(some)) for layer, some in sorted(values.items())]
            label = f"{name}, {run.name}" if dash else name
            lines.append(Line(label, points=points, colour=colour, dash=dash))
    title = "P@1 by layer, mean over pairs"
    return Chart(title, lines, x="layer", form="percent", whole_x=True)


def similarity(run: Run, others: Sequence[Run]) -> Section | None:
    """Word similarity by test set."""
    sets = sorted({name.split("/", 1)[1].rpartition("/")[0] for name in run.figures
                   if name.startswith("similarity/")} - {""})  # fmt: skip
    if not sets:
        return None
    text = "Spearman's correlation of cosines with people's scores, over the pairs with vectors."
    columns = [
        Column("Set"),
        Column("Correlation"),
        Column("Covered", "percent", main=False),
        Column("Pairs", "count", main=False),
    ]
    metrics = ("spearman", "coverage", "pairs")
    rows = [[name, *(Metric(f"similarity/{name}/{x}") for x in metrics)] for name in sets]
    return Section("Word similarity", text, [Table(columns, rows)])
