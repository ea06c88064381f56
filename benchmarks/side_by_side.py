"""Measures our side and a peer's in turns, each in its own interpreter, and prints the ratio.

The peer's process stays alive between its turns, so that neither side pays for imports and other
programs on the machine slow both sides alike. This file uses only the standard library, because the
peer's interpreter lacks our packages.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Iterable, Mapping

STARTED = time.monotonic(), 0.0  # wall and processor seconds at the start of this process
HERE = os.path.dirname(os.path.abspath(__file__))
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}  # choices of --clock


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
    """Rates of both sides, one per round."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """The median over the rounds of our rate over theirs."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def figures(self, name: str, unit: str) -> dict[str, float]:
        """The medians of both rates and of the ratio, with the lowest and highest round."""
        ratios = [a / b for a, b in zip(self.ours, self.theirs, strict=True)]
        rates = {"clwe_jax": self.ours, name: self.theirs}
        found = {
            key: value for side in rates for key, value in spread(f"{side}, {unit}", rates[side])
        }
        return found | dict(spread("ratio", ratios))

    def table(self, name: str, facts: Mapping[str, Any], unit: str = "tokens/s") -> str:
        """The median, lowest and highest rate of either side, and the ratio."""
        lines = [f"{'':24}{'median':>12}{'lowest':>12}{'highest':>12}  {unit}"]
        for side, rates in (("clwe_jax", self.ours), (name, self.theirs)):
            numbers = (statistics.median(rates), min(rates), max(rates))
            lines.append(f"{side:24}" + "".join(f"{number:12,.0f}" for number in numbers))
        ratios = [a / b for a, b in zip(self.ours, self.theirs, strict=True)]
        lines.append(
            f"ratio {self.ratio:.2f} (rounds: {min(ratios):.2f} to {max(ratios):.2f}, "
            f"{len(ratios)} of them)"
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
    folder = rows.folder_of_benchmark(name)
    os.makedirs(folder, exist_ok=True)
    values = options if isinstance(options, Mapping) else vars(options)
    how = {x: y for x, y in values.items() if x.replace("_", "-") not in rows.PLACES}
    recorder = records.Recorder(folder, how, values.get("seed"), started=STARTED)
    recorder.write(figures, facts={x: str(y) for x, y in facts.items()})
    print(f"To keep these figures: python -m benchmarks.ledger add {folder}")


def publish(
    found: Comparison, name: str, facts: Mapping[str, Any], options: Any, unit: str = "tokens/s"
) -> None:
    """Prints a comparison and writes its record; `name` is the other program's."""
    print(found.table(name, facts, unit))
    record(found.figures(name, unit), options, facts)


def publish_alone(
    rates: Iterable[float], facts: Mapping[str, Any], options: Any, unit: str = "tokens/s"
) -> None:
    """As `publish`, without another program."""
    figures = dict(spread(f"clwe_jax, {unit}", rates))
    print(f"{unit}: {figures[f'clwe_jax, {unit}']:,.0f} (median of the rounds)")
    print("\n".join(f"{key}: {value}" for key, value in facts.items()))
    record(figures, options, facts)


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
