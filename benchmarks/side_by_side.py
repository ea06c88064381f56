"""Measures our side and a peer's in turns, each in its own interpreter, and prints the ratio.

The peer's process stays alive between its turns, so that neither side pays for imports and other
programs on the machine slow both sides alike. This file uses only the standard library, because the
peer's interpreter lacks our packages.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Iterable, Mapping, NamedTuple

STARTED = time.monotonic(), 0.0  # wall and processor seconds at the start of this process
HERE = os.path.dirname(os.path.abspath(__file__))
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}  # choices of --clock


def parser(
    documentation: str | None, seconds: float = 4.0, rounds: int = 7, packages: str = "torch"
) -> argparse.ArgumentParser:
    """The options of a script that measures rounds of steps, beside a peer that has some packages."""
    made = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--seconds", type=float, default=seconds, help="of a round of either side")
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument(
        "--clock",
        choices=sorted(CLOCKS),
        default="wall",
        help="processor: processor seconds of all threads, for a busy machine",
    )
    made.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    made.add_argument("--peer-python", help=f"interpreter that has {packages}")
    return made


class Rounds(NamedTuple):
    """Rounds of equally many steps.

    Attributes:
      measure: runs a round and returns its rate, in units a second.
      steps: of a round.
    """

    measure: Callable[[], float]
    steps: int


def rounds_of(
    run: Callable[[int], object], units: float, seconds: float, clock: str, least: int = 2
) -> Rounds:
    """Rounds of about `seconds` of wall time; runs 2 x `least` steps to choose their number.

    Args:
      run: runs a number of steps.
      units: what a step does, such as its tokens.
      seconds: of a round.
      clock: a key of CLOCKS.
      least: steps of the shortest round.
    """
    run(least)  # compiles, and fills caches
    start = time.perf_counter()
    run(least)
    steps = max(least, round(seconds * least / (time.perf_counter() - start)))

    def measure() -> float:
        begin = CLOCKS[clock]()
        run(steps)
        return steps * units / (CLOCKS[clock]() - begin)

    return Rounds(measure, steps)


class Peer:
    """A script of this folder that another interpreter runs and that measures on request."""

    def __init__(self, python: str, script: str, options: Mapping[str, Any]):
        """Starts the script and waits until it is ready.

        Args:
          python: interpreter that has the peer's packages.
          script: file of this folder that calls `serve`.
          options: options of the script, sent as JSON.

        Raises:
          RuntimeError: the script ended before it was ready.
        """
        command = [python, os.path.join(HERE, script), json.dumps(dict(options))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._command = f"{python} {script}"
        self.facts: dict[str, Any] = self._read()

    def measure(self) -> float:
        """The rate of one more round."""
        assert self._process.stdin is not None
        self._process.stdin.write("measure\n")
        self._process.stdin.flush()
        return self._read()["rate"]

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def __enter__(self) -> "Peer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"{self._command} ended with exit status {self._process.wait()}; its output is "
                "above. Its packages: pip install torch transformers"
            )
        return json.loads(line)


def serve(setup: Callable[[dict[str, Any]], tuple[dict[str, Any], Callable[[], float]]]) -> None:
    """Runs the peer's side; `setup(options)` returns facts and a function that measures a round."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # Output of libraries goes to the terminal, not to the other process.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    facts, measure = setup(options)
    answers.write(json.dumps(facts) + "\n")
    answers.flush()
    for _ in sys.stdin:
        answers.write(json.dumps({"rate": measure()}) + "\n")
        answers.flush()


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Rates of both sides, one per round; without a peer, those of our side alone."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratios(self) -> list[float]:
        """Our rate over theirs, by round."""
        return [a / b for a, b in zip(self.ours, self.theirs)]

    def figures(self, name: str, unit: str) -> dict[str, float]:
        """The medians of the rates and of the ratio, with the lowest and highest round."""
        found = spread(f"clwe_jax, {unit}", self.ours)
        if self.theirs:
            found += [*spread(f"{name}, {unit}", self.theirs), *spread("ratio", self.ratios)]
        return dict(found)

    def table(self, name: str, facts: Mapping[str, Any], unit: str = "tokens/s") -> str:
        """The median, lowest and highest rate of each side, and the ratio."""
        lines = [f"{'':24}{'median':>12}{'lowest':>12}{'highest':>12}  {unit}"]
        for side, rates in (("clwe_jax", self.ours), (name, self.theirs)):
            if rates:
                numbers = (statistics.median(rates), min(rates), max(rates))
                lines.append(f"{side:24}" + "".join(f"{number:12,.0f}" for number in numbers))
        if ratios := self.ratios:
            lines.append(
                f"ratio {statistics.median(ratios):.2f} (rounds: {min(ratios):.2f} to "
                f"{max(ratios):.2f}, {len(ratios)} of them)"
            )
        lines += [f"{key}: {value}" for key, value in facts.items()]
        return "\n".join(lines)


