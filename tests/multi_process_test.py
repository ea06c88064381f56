"""Two processes on loopback, two simulated devices each, equal one process with four."""

import json
import pathlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

TOY = pathlib.Path(__file__).parent / "training" / "toy_run.py"
LIMIT = 3_000  # bytes of the table of pieces on a device, which is larger


@pytest.fixture(scope="module")
def launch(environment_of):
    """(workdir, hosts, **options) -> started processes, each with its log_{host}.txt."""

    def run(workdir, hosts, **options):
        workdir.mkdir(exist_ok=True)
        if hosts > 1:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                options["coordinator"] = f"127.0.0.1:{free.getsockname()[1]}"
        processes = []
        for host in range(hosts):
            environment = environment_of(devices=4 // hosts, TOY_PROCESS=str(host))
            arguments = [sys.executable, str(TOY), str(workdir), json.dumps(options)]
            with open(workdir / f"log_{host}.txt", "a", encoding="utf-8") as log:
                processes.append(
                    subprocess.Popen(arguments, env=environment, stdout=log, stderr=log)
                )
        return processes

    return run


def wait(processes, workdir):
    try:
        codes = [process.wait(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    logs = "\n".join(path.read_text()[-3000:] for path in sorted(workdir.glob("log_*.txt")))
    assert codes == [0] * len(processes), logs
    return logs


# With fsdp=4 every host computes with its shards of the table.
@pytest.mark.parametrize(
    "mesh",
    [dict(fsdp=4), pytest.param(dict(data=2, fsdp=2), marks=pytest.mark.slow)],
    ids=["fsdp", "both"],
)
def test_two_equal_one_also_after_a_stop(tmp_path, launch, mesh):
    """After SIGTERM to one process both stop at the same step, save, and resume.

    The evaluations between steps never hold the whole table on one device.
    """
    options = dict(steps=16, mesh=mesh, checkpoint=dict(every_steps=100), limit=LIMIT, slow=0.2)
    wait(launch(tmp_path / "one", 1, **dict(options, slow=0.0)), tmp_path / "one")

    two = tmp_path / "two"
    processes = launch(two, 2, **options)
    deadline = time.time() + 200
    while "step 4/16" not in (two / "log_0.txt").read_text():
        assert time.time() < deadline and all(process.poll() is None for process in processes), [
            path.read_text()[-3000:] for path in two.glob("log_*.txt")
        ]
        time.sleep(0.02)
    processes[1].send_signal(signal.SIGTERM)
    wait(processes, two)
    for host in (0, 1):
        assert "SIGTERM at step" in (two / f"log_{host}.txt").read_text()
    result = json.loads((two / "result.json").read_text())
    assert not result["finished"] and 4 <= result["step"] < 16
    data = two / "checkpoints" / str(result["step"]) / "data"
    assert {path.name for path in data.glob("*.bin")} == {"host_0_of_2.bin", "host_1_of_2.bin"}

    wait(launch(two, 2, **dict(options, slow=0.0)), two)
    assert f"going on from step {result['step']}" in (two / "log_0.txt").read_text()
    ours, theirs = np.load(two / "final.npz"), np.load(tmp_path / "one" / "final.npz")
    for path in theirs.files:
        scale = np.abs(theirs[path]).max() + 1e-6
        assert np.abs(ours[path].astype(float) - theirs[path]).max() < 2e-3 * scale, path
    ours, theirs = (metrics(folder) for folder in (two, tmp_path / "one"))
    assert (16, "train/loss") in ours
    assert ours[4, "eval/table_bytes"] > LIMIT
    for step in range(4, 17, 4):  # each host has one half of the held-out rows
        for name in ("eval/mlm/loss", "eval/mlm/accuracy", "eval/encoded"):
            assert ours[step, name] == pytest.approx(theirs[step, name], rel=1e-3), name


@pytest.mark.slow
def test_hosts_that_hold_all_rows_hold_no_whole_table(tmp_path, launch):
    """With tensor=4 both hosts hold all rows."""
    options = dict(steps=5, mesh=dict(tensor=4), checkpoint=dict(every_steps=100), limit=LIMIT)
    wait(launch(tmp_path, 2, **options), tmp_path)
    found = metrics(tmp_path)
    assert found[4, "eval/table_bytes"] > LIMIT and (5, "eval/mlm/loss") in found


def metrics(workdir):
    lines = [json.loads(line) for line in (workdir / "metrics.jsonl").read_text().splitlines()]
    return {(line["step"], line["name"]): line["value"] for line in lines}
