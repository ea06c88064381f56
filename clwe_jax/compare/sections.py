"""The sections of a comparison: one table, orders, costs beside quality, and when to use which."""

from __future__ import annotations

import itertools
from typing import Any, Iterable

from clwe_jax.compare.orders import Comparison
from clwe_jax.report import data, evaluations
from clwe_jax.report.data import BLUE, NEUTRAL, Cell, Column, Dots, Number, Picture, Table, Word
from clwe_jax.report.headline import Headline

_SEVERAL = " Each system has its own spread over the seeds (Welch's test)."
_ONE_SEED = " Each system was trained once: another seed may change an order."
_OTHER_ITEMS = (
    " Two systems are compared over the test items that both have, without directions where these are less than nine "
    "tenths: their languages differ, or how they spell test words, such as capitals. Without any they are 'not compared'."
)
_COSTS = {
    "minutes": Column("Processor minutes"),
    "wall_minutes": Column("Wall minutes"),
    "memory": Column("Peak memory", "size"),
    "disk": Column("On disk", "size"),
}
_ORDER_COLUMNS = (
    Column("Difference in points", "points"),
    Column("p"),
    Column("Order"),
    Column("Not significantly different from", main=False),
)
_SEEDED = {True: "their seeds and the test items", False: "the test items"}
_NOT_COMPARED = "not compared"
_NOT_COMPARED_CELL = Word(_NOT_COMPARED, style="soft")
_SEES_TESTS = "sees tests"
# A mark below a figure, or a part of one -> its meaning.
_MARKS = {
    "best": "'best' is the highest figure that no other one is significantly above",
    "≈ best": "'≈ best' does not differ significantly from the best one (paired by test item, p < .05 after Holm's correction)",
    _NOT_COMPARED: "'not compared' has other test items than the best one",
    _SEES_TESTS: "'sees tests' has learned the test words, and is never the best one",
    "parts": "'2 of 6 parts' is the mean of only these directions or languages",
}


def sections(comparison: Comparison, budget: str) -> list[Any]:
    """The sections as JSON.

    Args:
      budget: the budget in words.
    """
    parts = (
        _table(comparison, budget),
        _pareto(comparison),
        _orders(comparison),
        _advice(comparison),
        _by_part(comparison),
        _costs(comparison, budget),
        _others(comparison),
    )
    return [data.to_json(section) for section in parts if section is not None]


def _table(comparison: Comparison, budget: str) -> data.Section:
    # By the first figure; those without it by the next one.
    lists = (comparison.systems_with(figure) for figure in comparison.titles)
    names = list(dict.fromkeys(itertools.chain(*lists, comparison.runs)))
    rows: list[list[Cell]] = []
    for name in names:
        numbers = [_figure(comparison, figure, name) for figure in comparison.titles]
        numbers.append(Number(comparison.cost(name, "minutes")))
        rows.append([comparison.systems[name].title, *numbers])
    columns = ["System", *(Column(x, "percent") for x in comparison.titles.values())]
    levels = [comparison.chance(figure) for figure in comparison.titles]
    chance = ["Chance", *map(Number, levels), Number(None)] if any(levels) else None
    cells = itertools.chain.from_iterable(rows)
    marks = " ".join(cell.below for cell in cells if isinstance(cell, Number))
    legend = "".join(f" {meaning}." for mark, meaning in _MARKS.items() if mark in marks)
    several = comparison.seeds > 1
    text = (
        "All systems learn from the same text and dictionary, without published weights; only models that you gave are "
        "measured as they are, and their costs leave out their own pretraining, often on far more text. On the "
        "embedded world, text that the program writes by a grammar, figures say how systems compare, not how they do on "
        f"real text. The budget of training is {budget}; warm models also train vectors first and end with a short finish.\n"
        f"Below a figure stands its 95% interval over {_SEEDED[several]}.{legend}\n"
        "Retrieval: nearest sentence by cosine, or by CSLS, with the vectors that `encode` gives. Induction: P@1 by CSLS "
        "over all test words that have a translation of another spelling (one of the same spelling does not count). "
        "Tasks: F1 of names, accuracy of the others; labels are learned in one language, the figure is the mean of the "
        "others. Chance: one over the number of candidates; of a task, the share of the label that is most frequent in "
        "training. A task's figure may be below it: its labels have not crossed the languages."
    )
    if several:
        text += f" Figures and costs are means of {comparison.seeds} seeds, of fewer where a run failed."
    tables = [Table([*columns, _COSTS["minutes"]], rows, chance), _describe(comparison, names)]
    return data.Section("Systems", text, tables)


