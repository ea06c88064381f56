"""Stops a run after a step on SIGTERM or SIGINT."""

from __future__ import annotations

import signal
import threading
from typing import Any

from absl import logging
import jax
from jax.experimental import multihost_utils


class StopSignal:
    """Turns the first SIGTERM or SIGINT into a request to stop after the step."""

    def __init__(self) -> None:
        self.received = ""
        self._old: dict[int, Any] = {}
        # When one of several hosts gets SIGTERM, the coordination service stops all at one step.
        self._together = jax.process_count() > 1
        if threading.current_thread() is threading.main_thread():
            for number in () if self._together else (signal.SIGINT, signal.SIGTERM):
                self._old[number] = signal.signal(number, self._handle)

    def _handle(self, number: int, frame: Any) -> None:
        del frame
        self.received = signal.Signals(number).name
        self.restore()  # a second signal ends the process at once
        logging.warning("%s: saving and stopping after this step.", self.received)

    def at(self, step: int) -> bool:
        """Whether to stop after `step`; all hosts get the same answer."""
        if self._together and multihost_utils.reached_preemption_sync_point(step):
            self.received = "SIGTERM"
        return bool(self.received)

    def restore(self) -> None:
        """Restores the former signal handlers."""
        for number, handler in self._old.items():
            signal.signal(number, handler)
        self._old = {}
