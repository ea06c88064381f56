"""The skeleton of every job: checks, claims the folder, runs the stages, writes the results."""

from __future__ import annotations

import contextlib
import dataclasses
import logging as python_logging
import os
import shutil
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from absl import logging
import jax
from jax.experimental import multihost_utils

from clwe_jax import atomic, cached, options, time_parts
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.runs import environment, leaked_tests, record
from clwe_jax.options.section import to_dict
from clwe_jax.report import html, tables
from clwe_jax.runs import lock
from clwe_jax.training import metrics

FIGURES = "results.json"
REPORT = "report.json"


# The result of a stage that a signal stopped; the same command resumes it.
STOPPED = object()


class Stage(NamedTuple):
    """A part of a job: a function from the results of earlier stages to its own.

    Attributes:
      name: its name in the report, and that of its result.
      do: the function. Its result is not changed afterwards; `STOPPED` ends the job.
      needs: names of the earlier stages whose results the function takes, in the order of its
        arguments; one that this run has not is None.
      about: lines on its input, its size and its time, for a dry run; they write nothing.
    """

    name: str
    do: Callable[..., Any]
    needs: tuple[str, ...] = ()
    about: Callable[[], Iterable[str]] = tuple


@dataclasses.dataclass(frozen=True)
class Results:
    """The contents of the files that a job writes after its stages.

    Attributes:
      figures: metric path -> value, the content of results.json.
      report: the content of report.json; None leaves the file as it is.
      measured: the figures that are printed; None: all.
      outcomes: metric -> whether each test item was right, for tests of orders.
    """

    figures: Mapping[str, float]
    report: Mapping[str, Any] | None = None
    measured: Mapping[str, float] | None = None
    outcomes: Mapping[str, Outcomes] = dataclasses.field(default_factory=dict)
    finished: bool = True  # whether all parts have figures: the ledger takes no other run