def spread(name: str, values: Iterable[float]) -> list[tuple[str, float]]:
    """The median of rounds, and the lowest and highest one as the ends of an interval."""
    rounds = list(values)
    ends = [(f"{name}_low", min(rounds)), (f"{name}_high", max(rounds))] if len(rounds) > 1 else []
    return [(name, statistics.median(rounds)), *ends]


def record(figures: Mapping[str, float], options: Any, facts: Mapping[str, Any] = {}) -> None:
    """Writes the record of this benchmark, which becomes a line of the ledger.

    Args:
      figures: name -> value; NAME_low and NAME_high are the ends of NAME's interval.
      options: the parsed command line.
      facts: sizes, and the versions of the other program.
    """
    sys.path.insert(0, os.path.dirname(HERE))
    from benchmarks.ledger import rows
    from clwe_jax.runs import record as records

    script = os.path.join("benchmarks", os.path.basename(sys.argv[0]))
    name = rows.name_of(" ".join(["python", script, *sys.argv[1:]]))
    values = options if isinstance(options, Mapping) else vars(options)
    folder = rows.folder_of_benchmark(name, values.get("seed"))
    os.makedirs(folder, exist_ok=True)
    how = {x: y for x, y in values.items() if x.replace("_", "-") not in rows.PLACES}
    recorder = records.Recorder(folder, how, values.get("seed"), is_new=True, started=STARTED)
    recorder.write(figures, facts={x: str(y) for x, y in facts.items()})
    print(f"To keep these figures: python -m benchmarks.ledger add {folder}")


def publish(
    found: Comparison, name: str, facts: Mapping[str, Any], options: Any, unit: str = "tokens/s"
) -> None:
    """Prints a comparison and writes its record; `name` is the other program's."""
    print(found.table(name, facts, unit))
    record(found.figures(name, unit), options, facts)


def compare(
    options: argparse.Namespace,
    ours: Callable[[], float],
    script: str,
    peer_options: Mapping[str, Any],
) -> tuple[Comparison, dict[str, Any]]:
    """The rates of our side, and beside them the peer's where --peer-python names its interpreter.

    Args:
      options: the parsed command line: rounds, peer_python.
      ours: measures a round of our side.
      script: the peer's, a file of this folder.
      peer_options: what `script` gets.

    Returns:
      The rates, and facts of the peer.
    """
    if not options.peer_python:
        ours()  # as in turns, the first round is a warm-up
        return Comparison([ours() for _ in range(options.rounds)], []), {}
    with Peer(options.peer_python, script, peer_options) as peer:
        return alternate(ours, peer, options.rounds), peer.facts


def alternate(ours: Callable[[], float], peer: Peer, rounds: int) -> Comparison:
    """Measures `rounds` rounds of each side in turns; the side that goes first alternates.

    The first round of each side is a warm-up and is not counted.
    """
    ours()
    peer.measure()
    rates: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for is_ours in (True, False) if number % 2 == 0 else (False, True):
            rates[is_ours].append(ours() if is_ours else peer.measure())
    return Comparison(rates[True], rates[False])