def _describe(comparison: Comparison, names: Iterable[str]) -> Table:
    """What each system is, and the test items that it can be right on."""
    headlines = evaluations.headlines_by_key()
    figures = [x for x in comparison.titles if x in headlines and headlines[x].coverage]
    rows = []
    for name in names:
        system = comparison.systems[name]
        shares = [Number(comparison.mean(name, headlines[x].coverage)) for x in figures]
        rows.append([system.title, system.what, comparison.runs[name][0].reading, *shares])
    columns = [
        "System",
        *(Column(x, main=False) for x in ("What it is, what it needs", "Vector of a sentence")),
        *(Column(f"{comparison.titles[x]}: covered", "percent", main=False) for x in figures),
    ]
    note = "Covered: the share of the test words that the system can be right on." * bool(figures)
    return Table(columns, rows, title="What the systems are", note=note)


def _figure(comparison: Comparison, figure: str, name: str) -> Cell:
    if not comparison.parts(figure, name):
        return Number(None)
    low, high = comparison.interval(figure, name)
    best = comparison.best(figure)
    mark = ""
    if comparison.systems[name].sees_tests:
        mark = _SEES_TESTS
    elif not comparison.parts(figure, best[0], name):
        mark = _NOT_COMPARED
    elif name in best and len(comparison.systems_with(figure)) > 1:
        mark = "best" if name == best[0] else "≈ best"
    all_parts = set().union(*(comparison.parts(figure, x) for x in comparison.systems_with(figure)))
    count = len(comparison.parts(figure, name))
    if count < len(all_parts):
        mark = f"{mark} {count} of {len(all_parts)} parts".strip()
    return Number(comparison.value(figure, name), low=low, high=high, below=mark)


def _pareto(comparison: Comparison) -> data.Section | None:
    """Quality against minutes: the systems that none beats in both are joined."""
    pictures = []
    for figure, title in comparison.titles.items():
        places = {
            name: (comparison.cost(name, "minutes") or 0.0, comparison.value(figure, name))
            for name in comparison.systems_with(figure)
            if comparison.systems[name].config and not comparison.systems[name].sees_tests
        }
        if len(places) < 2:
            continue
        front: list[str] = []
        for name in sorted(places, key=lambda name: (places[name][0], -places[name][1])):
            if not front or places[name][1] > places[front[-1]][1]:
                front.append(name)
        beaten = [x for x in places if x not in front]
        labels = ("none is both better and cheaper", "another is better and cheaper")
        groups = []
        for label, names, colour in zip(labels, (front, beaten), (BLUE, NEUTRAL)):
            titles = [comparison.systems[x].title for x in names]
            if names:
                groups.append(Dots(label, [places[x] for x in names], titles, colour))
        joins = [(places[a], places[b]) for a, b in itertools.pairwise(front)]
        pictures.append(Picture(f"{title} and cost", groups, joins, x="processor minutes", y=title))
    if not pictures:
        return None
    text = (
        "Quality against the processor minutes of the training. A system above and to the left of another is "
        "better and cheaper; the line joins those to which this happens with no other. Small gaps may not be significant."
    )
    rest = [data.Closed("The other figures", pictures[1:])] if pictures[1:] else []
    return data.Section("Quality and cost", text, [pictures[0], *rest])


def _orders(comparison: Comparison) -> data.Section:
    tables: list[Table] = []
    note = ""
    for figure, title in comparison.titles.items():
        rows: list[list[Cell]] = []
        names = comparison.systems_with(figure)
        for name, next_name in itertools.zip_longest(names, names[1:]):
            low, high = comparison.interval(figure, name)
            value = Number(comparison.value(figure, name), low=low, high=high)
            cells: list[Cell] = ["", Number(None), Number(None), ""]
            if next_name:
                order = _order(comparison, figure, name, next_name)
                cells = [comparison.systems[next_name].title, *order]
                shared, most = _count_parts(comparison, figure, name, next_name)
                note = _OTHER_ITEMS if shared < most else note
            tied = [x for x in names if x != name and comparison.is_tied(figure, name, x)]
            tied_titles = ", ".join(comparison.systems[x].title for x in tied)
            rows.append([comparison.systems[name].title, value, *cells, tied_titles])
        columns = ["System", Column(title, "percent"), "The next one", *_ORDER_COLUMNS]
        closed = title if tables else ""
        tables.append(Table(columns, rows, title="" if closed else title, closed=closed))
    text = (
        "Each system beside the next one: the difference over the parts that both have, its 95% interval, "
        f"and p, paired by test item. The p is corrected for all pairs of the figure (Holm) and the interval "
        "is not, so that an interval may leave out zero where the order is not significant."
        f"{_SEVERAL if comparison.seeds > 1 else _ONE_SEED}{note}"
    )
    return data.Section("Orders", text, tables)


