"""The main figures of a measurement, which its evaluator declares once."""

from __future__ import annotations

import dataclasses
import re
from typing import Callable, Iterable, Mapping, NamedTuple, Sequence

FLOOR = "floor/"  # beginning of the paths of the dictionary's figures


@dataclasses.dataclass(frozen=True)
class Headline:
    """A main figure, which the verdict, the tiles, the terminal and comparisons show.

    A path may have a star for the pair of languages: 'bli/*/p@1' is 'bli/de-en/p@1' of each pair and
    'bli/p@1' of their mean, 'bleu/*' is 'bleu/de-en' and 'bleu/mean'.

    Attributes:
      path: path of results.json; higher is better.
      label: the figure's name.
      short: its name at the head of a column of a comparison; '' for the label.
      form: a key of `figures.FORMS`.
      floors: paths of figures that it has to beat; the first measured one counts.
      chance: path of its chance level; '' for none.
      sentence: of the verdict, with '{}' for the value; '' leaves it out of the verdict.
      meaning: what its tile says of it, such as values that are good.
      baseline: the system of its floor.
      coverage: path of the share of test items that it can be right on; '' for none.
      group: of the headlines of a group the last measured one is shown; '' shows each.
      key: its name in a comparison that tests its outcomes by item; '' for none.
      layers: figures -> the layers that it is the mean of, such as 'layers 1 and 2'; None for no mean of layers.
    """

    path: str
    label: str
    form: str = "percent"
    floors: Sequence[str] = ()
    chance: str = ""
    sentence: str = ""
    meaning: str = ""
    baseline: str = "vectors of its entries alone"
    coverage: str = ""
    group: str = ""
    short: str = ""
    key: str = ""
    layers: Callable[[Mapping[str, float]], str] | None = None

    @property
    def mean(self) -> str:
        """The path of its mean, or of itself where it is of no pair."""
        return mean_of(self.path)

    @property
    def has_dictionary_floor(self) -> bool:
        """Whether the dictionary's figures are a floor of it."""
        return any(path.startswith(FLOOR) for path in self.floors)

    def floor(self, figures: Mapping[str, float]) -> str:
        """The path of its floor; '' where none was measured."""
        return next((x for x in self.floors if mean_of(x) in figures or pairs_of(x, figures)), "")


class FloorComparison(NamedTuple):
    """A figure and its floor over the same pairs of languages.

    Attributes:
      value, floor: the means of the figure and of the floor.
      pairs: number of pairs; 0 where only means over pairs are known.
      has_all_pairs: whether these are all pairs of the figure.
    """

    value: float
    floor: float
    pairs: int
    has_all_pairs: bool


def mean_of(path: str) -> str:
    """'bli/*/p@1' -> 'bli/p@1', 'bleu/*' -> 'bleu/mean'; a path without a star stays."""
    return path[:-1] + "mean" if path.endswith("*") else path.replace("*/", "")


def pattern_of(path: str) -> re.Pattern[str]:
    """The pattern of the paths of a path with a star, with the star's part as its first group."""
    return re.compile(re.escape(path).replace(re.escape("*"), "([^/]+)"))


def pairs_of(path: str, figures: Iterable[str]) -> list[str]:
    """The pairs of languages, such as 'de-en', that have a figure of a path with a star."""
    if "*" not in path:
        return []
    matches = map(pattern_of(path).fullmatch, figures)
    return [match[1] for match in matches if match and "-" in match[1]]


def choose_shown(headlines: Iterable[Headline], figures: Mapping[str, float]) -> list[Headline]:
    """The headlines that have a figure, of each group the last one."""
    by_group = {}
    for headline in headlines:
        if headline.mean in figures:
            by_group[headline.group or headline.path] = headline
    return list(by_group.values())


def choose_leading(headlines: Sequence[Headline], figures: Mapping[str, float]) -> Headline | None:
    """The one that stands for all: the last one that has a floor, else the last measured one."""
    with_figure = [x for x in headlines if x.mean in figures]
    with_floor = [x for x in with_figure if x.floor(figures)]
    return next(reversed(with_floor or with_figure), None)


def compare_with_floor(headline: Headline, figures: Mapping[str, float]) -> FloorComparison | None:
    """A figure beside its floor, over the pairs that both have; None where there is no floor."""
    path = headline.floor(figures)
    if not path:
        return None
    pairs = pairs_of(headline.path, figures)
    overlap = [pair for pair in pairs if path.replace("*", pair) in figures] if "*" in path else []
    if overlap:
        values = [figures[headline.path.replace("*", pair)] for pair in overlap]
        floors = [figures[path.replace("*", pair)] for pair in overlap]
        count = len(overlap)
        means = sum(values) / count, sum(floors) / count
        return FloorComparison(*means, count, count == len(pairs))
    return FloorComparison(figures[headline.mean], figures[mean_of(path)], 0, True)
