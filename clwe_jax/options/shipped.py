"""The config files and guides that come with the package: beside it in a checkout, in it in a wheel."""

from __future__ import annotations

import ast
import json
import os
import pathlib
import re
import sys
from typing import Callable

from clwe_jax import __version__
from clwe_jax.options.section import nearest

CONFIGS = "configs"
GUIDES = "docs"
MINUTES = "minutes.json"  # beside the configs; `python -m benchmarks.ledger render` writes it
_PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def folder(name: str) -> pathlib.Path:
    """The folder of the config files or of the guides."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


def configs() -> dict[str, str]:
    """Name of each config that comes with the package -> the first sentence of its docstring."""
    summaries = {}
    for path in sorted(folder(CONFIGS).glob("[a-z]*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        summaries[path.stem] = " ".join(about.partition("\n\n")[0].split())
    return summaries


def families() -> dict[str, str]:
    """Name of each config -> the function of `clwe_jax.presets` that it begins with, or
    that the config that it starts from begins with; '' for none."""
    return {path.stem: _family(path) for path in sorted(folder(CONFIGS).glob("[a-z]*.py"))}


def _family(path: pathlib.Path) -> str:
    match = re.search(r"\bpresets\.(\w+)\((?:\"(\w+)\")?", path.read_text(encoding="utf-8"))
    if not match:
        return ""
    preset, base = match.groups()
    return _family(path.with_stem(base)) if base else preset


def minutes() -> dict[str, dict[str, float]]:
    """Config -> of its default run 'minutes', of one processor, and 'work', as of `runs.forecast.count_work`."""
    path = folder(CONFIGS) / MINUTES
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def config_file(argument: str) -> str:
    """FILE[:SCALE] of an argument of --config.

    A path that is no file, and a bare name such as `dict_mlm_50`, is the config of that name that
    comes with the package; a line on stderr says so.

    Raises:
      ValueError: there is no such file, and no such config in the package.
    """
    path, colon, scale = argument.partition(":")
    if os.path.isfile(path):
        return argument
    name = os.path.basename(path).removesuffix(".py")
    shipped = folder(CONFIGS) / f"{name}.py"
    if not name or not shipped.is_file():
        form = path.removesuffix(f"{name}.py") + "{}.py" if path.endswith(".py") else "{}"
        advice = nearest(path, [form.format(x) for x in configs()])
        raise ValueError(f"there is no config file {path!r}. {advice}")
    print(f"config: {name} of clwe_jax {__version__} ({shipped})", file=sys.stderr)
    return f"{shipped}{colon}{scale}"


def as_path(argument: str) -> str:
    """FILE[:SCALE] of an argument of --config, from the project's folder: configs/NAME.py of a name."""
    path, colon, scale = argument.partition(":")
    return (
        argument if path.endswith(".py") else f"{CONFIGS}/{os.path.basename(path)}.py{colon}{scale}"
    )


def with_config_file(argv: list[str], resolve: Callable[[str], str] = config_file) -> list[str]:
    """The arguments of a command with `resolve` of the argument of --config in its place.

    Raises:
      ValueError: as of `config_file`.
    """
    resolved = list(argv)
    for place, argument in enumerate(argv):
        name, equals, value = argument.partition("=")
        if name not in ("--config", "-config"):
            continue
        if equals:
            resolved[place] = f"{name}={resolve(value)}"
        elif place + 1 < len(argv):
            resolved[place + 1] = resolve(argv[place + 1])
        break
    return resolved
