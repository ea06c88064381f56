"""Cutting tables over the vocabulary into parts that devices share evenly."""

from __future__ import annotations

import dataclasses
from typing import Callable, Iterable

import jax
import jax.numpy as jnp

from clwe_jax.config import PAD_ROWS_TO
from clwe_jax.types import Array


def even(words: int, numbers: Iterable[int]) -> int | None:
    """The first of `numbers` of parts that leaves none of the words over; None where none does.

    One whose parts are of a multiple of `PAD_ROWS_TO` words comes before all others: every device
    then holds as many of each part, and nothing has to be gathered.
    """
    whole = [number for number in numbers if words % number == 0]
    return next((n for n in whole if words // n % PAD_ROWS_TO == 0), next(iter(whole), None))


@dataclasses.dataclass(frozen=True)
class Cut:
    """Tables over V words, some of them at a time, so that little is needed beside a table.

    Part k of K has the words k, k + K, ..., of which each device holds as many where words are
    dealt out to devices in runs: else the table would have to be gathered on every device.

    Attributes:
      words: V.
      at_once: words of a part, about.
    """

    words: int
    at_once: int = 256

    @property
    def parts(self) -> int:
        """K."""
        return even(self.words, range(max(self.words // self.at_once, 1), 0, -1))

    def of(self, table: Array, index: Array) -> Array:
        """Part `index` of a table [V, ...]."""
        return self._part(self._dealt(table, 0), index, 0)

    def rewritten(
        self,
        table: Array,
        change: Callable[[Array, Array], Array],
        axis: int = 0,
        now: Array | bool = True,
    ) -> Array:
        """The table with `change(index, part)` for every part, written in place.

        Args:
          table: an array whose axis `axis` is the words.
          change: keeps the part's shape.
          axis: see `table`.
          now: bool [], else the table stays as it is: a loop of no round, where lax.cond would copy.
        """

        def one(index: Array, dealt: Array) -> Array:
            new = change(index, self._part(dealt, index, axis))
            return jax.lax.dynamic_update_index_in_dim(dealt, new, index, axis + 1)

        rounds = jnp.where(now, self.parts, 0)
        dealt = jax.lax.fori_loop(0, rounds, one, self._dealt(table, axis))
        return dealt.reshape(table.shape)

    def _dealt(self, table: Array, axis: int) -> Array:
        shape = table.shape
        return table.reshape(
            *shape[:axis], self.words // self.parts, self.parts, *shape[axis + 1 :]
        )

    def _part(self, dealt: Array, index: Array, axis: int) -> Array:
        return jax.lax.dynamic_index_in_dim(dealt, index, axis + 1, keepdims=False)
