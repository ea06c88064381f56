"""The command, versions, machine, commit and peak memory of this process."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import re
import resource
import subprocess
import sys
from typing import Any

from clwe_jax.options import shipped

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Folders whose changes make a checkout another one than its commit.
_CODE = ("clwe_jax", "configs", "benchmarks", ":!benchmarks/ledger", ":!*.md")
_ENTRY = os.path.join("clwe_jax", "__main__.py")  # of `python -m clwe_jax`, which is `clwe-jax`
# Distribution -> the module that shows whether the process uses it.
_PACKAGES = {
    name: name.replace("-", ".")
    for name in (
        "clwe_jax",
        "jax",
        "flax",
        "optax",
        "numpy",
        "orbax-checkpoint",
        "scipy",
        "gensim",
        "tensorflow",
        "seqio",
        "torch",
        "transformers",
    )
}


def environment() -> dict[str, Any]:
    """The command, the machine, and the versions of the packages that are in use."""
    return {"command": command(), **machine(), "versions": versions()}


def command() -> list[str]:
    """The words of this process's command."""
    script = os.path.abspath(sys.argv[0])
    place = os.path.relpath(script, ROOT)
    if os.path.basename(script) == "clwe-jax" or place == _ENTRY:
        # Its training is that of clwe_jax.main, so that rows have one name for one run.
        return [
            "python",
            "-m",
            "clwe_jax.main",
            *shipped.with_config_file(sys.argv[1:], shipped.as_path),
        ]
    if place.startswith(f"clwe_jax{os.sep}"):
        module = os.path.splitext(place)[0].replace(os.sep, ".").removesuffix(".__main__")
        return ["python", "-m", module, *sys.argv[1:]]
    return ["python", os.path.basename(script) if place.startswith("..") else place, *sys.argv[1:]]


def machine() -> dict[str, Any]:
    """'cores', 'processor', and 'device': number and kind of jax's devices, where jax is in use."""
    hardware: dict[str, Any] = {"cores": os.cpu_count(), "processor": _processor()}
    if "jax" in sys.modules:
        jax = sys.modules["jax"]
        hardware["device"] = f"{jax.device_count()} x {jax.devices()[0].device_kind}"
    return hardware


@functools.cache
def _processor() -> str:
    """The processor's name; on Linux with its model number, as virtual machines shorten names."""
    match = None
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            match = re.search(r"^model\s*: (.+)\nmodel name\s*: (.+)", file.read(), re.MULTILINE)
    return f"{match[2]}, model {match[1]}" if match else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that this process has imported."""
    by_package = {"python": platform.python_version()}
    for name, module in _PACKAGES.items():
        if module in sys.modules:
            try:
                by_package[name] = _version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
    return by_package


# Each stage of each run asks, and a package's metadata are a file that is parsed.
_version = functools.cache(importlib.metadata.version)


def peak_memory() -> dict[str, int]:
    """Bytes: 'host_peak' of this process; 'device_peak' of its first device, where known."""
    peaks = {"host_peak": _read_host_peak()}
    if "jax" in sys.modules:
        stats = sys.modules["jax"].local_devices()[0].memory_stats() or {}
        if "peak_bytes_in_use" in stats:
            peaks["device_peak"] = stats["peak_bytes_in_use"]
    return peaks


def _read_host_peak() -> int:
    """The most bytes of memory that this process has held at once."""
    if os.path.exists("/proc/self/status"):
        # ru_maxrss of Linux begins with the peak of the process that has started this one.
        with open("/proc/self/status", encoding="utf-8") as file:
            if match := re.search(r"^VmHWM:\s*(\d+) kB", file.read(), re.MULTILINE):
                return int(match[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def commit() -> dict[str, Any]:
    """'commit' of the checkout, and 'clean', whether its code is that of the commit; {} elsewhere."""
    name = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--", *_CODE)
    return {"commit": name, "clean": not changed} if name and changed is not None else {}


def _git(*arguments: str) -> str | None:
    """The output of git in the project's folder; None where it fails."""
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return None
    try:
        process = subprocess.run(
            ["git", "-C", ROOT, *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()
