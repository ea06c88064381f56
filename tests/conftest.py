"""The environment of all tests, set before the first import of jax or TensorFlow."""

import functools
import gc
import importlib.metadata
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

from clwe_jax import compiled

# To trace and compile makes many objects that stay: the collector would walk them again and again.
gc.set_threshold(10_000, 20, 20)

# The tolerances are for float32 on a CPU, and only the CPU backend simulates several devices.
# Processes that tests start inherit the variables.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if os.environ["JAX_PLATFORMS"] == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # Compiling takes most of the suite's time, for programs that run for milliseconds: these flags
    # divide it by four. A jaxlib without one of them names it and ends the process.
    flags = "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    # Later versions lack this flag and compile 2.3 times as long; no flag of 0.12 changes that.
    if importlib.metadata.version("jaxlib").startswith("0.10."):
        flags += " --xla_cpu_use_fusion_emitters=false"
    os.environ.setdefault("XLA_FLAGS", flags)
# A program's locations are for its reader alone, and each operation's would walk the whole stack.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
os.environ.setdefault("MPLBACKEND", "agg")

# PyTorch imports it where it is installed, and its LLVM beside TensorFlow's ends the process.
sys.modules.setdefault("triton", None)

# The processes of pytest-xdist take all cores: a second thread of OpenBLAS waits in a loop, which makes small
# products several times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Many tests and processes compile the same programs. The processes of pytest-xdist inherit the variables.
if not compiled.keep("tests"):
    _temporary = tempfile.TemporaryDirectory(prefix="clwe_jax_compiled_")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _temporary.name

ROOT = pathlib.Path(__file__).resolve().parents[1]
LONG_ROOMS = ("clcr", "data", "objectives", "pretrain", "training", "transfer")


def python_environment(devices=None, **environment):
    """The environment of a Python process that imports clwe_jax from this folder.

    Args:
      devices: number of CPU devices to simulate.
      environment: further environment variables.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, **environment}
    if devices:
        simulated = f"--xla_force_host_platform_device_count={devices}"
        env["XLA_FLAGS"] = " ".join(filter(None, [env.get("XLA_FLAGS"), simulated]))
    return env


def python(*arguments, devices=None, check=True, timeout=300, **environment):
    """Runs `python ARGUMENTS` in the project's folder, in a process of its own.

    Args:
      devices: number of CPU devices to simulate.
      check: fail the test, with the output of the process, where the process fails.
      timeout: seconds.
      environment: further environment variables.

    Returns:
      The finished process, with text output.
    """
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env=python_environment(devices, **environment),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if check and done.returncode:
        pytest.fail(f"exit {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-8000:]}")
    return done


@pytest.fixture(autouse=True, scope="module")
def few_memory_maps():
    """Drops the compiled programs of earlier files before they take all of a process's memory maps.

    Linux allows 65,530 (vm.max_map_count); a program takes some nine with jaxlib 0.10, twenty with 0.12.
    """
    yield
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            count = sum(1 for _ in maps)
    except FileNotFoundError:  # not Linux
        return
    if count > 25_000:
        sys.modules["jax"].clear_caches()
        gc.collect()


@pytest.fixture(autouse=True, scope="module")
def one_mlir_context():
    """Lowers the programs of a file in one MLIR context: to make one takes a fifth of a small program's time."""
    mlir = sys.modules.get("jax._src.interpreters.mlir")
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(mlir, "make_ir_context"):  # JAX's own: another version may lack it
            patch.setattr(mlir, "make_ir_context", functools.cache(mlir.make_ir_context))
        yield


def pytest_collection_finish():
    """Leaves the imported modules, which stay, out of all later searches for unused objects."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Puts the files first that take longest, those directly under tests/ and of the rooms that train models: a
    long file at the end would leave the other processes idle."""

    def place_of(item):
        room = item.path.relative_to(ROOT / "tests").parts[0]
        return room not in LONG_ROOMS and not room.endswith(".py"), item.path

    items.sort(key=place_of)


@pytest.fixture(scope="session")
def run_python():
    """The function `python` of this file."""
    return python


@pytest.fixture(scope="session")
def environment_of():
    """The function `python_environment` of this file."""
    return python_environment


@pytest.fixture
def said(caplog):
    """What is logged from the level INFO on, whatever level a test before has left."""
    from absl import logging as absl_logging  # after the variables above are set

    logger = absl_logging.get_absl_logger()
    logger.addHandler(caplog.handler)
    with caplog.at_level(logging.INFO), caplog.at_level(logging.INFO, logger=logger.name):
        yield caplog
    logger.removeHandler(caplog.handler)
