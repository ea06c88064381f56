"""Sentences on a comparison, each true by its own figures."""

from __future__ import annotations

from typing import Callable, Iterator

from clwe_jax.compare import systems
from clwe_jax.compare.orders import Comparison
from clwe_jax.report import figures

_MLM, _DICT, _TESTS = "mlm", "dict_mlm", "dict_mlm_tests"
_WARM_MLM, _WARM_DICT = "warm_mlm", "warm_dict_mlm"


def sentences(comparison: Comparison) -> list[str]:
    """The sentences that the systems of a comparison allow."""
    makers: tuple[Callable[[Comparison], Iterator[str]], ...] = (
        _best,
        _floor,
        _cheapest,
        _warm,
        _cold,
        _leak,
        _foreign,
    )
    return [line for make in makers for line in make(comparison)]


def _title(comparison: Comparison, name: str) -> str:
    return comparison.systems[name].title


def _listed(comparison: Comparison, names: list[str]) -> str:
    titles = [_title(comparison, name) for name in names]
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"


def _has(comparison: Comparison, figure: str, *names: str) -> bool:
    return figure in comparison.titles and all(
        name in comparison.measured(figure) for name in names
    )


def _points(gain: float) -> str:
    return f"{100 * abs(gain):.1f} points"


def _best(comparison: Comparison) -> Iterator[str]:
    for figure, title in comparison.titles.items():
        first, *same = comparison.best(figure)
        if len(comparison.measured(figure)) < 2:
            continue
        value = figures.percent(comparison.value(figure, first))
        line = f"{title}: {_title(comparison, first)} is highest ({value})"
        above = [x for x in comparison.measured(figure) if comparison.above(figure, x, first)]
        others = [x for x in comparison.measured(figure) if not comparison.parts(figure, x, first)]
        if above:
            yield (
                f"{line}, over fewer directions or languages than others: over those that both have "
                f"it is significantly below {_listed(comparison, above)}."
            )
        elif same:
            yield f"{line}, not told apart from {_listed(comparison, same)}."
        elif others:
            yield f"{line}; {_listed(comparison, others)} cannot be compared: other test items."
        else:
            yield f"{line}, significantly above all others."


def _floor(comparison: Comparison) -> Iterator[str]:
    name, figure = systems.FLOOR, "retrieval"
    if _has(comparison, figure, name):
        others = [x for x in comparison.measured(figure) if x != name]
        under = [x for x in others if comparison.above(figure, name, x)]
        if under:
            yield (
                "The dictionary alone, without training, retrieves more sentences than "
                f"{_listed(comparison, under)}."
            )
        elif others:
            yield "No system retrieves significantly fewer sentences than the dictionary alone."


def _cheapest(comparison: Comparison) -> Iterator[str]:
    figure = "retrieval"
    if figure not in comparison.titles:
        return
    best = [x for x in comparison.best(figure) if comparison.cost(x, "minutes") is not None]
    if len(best) > 1:
        cheap = min(best, key=lambda x: comparison.cost(x, "minutes"))
        dear = max(best, key=lambda x: comparison.cost(x, "minutes"))
        yield (
            f"Of those at the top in retrieval, {_title(comparison, cheap)} costs least "
            f"({comparison.cost(cheap, 'minutes'):.1f} minutes of a processor, against "
            f"{comparison.cost(dear, 'minutes'):.1f} of {_title(comparison, dear)})."
        )


def _warm(comparison: Comparison) -> Iterator[str]:
    figure = "retrieval"
    if not _has(comparison, figure, _WARM_MLM, _WARM_DICT):
        return
    gain = comparison.gain(figure, _WARM_DICT, _WARM_MLM)
    if not comparison.told_apart(figure, _WARM_DICT, _WARM_MLM):
        yield (
            "With a warm start and held layers plain MLM and DICT-MLM are not told apart in retrieval: "
            f"a difference of {_points(gain.value)}."
        )
    else:
        better = "DICT-MLM" if gain.value > 0 else "plain MLM"
        yield f"With a warm start and held layers {better} is ahead in retrieval by {_points(gain.value)}."


def _cold(comparison: Comparison) -> Iterator[str]:
    figure = "retrieval"
    if _has(comparison, figure, _WARM_DICT, _DICT):
        gain = comparison.gain(figure, _WARM_DICT, _DICT)
        if gain.value > 0 and comparison.told_apart(figure, _WARM_DICT, _DICT):
            yield f"The warm start is worth {_points(gain.value)} of retrieval to DICT-MLM."


def _leak(comparison: Comparison) -> Iterator[str]:
    figure = "induction"
    if not _has(comparison, figure, _MLM, _DICT, _TESTS):
        return
    leaked, clean = (comparison.gain(figure, x, _MLM) for x in (_TESTS, _DICT))
    if leaked.value <= 0 or not comparison.told_apart(figure, _TESTS, _MLM):
        yield (
            "With this training DICT-MLM has no significant lead over MLM in induction, not even where "
            "its dictionary holds the test pairs."
        )
        return
    line = (
        f"Where the dictionary holds the test pairs, DICT-MLM leads MLM in induction by "
        f"{_points(leaked.value)}; "
    )
    if not comparison.told_apart(figure, _TESTS, _DICT):
        yield f"{line}what the test pairs add to it is not significant."
    elif not comparison.told_apart(figure, _DICT, _MLM):
        yield f"{line}without them it is not told apart from MLM: the lead was a leak."
    elif clean.value > 0:
        share = 1 - clean.value / leaked.value
        yield f"{line}without them by {_points(clean.value)}: {100 * share:.0f}% of the lead was a leak."
    else:
        yield f"{line}without them it is below MLM: all of the lead was a leak."


def _foreign(comparison: Comparison) -> Iterator[str]:
    figure = "retrieval"
    measured = comparison.measured(figure) if figure in comparison.titles else []
    given = [x for x in measured if x.startswith("hf:")]
    ours = [x for x in measured if comparison.systems[x].config]
    for name in given if ours else ():
        gain = comparison.gain(figure, name, ours[0])
        if gain is None:
            continue
        known = f"{_title(comparison, name)}, downloaded,"
        if not comparison.told_apart(figure, name, ours[0]):
            yield f"{known} is not told apart from {_title(comparison, ours[0])} in retrieval."
        elif gain.value > 0:
            yield (
                f"{known} retrieves {_points(gain.value)} more than the best system that was trained "
                "here: for its languages, download it."
            )
        else:
            yield (
                f"{known} retrieves {_points(gain.value)} less than {_title(comparison, ours[0])}: these are "
                "not its languages, or not its kind of text."
            )
