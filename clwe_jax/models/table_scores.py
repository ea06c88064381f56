"""Scores of the rows of a table: the product that ends every language model."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from clwe_jax.types import Array

_product = functools.partial(jnp.einsum, "...d,vd->...v")


@jax.custom_vjp
def table_scores(hidden: Array, table: Array) -> Array:
    """float32 [..., V]: each hidden state's product with every row of a table.

    The sums are float32. The gradient is rounded to the type of the factors before its two products:
    float32 would make these float32 products, which take an accelerator three times as long.

    Args:
      hidden: [..., D].
      table: [V, D], of the same type.
    """
    return _product(hidden, table, preferred_element_type=jnp.float32)


def _forward(hidden, table):
    return table_scores(hidden, table), (hidden, table)


def _backward(factors, gradient):
    hidden, table = factors
    gradient = gradient.astype(hidden.dtype)
    # As automatic differentiation writes them, so that float32 keeps its bits.
    [of_hidden] = jax.linear_transpose(lambda x: _product(x, table), hidden)(gradient)
    [of_table] = jax.linear_transpose(lambda x: _product(hidden, x), table)(gradient)
    return of_hidden, of_table


table_scores.defvjp(_forward, _backward)
