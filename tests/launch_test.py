"""The launch scripts, with stubs in place of the cloud's and the cluster's clients."""

import os
import pathlib
import shutil
import stat
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAUNCH = ROOT / "launch"
SCRIPTS = [*sorted(LAUNCH.glob("*.sh")), *sorted((LAUNCH.parent / ".ci").glob("*"))]

# The stub records its command line, one argument a line, commands separated by '--'. The files slice
# and run hold the answers of `describe` and `worker.sh state`, one a line; the last line repeats.
STUB = r"""#!/usr/bin/env bash
set -eu
{ echo "$(basename "$0")"; for a in "$@"; do echo "$a"; done; echo "--"; } >>"$STUBS/calls"
answer() {
  head -n 1 "$STUBS/$1"
  if [ "$(wc -l <"$STUBS/$1")" -gt 1 ]; then sed -i 1d "$STUBS/$1"; fi
}
case "$*" in
  *tpu-vm\ describe*)
    line=$(answer slice)
    if [ "$line" = ABSENT ]; then echo "ERROR: NOT_FOUND: no such node" >&2; exit 1; fi
    echo "$line" ;;
  *worker.sh\ state*) answer run ;;
  *tpu-vm\ create*) if [ -e "$STUBS/no_capacity" ]; then rm "$STUBS/no_capacity"; exit 1; fi ;;
esac
"""


@pytest.fixture
def stubs(tmp_path):
    """A folder of stub clients that comes first on PATH."""
    for name in ("gcloud", "srun", "sbatch", "scancel", "scontrol"):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(STUB)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def environment(stubs, **more):
    path = f"{stubs / 'bin'}{os.pathsep}{os.environ['PATH']}"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
    return {**kept, "PATH": path, "STUBS": str(stubs), "TMPDIR": str(stubs), **more}


def launch(stubs, script, *arguments, **more):
    return subprocess.run(
        [LAUNCH / script, *arguments],
        env=environment(stubs, **more),
        capture_output=True,
        text=True,
        timeout=60,
    )


def calls(stubs):
    """The stubs' command lines, in order."""
    path = stubs / "calls"
    if not path.exists():
        return []
    return [c.strip("\n").split("\n") for c in path.read_text().split("\n--\n") if c.strip()]


def verbs(stubs):
    """The requests to the slice, in order: create, scp, ssh (the worker.sh command), ..."""
    found = []
    for call in calls(stubs):
        verb = call[4]
        command = [a for a in call if a.startswith("--command=")]
        if command and "worker.sh " in command[0]:
            verb = command[0].split("worker.sh ")[1].split()[0]
        elif command:
            verb = "unpack"
        found.append(verb)
    return [v for v in found if v not in ("describe", "state")]


