"""Configs of configs/ and their options, as the benchmarks read them."""

from __future__ import annotations

import json
import os
import runpy
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def load(name: str, scale: str = "laptop") -> Any:
    """The config of a system (`dict_mlm_50`) or a file (`DIR/dict_mlm_50.py`) at a scale."""
    path = name if name.endswith(".py") else os.path.join(ROOT, "configs", f"{name}.py")
    return runpy.run_path(path)["get_config"](scale)


def override(config: Any, path: str, value: Any) -> None:
    """Sets an existing option config.a.b.c; a string is converted to the option's type."""
    *parents, last = path.split(".")
    for name in parents:
        config = config[name]
    old = config[last]
    if isinstance(value, str) and not isinstance(old, str):
        value = json.loads(value.lower() if isinstance(old, bool) else value)
    config[last] = tuple(value) if isinstance(old, tuple) else type(old)(value)
