"""The metrics of steps, fetched from the device at intervals, and the speed of training."""

from __future__ import annotations

import collections
import contextlib
import time
from typing import Any, Iterator

from absl import logging
import jax
import numpy as np

from clwe_jax.options.training import StepsOptions
from clwe_jax.training.checkpoint import Checkpointer
from clwe_jax.training.metrics import MetricWriter, Progress
from clwe_jax.training.step import Metrics
from clwe_jax.types import Sums

_RUN_AHEAD = 2  # steps that are dispatched while the oldest of them still runs


# A loss above both is absurd at the end of a run: nats, and a multiple of the first step's loss.
_ABSURD = 100.0
_TIMES_FIRST = 10.0
_LOWER = (
    "Lower --config.optimizer.learning_rate, lengthen --config.optimizer.warmup_steps or lower "
    "--config.optimizer.clip."
)


class Diverged(ValueError):
    """Too many steps had a loss or gradient that is not finite, or the loss grew out of bounds."""


class StepLog:
    """Keeps the metrics of steps on the device and fetches them every `log_every_steps` steps.

    Attributes:
      first: loss of the first applied step, over all starts; None before it is written.
      last: the latest written metrics, by path, over all starts.
      steps, tokens, seconds: number of timed steps, their tokens and their time.
    """

    def __init__(
        self,
        steps: int,
        train: StepsOptions,
        positions: int,
        writer: MetricWriter,
        progress: Progress,
        checkpointer: Checkpointer,
    ):
        """Starts without metrics.

        Args:
          positions: number of positions of a batch; the objective's metric 'padding', if it has
            one, is the share of positions without a token.
          writer, progress, checkpointer: the run's objects of these classes.
        """
        self._total = steps
        self._train = train
        self._positions = positions
        self._writer = writer
        self._progress = progress
        self._checkpointer = checkpointer
        self._pending: list[Metrics] = []
        self._seen = 0  # positions of the pending steps
        self._running: collections.deque[Any] = collections.deque()
        self._start: float | None = None  # at the end of the first step, which is slower
        self._left_out = 0.0
        self._untimed = 0
        self.first: float | None = None
        self.last: dict[str, float] = {}
        self.steps = 0
        self.tokens = 0.0
        self.seconds = 0.0

    def add(self, step: int, step_metrics: Metrics, positions: int = 0) -> None:
        """Takes the metrics of a step, on the device; waits for the end of the step before last.

        Args:
          step: number of steps, over all starts.
          positions: number of positions of this step's batch; 0: as of the others.
        """
        self._pending.append(step_metrics)
        self._seen += positions or self._positions
        self._running.append(step_metrics["loss"].value)
        if len(self._running) > _RUN_AHEAD:
            self._running.popleft().block_until_ready()
        if self._start is None:
            step_metrics["loss"].value.block_until_ready()
            self._start = time.perf_counter()
            self._left_out = 0.0  # what was paused before lies before the start
            self._untimed = 1
        self._progress.advance(step)
        if step % self._train.log_every_steps == 0:
            self.flush(step)

    @contextlib.contextmanager
    def pause(self, arrays: Any) -> Iterator[None]:
        """Waits for `arrays`, results of the latest step, and does not time the block."""
        jax.block_until_ready(arrays)
        start = time.perf_counter()
        yield
        self._left_out += time.perf_counter() - start

    def flush(self, step: int) -> None:
        """Fetches, averages, writes and shows the metrics so far.

        Raises:
          Diverged: `max_skipped_in_row` steps in a row were not applied.
        """
        if not self._pending:
            return
        fetched: list[Metrics] = jax.device_get(self._pending)
        now = time.perf_counter()
        self._pending = []
        self._running = collections.deque()
        worst = max(int(entry["skipped_in_row"].value) for entry in fetched)
        sums: dict[str, Sums] = {}
        for name in fetched[0]:
            # float32 would count positions exactly only up to 2**24.
            value = np.sum([entry[name].value for entry in fetched], dtype=np.float64)
            weight = np.sum([entry[name].weight for entry in fetched], dtype=np.float64)
            sums[name] = Sums(value, weight)
        values = {
            f"train/{name}": float(total.value / total.weight)
            for name, total in sums.items()
            if total.weight > 0
        }
        losses = (x["loss"].value / x["loss"].weight for x in fetched if x["loss"].weight > 0)
        self.first = next((float(x) for x in losses), None) if self.first is None else self.first
        timed = len(fetched) - self._untimed
        if timed:
            seconds = max(now - self._start - self._left_out, 1e-9)
            positions = self._seen * timed / len(fetched)
            tokens = positions * (1.0 - values.get("train/padding", 0.0))
            self.steps += timed
            self.tokens += tokens
            self.seconds += seconds
            speed = {
                "tokens_per_second": tokens / seconds,
                "steps_per_second": timed / seconds,
                "seconds_left": (self._total - step) * self.seconds / self.steps,
            }
            values["speed/tokens_per_second"] = speed["tokens_per_second"]
            values["speed/steps_per_second"] = speed["steps_per_second"]
            self._progress.show(step, values, speed)
        self._start = now
        self._left_out = 0.0
        self._untimed = 0
        self._seen = 0
        if skipped := round(sums["skipped"].value):
            logging.warning(
                "%d of the %d steps up to step %d had a loss or gradient that is not finite and "
                "were not applied.",
                skipped,
                len(fetched),
                step,
            )
        self._writer.write(step, values)
        self.last = values
        self._checkpointer.check()
        if worst >= self._train.max_skipped_in_row:
            # The message names the newest checkpoint, which may still be in writing.
            self._checkpointer.check(wait=True)
            raise Diverged(
                f"{worst} steps in a row up to step {step} had a loss or gradient that is not "
                f"finite and were not applied. The last good checkpoint is "
                f"{self._checkpointer.newest()}. {_LOWER}"
            )

    def check_end(self, step: int, skipped: int) -> None:
        """Refuses to end a run that learned nothing.

        Args:
          step: number of steps, over all starts.
          skipped: number of them that were not applied.

        Raises:
          Diverged: most steps were not applied, or the last loss is absurd.
        """
        loss = self.last.get("train/loss", 0.0)
        bound = _TIMES_FIRST * (self.first or 0.0)
        if 2 * skipped > step:
            fault = f"{skipped} of its {step} steps were not applied, as their loss or gradient is "
            fault += "not finite"
        elif loss > max(_ABSURD, bound):
            fault = f"its loss is {loss:.3g}, after {self.first:.3g} at the first step"
        else:
            return
        self._checkpointer.check(wait=True)
        raise Diverged(
            f"The run diverged: {fault}. The newest checkpoint is {self._checkpointer.newest()}. "
            f"{_LOWER}"
        )
