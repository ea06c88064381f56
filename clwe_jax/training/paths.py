"""Parameters by their paths: 'model/embed/table' is params['model']['embed']['table']."""

from __future__ import annotations

import difflib
import re
from typing import Any, Callable, Iterable

import jax
import optax


def _path(keys: tuple[Any, ...]) -> str:
    # The box with a parameter's logical axis names adds a key that is not a DictKey.
    return "/".join(str(key.key) for key in keys if isinstance(key, jax.tree_util.DictKey))


def flat(params: Any, leaf: type = optax.MaskedNode) -> dict[str, Any]:
    """Path -> parameter, in the order of the tree's leaves; each `leaf` counts as a parameter."""
    leaves = jax.tree_util.tree_flatten_with_path(params, is_leaf=lambda x: isinstance(x, leaf))[0]
    return {_path(keys): leaf for keys, leaf in leaves}


def map_paths(change: Callable[..., Any], params: Any, *others: Any) -> Any:
    """`jax.tree.map` of `change(path, parameter, other, ...)` over `params` and trees like it."""
    return jax.tree_util.tree_map_with_path(
        lambda keys, *leaves: change(_path(keys), *leaves), params, *others
    )


def match_paths(pattern: str, names: Iterable[str], where: str) -> list[str]:
    """The paths of `names` that a regular expression matches completely.

    Args:
      where: name of the option with the pattern, for messages.

    Raises:
      ValueError: the pattern is not a regular expression, or matches no path.
    """
    names = list(names)
    try:
        matches = [path for path in names if re.fullmatch(pattern, path)]
    except re.error as error:
        raise ValueError(f"{where}={pattern!r} is not a regular expression: {error}") from None
    if not matches:
        raise ValueError(f"{where}={pattern!r} matches no parameter. {near(pattern, names)}")
    return matches


def near(name: str, names: Iterable[str]) -> str:
    """'Near: a, b.', the paths most similar to `name`: the end of an error message."""
    names = list(names)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:3]
    return f"Near: {', '.join(close)}."


def list_lines(lines: list[str], max_lines: int = 5) -> str:
    """The first `max_lines` lines of a message, indented, and the number of those left out."""
    more = [f"and {len(lines) - max_lines} more"] if len(lines) > max_lines else []
    return "".join(f"\n  {line}" for line in [*lines[:max_lines], *more])