SLICE = ["--name=n", "--zone=z", "--bucket=b", "--every=0"]
CONFIG = ["--", "--config=configs/mbert.py:paper", "--config.report.title=one two"]
START = ["create", "scp", "unpack", "setup", "start"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_and_pass_the_linters(script):
    assert script.stat().st_mode & stat.S_IXUSR
    subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", script], capture_output=True, text=True)
        assert not done.returncode, done.stdout


@pytest.mark.parametrize("script", ["local.sh", "tpu_vm.sh"])
def test_help_is_the_head_of_the_script(stubs, script):
    done = launch(stubs, script, "--help")
    assert done.returncode == 0 and f"launch/{script}" in done.stdout
    assert "set -e" not in done.stdout


def test_tpu_dry_run_prints_every_command_and_calls_nothing(stubs):
    done = launch(stubs, "tpu_vm.sh", "up", *SLICE, "--spot", "--dry-run", *CONFIG)
    assert done.returncode == 0, done.stderr
    assert calls(stubs) == []
    printed = [line for line in done.stderr.splitlines() if line.startswith("+ ")]
    for verb in ("create", "scp", "ssh", "describe", "delete"):
        assert any(
            f"tpus tpu-vm {verb} n" in line or verb == "scp" and "scp" in line for line in printed
        ), f"{verb} is not printed:\n{done.stderr}"
    assert any("--spot" in line and "v3-256" in line for line in printed)
    assert any("--multihost" in line and "share/runs/n" in line for line in printed)


def test_tpu_run_reaches_every_worker_with_its_arguments_intact(stubs):
    done = launch(stubs, "tpu_vm.sh", "run", *SLICE, "--project=p", *CONFIG)
    assert done.returncode == 0, done.stderr
    [call] = calls(stubs)
    assert call[:6] == ["gcloud", "compute", "tpus", "tpu-vm", "ssh", "n"]
    assert "--worker=all" in call and "--zone=z" in call and "--project=p" in call
    [command] = [a.removeprefix("--command=") for a in call if a.startswith("--command=")]
    # Run the command in a shell, with a `launch/worker.sh` that prints its arguments.
    printer = stubs / "clwe_jax" / "launch" / "worker.sh"
    printer.parent.mkdir(parents=True)
    printer.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    printer.chmod(0o755)
    seen = subprocess.run(
        ["bash", "-c", command],
        cwd=stubs,
        env={**os.environ, "HOME": "/h"},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = ["start", "--multihost", *CONFIG[1:], "--workdir=/h/share/runs/n"]
    assert seen.stdout.splitlines() == expected


def test_tpu_copy_packs_the_project_as_git_sees_it(stubs):
    done = launch(stubs, "tpu_vm.sh", "copy", *SLICE)
    assert done.returncode == 0, done.stderr
    assert verbs(stubs) == ["scp", "unpack"]
    listing = subprocess.run(
        ["tar", "--list", "--file", stubs / "clwe_jax-n.tar.gz"], capture_output=True, text=True
    ).stdout.splitlines()
    assert {"setup.py", "clwe_jax/main.py", "launch/worker.sh"} <= set(listing)
    assert not [name for name in listing if "__pycache__" in name or name.startswith(".git/")]


def test_tpu_up_resumes_after_preemption(stubs):
    (stubs / "slice").write_text("ABSENT\nREADY\nPREEMPTED\nREADY\nREADY\n")
    (stubs / "run").write_text("running\nrunning\nfinished\n")
    done = launch(stubs, "tpu_vm.sh", "up", *SLICE, *CONFIG)
    assert done.returncode == 0, done.stderr
    assert verbs(stubs) == [*START, "delete", *START]
    assert "finished" in done.stderr and "delete" in done.stderr


def test_tpu_up_tries_again_when_there_is_no_capacity(stubs):
    (stubs / "slice").write_text("ABSENT\nABSENT\nREADY\n")
    (stubs / "run").write_text("finished\n")
    (stubs / "no_capacity").touch()
    done = launch(stubs, "tpu_vm.sh", "up", *SLICE, *CONFIG)
    assert done.returncode == 0, done.stderr
    assert verbs(stubs) == ["create", *START]


def test_tpu_watch_starts_all_workers_again_when_one_went_down(stubs):
    (stubs / "slice").write_text("READY\n")
    (stubs / "run").write_text("killed\ninterrupted\nbare\nunreachable\nfinished\n")
    done = launch(stubs, "tpu_vm.sh", "watch", *SLICE, *CONFIG)
    assert done.returncode == 0, done.stderr
    again = ["stop", "setup", "start"]
    assert verbs(stubs) == [*again, *again, "scp", "unpack", "setup", "start"]


def test_tpu_watch_gives_up_on_a_run_that_keeps_failing(stubs):
    (stubs / "slice").write_text("READY\n")
    (stubs / "run").write_text("failed 1\n")
    done = launch(stubs, "tpu_vm.sh", "watch", *SLICE, "--restarts=1", *CONFIG)
    assert done.returncode == 1 and "failed 2 times" in done.stderr
    assert verbs(stubs) == ["log", "stop", "setup", "start", "log"]


def test_tpu_watch_ends_where_the_run_is_stopped(stubs):
    (stubs / "slice").write_text("READY\n")
    (stubs / "run").write_text("running\nstopped\n")
    done = launch(stubs, "tpu_vm.sh", "watch", *SLICE, *CONFIG)
    assert done.returncode == 0 and "was stopped" in done.stderr
    assert not verbs(stubs)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "no such command"),
        (["fly", "--name=n", "--zone=z"], "no such command: fly"),
        (["create", "--zone=z"], "--name=NAME"),
        (["create", "--name=n"], "--zone=ZONE"),
        (["create", "--name=n", "--zone=z", "--nmae=n"], "no such option: --nmae=n"),
        (["run", "--name=n", "--zone=z"], "no system"),
        (["run", "--name=n", "--zone=z", "--", "--config=c"], "--bucket=NAME"),
    ],
)
def test_tpu_bad_arguments_are_answered(stubs, arguments, message):
    done = launch(stubs, "tpu_vm.sh", *arguments)
    assert done.returncode == 2 and message in done.stderr
    assert calls(stubs) == []