class Job:
    """A job in a run's folder: a subclass defines the stages, `run` runs them in order.

    Attributes:
      config: the run's config.
      workdir: the run's folder.
      recorder: writes record.json, which has the time and memory of all starts of the job.
      seconds: stage -> wall time in seconds; a stage whose result was kept takes next to none.
      notes: the warnings of the stages without repetitions, for the report.
    """

    # False for a job on a finished run: it checks config.json and does not write it.
    writes_config = True

    def __init__(self, config: options.Run, workdir: str) -> None:
        self.config = config.resolve()
        self.workdir = workdir
        self.recorder = record.Recorder(
            workdir, to_dict(self.config), self.config.seed, is_rerun=not self.writes_config
        )
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def check(self) -> None:
        """Raises ValueError or OSError for options and files that cannot work; writes nothing."""

    def advise(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        """Advice for a run whose stages are all done; '' for any other run.

        Args:
          figures: results.json of the folder; {} without one.
          report: report.json of the folder; {} without one.
        """
        return ""

    def stages(self) -> Sequence[Stage]:
        """The stages in order. A slow stage saves its result in the folder."""
        return ()

    def results(self, done: Mapping[str, Any]) -> Results:
        """The figures and the report. Called once after the stages, on every host.

        Args:
          done: stage -> its result.
        """
        return Results({})

    def show(self, figures: Mapping[str, float]) -> None:
        """Prints figures as tables."""
        tables.print_summary(figures, self.workdir)

    def run(self, dry: bool = False) -> bool:
        """Runs the job; an interrupted job resumes where it stopped.

        Args:
          dry: whether the job is only checked and described on the terminal; nothing is written.

        Returns:
          False where a signal stopped it; the same command resumes it.

        Raises:
          ValueError, FileNotFoundError: an option, a file or a folder that cannot work.
          lock.InUse: another process works in the folder.
        """
        first_host = jax.process_index() == 0
        with time_parts.part(time_parts.START_UP):
            options.claim_workdir(self.config, self.workdir, write=False)
            self.check()
        if dry:
            if first_host:
                self._describe()
            return True
        figures = self.read(FIGURES)
        advice = self.advise(figures, self.read(REPORT))
        if advice:
            if first_host:
                self._publish(figures)
                logging.info("%s", advice)
            return True
        with self._claim_folder(first_host), _warnings_into(self.notes):
            if first_host:
                self.recorder.write()
            done = self._do_stages(first_host)
            if done is not None:
                with time_parts.part(time_parts.REPORT):
                    results = self.results(done)  # on all hosts, which share the model's parameters
                if first_host:
                    self._write(results)
        if jax.process_count() > 1:
            multihost_utils.sync_global_devices("the report is written")
        return done is not None

    def _describe(self) -> None:
        """Prints the lines of a dry run."""
        print(f"{self.config.system or self.config.job}, scale {self.config.scale}")
        for stage in self.stages():
            for line in stage.about():
                print(f"  {line}", flush=True)  # the next line may take its time
        state = "exists" if os.path.isdir(self.workdir) else "is new"
        print(f"  folder: {self.workdir} {state}; a dry run writes nothing there")

    def path(self, *names: str) -> str:
        """A path in the run's folder."""
        return os.path.join(self.workdir, *names)

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file of the run's folder; {} where it is absent or damaged."""
        try:
            return atomic.read_json(self.path(name))
        except FileNotFoundError:
            return {}
        except ValueError:
            logging.warning("%s is damaged and is written again", self.path(name))
            return {}

    @contextlib.contextmanager
    def _claim_folder(self, first_host: bool) -> Iterator[None]:
        """Locks the folder and writes config.json. A new run that stops before its training leaves nothing behind.

        Its files would be those of the wrong options, and the folder would refuse the right ones.
        """
        existed = os.path.isdir(self.workdir)
        os.makedirs(self.workdir, exist_ok=True)
        with lock.hold(self.workdir):
            # The lock counts as new, so that a folder made by this run can be removed as a whole.
            before = set(os.listdir(self.workdir)) - {lock.FILE}
            # Again, because another process may have claimed the folder before it was locked.
            options.claim_workdir(self.config, self.workdir, self.writes_config and first_host)
            try:
                yield
            except BaseException:
                new = self.writes_config and options.FILE not in before
                if first_host and new and not self._has_trained():
                    for name in set(os.listdir(self.workdir)) - before:
                        path = self.path(name)
                        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
                    if not existed:
                        os.rmdir(self.workdir)
                raise

    def _has_trained(self) -> bool:
        """Whether the folder holds steps of training or a result that is kept."""
        for folder, steps, names in os.walk(self.workdir):
            if os.path.basename(folder) == "checkpoints" and any(map(str.isdigit, steps)):
                return True
            if any(name.endswith(cached.RECORD) for name in names):
                return True
            if metrics.FILE in names and os.path.getsize(os.path.join(folder, metrics.FILE)):
                return True
        return False

    def _do_stages(self, first_host: bool) -> dict[str, Any] | None:
        """Stage -> its result; None where a signal stopped one."""
        done: dict[str, Any] = {}
        for stage in self.stages():
            start = time_parts.read()
            with time_parts.part(stage.name):
                result = stage.do(*(done.get(name) for name in stage.needs))
            if first_host:
                self.recorder.write()
            if result is STOPPED:
                return None
            done[stage.name] = result
            self.seconds[stage.name] = time_parts.read().wall - start.wall
        return done

    def _write(self, results: Results) -> None:
        self._write_record(results)
        with time_parts.part(time_parts.REPORT):
            if results.report is not None:
                atomic.write_json(self.path(REPORT), self._with_cost(results.report))
            atomic.write_json(self.path(FIGURES), dict(sorted(results.figures.items())))
            self._publish(results.figures if results.measured is None else results.measured)
        self._write_record(results)  # again, with the time of the page

    def _write_record(self, results: Results) -> None:
        stages = {f"stage/{name}": value for name, value in self.recorder.parts.items()}
        figures = {**results.figures, **stages}
        self.recorder.write(figures, results.outcomes, finished=results.finished)

    def _with_cost(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """A report with the command, the machine, the versions, the notes, the time and the memory."""
        peaks = environment.peak_memory()
        return {
            **environment.environment(),
            "notes": self.notes,
            **report,
            "leaks": leaked_tests.describe(to_dict(self.config), self.workdir),
            "speed": {"seconds": self.recorder.seconds, **report.get("speed", {})},
            "memory": {
                f"peak_{side}_bytes": peaks.get(f"{side}_peak") for side in ("host", "device")
            },
        }

    def _publish(self, figures: Mapping[str, float]) -> None:
        html.build(self.workdir, self.config.report.compare_with)
        self.show(figures)


@contextlib.contextmanager
def _warnings_into(notes: list[str]) -> Iterator[None]:
    """Appends the warnings logged in the block to `notes`, and logs each once: stages read the same files."""

    def is_new(record: python_logging.LogRecord) -> bool:
        if record.levelno < python_logging.WARNING:
            return True
        message = record.getMessage()
        if message in notes:
            return False
        notes.append(message)
        return True

    logger = logging.get_absl_logger()
    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)
