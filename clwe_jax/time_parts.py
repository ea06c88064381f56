"""The parts of this process's time: a second of the processor belongs to the innermost open part."""

from __future__ import annotations

import contextlib
import resource
import time
from typing import Iterator, NamedTuple

START_UP = "start-up"
TEXT = "text"
VOCABULARY = "vocabulary"
EVALUATION = "evaluation"
REPORT = "report"
REST = "rest"  # what is in no part


class ClockReading(NamedTuple):
    """What the clocks say.

    Attributes:
      wall: seconds of a clock that never goes back.
      processor: seconds of the processor, of this process and of its ended children.
      spent: part -> its seconds of the processor.
    """

    wall: float
    processor: float
    spent: dict[str, float]


# The process begins with its start-up, which ends with the first part of another name.
_open = [REST, START_UP]
_spent: dict[str, float] = {}
_counted = 0.0  # the processor's seconds that `_spent` holds
_command: ClockReading | None = None
_IMPORTED = time.monotonic()


def read() -> ClockReading:
    """The clocks as they are now."""
    global _counted
    # os.times() counts in hundredths of a second.
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    _spent[_open[-1]] = _spent.get(_open[-1], 0.0) + processor - _counted
    _counted = processor
    return ClockReading(time.monotonic(), processor, dict(_spent))


@contextlib.contextmanager
def part(name: str) -> Iterator[None]:
    """Counts the time of the block as that of a part, except that of parts within it."""
    read()
    if _open == [REST, START_UP]:
        _open.pop()
    _open.append(name)
    try:
        yield
    finally:
        read()
        _open.pop()


def is_command() -> None:
    """Says that the process has been started for its first job, whose time is the process's."""
    global _command
    _command = ClockReading(_IMPORTED, 0.0, {})


def begin() -> ClockReading:
    """The clocks at the start of a job: now, or when the process started for this job."""
    global _command
    started = _command or read()
    _command = None
    return started


def since(started: ClockReading) -> dict[str, float]:
    """Part -> its seconds of the processor since a reading."""
    spent = {name: round(x - started.spent.get(name, 0.0), 3) for name, x in read().spent.items()}
    return {name: seconds for name, seconds in spent.items() if seconds > 0}
