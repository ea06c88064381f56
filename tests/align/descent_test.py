"""Several steps of an optimizer in one program, against the steps one by one."""

import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.align import descent


def test_steps_are_those_of_gradient_descent():
    """The loss (w - x)^2 with a rate of 0.1 x the number of the step as weight."""
    x, first, w = np.arange(1.0, 5.0, dtype=np.float32), 3, np.float32(2.0)
    tx = optax.sgd(0.1)
    loss = lambda w, x, step: step * (w - x) ** 2
    found, _, losses = descent.several(loss, tx, jnp.asarray(w), tx.init(w), (x,), jnp.int32(first))
    for number, (target, value) in enumerate(zip(x, losses), first):
        np.testing.assert_allclose(value, number * (w - target) ** 2, rtol=1e-5)
        w = w - 0.1 * number * 2 * (w - target)
    np.testing.assert_allclose(found, w, rtol=1e-5)
