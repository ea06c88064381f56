"""The figures of a comparison, their intervals, and which orders of systems are significant."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Mapping, Sequence

import numpy as np

from clwe_jax.compare.measured import Measured
from clwe_jax.compare.systems import System
from clwe_jax.evaluate import agreement, significance
from clwe_jax.evaluate.agreement import Gain
from clwe_jax.evaluate.significance import LEVEL, Observations
from clwe_jax.report import evaluations
from clwe_jax.report.headline import mean_of

# Systems spell words in their own ways. With fewer equal test items their figures are not those of one test.
_LEAST_SHARED = 0.9


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """The measurements of all systems.

    A figure is the mean over its parts (directions or languages), the seeds and the heads. Parts share
    sentences or words: these are the observations.

    Attributes:
      systems: name -> system.
      runs: name -> the measurements of its seeds.
      tasks: task -> its title.
    """

    systems: Mapping[str, System]
    runs: Mapping[str, Sequence[Measured]]
    tasks: Mapping[str, str]

    @property
    def seeds(self) -> int:
        """The number of seeds of the systems that have the most."""
        return max(map(len, self.runs.values()), default=0)

    @functools.cached_property
    def titles(self) -> dict[str, str]:
        """Figure -> its title, of the figures that a system has."""
        labels = {key: x.short or x.label for key, x in evaluations.headlines_by_key().items()}
        titles = {**labels, **self.tasks}
        return {name: title for name, title in titles.items() if self.systems_with(name)}

    @functools.cache
    def systems_with(self, figure: str) -> list[str]:
        """The systems that have a figure, the best first."""
        names = [name for name in self.runs if self.parts(figure, name)]
        return sorted(names, key=lambda name: (-self.value(figure, name), name))

    @functools.cache
    def parts(self, figure: str, *names: str) -> tuple[str, ...]:
        """The parts of a figure that all of these systems have, with the same test items but for a tenth."""
        every = [x for x in self.runs[names[0]][0].parts if x.rpartition("/")[0] == figure]
        return tuple(x for x in every if len(self._keys(x, names)))

    @functools.cache
    def value(self, figure: str, name: str) -> float:
        """A system's figure, the mean over its parts."""
        return float(np.mean([self.part_value(name, x) for x in self.parts(figure, name)]))

    def part_value(self, name: str, part: str) -> float:
        """A system's figure of one part."""
        return agreement.figure(self._outcomes(part, self.runs[name], (name,))[0])

    @functools.cache
    def interval(self, figure: str, name: str) -> tuple[float, float]:
        """The 95% interval of a system's figure."""
        sampled = self._sample(name, (name,), self.parts(figure, name))
        half = significance.half_interval(sampled)
        return max(0.0, sampled.value - half), min(1.0, sampled.value + half)

    @functools.cache
    def gain(self, figure: str, first: str, second: str) -> Gain | None:
        """The difference of two systems over the parts that both have; None where they share none."""
        parts = self.parts(figure, first, second)
        if not parts:
            return None
        names = (first, second)
        sides = [self._sample(name, names, parts) for name in names]
        return significance.compare(*sides, significance.apart(*sides))

    @functools.cache
    def p_values(self, figure: str) -> dict[frozenset[str], float]:
        """Pair of systems -> p of their difference, corrected for the number of pairs (Holm 1979)."""
        pairs = itertools.combinations(self.systems_with(figure), 2)
        gains = {frozenset(pair): self.gain(figure, *pair) for pair in pairs}
        ranked = sorted((gain.p, sorted(pair)) for pair, gain in gains.items() if gain)
        corrected = {}
        running_max = 0.0
        for place, (p, pair) in enumerate(ranked):
            # A pair with a larger p is never the more significant one after the correction.
            running_max = max(running_max, min(1.0, p * (len(ranked) - place)))
            corrected[frozenset(pair)] = running_max
        return corrected

    def is_significant(self, figure: str, first: str, second: str) -> bool:
        """Whether the order of two systems is significant."""
        return self.p_values(figure).get(frozenset((first, second)), 1.0) < LEVEL

    def is_tied(self, figure: str, first: str, second: str) -> bool:
        """Whether two systems share nine tenths of a part's test items, and no significant order."""
        is_compared = bool(self.parts(figure, first, second))
        return is_compared and not self.is_significant(figure, first, second)

    def above(self, figure: str, first: str, second: str) -> bool:
        """Whether the first system is significantly above the second one, over the parts of both.

        A system with fewer parts may have the higher figure and be below over these.
        """
        is_significant = self.is_significant(figure, first, second)
        return is_significant and self.gain(figure, first, second).value > 0

    @functools.cache
    def best(self, figure: str) -> list[str]:
        """The first system that none is significantly above, and those that are tied with it.

        A system that sees the tests is none of them.
        """
        every = self.systems_with(figure)
        fair = [x for x in every if not self.systems[x].sees_tests] or every
        beaten = {x for x, y in itertools.permutations(fair, 2) if self.above(figure, y, x)}
        best = next((x for x in fair if x not in beaten), fair[0])
        return [best, *(x for x in fair if x != best and self.is_tied(figure, best, x))]

    def chance(self, figure: str) -> float | None:
        """The chance level of a figure, the mean over its systems; None where none is known."""
        headline = evaluations.headlines_by_key().get(figure)
        levels = []
        for name in self.systems_with(figure):
            parts = self.parts(figure, name)
            paths = [mean_of(headline.chance)] if headline else [f"{x}/majority" for x in parts]
            levels += [self.mean(name, path) for path in paths]
        known = [x for x in levels if x is not None]
        return float(np.mean(known)) if known else None

    def cost(self, name: str, kind: str) -> float | None:
        """The mean of a cost over the seeds; None where the system has none."""
        costs = [run.cost[kind] for run in self.runs[name] if kind in run.cost]
        return float(np.mean(costs)) if costs else None

    def mean(self, name: str, path: str) -> float | None:
        """The mean of an evaluator's figure over the seeds; None where it was not measured."""
        values = [run.figures[path] for run in self.runs[name] if path in run.figures]
        return float(np.mean(values)) if values else None

    @functools.cache
    def other_figures(self, *names: str) -> list[str]:
        """The paths of the figures of evaluators that these systems are not compared by."""
        declared = evaluations.headlines().items()
        starts = tuple(f"{name}/" for name, listed in declared if not any(x.key for x in listed))
        runs = itertools.chain(*(self.runs[name] for name in names))
        paths = set().union(*(run.figures for run in runs))
        return sorted(x for x in paths if x.startswith(starts))

    def figures(self) -> dict[str, float]:
        """The content of results.json: compare/SYSTEM/FIGURE, its interval, costs and orders."""
        figures: dict[str, float] = {}
        keys = {name: system.key for name, system in self.systems.items()}
        for name, key in keys.items():
            costs = {kind: self.cost(name, kind) for kind in ("minutes", "memory", "disk")}
            for headline in evaluations.headlines_by_key().values():
                if headline.coverage:
                    costs["coverage"] = self.mean(name, headline.coverage)
            figures |= {f"compare/{key}/{x}": y for x, y in costs.items() if y is not None}
            figures[f"compare/{key}/seeds"] = float(len(self.runs[name]))
            figures |= {f"compare/{key}/{x}": self.mean(name, x) for x in self.other_figures(name)}
        for figure in self.titles:
            names = self.systems_with(figure)
            for name in names:
                path = f"compare/{keys[name]}/{figure}"
                figures[path] = self.value(figure, name)
                figures[f"{path}_low"], figures[f"{path}_high"] = self.interval(figure, name)
            for first, second in itertools.pairwise(names):
                if gain := self.gain(figure, first, second):
                    path = f"order/{figure}/{keys[first]}/{keys[second]}"
                    figures[f"{path}/gain"] = gain.value
                    figures[f"{path}/p"] = self.p_values(figure)[frozenset((first, second))]
        return figures

    @functools.cache
    def _keys(self, part: str, names: tuple[str, ...]) -> np.ndarray:
        """The keys of the test items that all runs of these systems have, if these are nine tenths; else none."""
        runs = itertools.chain.from_iterable(self.runs[name] for name in names)
        keys = [run.parts[part].keys if part in run.parts else np.zeros(0) for run in runs]
        shared = functools.reduce(np.intersect1d, keys[1:], np.unique(keys[0]))
        return shared if len(shared) >= _LEAST_SHARED * max(map(len, keys)) else shared[:0]

    def _outcomes(
        self, part: str, runs: Sequence[Measured], names: tuple[str, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The runs' counts, and numbers, of the test items that all of these systems have."""
        keys = self._keys(part, names)
        found = [run.parts[part].of_keys(keys) for run in runs]
        return np.concatenate([x.counts for x in found]), found[0].numbers

    @functools.cache
    def _sample(self, name: str, names: tuple[str, ...], parts: tuple[str, ...]) -> Observations:
        """The mean over the parts of each seed, over the test items of all these systems."""
        runs = self.runs[name]
        sampled = significance.sample([self._outcomes(x, runs, names) for x in parts])
        # A seed's heads are one observation.
        return sampled._replace(values=sampled.values.reshape(len(runs), -1).mean(1))
