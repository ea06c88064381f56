"""The sections of a comparison: one table, orders, costs beside quality, and when to use which."""

from __future__ import annotations

import itertools
from typing import Any, Iterable

from clwe_jax.compare.orders import Comparison
from clwe_jax.options.compare import CompareOptions
from clwe_jax.report import data, evaluations
from clwe_jax.report.data import BLUE, NEUTRAL, Cell, Column, Dots, Number, Picture, Table, Word

_ONE_SEED = " Each system was trained once: another seed may change an order."
_SEEDED = {True: "their seeds and the test items", False: "the test items"}


def sections(comparison: Comparison, settings: CompareOptions, budget: str) -> list[Any]:
    """The sections as JSON.

    Args:
      budget: the budget in words.
    """
    parts = (
        _table(comparison, settings, budget),
        _pareto(comparison),
        _orders(comparison, settings.seeds > 1),
        _advice(comparison),
        _by_part(comparison),
        _costs(comparison, budget),
        _others(comparison),
    )
    return [data.to_json(section) for section in parts if section is not None]


def _table(comparison: Comparison, settings: CompareOptions, budget: str) -> data.Section:
    coverages = {key: x.coverage for key, x in evaluations.headlines_by_key().items() if x.coverage}
    rows = []
    for name in _systems_by_figure(comparison):
        cells: list[Cell] = [comparison.systems[name].title]
        for figure in comparison.titles:
            cells.append(_figure(comparison, figure, name))
            if figure in coverages:
                cells.append(Number(comparison.mean(name, coverages[figure])))
        cells += [Number(comparison.cost(name, kind)) for kind in ("minutes", "memory", "disk")]
        rows.append(cells)
    columns: list[Column | str] = ["System"]
    for figure, title in comparison.titles.items():
        columns.append(Column(title, "percent"))
        if figure in coverages:
            columns.append(Column("Coverage", "percent", main=False))
    columns += [
        Column("Processor minutes"),
        Column("Peak memory", "size"),
        Column("On disk", "size"),
    ]
    several = settings.seeds > 1
    text = (
        "All systems start from the same text and dictionary. On the embedded world, text that the program writes by "
        "a grammar, figures say how systems compare, not how they do on real text. "
        f"The budget of training is {budget}; warm models also train vectors first and end with a short finish. "
        f"Below a figure stands its 95% interval over {_SEEDED[several]}; 'best' is the highest figure of a "
        "column, '≈ best' does not differ significantly from it (paired by test item, p < .05 after Holm's correction), "
        "and 'not compared' has other test items than it. "
        "Retrieval: nearest sentence by cosine, or by CSLS, with the vectors that `encode` gives. Induction: P@1 by CSLS over all test words "
        "that have a translation of another spelling (one of the same spelling does not count); coverage "
        "is the share of them that can be right. "
        "Tasks: labels are learned in one language, the figure is the mean of the others."
    )
    if several:
        text += f" Figures and costs are means of {settings.seeds} seeds."
    readings = [
        [x.title, comparison.runs[name][0].reading] for name, x in comparison.systems.items()
    ]
    vectors = Table(
        ["System", Column("Its vector", main=False)], readings, closed="Vectors of sentences"
    )
    return data.Section("Systems", text, [Table(columns, rows), vectors])


def _systems_by_figure(comparison: Comparison) -> list[str]:
    """The systems by their first figure, then those without it."""
    first_figure = next(iter(comparison.titles), "")
    names = comparison.systems_with(first_figure) if first_figure else []
    return [*names, *(name for name in comparison.runs if name not in names)]


def _figure(comparison: Comparison, figure: str, name: str) -> Cell:
    if not comparison.parts(figure, name):
        return Number(None)
    low, high = comparison.interval(figure, name)
    best = comparison.best(figure)
    mark = "" if len(comparison.systems_with(figure)) < 2 or name not in best else "≈ best"
    if mark and name == best[0]:
        mark = "best"
    if not comparison.parts(figure, best[0], name):
        mark = "not compared"
    all_parts = set().union(*(comparison.parts(figure, x) for x in comparison.systems_with(figure)))
    count = len(comparison.parts(figure, name))
    if count < len(all_parts):
        mark = f"{mark} {count} of {len(all_parts)} parts".strip()
    return Number(comparison.value(figure, name), low=low, high=high, below=mark)


def _is_beaten(place: tuple[float, float], others: Iterable[tuple[float, float]]) -> bool:
    """Whether another (cost, quality) is as good in both and better in one."""
    cost, quality = place
    return any(a <= cost and b >= quality and (a, b) != place for a, b in others)


def _pareto(comparison: Comparison) -> data.Section | None:
    """Quality against minutes: the systems that none beats in both are joined."""
    pictures = []
    for figure, title in comparison.titles.items():
        places = {
            name: (comparison.cost(name, "minutes") or 0.0, comparison.value(figure, name))
            for name in comparison.systems_with(figure)
            if comparison.systems[name].config
        }
        if len(places) < 2:
            continue
        front = sorted(name for name in places if not _is_beaten(places[name], places.values()))
        front.sort(key=places.__getitem__)
        groups = []
        for label, names, colour in (
            ("none is both better and cheaper", front, BLUE),
            ("another is better and cheaper", [x for x in places if x not in front], NEUTRAL),
        ):
            if names:
                titles = [comparison.systems[x].title for x in names]
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


