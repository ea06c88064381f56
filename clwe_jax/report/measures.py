"""The page's sections on sentence retrieval, lexicon induction and word similarity."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from clwe_jax.report import figures, floor, test_sets
from clwe_jax.report.data import (
    BLUE,
    GREEN,
    Cell,
    Chart,
    Column,
    Line,
    Metric,
    Number,
    Section,
    Table,
)
from clwe_jax.report.figures import SENTENCE_METHODS, WORD_METHODS
from clwe_jax.report.run_folder import RunFolder, finite

_SIF = "retrieval/sif"
_LAYER = re.compile(r"layer(\d+)/")
_SHORT = {"nearest neighbour": "NN", "inverted softmax": "inv. softmax"}  # names in column heads
_SPLITS = {"frequency": "By frequency rank of the source word", "tag": "By part of speech"}

Figures = Mapping[str, Mapping[str, float]]  # subject, such as a language pair -> metric -> value


def pair_name(pair: str) -> str:
    """'de-en' -> 'de → en', with spaces that do not break."""
    return pair.replace("-", "\u00a0→\u00a0")


def table(
    prefix: str,
    subjects: Mapping[str, Cell],
    columns: Mapping[str, Column],
    by_subject: Figures,
    head: str,
    mean: bool = True,
    last: Mapping[str, Cell] | None = None,
    **options: str,
) -> list[Table]:
    """A table of the figures PREFIX/SUBJECT/METRIC, one row per subject; [] without figures.

    Args:
      subjects: subject -> first cell of its row; a subject without figures has no row.
      columns: metric -> its column; a metric without figures has no column.
      by_subject: the figures.
      mean: whether the means PREFIX/METRIC are the last row.
      last: subject -> its test set, the last cell of its row; None: no such column.
      **options: the fields title, note and closed of the table.
    """
    measured = {name for subject in subjects for name in by_subject[subject]}
    names = [name for name in columns if name in measured]
    rows = [
        [cell, *(Metric(f"{prefix}/{x}/{m}") for m in names), *([last[x]] if last else [])]
        for x, cell in subjects.items()
        if by_subject[x].keys() & set(names)
    ]
    total = ["mean", *(Metric(f"{prefix}/{m}") for m in names)] if mean else None
    heads = [Column(head), *(columns[name] for name in names)]
    if last:
        heads.append(Column("Test set", main=False))
        total = total and [*total, ""]
    return [Table(heads, rows, total, **options)] if names else []


def retrieval(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Sentence retrieval by layer (as in Fig. 3 of the DICT-MLM paper), by pair, over training."""
    by_pair = figures.pairs_of(run.figures, "retrieval")
    pairs = {pair: pair_name(pair) for pair in by_pair}
    blocks = _by_layer(run, others)
    last = figures.last_layers(run.figures)
    text = (
        "The share of sentences whose nearest neighbour among all sentences of the other language "
        "is their translation. Plain: by cosine. Centered: after each language's mean vector was "
        "subtracted. CSLS: by cosine, less the mean similarity to each side's ten nearest. The "
        "encoder's own sentence vector is, for a language model, the mean of the pieces' vectors "
        f"in {last}, for a translator that of its encoder and, for static vectors, the mean of the "
        "words' vectors weighted by inverse document frequency."
    )
    if blocks:
        text += f" By layer: the mean of the pieces' vectors; shaded: {last}."
    note = _note(run, others)
    sif = figures.pairs_of(run.figures, _SIF)
    if sif:
        text += (
            " SIF: words weighted by a / (a + p), where p is their share in the run's "
            "text and a is 0.001."
        )
    if any(name.startswith("floor/retrieval/") for name in run.figures):
        text += floor.TEXT
    whole = test_sets.of_all(run, "retrieval")
    whole = f" ({whole})" if whole else ""
    how = floor.method_of_retrieval(run)
    levels = floor.retrieval_path(run, SENTENCE_METHODS[how]), "retrieval/*/chance", how
    for name, title in (
        ("mean_last4", f"By language pair, mean of {last}"),
        ("mean", "By language pair, the encoder's own sentence vector"),
    ):
        columns = {f"{name}{x}": Column(how, "percent") for how, x in SENTENCE_METHODS.items()}
        weighted = []
        if sif:
            weighted = table(_SIF, pairs, columns, sif, "Pair", title=f"{title}, SIF{whole}")
        if name == "mean":
            columns["mean_csls_k3"] = Column("CSLS, k = 3", "percent", main=False)
            columns["coverage"] = Column("Words with a vector", "percent", main=False)
        tables = table("retrieval", pairs, columns, by_pair, "Pair", title=title + whole, note=note)
        own = floor.retrieval_path(run, SENTENCE_METHODS[how], name == "mean"), *levels[1:]
        blocks += floor.with_baseline(tables, run, *own)
        blocks += floor.with_baseline(weighted, run, *levels)
    lines = [Line(how, f"retrieval/mean_last4{x}") for how, x in SENTENCE_METHODS.items()]
    steps = finite(run.series.get(lines[0].metric, {}))
    if steps:
        lines += floor.lines((min(steps), max(steps)), floor.levels(run, *levels))
    blocks.append(Chart(f"Over training, mean of {last}", lines, form="percent"))
    weighted = [Line(how, f"{_SIF}/mean_last4{x}") for how, x in SENTENCE_METHODS.items()]
    blocks.append(Chart(f"Over training, SIF, mean of {last}", weighted, form="percent"))
    layers = sorted({int(m[1]) for row in by_pair.values() for x in row if (m := _LAYER.match(x))})
    for how, x in SENTENCE_METHODS.items():
        columns = {
            f"layer{k}/acc@1{x}": Column(f"layer {k}", "percent", main=False) for k in layers
        }
        closed = f"Every pair and layer, {how}"
        blocks += table("retrieval", pairs, columns, by_pair, "Pair", mean=False, closed=closed)
    return Section("Sentence retrieval", text, blocks) if pairs or steps else None


