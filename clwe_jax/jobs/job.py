"""The skeleton of every job: claims the folder, runs the stages, writes figures and report."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging as python_logging
import os
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from absl import logging
import jax
from jax.experimental import multihost_utils
from ml_collections import ConfigDict

from clwe_jax import atomic
from clwe_jax import config as options
from clwe_jax.report import html, tables

FIGURES, REPORT = "results.json", "report.json"
# A stage returns False where a signal stopped it; the same command resumes it.
Stage = Callable[[], bool | None]


@dataclasses.dataclass(frozen=True)
class Results:
    """The contents of the files that a job writes after its stages.

    Attributes:
      figures: metric path -> value, the content of results.json.
      report: the content of report.json; None leaves the file as it is.
      measured: the figures that are printed; None: all.
    """

    figures: Mapping[str, float]
    report: Mapping[str, Any] | None = None
    measured: Mapping[str, float] | None = None


class Job:
    """A job in a run's folder: a subclass defines the stages, `run` runs them in order.

    Attributes:
      config: the run's config.
      workdir: the run's folder.
      started: start of the job, in seconds since the epoch.
      seconds: stage -> wall time in seconds.
      notes: the warnings of the stages without repetitions, for the report.
    """

    # False for a job on a finished run: it checks config.json and does not write it.
    writes_config = True

    def __init__(self, config: ConfigDict, workdir: str) -> None:
        self.config, self.workdir = options.resolved(config), workdir
        self.started = time.time()
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def check(self) -> None:
        """Raises ValueError for options that cannot work, before the first stage."""

    def finished(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        """Advice for a run whose stages are all done; '' for any other run.

        Args:
          figures: results.json of the folder; {} without one.
          report: report.json of the folder; {} without one.
        """
        return ""

    def stages(self) -> Sequence[tuple[str, Stage]]:
        """The name and function of each stage. A slow stage saves its result in the folder."""
        return ()

    def results(self) -> Results:
        """The figures and the report. Called once after the stages, on every host."""
        return Results({})

    def show(self, figures: Mapping[str, float]) -> None:
        """Prints figures as tables."""
        tables.print_summary(figures, self.workdir)

    def run(self) -> bool:
        """Runs the job; an interrupted job resumes where it stopped.

        Returns:
          False where a signal stopped it; the same command resumes it.

        Raises:
          ValueError, FileNotFoundError: an option, a file or a folder that cannot work.
        """
        first_host = jax.process_index() == 0
        options.claim_workdir(self.config, self.workdir, self.writes_config and first_host)
        self.check()
        figures, report = self.read(FIGURES), self.read(REPORT)
        advice = self.finished(figures, report)
        if advice:
            if first_host:
                self._publish(figures)
                logging.info("%s", advice)
            return True
        with _warnings_into(self.notes):
            done = self._do_stages()
            if done:
                results = self.results()  # on all hosts, because they share the model's parameters
                if first_host:
                    self._write(results)
        if jax.process_count() > 1:
            multihost_utils.sync_global_devices("the report is written")
        return done

    def path(self, *names: str) -> str:
        """A path in the run's folder."""
        return os.path.join(self.workdir, *names)

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file of the run's folder; {} where it is absent or damaged."""
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}
        except ValueError:
            logging.warning("%s is damaged and is written again", self.path(name))
            return {}

    def _do_stages(self) -> bool:
        for name, stage in self.stages():
            start = time.monotonic()
            if stage() is False:
                return False
            self.seconds[name] = time.monotonic() - start
        return True

    def _write(self, results: Results) -> None:
        if results.report is not None:
            atomic.write_json(self.path(REPORT), results.report)
        atomic.write_json(self.path(FIGURES), dict(sorted(results.figures.items())))
        self._publish(results.figures if results.measured is None else results.measured)

    def _publish(self, figures: Mapping[str, float]) -> None:
        html.build(self.workdir, self.config.report.compare_with)
        self.show(figures)


@contextlib.contextmanager
def _warnings_into(notes: list[str]) -> Iterator[None]:
    """Appends the warnings logged in the block to `notes`, without repetitions."""

    class Keep(python_logging.Handler):
        def emit(self, record: python_logging.LogRecord) -> None:
            if record.getMessage() not in notes:
                notes.append(record.getMessage())

    handler = Keep(python_logging.WARNING)
    logger = logging.get_absl_logger()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
