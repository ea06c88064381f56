"""Metrics to the terminal, to metrics.jsonl and to TensorBoard."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import time
from typing import Any, Mapping

from absl import logging

from clwe_jax import atomic

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
        path = os.path.join(workdir, "metrics.jsonl")
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
        """Closes the files."""
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
    kept = []
    for line in lines:
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line.rstrip("\n") + "\n")
        except (ValueError, KeyError, TypeError):
            continue
    atomic.write(path, "".join(kept))


class _EventFile:
    """A TensorBoard event file, through tensorboard's own record writer and messages."""

    def __init__(self, folder: str, step: int):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2.Event, summary_pb2.Summary
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
    """The progress of a run: a bar on a terminal, log lines elsewhere."""

    def __init__(self, step: int, steps: int, active: bool = True, terminal: bool | None = None):
        """Shows `step` of `steps`.

        Args:
          step: number of steps so far.
          steps: steps of the whole run.
          active: False on all hosts except the first: nothing is shown.
          terminal: whether stderr is a terminal; None: as `sys.stderr.isatty()`.
        """
        self._steps = steps
        self._active = active
        self._bar = None
        if active and (sys.stderr.isatty() if terminal is None else terminal):
            self._bar = _Bar(step, steps)

    def advance(self, step: int) -> None:
        """Moves the bar."""
        if self._bar is not None:
            self._bar.move(step)

    def show(self, step: int, values: Mapping[str, float], speed: Mapping[str, float]) -> None:
        """Shows metrics and speed.

        Args:
          step: number of steps so far.
          values: metrics by path; the ones of `_SHOWN` are shown.
          speed: 'tokens_per_second', 'steps_per_second', 'seconds_left'.
        """
        if not self._active:
            return
        parts = [
            f"{short} {form.format(values[name])}" for name, short, form in _SHOWN if name in values
        ]
        parts.append(f"{_thousands(speed['tokens_per_second'])} tokens/s")
        parts.append(f"{speed['steps_per_second']:.3g} steps/s")
        if self._bar is not None:
            self._bar.note("  ".join(parts))
        else:
            parts.append(f"{duration(speed['seconds_left'])} left")
            logging.info("step %d/%d  %s", step, self._steps, "  ".join(parts))

    def close(self) -> None:
        """Removes the bar from the log's handler, and stops it."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Bar:
    """rich's progress bar; log lines are printed above it while it is shown."""

    def __init__(self, step: int, steps: int):
        from rich import console, progress

        self._console = console.Console(stderr=True)
        self._progress = progress.Progress(
            progress.TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            progress.BarColumn(),
            progress.TextColumn("{task.description}"),
            progress.TimeRemainingColumn(elapsed_when_finished=True),
            console=self._console,
            speed_estimate_period=60,
        )
        self._task = self._progress.add_task("compiling", total=steps, completed=step)
        self._handler = logging.get_absl_handler().python_handler
        self._stream = self._handler.stream
        self._handler.stream = self
        self._progress.start()

    def write(self, text: str) -> None:
        """Writes a line of the log."""
        if text.strip():
            self._progress.console.print(text.rstrip("\n"), markup=False, highlight=False)

    def flush(self) -> None:
        """Flushes, as the log handler expects of a stream."""

    def move(self, step: int) -> None:
        self._progress.update(self._task, completed=step)

    def note(self, text: str) -> None:
        self._progress.update(self._task, description=text)

    def close(self) -> None:
        self._progress.stop()
        self._handler.stream = self._stream


def duration(seconds: float) -> str:
    """'1:02:03' or '2:03'."""
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _thousands(number: float) -> str:
    return f"{number / 1000:.1f}k" if number >= 1000 else f"{number:.0f}"
