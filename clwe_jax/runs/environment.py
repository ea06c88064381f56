"""The machine and the versions of the packages, as report.json and record.json name them."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any, Iterable

import jax


def versions_and_devices(packages: Iterable[str]) -> dict[str, Any]:
    """The command, the devices, and the versions of the installed ones of `packages`."""
    versions = {"python": platform.python_version()}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "command": ["python", "-m", "clwe_jax.main", *sys.argv[1:]],
        "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        "cores": os.cpu_count(),
        "versions": versions,
    }
