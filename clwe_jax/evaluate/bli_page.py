"""What the report says of lexicon induction: its headlines, its test sets and its section."""

from __future__ import annotations

import itertools
import os
from typing import Iterable, Mapping, Sequence

from clwe_jax.report import figures, floor
from clwe_jax.report.data import BLUE, GREEN, Cell, Chart, Column, Line, Number, Section, Table
from clwe_jax.report.figure_tables import Figures, pair_name, table
from clwe_jax.report.headline import FLOOR, Headline
from clwe_jax.report.run_folder import RunFolder

_NAME = "bli"
# Method -> ending of its metrics; and methods in ascending order of preference.
_METHODS = {"nearest neighbour": "", "CSLS": "_csls", "inverted softmax": "_softmax"}
_ORDER = ("inverted softmax", "nearest neighbour", "CSLS")
_SHORT = {"nearest neighbour": "NN", "inverted softmax": "inv. softmax"}  # names in column heads
_SPLITS = {"frequency": "By frequency rank of the source word", "tag": "By part of speech"}
_CHANCE = f"{_NAME}/*/chance"
_COVERAGE = f"{_NAME}/coverage_distinct"
_KEYS = {("_distinct", "CSLS"): "induction"}  # of comparisons
# Ending of the metrics of a set of test words -> label, sentence of the verdict, path of the share of covered ones.
_WORDS = {
    "": ("Lexicon induction, all test words", "of the words find their translation", ""),
    "_distinct_covered": ("Lexicon induction, covered words of different spelling", "", _COVERAGE),
    # A word without a vector counts as its own translation: here no system leads by words that it lacks.
    "_distinct": (
        "Lexicon induction, words of different spelling",
        "of the test words that have a translation of another spelling find one",
        _COVERAGE,
    ),
}


def _headlines(ending: str) -> Iterable[Headline]:
    """The headlines of a set of test words, by method."""
    label, sentence, coverage = _WORDS[ending]
    for method in _ORDER:
        metric = f"{_NAME}/*/p@1{_METHODS[method]}{ending}"
        yield Headline(
            metric,
            f"{label}, {_SHORT.get(method, method)}",
            floors=(f"{FLOOR}{metric}",),
            chance=_CHANCE,
            sentence=sentence and f"{{}} {sentence} by {method}",
            meaning="share of words whose nearest word is a translation; good from 30% on",
            coverage=coverage,
            group=label,
            short="Induction",
            key=_KEYS.get((ending, method), ""),
        )


HEADLINES = tuple(itertools.chain(*map(_headlines, _WORDS)))


def describe_tests(run: RunFolder) -> str:
    """The test sets of all directions: 'muse, 12 directions, 18,000 words, 33,924 pairs'."""
    pairs = list(figures.by_pair(run.figures, _NAME))
    if len(pairs) == 1:
        return _describe_pair(run, pairs[0])
    directions = f"{len(pairs)} directions" if pairs else ""
    parts = run.test_folder(_NAME), directions, _size(run, pairs)
    return ", ".join(filter(None, parts))


def _describe_pair(run: RunFolder, pair: str) -> str:
    """The test set of a direction: 'muse/de-en.5000-6500.txt, 1,500 words, 2,827 pairs'."""
    folder = run.test_folder(_NAME)
    place = str(run.option(f"evals.{_NAME}.data") or "")
    is_vecmap = os.path.isfile(os.path.join(place, f"{pair}.test.txt"))
    file = f"{pair}.test.txt" if is_vecmap else f"{pair}.5000-6500.txt"
    name = f"{file} of {folder}" if place == "pocket" else f"{folder}/{file}"
    return ", ".join(filter(None, (name if folder else "", _size(run, [pair]))))


def _size(run: RunFolder, pairs: Sequence[str]) -> str:
    """The numbers of words and pairs, as far as they were recorded."""
    by_pair = figures.by_pair(run.figures, _NAME)
    counts = {}
    for name in ("words", "pairs"):
        counts[name] = sum(by_pair[pair].get(name, 0.0) for pair in pairs)
    return ", ".join(f"{figures.count(n)} {name}" for name, n in counts.items() if n)


def main_method(results: Mapping[str, float]) -> tuple[str, str]:
    """(name, ending) of the main method: the most preferred one that was measured."""
    names = set().union(*figures.by_subject(results, _NAME).values())
    methods = [method for method in _ORDER if f"p@1{_METHODS[method]}" in names]
    method = methods[-1] if methods else "nearest neighbour"
    return method, _METHODS[method]


