"""What every test needs before the first import of jax or TensorFlow."""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

# The tests' tolerances are those of float32 on a CPU, and simulated devices exist only there. The
# variables are inherited by the processes that tests start.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if os.environ["JAX_PLATFORMS"] == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # Most of the suite's time is LLVM's, on programs that run for milliseconds.
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=1")
os.environ.setdefault("MPLBACKEND", "agg")

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # Many tests and processes compile the same programs.
    _compiled = tempfile.TemporaryDirectory(prefix="clwe_jax_compiled_")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _compiled.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

ROOT = pathlib.Path(__file__).resolve().parents[1]


def python(*arguments, devices=None, check=True, timeout=300, **environment):
    """Runs `python ARGS` in the project's folder, in its own process.

    `devices` simulates that many CPU devices. The process must succeed unless `check` is False;
    what it printed is shown when it does not. Returns the finished process, with text output.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, **environment}
    if devices:
        simulated = f"--xla_force_host_platform_device_count={devices}"
        env["XLA_FLAGS"] = " ".join(filter(None, [env.get("XLA_FLAGS"), simulated]))
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if check and done.returncode:
        pytest.fail(f"exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}")
    return done


@pytest.fixture(scope="session")
def run_python():
    """The function `python` of this file."""
    return python
