"""Projected, clipped LSTM cells (Sak et al. 2014) over windows, several networks at once.

  i, j, f, o = x W + b + m' R         gates; the input's part is made before the recurrence
  c = clip(sigmoid(f) c' + sigmoid(i) tanh(j))
  m = clip((sigmoid(o) tanh(c)) P)

with c', m' of the step before. As TensorFlow's LSTMCell with num_proj, cell_clip and proj_clip; its
forget_bias of 1 is the bias' initial value here.

The gradient is written out. Automatic differentiation adds to the weights' gradients at every step;
here the gradients of the gates are collected, and one product over all steps follows. They take the
place of the gates in memory.
"""

from __future__ import annotations

import functools

from flax import linen as nn
import jax
import jax.numpy as jnp

from clwe_jax.models.transformer import parameter
from clwe_jax.types import Array

AT, INTO = jax.lax.dynamic_index_in_dim, jax.lax.dynamic_update_index_in_dim


class Lstm(nn.Module):
    """D independent networks of one layer, stepped together.

    Attributes:
      networks: D.
      cells: C.
      width: P, of the output.
      cell_clip, projection_clip: limits of c and m; None: none.
    """

    networks: int
    cells: int
    width: int
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0

    @nn.compact
    def __call__(
        self, inputs: Array, keep: Array | None, cell: Array, output: Array
    ) -> tuple[Array, Array, Array]:
        """Steps through a window.

        Args:
          inputs: [D, L, B, I], network, time, row.
          keep: [D, L, B], 0 where the state is zeroed before the step, else 1; None: nowhere.
          cell, output: float32 [D, B, C] and [D, B, P], the state before.

        Returns:
          The outputs [D, L, B, P], of the inputs' type, and the state after.
        """
        d, length, rows, size = inputs.shape
        kernel = parameter(
            self, "kernel", (None, "embed", None, "mlp"), _glorot(size + self.width),
            (d, size, 4, self.cells),
        )  # fmt: skip
        recurrent = parameter(
            self, "recurrent", (None, "embed", None, "mlp"), _glorot(size + self.width),
            (d, self.width, 4, self.cells),
        )  # fmt: skip
        bias = parameter(self, "bias", (None, None, "mlp"), _forget_one, (d, 4, self.cells))
        projection = parameter(
            self, "projection", (None, "mlp", "embed"), _glorot(self.cells),
            (d, self.cells, self.width),
        )  # fmt: skip
        dtype = inputs.dtype
        gates = jnp.einsum(
            "dni,dik->dnk",
            inputs.reshape(d, -1, size),
            kernel.astype(dtype).reshape(d, size, -1),
        ).reshape(d, length, rows, 4, self.cells)
        gates += bias.astype(dtype)[:, None, None]
        return steps(
            gates, recurrent.astype(dtype), projection.astype(dtype), keep, cell, output,
            self.cell_clip, self.projection_clip,
        )  # fmt: skip


def _glorot(fan_in: int):
    """Uniform, each network's matrix on its own: all inputs of the gates count (as TensorFlow)."""

    def init(key, shape, dtype):
        fan_out = 1
        for size in shape[2:]:
            fan_out *= size
        limit = (6.0 / (fan_in + fan_out)) ** 0.5
        return jax.random.uniform(key, shape, dtype, -limit, limit)

    return init


def _forget_one(key, shape, dtype):
    del key
    return jnp.zeros(shape, dtype).at[:, 2].set(1.0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(6, 7))
def steps(
    gates: Array,
    recurrent: Array,
    projection: Array,
    keep: Array | None,
    cell: Array,
    output: Array,
    cell_clip: float | None,
    projection_clip: float | None,
) -> tuple[Array, Array, Array]:
    """The recurrence.

    Args:
      gates: [D, L, B, 4, C], the input's part of i, j, f, o, biases included.
      recurrent: [D, P, 4, C].
      projection: [D, C, P].
      keep: [D, L, B] or None, no gradient.
      cell, output: float32 [D, B, C] and [D, B, P].
      cell_clip, projection_clip: limits, or None.

    Returns:
      [D, L, B, P], and the cell and the output after the last step, float32.
    """

    def step(number, state):
        outputs, cell, output = state
        _, cell, _, output = _step(
            AT(gates, number, 1, False), recurrent, projection, _kept(keep, number), cell, output,
            cell_clip, projection_clip,
        )  # fmt: skip
        return INTO(outputs, output.astype(gates.dtype), number, 1), cell, output

    d, length, rows = gates.shape[:3]
    outputs = jnp.zeros((d, length, rows, projection.shape[-1]), gates.dtype)
    return jax.lax.fori_loop(0, length, step, (outputs, cell, output))


def _kept(keep, number):
    return None if keep is None else AT(keep, number, 1, False)[..., None]


