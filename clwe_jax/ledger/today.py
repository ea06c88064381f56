"""Rows that today's options, data or code may not give again."""

from __future__ import annotations

import functools
import json
import os
import shlex
import sys
from typing import Any, Mapping

from absl import flags
from ml_collections import config_flags

from clwe_jax import options, registry
from clwe_jax.ledger import hashes
from clwe_jax.ledger.environment import ROOT


def changes(row: Mapping[str, Any]) -> list[str]:
    """Which of 'options', 'data' and 'code' differ today; [] too where they cannot be compared.

    A run on files outside of the repository is compared by its code alone.
    """
    words = shlex.split(row["commands"][0])
    if "clwe_jax.main" not in words:
        script = next((word for word in words if word.startswith("benchmarks/")), "")
        if not os.path.exists(os.path.join(ROOT, script)):
            return ["code"]
        return _code(row)
    arguments = tuple(word for word in words[words.index("clwe_jax.main") + 1 :])
    try:
        run = _run(arguments)
    except (ValueError, OSError, KeyError, AttributeError, flags.Error):
        return ["options"]  # an option or a config that is gone
    changed = _code(row)
    if [entry["name"] for entry in row["data"]] != [hashes.POCKET]:
        return changed
    if row["data"][0]["hash"] != _pocket():
        changed.insert(0, "data")
    if _changed(row["options"], json.loads(json.dumps(options.to_dict(run)))):
        changed.insert(0, "options")
    return changed


def _changed(then: Any, now: Any) -> bool:
    """Whether an option has another value; one that only one side has changes code, if anything."""
    if isinstance(then, dict) and isinstance(now, dict):
        return any(_changed(then[name], now[name]) for name in then.keys() & now.keys())
    return then != now


@functools.cache
def _pocket() -> str:
    return hashes.of_data({"source": hashes.POCKET})[0]["hash"]


def _code(row: Mapping[str, Any]) -> list[str]:
    """'code' where a module that the row's figures come from is another one today."""
    return [] if row["code"] and hashes.of_project().issuperset(row["code"]) else ["code"]


@functools.cache
def _run(arguments: tuple[str, ...]) -> options.Run:
    """The options of a command, as its record has hashed them."""
    values = flags.FlagValues()
    config = config_flags.DEFINE_config_file("config", flag_values=values)
    before = os.getcwd(), sys.argv
    os.chdir(ROOT)
    # The library defines the flags of overrides by sys.argv, whatever is parsed.
    sys.argv = ["main", *(x for x in arguments if x.startswith(("--config", "-config")))]
    try:
        values(sys.argv)
        run = options.parse(config.value)
        if run.job in registry.TABLES["adopt_options"]:
            run = registry.lookup("adopt_options", run.job)(run)
        return run.resolved()
    finally:
        os.chdir(before[0])
        sys.argv = before[1]
