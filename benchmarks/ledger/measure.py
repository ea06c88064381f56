"""Rows measured again, the oldest first: what differs shows what code, data or libraries have changed."""

from __future__ import annotations

import collections
import fnmatch
import math
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import zlib
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from benchmarks.ledger import rows
from benchmarks.one_thread import ONE_THREAD
from clwe_jax.runs.environment import ROOT

FOLDER = os.path.join("runs", "measured")
# Figures that depend on the clock.
_TIMED = re.compile(r"(stage|speed)/.*|.*(second|minutes|/s\b|, s$|ratio|memory|bytes|GFLOP).*")
_SAME = 1e-5  # figures without an interval are equal up to this relative difference
_MAX_SHOWN = 12  # differing figures of a row


class Asked(NamedTuple):
    """What shall be measured.

    Attributes:
      pattern: shell pattern of rows' names.
      hours: processor hours; a row that would exceed them, by its last time, does not start.
      cores: numbers of the cores; each measures one row at a time.
      peer: the interpreter with the other programs; '': rows beside them are left out.
    """

    pattern: str = "*"
    hours: float = 3.0
    cores: Sequence[int] = (0,)
    peer: str = ""


def measure(asked: Asked, ledger: str = rows.FOLDER) -> bool:
    """Runs the commands of rows again and writes the new rows; whether all ran.

    Prints a line a row, with the figures that differ by more than the intervals of both rows. A finished
    run of this commit is not repeated, and an interrupted one goes on; that of another commit is removed first.

    Raises:
      ValueError: this process may not use a core.
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        if lacking := set(asked.cores) - os.sched_getaffinity(0):
            cores = ", ".join(map(str, sorted(lacking)))
            raise ValueError(f"--cores: this process may not use core {cores}")
    waiting = collections.deque(choose_rows(rows.read(ledger), asked))
    state = _State(asked.hours * 3600)
    threads = [
        threading.Thread(target=_work, args=(core, waiting, state, asked, ledger))
        for core in asked.cores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{state.done} rows measured, {state.failed} failed, {state.left} left for want of time")
    return not state.failed


def choose_rows(every: Sequence[Mapping[str, Any]], asked: Asked) -> list[Mapping[str, Any]]:
    """The rows that fit the pattern and whose peers are there, the oldest first."""
    fitting = [row for row in every if fnmatch.fnmatchcase(row["name"], asked.pattern)]
    chosen = [row for row in fitting if asked.peer or not _has_peer(row)]
    if beside := len(fitting) - len(chosen):
        print(f"{beside} rows beside other programs are left out: name --peer-python=PATH")
    return sorted(chosen, key=lambda row: (row["date"], *rows.key(row)))


class _State:
    """Seconds that are left, and counts of rows; the threads share it."""

    def __init__(self, seconds: float) -> None:
        self.lock = threading.Lock()
        self.seconds = seconds
        self.done = 0
        self.failed = 0
        self.left = 0


def _work(
    core: int,
    waiting: collections.deque[Mapping[str, Any]],
    state: _State,
    asked: Asked,
    ledger: str,
) -> None:
    """Measures waiting rows on one core until none is left."""
    while True:
        with state.lock:
            if not waiting:
                return
            row = waiting.popleft()
            if row["seconds"]["processor"] > state.seconds:
                state.left += 1
                continue
            state.seconds -= row["seconds"]["processor"]
        try:
            folder, error = _run(row, core, asked.peer)
            if not error:
                lines = list(describe_change(row, rows.row_of(folder)))
                with state.lock:
                    rows.add([folder], ledger)
        except Exception as fault:  # the other rows go on
            error = repr(fault)
        with state.lock:
            state.done += not error
            state.failed += bool(error)
            failure = f"FAILED {row['name']}, seed {row.get('seed', 0)}: {error}"
            print(failure if error else "\n".join(lines), flush=True)


def _has_peer(row: Mapping[str, Any]) -> bool:
    return any("--peer-python" in command for command in row["commands"])


def folder_of(row: Mapping[str, Any]) -> str:
    """The folder in which a row is measured again, from the project's folder."""
    if "clwe_jax.main" not in row["commands"][0]:
        return rows.folder_of_benchmark(row["name"], row.get("seed"))
    slug = re.sub(r"[^\w.=,-]+", "_", row["name"])[:100]
    # Long names may begin alike.
    number = f"{zlib.crc32(row['name'].encode()):08x}"
    return os.path.join(FOLDER, f"{slug}-{number}-{row.get('seed', 0)}")


def _run(row: Mapping[str, Any], core: int, peer: str) -> tuple[str, str]:
    """The folder of the finished run, and the last line of an error or ''."""
    folder = folder_of(row)
    place = os.path.join(ROOT, folder)
    if rows.drop_stale_run(place, row["commands"]):
        return place, ""
    os.makedirs(place, exist_ok=True)
    log = os.path.join(place, "measure.log")
    for command in row["commands"]:
        words = [sys.executable if x in ("python", "python3") else x for x in shlex.split(command)]
        words = [f"--peer-python={peer}" if x.startswith("--peer-python=") else x for x in words]
        if "clwe_jax.main" in words:
            words.append(f"--workdir={folder}")
        with open(log, "w", encoding="utf-8") as output:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": ROOT},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            if hasattr(os, "sched_setaffinity"):  # not on macOS
                os.sched_setaffinity(process.pid, {core})
            status = process.wait()
        if status:
            with open(log, encoding="utf-8", errors="replace") as output:
                lines = output.read().split("\n")
            said = next((line for line in reversed(lines) if line.strip()), "")
            return place, f"exit status {status}: {said[:200]} ({log})"
    return place, ""


def describe_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """A line on a row measured again, and a line for each figure that differs."""
    changes = list(differing_figures(old["figures"], new["figures"]))
    minutes = new["seconds"]["processor"] / 60
    yield (
        f"{time.strftime('%H:%M')} {new['name']}, seed {new.get('seed', 0)}: {minutes:.1f} minutes, "
        f"{len(changes)} of {len(new['figures'])} figures differ from {old['date']}"
    )
    for metric, before, after in changes[:_MAX_SHOWN]:
        yield f"  {metric}: {before} -> {after}"
    if len(changes) > _MAX_SHOWN:
        yield f"  and {len(changes) - _MAX_SHOWN} more"


def differing_figures(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, float | None, float | None]]:
    """(metric, old value, new value) where they differ by more than both intervals; None: no value.

    Figures of time and memory are not compared. Without an interval any change counts that is larger than
    that of the last printed digit.
    """
    for metric in sorted({*old, *new}):
        if _TIMED.fullmatch(metric):
            continue
        before, left = rows.value_and_error(old.get(metric))
        after, right = rows.value_and_error(new.get(metric))
        if before is None or after is None:
            yield metric, before, after
        elif abs(before - after) > max(math.hypot(left or 0.0, right or 0.0), _SAME * abs(before)):
            yield metric, before, after
