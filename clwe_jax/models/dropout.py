"""Dropout whose mask is a hash of each element's position: cheap, and the same on every mesh.

On CPU and TPU Threefry bits cost more than the layer itself, and the bits of hardware generators
depend on the sharding. The hash of a counter needs no state and no memory (XLA fuses it into the
product). It depends only on the step's key and the element's position, so that a run continues
identically on another number of devices.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from clwe_jax.types import Array


def mix(x: Array) -> Array:
    """A bijection of uint32; each output bit depends on all input bits.

    The 'lowbias32' hash of C. Wellons' hash prospector (two rounds of multiply and xor-shift).
    """
    # x: uint32 of any shape.
    x = (x ^ (x >> 16)) * jnp.uint32(0x7FEB352D)
    x = (x ^ (x >> 15)) * jnp.uint32(0x846CA68B)
    return x ^ (x >> 16)


def keep_mask(seed: Array, salt: int, shape: tuple[int, ...], rate: float) -> Array:
    """bool [shape]: False with probability `rate`, independently for every element.

    Args:
      seed: uint32 [2], different for every step and microbatch.
      salt: a number, different for every call with the same seed.
      shape: at least one axis; the axes after the first have fewer than 2**32 elements.
      rate: probability of False.

    Raises:
      ValueError: too many elements.
    """
    inner = math.prod(shape[1:])
    if inner >= 1 << 32:
        raise ValueError(f"dropout over {shape}: a row has more than 2**32 elements")
    # Each row has a key, so that only the counter within a row must fit into 32 bits.
    rows = lax.broadcasted_iota(jnp.uint32, (shape[0],) + (1,) * (len(shape) - 1), 0)
    # The multiplier is a prime near 2**32 over the golden ratio (Knuth): it spreads near numbers.
    row_key = mix(mix(rows ^ seed[0]) ^ mix(seed[1] + jnp.uint32(salt * 0x9E3779B1 & 0xFFFFFFFF)))
    counter = jnp.zeros((1,) + shape[1:], jnp.uint32)
    for axis in range(1, len(shape)):
        stride = math.prod(shape[axis + 1 :])
        counter += lax.broadcasted_iota(jnp.uint32, (1,) + shape[1:], axis) * jnp.uint32(stride)
    # Without this product the xor with a row key could turn one row's stream into another's.
    bits = mix((counter * jnp.uint32(0x9E3779B1)) ^ row_key)
    # A rate of almost 1 rounds to 2**32, which is no uint32.
    return bits >= jnp.uint32(min(round(rate * 2**32), 2**32 - 1))


def dropout(x: Array, rate: float, seed: Array | None, salt: int) -> Array:
    """x with a share `rate` zeroed and the rest scaled up; x itself where the seed is None."""
    # x: [B, ...]; seed: uint32 [2].
    if seed is None or rate == 0.0:
        return x
    return jnp.where(keep_mask(seed, salt, x.shape, rate), x / (1.0 - rate), 0).astype(x.dtype)


def seed_of(key: Array) -> Array:
    """uint32 [2] for `dropout` from a PRNG key."""
    return jax.random.bits(key, (2,), jnp.uint32)
