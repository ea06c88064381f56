"""Tables of many runs: each is a command of `clwe_jax.main` in its own folder, and finished ones are not repeated.

A script of a table has its rows as data and calls `figures` for each: started again, it goes on where it
was stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
from typing import Iterable, Mapping, Sequence

from scipy import stats

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)
from benchmarks.ledger import rows  # noqa: E402

ABSENT = "–"  # the cell of a figure that no run has


def parser(documentation: str | None, out: str, data: str = "") -> argparse.ArgumentParser:
    """The options that all tables have: --out, --print-only and, with a default for it, --data."""
    made = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--out", default=out, help="the runs' folders")
    if data:
        made.add_argument("--data", default=data, help="text, dictionaries, test sets")
    made.add_argument("--print-only", action="store_true", help="run nothing")
    return made


def parse(made: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options; flags of the runs, after `--`, are `more`, and --out and --data are absolute."""
    argv = list(sys.argv[1:] if argv is None else argv)
    split = argv.index("--") if "--" in argv else len(argv)
    arguments = made.parse_args(argv[:split])
    arguments.more = argv[split + 1 :]
    arguments.out = os.path.abspath(arguments.out)
    if getattr(arguments, "data", None):
        arguments.data = os.path.abspath(arguments.data)
    return arguments


def choose(
    made: argparse.ArgumentParser, option: str, names: str, known: Iterable[str], between: str = ","
) -> list[str]:
    """The names that an option gives, all known ones without it; ends the program for an unknown name."""
    among = list(known)
    chosen = [name.strip() for name in names.split(between) if name.strip()] or among
    if unknown := [name for name in chosen if name not in among]:
        mark = f"{between} "
        made.error(f"{option}: {mark.join(unknown)}; known are {mark.join(among)}")
    return chosen


def place(name: str) -> str:
    """The name of a row as that of a folder."""
    return "".join(x if x.isalnum() or x in "-." else "_" for x in name)


def read(folder: str) -> dict[str, float]:
    """The figures of a finished run; {} where there are none."""
    path = os.path.join(folder, "results.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run(
    config: str, folder: str, options: Mapping[str, object], more: Sequence[str] = (), log: str = ""
) -> bool:
    """Runs a config in a folder and returns whether it ended well.

    Args:
      config: a name of configs/, with a scale after a colon or without.
      folder: the run's.
      options: path -> value.
      more: further flags.
      log: a file for the output; '': the terminal.
    """
    command = [sys.executable, *arguments_of(config, folder, options), *more]
    if not log:
        print(f"\n$ {shlex.join(command)}", flush=True)
        failed = subprocess.run(command, cwd=ROOT).returncode
    else:
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, "w", encoding="utf-8") as file:
            failed = subprocess.run(command, cwd=ROOT, stdout=file, stderr=file).returncode
    if failed:
        print(f"{folder} failed, see {log or 'above'}", flush=True)
    return not failed


def arguments_of(config: str, folder: str, options: Mapping[str, object]) -> list[str]:
    """What Python is given to run a config in a folder."""
    name, colon, scale = config.partition(":")
    words = ["-m", "clwe_jax.main", f"--config=configs/{name}.py{colon}{scale}"]
    return [*words, f"--workdir={folder}", *(f"--config.{x}={y}" for x, y in options.items())]


def figures(
    arguments: argparse.Namespace,
    config: str,
    folder: str,
    options: Mapping[str, object],
    more: Sequence[str] = (),
) -> dict[str, float]:
    """The figures of a run, which is run first if needed; {} where it failed, or with --print-only."""
    found = read(folder)
    if not found and not arguments.print_only:
        run(config, folder, options, more)
        found = read(folder)
    return found


def measured(config: str, folder: str, options: Mapping[str, object]) -> dict[str, float]:
    """The figures of a run of a benchmark, whose record is of one commit: its output goes to FOLDER.log.

    A finished run of this commit with these options is taken; any other in the folder is removed.

    Raises:
      SystemExit: the run failed.
    """
    command = shlex.join(["python", *arguments_of(config, folder, options)])
    if not rows.drop_stale_run(folder, [command]):
        if not run(config, folder, options, log=f"{folder}.log"):
            sys.exit(1)
    return read(folder)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean over seeds and the half-width of its 95% interval (Student's t); 0 for one seed."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, 0.0
    width = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values)
    return mean, float(width / math.sqrt(len(values)))


def cell(values: Iterable[float | None], scale: float = 100) -> str:
    """The mean over the seeds ± half of its 95% interval, times `scale`."""
    known = [scale * value for value in values if value is not None]
    if not known:
        return ABSENT
    mean, half = interval(known)
    return f"{mean:.1f}" + (f" ± {half:.1f}" if half else "")


def markdown(
    columns: Iterable[str], rows: Mapping[str, Iterable[str]], head: str = ""
) -> list[str]:
    """The lines of a table; `rows` are the cells by the row's name."""
    names = list(columns)
    first = f"| {head} |" if head else "| |"
    lines = [f"{first} " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    return lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]


Runs = dict[str, list[dict[str, float]]]  # row of a table -> figures by seed


def means(runs: Runs, columns: Mapping[str, str], head: str = "", scale: float = 100) -> list[str]:
    """The table of figures' means over the seeds; `columns` are the figures by the column's name."""
    rows = {
        name: [cell((x.get(path) for x in found), scale) for path in columns.values()]
        for name, found in runs.items()
    }
    return markdown(columns, rows, head)
