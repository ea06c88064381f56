"""kill -9 at random moments, then the same command: the result equals an uninterrupted run's."""

import functools
import json
import os
import pathlib
import random
import runpy
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from clwe_jax.training.checkpoint import complete_steps

TOY = pathlib.Path(__file__).parent / "training" / "toy_run.py"
OPTIONS = dict(checkpoint=dict(every_steps=3), slow=0.02)


@pytest.fixture(scope="module")
def environment(environment_of):
    return environment_of()


def start(workdir, environment, steps):
    os.makedirs(workdir, exist_ok=True)
    with open(workdir / "log.txt", "a", encoding="utf-8") as log:
        arguments = [sys.executable, str(TOY), str(workdir), json.dumps(dict(OPTIONS, steps=steps))]
        return subprocess.Popen(arguments, env=environment, stdout=log, stderr=log)


def finish(workdir, environment, steps):
    process = start(workdir, environment, steps)
    assert process.wait(timeout=120) == 0, (workdir / "log.txt").read_text()[-3000:]
    return (workdir / "log.txt").read_text()


def newest(workdir):
    return max(complete_steps(str(workdir / "checkpoints")), default=0)


def wait_for(process, event, workdir):
    deadline = time.time() + 120
    while not event():
        assert process.poll() is None and time.time() < deadline, (workdir / "log.txt").read_text()
        time.sleep(0.01)


def assert_same_result(workdir, whole):
    ours, theirs = np.load(workdir / "final.npz"), np.load(whole / "final.npz")
    assert set(ours.files) == set(theirs.files) and len(ours.files) > 30
    for path in theirs.files:
        np.testing.assert_array_equal(ours[path], theirs[path], err_msg=path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, environment):
    """steps -> folder of an uninterrupted run of that many steps."""

    @functools.cache
    def run(steps):
        workdir = tmp_path_factory.mktemp("whole")
        finish(workdir, environment, steps)
        return workdir

    return run


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_at_random_moments(tmp_path, environment, whole, kills):
    """Kills while training, saving and starting; the run resumes from its last checkpoint."""
    moments, steps = random.Random(kills), 15 * kills
    for kill in range(1, kills + 1):
        process = start(tmp_path, environment, steps)
        if kill % 2:
            before = newest(tmp_path)
            wait_for(process, lambda: newest(tmp_path) > before, tmp_path)
            time.sleep(moments.uniform(0.0, 0.3))
        else:
            time.sleep(moments.uniform(0.5, 2.0))
        process.kill()
        process.wait()
    assert not (tmp_path / "final.npz").exists()
    log = finish(tmp_path, environment, steps)
    assert "going on from step" in log
    assert_same_result(tmp_path, whole(steps))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    logged = [line["step"] for line in lines if line["name"] == "train/loss"]
    assert logged == sorted(set(logged)) and logged[-1] == steps


@pytest.mark.slow  # training/train_test.py sends signals within one process
def test_sigterm_saves_and_goes_on(tmp_path, environment, whole):
    process = start(tmp_path, environment, 60)
    wait_for(process, lambda: "step 4/60" in (tmp_path / "log.txt").read_text(), tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 0
    log = (tmp_path / "log.txt").read_text()
    assert "Stopped by SIGTERM" in log and "same command" in log
    assert not json.loads((tmp_path / "result.json").read_text())["finished"]
    finish(tmp_path, environment, 60)
    assert_same_result(tmp_path, whole(60))


def test_the_source_is_not_trivial():
    """Batches differ, or no test would notice a resume at the wrong place."""
    source = runpy.run_path(str(TOY))["Source"]()
    first, second = next(source), next(source)
    assert not np.array_equal(first["inputs"], second["inputs"])