JOB = ["--config=configs/mbert.py", "--workdir=runs/x"]


def test_slurm_starts_one_process_a_node_with_all_its_gpus(stubs):
    (stubs / "bin" / "srun").write_text(STUB + '\necho "$JAX_LOCAL_DEVICE_IDS" >"$STUBS/devices"\n')
    done = launch(
        stubs,
        "slurm.sh",
        *JOB,
        "--config.report.title=one two",
        SLURM_JOB_ID="7",
        SLURM_GPUS_ON_NODE="4",
        SLURM_SUBMIT_DIR=str(ROOT),
        PYTHON="py",
    )
    assert done.returncode == 0, done.stderr
    [call] = calls(stubs)
    assert call[0] == "srun" and "--ntasks-per-node=1" in call
    assert call[call.index("py") :] == [
        "py",
        "-m",
        "clwe_jax.main",
        "--multihost",
        *JOB,
        "--config.report.title=one two",
    ]
    assert (stubs / "devices").read_text().strip() == "0,1,2,3"


def test_slurm_returns_a_failure_and_does_not_queue_again(stubs):
    (stubs / "bin" / "srun").write_text(STUB + "\nexit 3\n")
    done = launch(stubs, "slurm.sh", *JOB, SLURM_JOB_ID="7", SLURM_SUBMIT_DIR=str(ROOT))
    assert done.returncode == 3
    assert [call[0] for call in calls(stubs)] == ["srun"]


