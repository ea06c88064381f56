"""Metrics to the terminal, to metrics.jsonl and to TensorBoard."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from typing import Any, Mapping

from absl import logging

from clwe_jax import atomic
from clwe_jax.terminal import ProgressLine, duration, thousands

FILE = "metrics.jsonl"
# Metrics that the terminal shows, in this order, with short names and formats.
_SHOWN = (
    ("train/loss", "loss", "{:.3f}"),
    ("train/accuracy", "accuracy", "{:.3f}"),
    ("train/learning_rate", "rate", "{:.2g}"),
)


class MetricWriter:
    """Writes scalars as lines of metrics.jsonl and as TensorBoard events.

    A resumed run first drops the lines of later steps than its checkpoint. TensorBoard files are
    written without importing TensorFlow.
    """

    def __init__(self, workdir: str, step: int, active: bool = True):
        """Opens WORKDIR/metrics.jsonl and WORKDIR/tensorboard.

        Args:
          workdir: the run's folder.
          step: the step from which training resumes.
          active: False on all hosts except the first: nothing is written.
        """
        self._lines = None
        self._events = None
        if not active:
            return
        path = os.path.join(workdir, FILE)
        os.makedirs(workdir, exist_ok=True)
        drop_later(path, step)
        self._lines = open(path, "a", encoding="utf-8")
        self._events = _EventFile(os.path.join(workdir, "tensorboard"), step)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Writes the finite values; a full disk is logged, and training goes on."""
        if self._lines is None:
            return
        finite = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        try:
            for name, value in finite.items():
                record = {"step": step, "name": name, "value": value}
                self._lines.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._lines.flush()
            self._events.write(step, finite)
        except OSError as error:
            logging.error("metrics of step %d could not be written: %s", step, error)

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._events.close()
            self._lines = None


def drop_later(path: str, step: int) -> None:
    """Removes the lines of steps after `step`, and an incomplete last line, from a metrics file."""
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
    kept_lines = []
    for line in lines:
        try:
            if json.loads(line)["step"] <= step:
                kept_lines.append(line.rstrip("\n") + "\n")
        except (ValueError, KeyError, TypeError):
            continue
    atomic.write(path, "".join(kept_lines))


class _EventFile:
    """A TensorBoard event file, through tensorboard's own record writer and messages."""

    def __init__(self, folder: str, step: int):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event = event_pb2.Event
        self._summary = summary_pb2.Summary
        os.makedirs(folder, exist_ok=True)
        # The fraction keeps the files in order where two starts fall into one second.
        stamp = f"{time.time():017.6f}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(os.path.join(folder, f"events.out.tfevents.{stamp}"), "ab")
        self._records = RecordWriter(self._file)
        self._add(file_version="brain.Event:2")
        # TensorBoard drops the events of an earlier start from this step on.
        restart = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
        self._add(step=step + 1, session_log=restart)

    def _add(self, **fields: Any) -> None:
        event = self._event(wall_time=time.time(), **fields)
        self._records.write(event.SerializeToString())

    def write(self, step: int, values: Mapping[str, float]) -> None:
        value = self._summary.Value
        summary = self._summary(
            value=[value(tag=name, simple_value=number) for name, number in values.items()]
        )
        self._add(step=step, summary=summary)
        self._records.flush()

    def close(self) -> None:
        self._records.close()


class Progress:
    """How far a run is: a line that changes on a terminal, log lines elsewhere."""

    def __init__(self, step: int, steps: int, active: bool = True, terminal: bool | None = None):
        """Shows `step` of `steps`.

        Args:
          active: False on all hosts but the first: nothing is shown.
          terminal: whether stderr is a terminal; None: look.
        """
        self._steps = steps
        self._active = active
        self._line = ProgressLine(terminal if active else False)
        self._parts: list[str] = []
        self._line.show(f"step {step}/{steps}", "compiling")

    def advance(self, step: int) -> None:
        """Moves the count of steps."""
        self._line.show(f"step {step}/{self._steps}", *self._parts)

    def show(self, step: int, values: Mapping[str, float], speed: Mapping[str, float]) -> None:
        """Shows metrics and speed.

        Args:
          step: done so far.
          values: metrics by their paths; the known ones are shown.
          speed: 'tokens_per_second', 'steps_per_second', 'seconds_left'.
        """
        if not self._active:
            return
        metrics = [
            f"{short} {form.format(values[name])}" for name, short, form in _SHOWN if name in values
        ]
        # A narrow terminal shows the first of these.
        self._parts = [
            f"{duration(speed['seconds_left'])} left",
            *metrics[:1],
            f"{thousands(speed['tokens_per_second'])} tokens/s",
            *metrics[1:],
            f"{speed['steps_per_second']:.3g} steps/s",
        ]
        self.advance(step)
        if not self._line.visible:
            logging.info("step %d/%d  %s", step, self._steps, "  ".join(self._parts))

    def close(self) -> None:
        """Ends the line, which stays on the terminal."""
        self._line.close(keep=True)
