"""Runs our side and a peer's in turns, each in its own interpreter, and prints the ratio.

The peer's process stays alive between its turns, so that neither side pays for imports, and both
see the same machine: what else runs on it slows both. Only the standard library is used here: the
peer's interpreter does not have what ours has.
"""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
from typing import Any, Callable, Mapping

HERE = os.path.dirname(os.path.abspath(__file__))


class Peer:
    """A script of this folder in another interpreter, which measures when it is asked to."""

    def __init__(self, python: str, script: str, options: Mapping[str, Any]):
        """Starts the script and waits until it is ready.

        Args:
          python: the interpreter that has the peer's packages.
          script: a file of this folder that ends in `serve`.
          options: given to the script as JSON.

        Raises:
          RuntimeError: it ended before it was ready; the message holds what it said.
        """
        command = [python, os.path.join(HERE, script), json.dumps(dict(options))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._command = f"{python} {script}"
        self.facts: dict[str, Any] = self._read()

    def measure(self) -> float:
        """One round's rate."""
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
                f"{self._command} ended with exit status {self._process.wait()}; what it said is "
                "above. Its packages: pip install torch transformers"
            )
        return json.loads(line)


def serve(setup: Callable[[dict[str, Any]], tuple[dict[str, Any], Callable[[], float]]]) -> None:
    """The peer's end: `setup(options)` gives its facts and the function that measures a round."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # What libraries print is for the person, not for the other process.
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
    """Rates of both sides, a round each after the other."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """The median over the rounds of our rate over theirs."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def table(self, name: str, facts: Mapping[str, Any], unit: str = "tokens/s") -> str:
        """Medians, lowest and highest of both sides, and the ratio."""
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


def alternate(ours: Callable[[], float], peer: Peer, rounds: int) -> Comparison:
    """Measures `rounds` rounds of each side in turns, who goes first changing every round.

    The first round of each side warms it up and is not counted.
    """
    ours()
    peer.measure()
    rates: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds):
        for is_ours in (True, False) if number % 2 == 0 else (False, True):
            rates[is_ours].append(ours() if is_ours else peer.measure())
    return Comparison(rates[True], rates[False])
