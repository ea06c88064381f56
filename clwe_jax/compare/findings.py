"""Sentences on a comparison, each true by its own figures."""

from __future__ import annotations

from typing import Callable, Iterator

from clwe_jax.compare import systems
from clwe_jax.compare.orders import Comparison
from clwe_jax.report import figures

_MLM, _DICT, _TESTS = "mlm", "dict_mlm", "dict_mlm_tests"
_WARM_MLM, _WARM_DICT = "warm_mlm", "warm_dict_mlm"


def sentences(found: Comparison) -> list[str]:
    """The sentences that the systems of a comparison allow."""
    makers: tuple[Callable[[Comparison], Iterator[str]], ...] = (
        _best, _floor, _cheapest, _warm, _cold, _leak, _foreign,
    )  # fmt: skip
    return [line for make in makers for line in make(found)]


def _title(found: Comparison, name: str) -> str:
    return found.systems[name].title


def _listed(found: Comparison, names: list[str]) -> str:
    titles = [_title(found, name) for name in names]
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"


def _has(found: Comparison, figure: str, *names: str) -> bool:
    return figure in found.titles and all(name in found.measured(figure) for name in names)


def _points(gain: float) -> str:
    return f"{100 * abs(gain):.1f} points"


def _best(found: Comparison) -> Iterator[str]:
    for figure, title in found.titles.items():
        first, *same = found.best(figure)
        if len(found.measured(figure)) < 2:
            continue
        line = f"{title}: {_title(found, first)} is highest ({figures.percent(found.value(figure, first))})"
        above = [x for x in found.measured(figure) if found.above(figure, x, first)]
        if above:
            yield (
                f"{line}, over fewer directions or languages than others: over those that both have "
                f"it is significantly below {_listed(found, above)}."
            )
        elif same:
            yield f"{line}, not told apart from {_listed(found, same)}."
        else:
            yield f"{line}, significantly above all others."


def _floor(found: Comparison) -> Iterator[str]:
    name, figure = systems.FLOOR, "retrieval"
    if _has(found, figure, name):
        others = [x for x in found.measured(figure) if x != name]
        under = [x for x in others if found.above(figure, name, x)]
        if under:
            yield f"The dictionary alone, without training, retrieves more sentences than {_listed(found, under)}."
        elif others:
            yield "No system retrieves significantly fewer sentences than the dictionary alone."


def _cheapest(found: Comparison) -> Iterator[str]:
    figure = "retrieval"
    if figure not in found.titles:
        return
    best = [x for x in found.best(figure) if found.cost(x, "minutes") is not None]
    if len(best) > 1:
        cheap = min(best, key=lambda x: found.cost(x, "minutes"))
        dear = max(best, key=lambda x: found.cost(x, "minutes"))
        yield (
            f"Of those at the top in retrieval, {_title(found, cheap)} costs least "
            f"({found.cost(cheap, 'minutes'):.1f} minutes of a processor, against "
            f"{found.cost(dear, 'minutes'):.1f} of {_title(found, dear)})."
        )


def _warm(found: Comparison) -> Iterator[str]:
    figure = "retrieval"
    if not _has(found, figure, _WARM_MLM, _WARM_DICT):
        return
    gain = found.gain(figure, _WARM_DICT, _WARM_MLM)
    if not found.told_apart(figure, _WARM_DICT, _WARM_MLM):
        yield (
            "With a warm start and held layers plain MLM and DICT-MLM are not told apart in retrieval: "
            f"a difference of {_points(gain.value)}."
        )
    else:
        better = "DICT-MLM" if gain.value > 0 else "plain MLM"
        yield f"With a warm start and held layers {better} is ahead in retrieval by {_points(gain.value)}."


def _cold(found: Comparison) -> Iterator[str]:
    figure = "retrieval"
    if _has(found, figure, _WARM_DICT, _DICT):
        gain = found.gain(figure, _WARM_DICT, _DICT)
        if gain.value > 0 and found.told_apart(figure, _WARM_DICT, _DICT):
            yield f"The warm start is worth {_points(gain.value)} of retrieval to DICT-MLM."


def _leak(found: Comparison) -> Iterator[str]:
    figure = "induction"
    if not _has(found, figure, _MLM, _DICT, _TESTS):
        return
    leaked, clean = (found.gain(figure, x, _MLM) for x in (_TESTS, _DICT))
    if leaked.value <= 0 or not found.told_apart(figure, _TESTS, _MLM):
        yield (
            "With this training DICT-MLM has no significant lead over MLM in induction, not even where "
            "its dictionary holds the test pairs."
        )
        return
    line = (
        f"Where the dictionary holds the test pairs, DICT-MLM leads MLM in induction by "
        f"{_points(leaked.value)}; "
    )
    if not found.told_apart(figure, _TESTS, _DICT):
        yield f"{line}what the test pairs add to it is not significant."
    elif not found.told_apart(figure, _DICT, _MLM):
        yield f"{line}without them it is not told apart from MLM: the lead was a leak."
    elif clean.value > 0:
        share = 1 - clean.value / leaked.value
        yield f"{line}without them by {_points(clean.value)}: {100 * share:.0f}% of the lead was a leak."
    else:
        yield f"{line}without them it is below MLM: all of the lead was a leak."


def _foreign(found: Comparison) -> Iterator[str]:
    figure = "retrieval"
    given = [x for x in found.measured(figure) if x.startswith("hf:")] if figure in found.titles else []
    ours = [x for x in found.measured(figure) if found.systems[x].config] if given else []
    for name in given if ours else ():
        gain = found.gain(figure, name, ours[0])
        if gain is None:
            continue
        known = f"{_title(found, name)}, downloaded,"
        if not found.told_apart(figure, name, ours[0]):
            yield f"{known} is not told apart from {_title(found, ours[0])} in retrieval."
        elif gain.value > 0:
            yield (
                f"{known} retrieves {_points(gain.value)} more than the best system that was trained "
                "here: for its languages, download it."
            )
        else:
            yield (
                f"{known} retrieves {_points(gain.value)} less than {_title(found, ours[0])}: these are "
                "not its languages, or not its kind of text."
            )
