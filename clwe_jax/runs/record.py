"""The record of a run or a benchmark, record.json: how its figures were made, and what they cost."""

from __future__ import annotations

import base64
import os
import shlex
import time
from typing import Any, Iterable, Mapping

import numpy as np

from clwe_jax import atomic, time_parts
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.runs import data_hashes, environment

FILE = "record.json"
_ENDS = ("_low", "_high")


class Recorder:
    """Measures the time and memory of a command from here on, and writes its record.

    A command adds to the time in the record that is there, of an interrupted or a finished run. One that
    works on the finished run of another command is listed after it. Until there are new figures, the record of
    a finished run stays as it is, apart from its time and memory.
    """

    def __init__(
        self,
        folder: str,
        options: Mapping[str, Any],
        seed: int | None = None,
        is_rerun: bool = False,
        is_new: bool = False,
        started: tuple[float, float] | None = None,
    ) -> None:
        """Starts the clocks; writes nothing.

        Args:
          folder: the folder of the record.
          options: all options, as JSON values.
          seed: the seed; None for a command without one.
          is_rerun: whether the command works on a finished run, whose command stays the first.
          is_new: whether the command keeps nothing of a run before, whose record it replaces.
          started: wall and processor seconds at an earlier start; None: as of `time_parts.begin`.
        """
        self._path = os.path.join(folder, FILE)
        self._options = options
        self._seed = seed
        self._is_rerun = is_rerun
        self._is_new = is_new
        self._started = time_parts.ClockReading(*started, {}) if started else time_parts.begin()
        self._before: dict[str, Any] | None = None
        self._made: dict[str, Any] = {}

    @property
    def seconds(self) -> float:
        """Wall seconds since the clocks were started."""
        return time.monotonic() - self._started.wall

    @property
    def parts(self) -> dict[str, float]:
        """Part -> its seconds of the processor since the clocks were started."""
        return time_parts.since(self._started)

    def write(
        self,
        figures: Mapping[str, float] | None = None,
        outcomes: Mapping[str, Outcomes] = {},
        **more: Any,
    ) -> None:
        """Writes the record as it is now.

        Args:
          figures: metric -> value of a finished command; METRIC_low and METRIC_high are the ends
            of METRIC's interval. None: the command goes on.
          outcomes: metric -> whether each test item was right; of other figures the earlier ones stay.
          more: further facts, values that JSON can hold.
        """
        if self._before is None:
            self._before = {} if self._is_new else self._read()
            # As the command began: files may change while it runs.
            self._made = {
                "options": self._options,
                **environment.commit(),
                "data": data_hashes.hash_data(self._options),
            }
        old = self._before
        seconds = old.get("seconds", {})
        peak = environment.peak_memory()
        processor = time_parts.read().processor - self._started.processor
        cost = {
            "starts": old.get("starts", 0) + 1,
            "seconds": {
                "wall": round(seconds.get("wall", 0) + self.seconds, 2),
                "processor": round(seconds.get("processor", 0) + processor, 2),
            },
            "memory": {
                name: max(size, old.get("memory", {}).get(name, 0)) for name, size in peak.items()
            },
        }
        if figures is None and old.get("finished"):
            # The folder still has these figures, and a command that fails leaves them.
            atomic.write_json(self._path, {**old, **cost})
            return
        command = shlex.join(environment.command())
        before = old if self._is_rerun else {}
        commands = [*(x for x in before.get("commands", ()) if x != command), command]
        atomic.write_json(
            self._path,
            {
                "commands": commands,
                "finished": figures is not None,
                **cost,
                **self._made,
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "versions": environment.versions(),
                "machine": environment.machine(),
                **({} if self._seed is None else {"seed": self._seed}),
                **more,
                "figures": with_intervals(figures or {}),
                **_pack_outcomes(_old_outcomes(before, figures or {}) | outcomes),
            },
        )

    def _read(self) -> dict[str, Any]:
        """The record that the command goes on from; {} for none."""
        try:
            return read(os.path.dirname(self._path))
        except (FileNotFoundError, ValueError):
            return {}


def read(folder: str) -> dict[str, Any]:
    """The record in a folder.

    Raises:
      FileNotFoundError: the folder has no record.
      ValueError: the record is damaged.
    """
    path = os.path.join(folder, FILE)
    try:
        return atomic.read_json(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{folder} has no {FILE}: it holds no run, or one of an earlier version. Start its "
            "command again with a new --workdir=DIR"
        ) from None


def with_intervals(figures: Mapping[str, float]) -> dict[str, Any]:
    """Metric -> value, or [value, low, high] where the figures have the ends of its interval."""
    values: dict[str, Any] = {}
    for name, value in sorted(figures.items()):
        ends = [figures[name + end] for end in _ENDS if name + end in figures]
        if not (name.endswith(_ENDS) and name.rpartition("_")[0] in figures):
            values[name] = [value, *ends] if len(ends) == 2 else value
    return values


def _old_outcomes(record: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, Outcomes]:
    """The outcomes in a record of the metrics that stay."""
    return {x: outcomes(record, x) for x in record.get("outcomes", {}).keys() & metrics}


def _pack_outcomes(by_metric: Mapping[str, Outcomes]) -> dict[str, Any]:
    """The entries of outcomes: metric -> 'NUMBER:BITS', and the items, which many metrics share."""
    right = {}
    items = {}
    for metric, tested in sorted(by_metric.items()):
        bits = base64.b64encode(np.packbits(np.asarray(tested.right, bool)).tobytes()).decode()
        right[metric] = f"{len(tested.right)}:{bits}"
        numbers = base64.b64encode(np.asarray(tested.items, "<u2").tobytes()).decode()
        items.setdefault(numbers, []).append(metric)
    return {"outcomes": right, "items": [{"of": y, "numbers": x} for x, y in items.items()]}


def outcomes(entry: Mapping[str, Any], metric: str) -> Outcomes | None:
    """The outcomes of a metric in a record or row; None where it has none.

    Items without numbers, of earlier versions, have those of their lines: test sets of equal sentences
    in one order.
    """
    if metric not in entry.get("outcomes", {}):
        return None
    number, _, bits = entry["outcomes"][metric].partition(":")
    right = np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8))[: int(number)]
    numbers = (x["numbers"] for x in entry.get("items", ()) if metric in x["of"])
    item_numbers = next(
        (np.frombuffer(base64.b64decode(x), "<u2") for x in numbers), np.arange(len(right))
    )
    return Outcomes(right.astype(bool), item_numbers)