def _count_parts(comparison: Comparison, figure: str, first: str, second: str) -> tuple[int, int]:
    """The number of parts that are compared, and that of the system with the most."""
    own = [len(comparison.parts(figure, name)) for name in (first, second)]
    return len(comparison.parts(figure, first, second)), max(own)


def _order(comparison: Comparison, figure: str, first: str, second: str) -> list[Cell]:
    """The difference of two systems, its p, and what follows from it."""
    gain = comparison.gain(figure, first, second)
    if gain is None:
        return [Number(None), Number(None), _NOT_COMPARED_CELL]
    p = comparison.p_values(figure)[frozenset((first, second))]
    shared, most = _count_parts(comparison, figure, first, second)
    over = f", over {shared} of {most} parts" if shared < most else ""
    order: Cell = Word(f"not significant{over}", style="soft")
    if comparison.is_significant(figure, first, second):
        order = f"{'above' if gain.value > 0 else 'below'} it{over}"
    difference = Number(gain.value, low=gain.low, high=gain.high)
    return [difference, Number(p) if p >= 0.001 else "< .001", order]


def _advice(comparison: Comparison) -> data.Section:
    rows = [[x.title, x.when, x.when_not] for x in comparison.systems.values()]
    columns = ["System", Column("Use it when", main=False), Column("Do not when", main=False)]
    return data.Section("When to use which", "", [Table(columns, rows)])


def _by_part(comparison: Comparison) -> data.Section:
    tables = []
    for figure, title in comparison.titles.items():
        names = comparison.systems_with(figure)
        parts = sorted(set().union(*(comparison.parts(figure, name) for name in names)))
        rows: list[list[Cell]] = []
        for name in names:
            measured = comparison.parts(figure, name)
            values = (comparison.part_value(name, x) if x in measured else None for x in parts)
            rows.append([comparison.systems[name].title, *map(Number, values)])
        columns = ["System", *(Column(part.rpartition("/")[2], "percent") for part in parts)]
        tables.append(Table(columns, rows, closed=title))
    text = (
        "The figures of each direction or language. In a direction such as de-en German sentences or words are the "
        "queries and English ones the targets, of which the nearest should be the translation. "
        "The language of a task is that of its test rows."
    )
    return data.Section("By language", text, tables)


def _costs(comparison: Comparison, budget: str) -> data.Section:
    rows = []
    for name, x in comparison.systems.items():
        used = comparison.runs[name][0].used or ("no training" if x.config else "not trained")
        rows.append([x.title, used, *(Number(comparison.cost(name, kind)) for kind in _COSTS)])
    columns = ["System", Column("Training", main=False), *_COSTS.values()]
    text = (
        f"The budget: {budget}. Word vectors have none: they train for the passes that their configs name. Minutes are "
        "those of the whole training, with vectors at the start and compilation; evaluations are not in them. Processor "
        "minutes add up all threads of the host, while wall minutes pass on the clock, more of them where other jobs "
        "share the machine. Peak memory: the most of the host's memory that the system's process held at once until its "
        "training ended, libraries included. An accelerator's time is in the wall minutes alone, and its memory in no "
        "column. On disk: the run's whole folder."
    )
    return data.Section("Cost", text, [Table(columns, rows)])


def _others(comparison: Comparison) -> data.Section | None:
    """The figures of the other evaluators: all of them in the results, here those of few parts."""
    headlines = {x.mean: x for x in evaluations.every_headline()}
    every = comparison.other_figures(*comparison.runs)
    declared = [x for x in every if x in headlines]
    paths = declared or [x for x in every if x.count("/") == 1]
    if not paths:
        return None
    names = [x for x in comparison.runs if not set(paths).isdisjoint(comparison.other_figures(x))]
    rows: list[list[Cell]] = []
    for path in paths:
        label = path.replace("/", ": ").replace("_", " ")
        headline = headlines.get(path, Headline(path, label, form=""))
        means = [Number(comparison.mean(name, path), headline.form) for name in names]
        rows.append([headline.label, *means])
    columns = ["Figure", *(Column(comparison.systems[name].title) for name in names)]
    return data.Section("Other evaluators", "", [Table(columns, rows)])
