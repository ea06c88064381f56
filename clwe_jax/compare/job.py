"""A comparison: trains and measures a list of systems on the same data, and reports."""

from __future__ import annotations

import functools
import itertools
import json
import os
import subprocess
import sys
from typing import Any, Iterator, Mapping, Sequence

from absl import logging
import jax

from clwe_jax import terminal
from clwe_jax.cached import CachedResult
from clwe_jax.compare import measured, sections, shared, summary, systems, tasks
from clwe_jax.compare.measured import Measured
from clwe_jax.compare.orders import Comparison
from clwe_jax.compare.place import RunPlace
from clwe_jax.options.compare import CompareRun
from clwe_jax.options.section import to_dict
from clwe_jax.runs import environment
from clwe_jax.runs.job import STOPPED, Job, Results, Stage

_DATA = "shared data"
_LOG_LINES = 3  # of the output of a failed process


def run(config: CompareRun, workdir: str, dry: bool = False) -> bool:
    """Trains, measures and compares the systems; whether that is finished.

    Returns:
      False also where a system failed: the same command tries it again.
    """
    # This process computes nothing: the accelerator is its children's, and some admit one process only.
    jax.config.update("jax_platforms", "cpu")
    job = Compare(config, workdir)
    return job.run(dry) and (dry or not job.read("report.json").get("compare", {}).get("failed"))


