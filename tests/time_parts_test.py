"""The parts of a process's time: each second has one, and a command's begin with the process."""

import subprocess
import sys
import time

import pytest

from clwe_jax import time_parts

COMMAND = """
import time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
work(0.3)
from clwe_jax import time_parts
time_parts.is_command()
work(0.1)
job = time_parts.begin()
with time_parts.part("training"):
    work(0.2)
work(0.1)
inner = time_parts.begin()
with time_parts.part("training"):
    work(0.1)
print(time_parts.since(job), time_parts.since(inner), time_parts.read().processor - job.processor, sep="\\n")
"""


def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_an_inner_part_is_not_counted_twice():
    started = time_parts.begin()
    with time_parts.part("outer"):
        work(0.1)
        with time_parts.part("inner"):
            work(0.2)
        with time_parts.part("inner"):
            work(0.1)
    work(0.1)
    spent = time_parts.since(started)
    expected = {"outer": 0.1, "inner": 0.3, time_parts.REST: 0.1}
    assert {name: spent[name] for name in expected} == pytest.approx(expected, abs=0.06)
    assert sum(spent.values()) == pytest.approx(
        time_parts.read().processor - started.processor, abs=0.03
    )


def test_a_failure_closes_its_part():
    started = time_parts.begin()
    with pytest.raises(ValueError), time_parts.part("failing"):
        raise ValueError
    work(0.1)
    assert time_parts.since(started).get("failing", 0) < 0.05


def test_the_first_job_of_a_command_begins_with_the_process():
    said = subprocess.run(
        [sys.executable, "-c", COMMAND], capture_output=True, text=True, check=True
    )
    job, inner, whole = map(eval, said.stdout.splitlines())
    assert job[time_parts.START_UP] >= 0.4 and job["training"] == pytest.approx(0.3, abs=0.06)
    assert inner["training"] == pytest.approx(0.1, abs=0.06) and sum(inner.values()) < 0.2
    assert sum(job.values()) == pytest.approx(whole, abs=0.03)