def _by_layer(run: RunFolder, others: Sequence[RunFolder]) -> list[Chart]:
    metrics = {how: f"retrieval/layer*/acc@1{x}" for how, x in SENTENCE_METHODS.items()}
    weighted = {how: x.replace("retrieval", _SIF) for how, x in metrics.items()}
    levels = {
        how: floor.levels(run, floor.retrieval_path(run, x), "retrieval/*/chance")
        for how, x in SENTENCE_METHODS.items()
    }
    drawn = [
        *(
            figures.over_star(r.figures, x).values()
            for r in (run, *others)
            for x in metrics.values()
        ),
        *(figures.over_star(run.figures, x).values() for x in weighted.values()),
        *([x or 0.0 for x in level.values()] for level in levels.values()),
    ]
    highest = max((value for values in drawn for value in values), default=0.0)
    charts = []
    for how, metric in metrics.items():
        layers = figures.over_star(run.figures, metric)
        last = [layer for layer in layers if layer > 0][-4:]
        if last:
            sif = figures.over_star(run.figures, weighted[how])
            charts.append(
                Chart(
                    f"Accuracy by layer, {how}",
                    [
                        Line("mean" if sif else "", metric=metric, colour=BLUE),
                        Line("SIF", metric=weighted[how], colour=GREEN, compare=False),
                        *floor.lines((min(layers), max(layers)), levels[how]),
                    ],
                    x="layer",
                    form="percent",
                    whole_x=True,
                    y_range=(0, min(1.02, 1.08 * highest) or 1.0),
                    band=(last[0] - 0.5, last[-1] + 0.5),
                )
            )
    return charts


def _note(run: RunFolder, others: Sequence[RunFolder]) -> str:
    notes = []
    if any(name.startswith("retrieval/") and name.endswith("_low") for name in run.figures):
        notes.append("Below a figure: its 95% interval for this number of sentences.")
    if others:
        notes.append(
            "Beside another run's figure: by how many percentage points this run is above (+) or "
            "below (−) it."
        )
    cut = run.figures.get("retrieval/cut", 0.0)
    if cut > 0:
        notes.append(f"{figures.percent(cut)} of the sentences were too long and were cut.")
    return " ".join(notes)


