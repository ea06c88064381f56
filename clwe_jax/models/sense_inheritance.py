"""Senses that go on from another sense of their word: where the senses are seeded, and where one
that is hardly used any more is revived.

A sense that takes over another's output vector takes over its bias and what the optimizer knows of
both (A6): with an optimizer's empty moments it would leap away from what it was given.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from clwe_jax.models import parts
from clwe_jax.types import Array


class Inheritance(NamedTuple):
    """What the senses of V words with S slots go on from.

    Attributes:
      source: int32 [..., V, S], a slot of the same word; its own for one that goes on as it is. A
        slot that is another's source is its own.
      any: bool [], whether one does not.
    """

    source: Array
    any: Array


def revived(enabled: Array, uses: Array, share: float, least: int) -> Array:
    """The source of every sense where rare ones go on from their word's most used one.

    Args:
      enabled: bool [V, S]; uses: int [V, S].
      share: a sense with a smaller share of its word's uses is rare.
      least: uses of a word below which none of its senses is.

    Returns:
      int32 [V, S].
    """
    uses = jnp.where(enabled, uses, 0)
    of_word = uses.sum(1, keepdims=True)
    rare = enabled & (uses < share * of_word) & (of_word >= max(least, 1))
    own = jnp.arange(uses.shape[1], dtype=jnp.int32)
    return jnp.where(rare, uses.argmax(1).astype(jnp.int32)[:, None], own)


def near(centers: Array, source: Array, deviation: Array, key: Array) -> Array:
    """Centers [V, S, d] in which those of other sources are their source's plus noise.

    Args:
      source: int [V, S], as of `Inheritance`.
      deviation: float32 [d], standard deviation of the noise.
      key: a PRNG key.
    """

    cut = parts.Cut(len(centers))

    def one_part(index: Array, own: Array) -> Array:
        of = cut.of(source, index)
        noise = jax.random.normal(jax.random.fold_in(key, index), own.shape, jnp.float32)
        goes_on = (of == jnp.arange(of.shape[1]))[..., None]
        return jnp.where(goes_on, own, _entries(own, of) + deviation * noise)

    return cut.rewritten(centers, one_part)


def inherit(table: Array, inheritance: Inheritance) -> Array:
    """A table [..., V, S, *rest] in which every slot has its source's entry, written in place."""
    axis = inheritance.source.ndim - 2
    cut = parts.Cut(table.shape[axis])

    def one_part(index: Array, own: Array) -> Array:
        return _entries(own, cut.of(inheritance.source, index, axis))

    return cut.rewritten(table, one_part, axis, inheritance.any)


def shared(bias: Array, inheritance: Inheritance) -> Array:
    """Inherited biases [..., V, S] less the logarithm of how many have the same source.

    Together those have then the probability that their source had: no word is more likely for
    having been given a sense.
    """

    def share(_: Array, bias: Array) -> Array:
        same = inheritance.source[..., :, None] == inheritance.source[..., None, :]
        return bias - jnp.log(same.sum(-1).astype(bias.dtype))

    return jax.lax.fori_loop(0, inheritance.any.astype(jnp.int32), share, bias)


def _entries(table: Array, source: Array) -> Array:
    """A table [..., V, S, *rest] with the entries of the slots int [..., V, S].

    Slot after slot: a gather would bring together what devices share.
    """
    axis = source.ndim - 1
    source = source.reshape(*source.shape, *(1,) * (table.ndim - source.ndim))
    found = table
    for slot in range(table.shape[axis]):
        entry = jax.lax.slice_in_dim(table, slot, slot + 1, axis=axis)
        found = jnp.where(source == slot, entry, found)
    return found
