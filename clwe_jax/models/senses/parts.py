"""Splits tables over the vocabulary into parts that are sharded evenly over devices."""

from __future__ import annotations

import dataclasses
from typing import Callable, Iterable

import jax
import jax.numpy as jnp

from clwe_jax.options.derived import PAD_ROWS_TO
from clwe_jax.types import Array


def first_divisor(words: int, numbers: Iterable[int]) -> int | None:
    """The first of `numbers` that divides the number of words; None where none does.

    Numbers whose parts have a multiple of `PAD_ROWS_TO` words come first, because every device then
    holds the same share of each part, and nothing has to be gathered.
    """
    divisors = [number for number in numbers if words % number == 0]
    return next((n for n in divisors if words // n % PAD_ROWS_TO == 0), next(iter(divisors), None))


@dataclasses.dataclass(frozen=True)
class Cut:
    """Tables over V words, processed in parts to save memory.

    Part k of K has the words k, k + K, ...: devices hold consecutive words, so that each device has
    the same share of every part, and no table is gathered.

    Attributes:
      words: V.
      at_once: approximate number of words of a part.
    """

    words: int
    at_once: int = 256

    @property
    def parts(self) -> int:
        """K."""
        return first_divisor(self.words, range(max(self.words // self.at_once, 1), 0, -1))

    def of(self, table: Array, index: Array) -> Array:
        """Part `index` of a table [V, ...]."""
        return self._part(self._dealt(table, 0), index, 0)

    def rewrite(
        self,
        table: Array,
        change: Callable[[Array, Array], Array],
        axis: int = 0,
        now: Array | bool = True,
    ) -> Array:
        """The table with `change(index, part)` for every part, written in place.

        Args:
          table: the array.
          change: function that keeps the shape of a part.
          axis: axis of the words.
          now: bool []; False leaves the table as it is.
        """

        def one(index: Array, dealt: Array) -> Array:
            # index: int32 []; dealt: [..., V / K, K, ...].
            new = change(index, self._part(dealt, index, axis))
            return jax.lax.dynamic_update_index_in_dim(dealt, new, index, axis + 1)

        # A loop without rounds, because lax.cond would copy the table.
        rounds = jnp.where(now, self.parts, 0)
        dealt = jax.lax.fori_loop(0, rounds, one, self._dealt(table, axis))
        return dealt.reshape(table.shape)

    def _dealt(self, table: Array, axis: int) -> Array:
        # table: [..., V, ...] -> [..., V / K, K, ...].
        shape = table.shape
        return table.reshape(
            *shape[:axis], self.words // self.parts, self.parts, *shape[axis + 1 :]
        )

    def _part(self, dealt: Array, index: Array, axis: int) -> Array:
        # dealt: [..., V / K, K, ...]; index: int32 [] -> [..., V / K, ...].
        return jax.lax.dynamic_index_in_dim(dealt, index, axis + 1, keepdims=False)
