"""The measurements of one run of a system: figures, what each test item got, and costs."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, Iterable, Mapping

import numpy as np

from clwe_jax import atomic
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.report import evaluations
from clwe_jax.report.headline import pattern_of

_RECORD = "record"
_ITEMS = "items/"


@dataclasses.dataclass(frozen=True)
class Measured:
    """The measurements of one run of a system.

    Attributes:
      figures: metric path -> value.
      outcomes: 'FIGURE/PART' -> for each head and test item the numbers of right, of gold and of predicted
        labels, int [heads, N, 3] (`text.labelled.scores`). A part is a direction of two languages, or a
        language.
      keys: 'FIGURE/PART' -> a key of the test items: outcomes of equal keys are of the same items.
      cost: of the training 'minutes' of processors, 'wall_minutes' by the clock and 'memory', the most bytes;
        'disk', bytes; 'all_minutes' by the clock, of training, evaluation and tasks over all starts.
      used: the training in words: steps, pieces, passes.
      device: the devices of its process.
      items: 'FIGURE/PART' -> numbers of the test items, as of `agreement.Outcomes`; absent: the numbers of
        the rows.
      reading: how the system makes a sentence's vector; '' of an earlier version.
      seed: of the run. Its file does not have it, but its name.
    """

    figures: Mapping[str, float]
    outcomes: Mapping[str, np.ndarray]
    keys: Mapping[str, str]
    cost: Mapping[str, float]
    used: str = ""
    device: str = ""
    items: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    reading: str = ""
    seed: int = 0

    def save(self, path: str) -> None:
        """Writes a file for `load`."""
        names = ("figures", "keys", "cost", "used", "device", "reading")
        record = {name: getattr(self, name) for name in names}
        with atomic.writing(path) as file:
            items = {f"{_ITEMS}{name}": numbers for name, numbers in self.items.items()}
            np.savez_compressed(file, **{_RECORD: json.dumps(record)}, **self.outcomes, **items)

    def numbers(self, part: str) -> np.ndarray:
        """The numbers of the items of 'FIGURE/PART', int [N]."""
        rows = self.outcomes[part].shape[1]
        return self.items[part] if part in self.items else np.arange(rows)


def load(path: str) -> Measured:
    """The measurements in a file.

    Raises:
      ValueError: the file is damaged.
    """
    with atomic.naming_damage(path), np.load(path, allow_pickle=False) as file:
        record: dict[str, Any] = json.loads(str(file[_RECORD]))
        arrays = {name: file[name] for name in file.files if name != _RECORD}
    record.pop("code", None)  # of earlier versions
    outcomes = {name: x for name, x in arrays.items() if not name.startswith(_ITEMS)}
    items = {name.removeprefix(_ITEMS): x for name, x in arrays.items() if name not in outcomes}
    return Measured(outcomes=outcomes, items=items, **record)


def outcome_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Figures with test items, and the paths of their outcomes by part: a direction or a language.

    Where a run has outcomes of several patterns of a figure, the last one counts.
    """
    return [(x.key, pattern_of(x.path)) for x in evaluations.every_headline() if x.key]


def outcomes_of_hits(
    outcomes: Mapping[str, Outcomes],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The outcomes of evaluators, as `Measured.outcomes` and `items`."""
    counts = {}
    items = {}
    for name, pattern in outcome_patterns():
        for path, (hits, numbers) in outcomes.items():
            if match := pattern.fullmatch(path):
                ones = np.ones(len(hits), np.int32)
                part = f"{name}/{match[1]}"
                counts[part] = np.stack([hits.astype(np.int32), ones, ones], -1)[None]
                items[part] = numbers
    return counts, items


def parts(runs: Iterable[Measured], name: str) -> list[str]:
    """The parts of a figure that all runs have, with the same items."""
    runs = list(runs)
    candidates = [x for x in runs[0].outcomes if x.rpartition("/")[0] == name]
    return [x for x in candidates if all(run.keys.get(x) == runs[0].keys[x] for run in runs)]