def test_slurm_queues_an_unfinished_run_again(stubs):
    (stubs / "bin" / "srun").write_text(STUB + "\nexit 75\n")
    done = launch(stubs, "slurm.sh", *JOB, SLURM_JOB_ID="7", SLURM_SUBMIT_DIR=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert calls(stubs)[1:] == [["scontrol", "requeue", "7"]]


def test_slurm_saves_and_queues_again_on_sigterm(stubs):
    # The step ends on the signal, like the program after its checkpoint.
    (stubs / "bin" / "srun").write_text(
        STUB + '\nwhile [ ! -e "$STUBS/signal" ]; do sleep 0.05; done\necho saved >"$STUBS/saved"\n'
    )
    (stubs / "bin" / "scancel").write_text(STUB + '\ntouch "$STUBS/signal"\n')
    env = environment(stubs, SLURM_JOB_ID="7", SLURM_SUBMIT_DIR=str(ROOT))
    job = subprocess.Popen([LAUNCH / "slurm.sh", *JOB], env=env, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 20
    while not calls(stubs) and time.time() < deadline:
        time.sleep(0.05)
    job.terminate()
    _, errors = job.communicate(timeout=20)
    assert job.returncode == 0, errors
    assert (stubs / "saved").exists(), "the job did not wait for its step"
    assert calls(stubs)[1:] == [["scancel", "--signal=TERM", "7"], ["scontrol", "requeue", "7"]]


def test_slurm_dry_run_and_bad_arguments(stubs):
    done = launch(stubs, "slurm.sh", "--dry-run", *JOB)
    assert done.returncode == 0 and calls(stubs) == []
    for command in ("srun", "scancel", "scontrol requeue"):
        assert f"+ {command}" in done.stderr
    assert "--workdir" in launch(stubs, "slurm.sh", "--config=x").stderr
    assert "sbatch launch/slurm.sh" in launch(stubs, "slurm.sh", *JOB).stderr


def python_stub(folder, body):
    path = folder / "venv" / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/usr/bin/env bash\necho \"$@\" >>'{folder}/python_calls'\n{body}\n")
    path.chmod(0o755)
    return path


def test_local_installs_once_and_hands_the_arguments_on(stubs):
    done = launch(stubs, "local.sh", "--dry-run", f"--venv={stubs}/v", "--config=c.py", "--x=1 2")
    assert done.returncode == 0
    assert "launch/worker.sh setup" in done.stderr
    assert f"+ {stubs}/v/bin/python -m clwe_jax.main --config=c.py --x=1\\ 2" in done.stderr
    python_stub(stubs, "exit 5")
    done = launch(stubs, "local.sh", f"--venv={stubs}/venv", "--restarts=3", "--config=c.py")
    # The script returns the program's error; it installs nothing into an existing environment.
    assert done.returncode == 5
    assert (stubs / "python_calls").read_text() == "-m clwe_jax.main --config=c.py\n"
    assert "no system" in launch(stubs, "local.sh").stderr


def test_local_starts_a_killed_program_again(stubs):
    python_stub(stubs, 'if [ "$(wc -l <"$STUBS/python_calls")" -lt 3 ]; then kill -KILL $$; fi')
    done = launch(stubs, "local.sh", f"--venv={stubs}/venv", "--restarts=2", "--config=c.py")
    assert done.returncode == 0, done.stderr
    assert len((stubs / "python_calls").read_text().splitlines()) == 3


def worker(stubs, *arguments, python=None):
    more = {"PYTHON": str(python)} if python else {}
    done = launch(stubs, "worker.sh", *arguments, STATE_DIR=str(stubs / "state"), **more)
    return done.stdout.strip() if not done.returncode else done.stderr


def wait_for(stubs, state):
    deadline = time.time() + 20
    while (seen := worker(stubs, "state")) != state and time.time() < deadline:
        time.sleep(0.1)
    assert seen == state


def test_worker_setup_installs_the_extra(stubs):
    python_stub(stubs, "")
    worker(stubs, "setup", f"--venv={stubs}/venv", "--extra=[tpu]")
    installed = (stubs / "python_calls").read_text()
    assert installed == "-m pip install --quiet --editable .[tpu]\n"


def test_worker_follows_a_run_to_its_end(stubs):
    python = python_stub(
        stubs, "trap 'echo saved; exit 75' TERM; echo started; while :; do sleep 0.05; done"
    )
    assert worker(stubs, "state") == "idle"
    worker(stubs, "start", "--config=c.py", python=python)
    wait_for(stubs, "running")
    assert "under way" in worker(stubs, "start", "--config=c.py", python=python)
    time.sleep(0.3)
    assert worker(stubs, "stop") == "interrupted"
    assert worker(stubs, "log").splitlines() == ["started", "saved"]
    # Stopped to stay so: nothing but a start goes on.
    worker(stubs, "start", "--config=c.py", python=python)
    wait_for(stubs, "running")
    time.sleep(0.3)
    assert worker(stubs, "stop", "--stay") == worker(stubs, "state") == "stopped"
    worker(stubs, "start", "--config=c.py", python=python)
    wait_for(stubs, "running")
    time.sleep(0.3)
    assert worker(stubs, "stop") == "interrupted"
    assert worker(stubs, "stop", "--stay") == "stopped"  # though it does not run now


@pytest.mark.parametrize("body, state", [("exit 0", "finished"), ("exit 9", "failed 9")])
def test_worker_reports_how_a_run_ended(stubs, body, state):
    python = python_stub(stubs, body)
    worker(stubs, "start", "--config=c.py", python=python)
    wait_for(stubs, state)


def test_worker_recognises_a_run_that_went_down_with_its_machine(stubs):
    # The number in the file now belongs to another program: this test.
    (stubs / "state").mkdir()
    (stubs / "state" / "pid").write_text(str(os.getpid()))
    assert worker(stubs, "state") == "killed"


def test_gke_sample_is_consistent():
    yaml = pytest.importorskip("yaml")
    [job_set] = yaml.safe_load_all((LAUNCH / "gke.yaml").read_text())
    [job] = job_set["spec"]["replicatedJobs"]
    job = job["template"]["spec"]
    assert job["parallelism"] == job["completions"]
    pod = job["template"]["spec"]
    [container] = pod["containers"]
    chips = container["resources"]["limits"]["google.com/tpu"]
    sides = pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"].split("x")
    assert int(sides[0]) * int(sides[1]) == chips * job["parallelism"]
    assert "--multihost" in container["args"][0]
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
