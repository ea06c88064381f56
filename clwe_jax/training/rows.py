"""The gradient of a table of which a step reads few rows: of those rows alone.

A gradient of the whole table costs a step as much memory and time as the table has rows: to fill it
with zeros, to take its norm, to add it to the moments. What the rows were read with (`taps`, zeros
that are added to them) has as gradient that of the rows.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp

from clwe_jax.types import Array

Places = tuple[Array, ...]  # of rows: an index for each leading axis of the table


def merged(ids: Array, values: Array, shape: Sequence[int]) -> tuple[Places, Array]:
    """Each row once, with the sum of its gradients.

    Args:
      ids: int32 [N], rows, numbered in order over the table's leading axes.
      values: [N, d].
      shape: of the leading axes, at least two: so a table's updates are told from those of its rows.

    Returns:
      Their places, ascending, int32 [N] each, and the sums [N, d]. Where there are fewer rows than N
      the places lie beyond the table, for `mode='drop'`, and the sums are 0.

    Raises:
      ValueError: a table of one leading axis, or of more rows than an int32 counts.
    """
    count, size = len(ids), math.prod(shape)
    if len(shape) < 2 or size + count >= 1 << 31:
        raise ValueError(f"a table of rows {tuple(shape)}: two axes or more, below 2**31 rows")
    order = jnp.argsort(ids)
    ids = ids[order]
    group = jnp.cumsum(jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.diff(ids) != 0]))
    sums = jax.ops.segment_sum(values[order], group, count, indices_are_sorted=True)
    rest = (size + jnp.arange(count)).at[group].set(ids)
    places = []
    for axis in reversed(shape[1:]):
        rest, place = rest // axis, rest % axis
        places.append(place)
    return (rest, *reversed(places)), sums


def each(
    change: Callable[..., Array], places: Mapping[str, Places] | None, gradients: Any, *others: Any
) -> Any:
    """Maps change(places or None, gradient, *others) over trees like params.

    Args:
      places: of the tables of which `gradients` has rows alone, by their name in params.
    """
    if not places:
        return jax.tree.map(functools.partial(change, None), gradients, *others)
    return {
        name: jax.tree.map(
            functools.partial(change, places.get(name)), part, *(other[name] for other in others)
        )
        for name, part in gradients.items()
    }


def plus(places: Places | None, more: Array, held: Array) -> Array:
    """held + more, which has the rows at `places` alone where there are places."""
    if places is None:
        return held + more
    known = dict(indices_are_sorted=True, unique_indices=True)
    return held.at[places].add(more.astype(held.dtype), mode="drop", **known)


def applied(params: Any, updates: Any, places: Mapping[str, Places] | None) -> Any:
    """Parameters with their updates, of which some may be of rows alone."""

    def change(places: Places | None, update: Array, held: Array) -> Array:
        places = places if update.ndim < held.ndim else None
        return plus(places, update.astype(held.dtype), held)

    return each(change, places, updates, params)
