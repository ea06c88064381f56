"""The options of configs/, as the benchmarks read them."""

from __future__ import annotations

import ast
import os
from typing import Any, Mapping

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def load(name: str, scale: str = "laptop", changes: Mapping[str, Any] = {}) -> Any:
    """The options of a system (`dict_mlm_50`) or a file (`DIR/dict_mlm_50.py`) at a scale.

    `changes` are paths of options and their values; a string is converted to the option's type.
    """
    from clwe_jax import options

    path = name if name.endswith(".py") else os.path.join(ROOT, "configs", f"{name}.py")
    config = options.load(f"{path}:{scale}")
    for option, value in changes.items():
        _override(config, option, value)
    return options.parse(config)


def changes_of(given: list[str]) -> dict[str, str]:
    """The options of 'model.layers=2' and others, by their paths."""
    return dict(change.split("=", 1) for change in given)


def _override(config: Any, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for name in parents:
        config = config[name]
    old = config[last]
    if isinstance(value, str) and not isinstance(old, str):
        value = ast.literal_eval(value.title() if isinstance(old, bool) else value)
    config[last] = tuple(value) if isinstance(old, tuple) else type(old)(value)
