"""Steps of an optimizer on small networks, several in one compiled program."""

from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
import optax

from clwe_jax.types import Array


def several(
    loss: Callable[..., Array],
    tx: optax.GradientTransformation,
    params: Any,
    opt_state: Any,
    batches: tuple[Any, ...],
    first: Array,
) -> tuple[Any, Any, Array]:
    """Takes a step for each batch.

    Args:
      loss: function of the parameters, a batch's parts and the number of the step.
      tx: the optimizer.
      params, opt_state: where the steps begin.
      batches: the parts of all batches; the first axis of their arrays is the steps.
      first: number of the first step.

    Returns:
      Parameters, optimizer state, and the loss before each step.
    """

    def one(carry, batch_and_step):
        params, opt_state = carry
        batch, step = batch_and_step
        value, grads = jax.value_and_grad(loss)(params, *batch, step)
        updates, opt_state = tx.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), value

    numbers = first + jnp.arange(len(jax.tree.leaves(batches)[0]), dtype=jnp.int32)
    (params, opt_state), losses = jax.lax.scan(one, (params, opt_state), (batches, numbers))
    return params, opt_state, losses
