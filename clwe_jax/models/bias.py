"""The sum of a layer's output and its bias: one function for every model."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clwe_jax.types import Array


@jax.custom_vjp
def add_bias(x: Array, bias: Array) -> Array:
    """x + bias in the type of x; the gradient of the bias is a float32 sum.

    Automatic differentiation adds the rows in the type of x, and a sum of bfloat16 stops growing at 256
    equal numbers: a frequent word or a long batch would lose most of it.

    Args:
      x: [..., D].
      bias: [D], or any shape that broadcasts to that of x, in any type.
    """
    return x + bias.astype(x.dtype)


def _forward(x, bias):
    return add_bias(x, bias), bias


def _backward(bias, gradient):
    leading = gradient.ndim - bias.ndim
    shape = (1,) * leading + bias.shape
    repeated = tuple(k for k, size in enumerate(shape) if size == 1)
    of_bias = gradient.astype(jnp.float32).sum(repeated, keepdims=True)
    return gradient, of_bias.reshape(bias.shape).astype(bias.dtype)


add_bias.defvjp(_forward, _backward)