def _orders(comparison: Comparison, several: bool) -> data.Section:
    tables = []
    for figure, title in comparison.titles.items():
        rows: list[list[Cell]] = []
        names = comparison.systems_with(figure)
        for place, name in enumerate(names):
            low, high = comparison.interval(figure, name)
            next_name = next(iter(names[place + 1 :]), None)
            gain = next_name and comparison.gain(figure, name, next_name)
            cells: list[Cell] = [
                comparison.systems[name].title,
                Number(comparison.value(figure, name), low=low, high=high),
            ]
            if gain:
                is_significant = comparison.is_significant(figure, name, next_name)
                order = "above it" if comparison.above(figure, name, next_name) else "below it"
                p = comparison.p_values(figure)[frozenset((name, next_name))]
                cells += [
                    comparison.systems[next_name].title,
                    Number(gain.value, low=gain.low, high=gain.high),
                    Number(p) if p >= 0.001 else "< .001",
                    order if is_significant else Word("not significant", style="soft"),
                ]
            elif next_name:
                word = Word("not compared", style="soft")
                cells += [comparison.systems[next_name].title, Number(None), Number(None), word]
            else:
                cells += ["", Number(None), Number(None), ""]
            tied_names = [x for x in names if x != name and comparison.is_tied(figure, name, x)]
            cells.append(", ".join(comparison.systems[x].title for x in tied_names))
            rows.append(cells)
        columns = [
            "System",
            Column(title, "percent"),
            "The next one",
            Column("Difference in points", "points"),
            "p",
            "Order",
            Column("Not significantly different from", main=False),
        ]
        first_figure = next(iter(comparison.titles))
        tables.append(
            Table(columns, rows, title=title)
            if figure == first_figure
            else Table(columns, rows, closed=title)
        )
    text = (
        "Each system beside the next one: the difference over the parts that both have, its 95% interval, "
        f"and p, paired by {_SEEDED[several]}. The p is corrected for all pairs of the figure (Holm) and the interval "
        "is not, so that an interval may leave out zero where the order is not significant."
        f"{'' if several else _ONE_SEED} Two systems that share no "
        "test items are 'not compared': their languages differ, or how they spell test words, such as capitals."
    )
    return data.Section("Orders", text, tables)


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
            cells = [_part(comparison, figure, name, part) for part in parts]
            rows.append([comparison.systems[name].title, *cells])
        columns = ["System", *(Column(part.rpartition("/")[2], "percent") for part in parts)]
        tables.append(Table(columns, rows, closed=title))
    return data.Section("By language", "The figures of each direction or language.", tables)


def _part(comparison: Comparison, figure: str, name: str, part: str) -> Number:
    if part not in comparison.parts(figure, name):
        return Number(None)
    return Number(comparison.part_value(name, part))


def _costs(comparison: Comparison, budget: str) -> data.Section:
    rows = [
        [
            x.title,
            comparison.runs[name][0].used or ("not trained" if not x.config else "no training"),
            Number(comparison.cost(name, "minutes")),
            Number(comparison.cost(name, "wall_minutes")),
            Number(comparison.cost(name, "memory")),
            Number(comparison.cost(name, "disk")),
        ]
        for name, x in comparison.systems.items()
    ]
    columns = [
        "System",
        *(Column(x, main=False) for x in ("Training", "Processor minutes", "Wall minutes")),
        *(Column(x, "size", main=False) for x in ("Peak memory", "On disk")),
    ]
    text = (
        f"The budget: {budget}. Word vectors have none: they train for the passes that their configs name. Minutes are those of the whole training, with vectors at the start and "
        "compilation; evaluations are not in them. On disk: the run's whole folder."
    )
    return data.Section("Cost", text, [Table(columns, rows)])


def _others(comparison: Comparison) -> data.Section | None:
    """The figures of the other evaluators: all of them in the results, here those of few parts."""
    paths = [x for x in comparison.other_figures(*comparison.runs) if x.count("/") == 1]
    if not paths:
        return None
    names = [
        name for name in comparison.runs if any(comparison.mean(name, x) is not None for x in paths)
    ]
    labels = {x.mean: x.label for x in evaluations.every_headline()}
    rows: list[list[Cell]] = []
    for path in paths:
        means = [Number(comparison.mean(name, path)) for name in names]
        rows.append([labels.get(path) or Word(path, style="code"), *means])
    columns = ["Figure", *(Column(comparison.systems[name].title) for name in names)]
    # Closed: a language model of senses has dozens.
    tables = [Table(columns, rows, closed="Figures of other evaluators")]
    return data.Section("Other evaluators", "", tables)
