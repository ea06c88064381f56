"""The measurements of one run of a system: figures, what each test item got, and costs."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import re
from typing import Any, Mapping, NamedTuple

import numpy as np

from clwe_jax import atomic
from clwe_jax.evaluate.agreement import Outcomes, key_texts
from clwe_jax.report import evaluations
from clwe_jax.report.headline import pattern_of

_RECORD = "record"


class PartOutcomes(NamedTuple):
    """The results of the test items of a direction or a language.

    Attributes:
      counts: right, gold and predicted labels of each head and item, int [heads, N, 3] (`text.labelled.scores`).
      numbers: as of `agreement.Outcomes`, int [N].
      keys: of the texts, uint32 [N] (`agreement.key_texts`): items of one key are the same in two runs.
    """

    counts: np.ndarray
    numbers: np.ndarray
    keys: np.ndarray

    def of_keys(self, keys: np.ndarray) -> PartOutcomes:
        """The items that have these keys, in the order of the keys."""
        rows = np.intersect1d(self.keys, keys, return_indices=True)[1]
        return PartOutcomes(self.counts[:, rows], self.numbers[rows], self.keys[rows])


@dataclasses.dataclass(frozen=True)
class Measured:
    """The measurements of one run of a system.

    Attributes:
      figures: metric path -> value.
      parts: 'FIGURE/PART' -> the results of its test items; a part is a direction of two languages, or a language.
      cost: of the training 'minutes' of processors, 'wall_minutes' by the clock and 'memory', the most bytes;
        'disk', bytes; 'all_minutes' by the clock, of training, evaluation and tasks over all starts.
      used: the training in words: steps, pieces, passes.
      device: the devices of its process.
      reading: how the system makes a sentence's vector.
    """

    figures: Mapping[str, float]
    parts: Mapping[str, PartOutcomes]
    cost: Mapping[str, float]
    used: str = ""
    device: str = ""
    reading: str = ""

    def save(self, path: str) -> None:
        """Writes a file for `load`."""
        names = ("figures", "cost", "used", "device", "reading")
        arrays = {_RECORD: json.dumps({name: getattr(self, name) for name in names})}
        for part, items in self.parts.items():
            arrays |= {f"{part}/{name}": array for name, array in items._asdict().items()}
        with atomic.writing(path) as file:
            np.savez_compressed(file, **arrays)


def load(path: str) -> Measured:
    """The measurements in a file.

    Raises:
      ValueError: the file is damaged.
    """
    arrays: dict[str, dict[str, np.ndarray]] = collections.defaultdict(dict)
    with atomic.naming_damage(path), np.load(path, allow_pickle=False) as file:
        record: dict[str, Any] = json.loads(str(file[_RECORD]))
        for name in filter(_RECORD.__ne__, file.files):
            part, _, array = name.rpartition("/")
            arrays[part][array] = file[name]
    return Measured(parts={part: PartOutcomes(**x) for part, x in arrays.items()}, **record)


def outcome_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Figures with test items, and the paths of their outcomes by part: a direction or a language.

    Where a run has outcomes of several patterns of a figure, the last one counts.
    """
    return [(x.key, pattern_of(x.path)) for x in evaluations.every_headline() if x.key]


def parts_of_hits(outcomes: Mapping[str, Outcomes]) -> dict[str, PartOutcomes]:
    """The outcomes of evaluators, as `Measured.parts`."""
    parts = {}
    for name, pattern in outcome_patterns():
        for path, found in outcomes.items():
            if match := pattern.fullmatch(path):
                keys = found.keys
                if keys is None:
                    whole = hashlib.sha256(found.items.tobytes()).hexdigest()
                    keys = key_texts([whole] * len(found.items))
                parts[f"{name}/{match[1]}"] = PartOutcomes(found.counts, found.items, keys)
    return parts
