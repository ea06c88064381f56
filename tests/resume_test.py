"""kill -9 at random moments, then the same command: the result is that of a run left alone."""

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
def environment(tmp_path_factory):
    cache = tmp_path_factory.mktemp("compiled")
    return {
        **os.environ,
        "PYTHONPATH": str(TOY.parents[2]),
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }


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
    """steps -> the folder of a run of that many steps that was left alone."""

    @functools.cache
    def run(steps):
        workdir = tmp_path_factory.mktemp("whole")
        finish(workdir, environment, steps)
        return workdir

    return run


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_at_random_moments(tmp_path, environment, whole, kills):
    """Kills while training, saving and starting; what was saved before them is gone on from."""
    moments, steps = random.Random(kills), 20 * kills
    for kill in range(1, kills + 1):
        process = start(tmp_path, environment, steps)
        if kill % 3:
            before = newest(tmp_path)
            wait_for(process, lambda: newest(tmp_path) > before, tmp_path)
            time.sleep(moments.uniform(0.0, 0.3))
        else:
            time.sleep(moments.uniform(0.5, 3.0))
        process.kill()
        process.wait()
    assert not (tmp_path / "final.npz").exists()
    log = finish(tmp_path, environment, steps)
    assert "going on from step" in log
    assert_same_result(tmp_path, whole(steps))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    logged = [line["step"] for line in lines if line["name"] == "train/loss"]
    assert logged == sorted(set(logged)) and logged[-1] == steps


def test_sigterm_saves_and_goes_on(tmp_path, environment, whole):
    process = start(tmp_path, environment, 60)
    wait_for(process, lambda: "step 4/60" in (tmp_path / "log.txt").read_text(), tmp_path)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 0
    log = (tmp_path / "log.txt").read_text()
    assert "Stopped by SIGTERM" in log and "The same command goes on" in log
    assert not json.loads((tmp_path / "result.json").read_text())["finished"]
    finish(tmp_path, environment, 60)
    assert_same_result(tmp_path, whole(60))


def test_the_source_is_not_trivial():
    """Batches differ, else a resume at the wrong place would go unseen."""
    source = runpy.run_path(str(TOY))["Source"]()
    first, second = next(source), next(source)
    assert not np.array_equal(first["inputs"], second["inputs"])