def induction(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Lexicon induction by pair, by frequency and part of speech of the words, and by layer."""
    by_pair = figures.pairs_of(run.figures, "bli")
    measured = {name for row in by_pair.values() for name in row}
    main, ending = figures.word_method(run.figures)
    text = (
        "P@k is the share of source words with a translation of the test dictionary among their k "
        "nearest words of the other language; MRR is the mean reciprocal rank of the first "
        "translation (0 beyond ten). NN is the nearest neighbour by cosine; P@5, P@10 and MRR use "
        f"{main}. The first table has the words that have a vector and a translation of another "
        "spelling with a vector (covered words): nothing else shows whether the spaces fit. The "
        "papers count all test words: there a word without a vector translates to itself, and a "
        "word whose translations have no vector is wrong. Covered columns there: as MUSE's script."
    )
    if any(name.endswith("_low") for name in measured):
        text += " Below a figure: its 95% interval over words."
    if "isolated" in measured:
        text += (
            " A word's vector is the mean of its vectors in context; isolated words do not occur "
            "in the sample of text and were encoded without context."
        )
    pairs = {pair: pair_name(pair) for pair in by_pair}
    blocks = []
    if any(name.startswith("floor/bli/") for name in run.figures):
        text += floor.TEXT
    sets = {x: test_sets.of_pair(run, "bli", x) for x in pairs}
    whole = test_sets.of_all(run, "bli")
    for variant, title, columns, last in (
        ("_distinct_covered", "Covered words of different spelling", _headline_columns(main), sets),
        ("", "All test words, the papers' convention", _induction_columns(main, ending), None),
    ):
        tables = table(
            "bli",
            pairs,
            columns,
            by_pair,
            "Pair",
            len(pairs) > 1,
            last,
            title=f"{title} ({whole})" if whole else title,
        )
        blocks += floor.with_baseline(
            tables, run, f"floor/bli/*/p@1{ending}{variant}", "bli/*/chance"
        )
    for split, title in _SPLITS.items():
        blocks += _parts(by_pair, split, title, ending)
    levels = floor.levels(run, f"floor/bli/*/p@1{ending}", "bli/*/chance")
    blocks.append(floor.with_level_lines(_induction_by_layer((run, *others)), levels))
    over = {"cosine": "bli/p@1_distinct_covered", "CSLS": "bli/p@1_csls_distinct_covered"}
    lines = [Line(how, metric) for how, metric in over.items()]
    title = "Over training, covered words of different spelling"
    blocks.append(Chart(title, lines, form="percent"))
    return Section("Lexicon induction", text, blocks) if by_pair else None


def _headline_columns(main: str) -> dict[str, Column]:
    """P@1 of the covered words of different spelling by method, with coverage and size."""
    names = {name: _SHORT.get(name, name) for name in WORD_METHODS}
    return {
        **{
            f"p@1{x}_distinct_covered": Column(f"P@1 {names[name]}", "percent", name == main)
            for name, x in WORD_METHODS.items()
        },
        "coverage_distinct": Column("Covered", "percent"),
        "words_distinct": Column("Words", "count"),
    }


def _induction_columns(main: str, ending: str) -> dict[str, Column]:
    compared = ("nearest neighbour", main)
    names = {name: _SHORT.get(name, name) for name in WORD_METHODS}
    columns = {
        f"p@1{x}": Column(f"P@1 {names[name]}", "percent", name in compared)
        for name, x in WORD_METHODS.items()
    }
    columns |= {
        "p@5": Column("P@5 NN", "percent", main=False),
        f"p@5{ending}": Column("P@5", "percent", main=False),
        f"p@10{ending}": Column("P@10", "percent", main=False),
        f"mrr{ending}": Column("MRR", main=False),
    }
    columns |= {
        f"p@1{x}_covered": Column(f"Covered: P@1 {names[name]}", "percent", name == main)
        for name, x in WORD_METHODS.items()
    }
    return columns | {
        "coverage": Column("Covered", "percent"),
        "isolated": Column("Isolated", "percent", main=False),
        "words": Column("Words", "count", main=False),
    }


def _parts(by_pair: Figures, split: str, title: str, ending: str) -> list[Table]:
    """P@1 by part of the source words, one column per part, with its number of words."""

    def first_rank(part: str) -> int:
        first = part.partition("-")[0]
        return int(first) if first.isdigit() else 0

    names = {x.split("/")[1] for row in by_pair.values() for x in row if x.startswith(f"{split}/")}
    parts = sorted(names, key=lambda part: (first_rank(part), part))
    rows = []
    for pair, row in by_pair.items():
        cells: list[Cell] = [pair_name(pair)]
        for part in parts:
            words = row.get(f"{split}/{part}/words")
            below = f"{figures.count(words)} words" if words else ""
            cells.append(Number(row.get(f"{split}/{part}/p@1{ending}"), "percent", below=below))
        rows.append(cells)
    heads = [part.replace("-", "–") if split == "frequency" else part for part in parts]
    columns = [Column("Pair"), *(Column(head, main=False) for head in heads)]
    return [Table(columns, rows, title=title)] if parts else []


def _induction_by_layer(runs: Sequence[RunFolder]) -> Chart:
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


def similarity(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Word similarity by test set."""
    by_set: dict[str, dict[str, float]] = {}
    for name, value in run.figures.items():
        path, _, metric = name.rpartition("/")
        if path.startswith("similarity/"):
            by_set.setdefault(path.removeprefix("similarity/"), {})[metric] = value
    text = "Spearman's correlation of cosines with human scores, over the pairs that have vectors."
    columns = {
        "spearman": Column("Correlation"),
        "coverage": Column("Covered", "percent", main=False),
        "pairs": Column("Pairs", "count", main=False),
    }
    subjects = {name: name for name in sorted(by_set)}
    blocks = table("similarity", subjects, columns, by_set, "Set", mean=False)
    return Section("Word similarity", text, blocks) if blocks else None