class Compare(Job):
    """Trains each run of each system in a process of its own, and keeps what is measured."""

    def __init__(self, config: CompareRun, workdir: str) -> None:
        super().__init__(config, workdir)
        self.systems = systems.choose_systems(self.config.compare)

    def check(self) -> None:
        if jax.process_count() > 1:
            raise ValueError("A comparison runs on one host: start it there alone")
        shared.check(self.config, self.workdir)

    def advise(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        record = report.get("compare", {})
        if not figures or record.get("failed") or record.get("asked") != self._report_options():
            return ""
        return (
            "This comparison is finished. More systems or seeds join it with the same --workdir: "
            "--config.compare.systems=..., --config.compare.seeds=..."
        )

    def _report_options(self) -> dict[str, Any]:
        """The options that decide the report, those of the systems' own files too."""
        config = self.config
        folders = shared.folders(config, self.workdir)
        trained = [x for x in self.systems if x.config]
        runs = {x.name: to_dict(shared.run_of(config, x, config.seed, folders)) for x in trained}
        values = {
            "compare": to_dict(config.compare),
            "evals": to_dict(config)["evals"],
            "runs": runs,
        }
        return json.loads(json.dumps(values))

    @property
    def _places(self) -> Iterator[RunPlace]:
        """The runs: the first seed of all systems, then the next one."""
        first_seed = self.config.seed
        for seed in range(first_seed, first_seed + self.config.compare.seeds):
            for system in self.systems:
                if system.config or seed == first_seed:
                    yield RunPlace(self.workdir, system, seed)

    def stages(self) -> Sequence[Stage]:
        about = functools.partial(shared.about, self.config, self.workdir)
        write = functools.partial(shared.write, self.config, self.workdir)
        stages = [Stage(_DATA, write, about=about)]
        for x in self._places:
            run_one = functools.partial(self._one, x)
            stages.append(Stage(_name(x), run_one, (_DATA,), functools.partial(self._about, x)))
        return stages

    def _about(self, place: RunPlace) -> Iterator[str]:
        system = place.system
        line = f"{system.name}, seed {place.seed}"
        exists = os.path.exists(place.measurements_path)
        folders = shared.folders(self.config, self.workdir)
        if exists and self._measurements(place, folders).read_stored() is not None:
            yield f"{line}: kept"
        elif exists:
            yield f"{line}: measured again: its options, its test sets or the program have changed, or it was cut"
        elif system.config:
            file = shared.config_file(self.config, system)
            yield f"{line}: {file}, {shared.budget(self.config.compare)}"
        else:
            yield f"{line}: not trained"

    def _one(self, place: RunPlace, folders: Mapping[str, str]) -> Measured | Exception | object:
        """The measurements of a run, from its process or from an earlier start."""
        try:
            return self._measurements(place, folders).result()
        except _Stopped:
            return STOPPED
        except _Failure as error:
            logging.warning("%s failed: %s", _name(place), error)
            return error

    def _measurements(self, place: RunPlace, folders: Mapping[str, str]) -> CachedResult[Measured]:
        config = self.config
        asked = config.compare
        system = place.system
        run = shared.run_of(config, system, place.seed, folders) if system.config else None
        made_with: dict[str, Any] = {
            "model": system.model,
            "run": to_dict(run) if run else {},
            "budget": asked.budget,
            "sample_bytes": config.data.sample_bytes,
            "evals": to_dict(config)["evals"],
            "keys": "of items",  # earlier versions had one of all items
            "outcomes": [pattern.pattern for _, pattern in measured.outcome_patterns()],
            "tasks": [tasks.names(asked), asked.heads, asked.rows, asked.test_rows, asked.labelled],
        }
        evaluated = [getattr(x, "data", "") for x in config.evals.values()]
        labelled = [os.path.join(asked.labelled, x) for x in tasks.names(asked)]
        return CachedResult(
            place.measurements_path,
            made_with,
            functools.partial(self._start, place),
            lambda result, path: None,  # the process has written it
            measured.load,
            stamps=shared.stamps_of(system.model, [*evaluated, *labelled]),
        )

    def _start(self, place: RunPlace) -> Measured:
        """Trains and measures a run in its process, which a signal to this one stops too."""
        logging.info("%s: its output is in %s", _name(place), place.log)
        os.makedirs(os.path.dirname(place.log), exist_ok=True)
        # The child imports the package of this process, installed or not.
        path = os.pathsep.join(filter(None, [environment.ROOT, os.environ.get("PYTHONPATH", "")]))
        arguments = (self.workdir, place.system.name, str(place.seed))
        command = [sys.executable, "-m", "clwe_jax.compare.one", *arguments]
        with open(place.log, "ab") as log:
            start = log.tell()  # earlier starts have written before it
            # In a session of its own Ctrl-C reaches it once, through this process: a second signal would
            # end it before it has saved.
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )
            try:
                code = process.wait()
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if code == terminal.UNFINISHED:
            raise _Stopped
        if code:
            with open(place.log, encoding="utf-8", errors="replace") as log:
                log.seek(start)
                lines = [line.strip() for line in log if line.strip()]
            message = next((x for x in reversed(lines) if x.startswith("error: ")), "")
            raise _Failure(message or " / ".join(lines[-_LOG_LINES:]) or f"exit status {code}")
        return measured.load(place.measurements_path)

    def results(self, done: Mapping[str, Any]) -> Results:
        settings = self.config.compare
        runs: dict[str, list[Measured]] = {}
        failed: dict[str, str] = {}
        for place in self._places:
            measurements = done[_name(place)]
            if isinstance(measurements, _Failure):
                failed[_name(place)] = str(measurements)
            else:
                runs.setdefault(place.system.name, []).append(measurements)
        titled = {x.name: x for x in self.systems if x.name in runs}
        comparison = Comparison(titled, runs, tasks.titles(settings))
        figures = comparison.figures()
        all_runs = list(itertools.chain.from_iterable(runs.values()))
        report = {
            "device": all_runs[0].device if all_runs else "",
            "speed": {"seconds": 60 * sum(x.cost["all_minutes"] for x in all_runs)},
            "notes": [*self.notes, *(f"{name} failed: {why}" for name, why in failed.items())],
            "sections": sections.sections(comparison, shared.budget(settings)),
            "compare": {
                "asked": self._report_options(),
                "failed": failed,
                "summary": summary.summarize(comparison),
                "seconds": self.seconds,
                "systems": {name: len(system_runs) for name, system_runs in runs.items()},
            },
        }
        return Results(figures, report, finished=not failed)


class _Stopped(Exception):
    """A signal stopped the process of a run."""


class _Failure(Exception):
    """The process of a run ended with an error."""


def _name(place: RunPlace) -> str:
    return f"{place.system.name}, seed {place.seed}"
