"""The environment of all tests, set before the first import of jax or TensorFlow."""

import gc
import logging
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import pytest

# To trace and compile makes many objects that stay: the collector would walk them again and again.
gc.set_threshold(10_000, 20, 20)

MOST_COMPILED = 1 << 30  # bytes of compiled programs that are kept between runs

# The tolerances are for float32 on a CPU, and only the CPU backend simulates several devices.
# Processes that tests start inherit the variables.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if os.environ["JAX_PLATFORMS"] == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    # Compiling takes most of the suite's time, for programs that run for milliseconds: these flags
    # divide it by four. A jaxlib without one of them names it and stops.
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
        " --xla_cpu_parallel_codegen_split_count=1",
    )
os.environ.setdefault("MPLBACKEND", "agg")


def compiled_folder(cache: pathlib.Path) -> pathlib.Path:
    """The writable folder below the user's cache in which compiled programs are kept between runs.

    Raises:
      OSError: the folder cannot be made or written.
    """
    # A program is compiled for the CPU of one host, and hosts may share a home.
    folder = cache / "clwe_jax" / "tests" / (platform.node() or "host")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
    return folder


def trim(folder: pathlib.Path, most: int) -> None:
    """Deletes the files that were used least recently until the others hold at most `most` bytes.

    Another run may read or trim the folder at the same time: JAX compiles a program again whose file
    is gone, and a file that is gone needs no deletion.
    """
    # JAX's own limit (jax_compilation_cache_max_size) needs a further package, and reads the whole
    # folder for every program that it adds.
    found = []
    for path in folder.rglob("*"):
        try:
            status = path.stat()
        except OSError:
            continue
        if path.is_file():
            found.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    size = sum(each[1] for each in found)
    for _, bytes_, path in sorted(found):
        if size <= most:
            break
        path.unlink(missing_ok=True)
        size -= bytes_


if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # Many tests and processes compile the same programs. The processes of pytest-xdist inherit the
    # variable, so that one process trims.
    _user = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    try:
        _folder = compiled_folder(_user)
        trim(_folder.parent, MOST_COMPILED)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(_folder)
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        _temporary = tempfile.TemporaryDirectory(prefix="clwe_jax_compiled_")
        os.environ["JAX_COMPILATION_CACHE_DIR"] = _temporary.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

ROOT = pathlib.Path(__file__).resolve().parents[1]


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


def pytest_collection_modifyitems(items):
    """Puts the files directly under tests/ first: they train models and take longest."""
    items.sort(key=lambda item: item.path.parent != ROOT / "tests")


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
