"""The first sentences of a comparison: the best systems of each figure, and the cheapest of them."""

from __future__ import annotations

import itertools
from typing import Iterator

from clwe_jax.compare.orders import Comparison
from clwe_jax.report.figures import decimal, percent, points


def summarize(comparison: Comparison) -> list[str]:
    """The best system of each figure in one line, then a line on each figure and on each leak."""
    figures_by_best: dict[str, list[str]] = {}
    for figure, title in comparison.titles.items():
        system = comparison.systems[comparison.best(figure)[0]]
        figures_by_best.setdefault(system.title, []).append(title)
    leads = (f"Best in {', '.join(y)}: {x}." for x, y in figures_by_best.items())
    by_figure = (_describe_best(comparison, figure) for figure in comparison.titles)
    return [" ".join(leads), *by_figure, *_describe_leaks(comparison)]


def _describe_best(comparison: Comparison, figure: str) -> str:
    """The best systems of a figure, the cheapest of them, and those with other test items."""
    join = lambda names: ", ".join(comparison.systems[x].title for x in names) or "none"
    best, *tied = comparison.best(figure)
    uncompared = [
        x for x in comparison.systems_with(figure) if not comparison.parts(figure, best, x)
    ]
    value = percent(comparison.value(figure, best))
    title = comparison.titles[figure]
    text = f"{title}: {join([best])}, {value}. Not significantly different: {join(tied)}."
    if tied:
        minutes, cheapest = min((comparison.cost(x, "minutes") or 0.0, x) for x in (best, *tied))
        price = f"{decimal(minutes)} processor minutes" if minutes else "no training here"
        text += f" The cheapest of these {1 + len(tied)} is {join([cheapest])} ({price})."
    return (
        f"{text} Not compared, with other test items: {join(uncompared)}." if uncompared else text
    )


def _describe_leaks(comparison: Comparison) -> Iterator[str]:
    """What test pairs in the dictionary add to a system that is trained without them, too."""
    for leaky, fair in itertools.permutations(comparison.systems.values(), 2):
        if leaky.config != fair.config or not leaky.sees_tests or fair.sees_tests:
            continue
        gains = []
        for figure, title in comparison.titles.items():
            if comparison.is_significant(figure, leaky.name, fair.name):
                gain = comparison.gain(figure, leaky.name, fair.name)
                gains.append(f"{title} {points(gain.value)}")
        yield (
            f"Test pairs in the dictionary add, in points ({leaky.title} less {fair.title}): "
            f"{', '.join(gains) or 'nothing significant'}."
        )