def _step(gates, recurrent, projection, keep, cell, output, cell_clip, projection_clip):
    """The gates after their nonlinearities, the cell, what is projected, the output."""
    if keep is not None:
        cell, output = cell * keep, output * keep
    d, rows, _, cells = gates.shape
    width = projection.shape[-1]
    gates = gates.astype(jnp.float32) + jnp.einsum(
        "dbp,dpk->dbk",
        output.astype(gates.dtype),
        recurrent.reshape(d, width, -1),
        preferred_element_type=jnp.float32,
    ).reshape(gates.shape)
    i, f, o = (jax.nn.sigmoid(gates[:, :, k]) for k in (0, 2, 3))
    j = jnp.tanh(gates[:, :, 1])
    cell = _clip(f * cell + i * j, cell_clip)
    hidden = (o * jnp.tanh(cell)).astype(recurrent.dtype)
    output = jnp.einsum("dbc,dcp->dbp", hidden, projection, preferred_element_type=jnp.float32)
    return jnp.stack([i, j, f, o], 2), cell, hidden, _clip(output, projection_clip)


def _clip(x, limit):
    return x if limit is None else jnp.clip(x, -limit, limit)


def _inside(gradient, x, limit):
    """The gradient of what was clipped to x."""
    return gradient if limit is None else jnp.where(jnp.abs(x) < limit, gradient, 0)


def _steps_forward(gates, recurrent, projection, keep, cell, output, cell_clip, projection_clip):
    start = cell, output

    def step(number, state):
        gates, cells, hiddens, outputs, cell, output = state
        active, cell, hidden, output = _step(
            AT(gates, number, 1, False), recurrent, projection, _kept(keep, number), cell, output,
            cell_clip, projection_clip,
        )  # fmt: skip
        gates = INTO(gates, active.astype(gates.dtype), number, 1)
        cells = INTO(cells, cell.astype(cells.dtype), number, 1)
        hiddens = INTO(hiddens, hidden, number, 1)
        outputs = INTO(outputs, output.astype(outputs.dtype), number, 1)
        return gates, cells, hiddens, outputs, cell, output

    d, length, rows, _, size = gates.shape
    cells, hiddens = jnp.zeros((2, d, length, rows, size), gates.dtype)
    outputs = jnp.zeros((d, length, rows, projection.shape[-1]), gates.dtype)
    gates, cells, hiddens, outputs, cell, output = jax.lax.fori_loop(
        0, length, step, (gates, cells, hiddens, outputs, cell, output)
    )
    residuals = gates, cells, hiddens, outputs, recurrent, projection, keep, start
    return (outputs, cell, output), residuals


def _steps_backward(cell_clip, projection_clip, residuals, gradients):
    gates, cells, hiddens, outputs, recurrent, projection, keep, start = residuals
    of_outputs, of_cell, of_output = gradients
    d, length, rows, _, size = gates.shape
    width = projection.shape[-1]
    dtype = gates.dtype
    flat = recurrent.reshape(d, width, -1)
    before = jnp.concatenate([start[0].astype(dtype)[:, None], cells[:, :-1]], 1)

    def step(number, state):
        number = length - 1 - number
        gates, of_outputs, of_cell, of_output = state
        i, j, f, o = (AT(gates, number, 1, False)[:, :, k].astype(jnp.float32) for k in range(4))
        cell = AT(cells, number, 1, False).astype(jnp.float32)
        previous = AT(before, number, 1, False).astype(jnp.float32)
        kept = _kept(keep, number)
        if kept is not None:
            previous = previous * kept
        output = AT(outputs, number, 1, False).astype(jnp.float32)
        of_output = of_output + AT(of_outputs, number, 1, False).astype(jnp.float32)
        of_output = _inside(of_output, output, projection_clip).astype(dtype)
        of_hidden = jnp.einsum(
            "dbp,dcp->dbc", of_output, projection, preferred_element_type=jnp.float32
        )
        shown = jnp.tanh(cell)
        of_cell = _inside(of_cell + of_hidden * o * (1 - shown * shown), cell, cell_clip)
        of_gates = jnp.stack(
            [
                of_cell * j * i * (1 - i),
                of_cell * i * (1 - j * j),
                of_cell * previous * f * (1 - f),
                of_hidden * shown * o * (1 - o),
            ],
            2,
        ).astype(dtype)
        gates = INTO(gates, of_gates, number, 1)
        of_outputs = INTO(of_outputs, of_output, number, 1)
        of_cell = of_cell * f
        of_output = jnp.einsum(
            "dbk,dpk->dbp", of_gates.reshape(d, rows, -1), flat, preferred_element_type=jnp.float32
        )
        if kept is not None:
            of_cell, of_output = of_cell * kept, of_output * kept
        return gates, of_outputs, of_cell, of_output

    of_gates, of_outputs, of_cell, of_output = jax.lax.fori_loop(
        0, length, step, (gates, of_outputs.astype(dtype), of_cell, of_output)
    )
    previous = jnp.concatenate([start[1].astype(dtype)[:, None], outputs[:, :-1]], 1)
    if keep is not None:
        previous = previous * keep.astype(dtype)[..., None]
    of_recurrent = jnp.einsum(
        "dnp,dnk->dpk", previous.reshape(d, -1, width), of_gates.reshape(d, length * rows, -1)
    )
    of_projection = jnp.einsum(
        "dnc,dnp->dcp", hiddens.reshape(d, -1, size), of_outputs.reshape(d, -1, width)
    )
    return (
        of_gates, of_recurrent.reshape(recurrent.shape), of_projection,
        None if keep is None else jnp.zeros_like(keep), of_cell, of_output,
    )  # fmt: skip


steps.defvjp(_steps_forward, _steps_backward)