def section(run: RunFolder, others: Sequence[RunFolder]) -> Section | None:
    """Lexicon induction by pair, by frequency and part of speech of the words, and by layer."""
    by_pair = figures.by_pair(run.figures, _NAME)
    measured = set().union(*by_pair.values())
    main, ending = main_method(run.figures)
    inverted = ", inv. softmax by the inverted softmax (Smith et al. 2017)"
    text = (
        "P@k is the share of source words with a translation of the test dictionary among their k "
        "nearest words of the other language; MRR is the mean reciprocal rank of the first "
        "translation (0 beyond ten). NN finds the nearest word by cosine, CSLS by the cosine less the mean "
        f"similarity to each side's nearest (config.evals.bli.neighbourhood, ten by default)"
        f"{inverted if 'p@1_softmax' in measured else ''}; P@5, P@10 and MRR use {main}.\nThe first table shows best whether the spaces fit. It counts covered "
        "words alone: those that have a vector and a translation of another spelling with a vector. The "
        "second table counts all test words, as the papers do. There a word without a vector translates to "
        "itself, and a word whose translations have no vector is wrong. The columns of covered words in this "
        "table leave such words out, as MUSE's script does, but count equal spellings."
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
    if any(x.floor(run.figures) for x in HEADLINES):
        text += floor.TEXT
        text += (
            " Test words are left out of the dictionary that a run learns from (config.data.exclude_tests), so that the floor "
            "of words of different spelling is near 0."
        )
    sets = {x: _describe_pair(run, x) for x in pairs}
    tests = describe_tests(run)
    for variant, title, columns, shown_sets in (
        ("_distinct_covered", "Covered words of different spelling", _covered_columns(main), sets),
        ("", "All test words, the papers' convention", _induction_columns(main, ending), None),
    ):
        blocks += table(
            _NAME,
            pairs,
            columns,
            by_pair,
            "Pair",
            mean=len(pairs) > 1,
            sets=shown_sets,
            levels=floor.columns(run, f"{FLOOR}{_NAME}/*/p@1{ending}{variant}", _CHANCE),
            title=f"{title} ({tests})" if tests else title,
        )
    for split, title in _SPLITS.items():
        blocks += _parts(by_pair, split, f"{title}, P@1 {_SHORT.get(main, main)}", ending)
    levels = floor.levels(run, f"{FLOOR}{_NAME}/*/p@1{ending}", _CHANCE)
    blocks.append(floor.with_level_lines(_induction_by_layer((run, *others)), levels))
    endings = {"cosine": "", "CSLS": "_csls"}
    lines = [Line(how, f"{_NAME}/p@1{x}_distinct_covered") for how, x in endings.items()]
    title = "Over training, covered words of different spelling"
    blocks.append(Chart(title, lines, form="percent"))
    return Section("Lexicon induction", text, blocks) if by_pair else None


def _covered_columns(main: str) -> dict[str, Column]:
    """P@1 of the covered words of different spelling by method, with coverage and size."""
    columns = {
        f"p@1{x}_distinct_covered": Column(f"P@1 {_SHORT.get(name, name)}", "percent", name == main)
        for name, x in _METHODS.items()
    }
    return columns | {
        "coverage_distinct": Column("Covered", "percent"),
        "words_distinct": Column("Words", "count"),
    }


def _induction_columns(main: str, ending: str) -> dict[str, Column]:
    names = {name: _SHORT.get(name, name) for name in _METHODS}
    columns = {
        f"p@1{x}": Column(f"P@1 {names[name]}", "percent", name in ("nearest neighbour", main))
        for name, x in _METHODS.items()
    }
    columns |= {
        "p@5": Column("P@5 NN", "percent", main=False),
        f"p@5{ending}": Column("P@5", "percent", main=False),
        f"p@10{ending}": Column("P@10", "percent", main=False),
        f"mrr{ending}": Column("MRR", main=False),
    }
    columns |= {
        f"p@1{x}_covered": Column(f"Covered: P@1 {names[name]}", "percent", name == main)
        for name, x in _METHODS.items()
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

    measured = set().union(*by_pair.values())
    names = {x.split("/")[1] for x in measured if x.startswith(f"{split}/")}
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
            for row in figures.by_pair(run.figures, _NAME).values():
                for layer, value in figures.over_star(row, f"layer*/p@1{ending}").items():
                    values.setdefault(layer, []).append(value)
            points = [(layer, sum(rates) / len(rates)) for layer, rates in sorted(values.items())]
            label = f"{name}, {run.name}" if dash else name
            lines.append(Line(label, points=points, colour=colour, dash=dash))
    title = "P@1 by layer, mean over pairs"
    return Chart(title, lines, x="layer", form="percent", whole_x=True)
