"""Projected, clipped LSTM cells (Sak et al. 2014) over windows, several networks at once.

  i, j, f, o = x W + b + m' R         gates; x W is computed before the recurrence
  c = clip(sigmoid(f) c' + sigmoid(i) tanh(j))
  m = clip((sigmoid(o) tanh(c)) P)

c' and m' belong to the previous step. This is TensorFlow's LSTMCell with num_proj, cell_clip and
proj_clip; its forget_bias of 1 is the initial value of b for gate f.

The gradient is written out: it collects the gradients of the gates and computes one product over
all steps, where automatic differentiation would add to the weights' gradients in every step.
"""

from __future__ import annotations

import functools
import math

from flax import linen as nn
import jax
import jax.numpy as jnp

from clwe_jax.models import dropout
from clwe_jax.models.transformer import parameter
from clwe_jax.types import Array

AT, INTO = jax.lax.dynamic_index_in_dim, jax.lax.dynamic_update_index_in_dim


class Lstm(nn.Module):
    """One layer of D independent networks that run together.

    Attributes:
      networks: D, number of networks.
      cells: C, number of cells.
      width: P, dimensions of the output.
      cell_clip, projection_clip: limits of c and m, or None.
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
        """Runs over a window.

        Args:
          inputs: [D, L, B, I]: network, time, row.
          keep: [D, L, B], 0 where the state is zeroed before the step, else 1; None: 1 everywhere.
          cell, output: state before the window, float32 [D, B, C] and [D, B, P].

        Returns:
          Outputs [D, L, B, P] in the inputs' type, and the state after the window.
        """
        d, length, rows, size = inputs.shape
        kernel = parameter(
            self,
            "kernel",
            (None, "embed", None, "mlp"),
            glorot(size + self.width),
            (d, size, 4, self.cells),
        )
        recurrent = parameter(
            self,
            "recurrent",
            (None, "embed", None, "mlp"),
            glorot(size + self.width),
            (d, self.width, 4, self.cells),
        )
        bias = parameter(self, "bias", (None, None, "mlp"), forget_one, (d, 4, self.cells))
        projection = parameter(
            self,
            "projection",
            (None, "mlp", "embed"),
            glorot(self.cells),
            (d, self.cells, self.width),
        )
        dtype = inputs.dtype
        weights = tuple(x.astype(dtype) for x in (kernel, recurrent, bias, projection))
        limits = self.cell_clip, self.projection_clip
        return steps(inputs, weights, keep, (cell, output), limits)


def glorot(fan_in: int):
    """Glorot's uniform initialiser; the fan-in counts all inputs of the gates, as in TensorFlow."""

    def init(key, shape, dtype):
        limit = (6.0 / (fan_in + math.prod(shape[2:]))) ** 0.5
        return jax.random.uniform(key, shape, dtype, -limit, limit)

    return init


def forget_one(key, shape, dtype):
    """Zeros, and ones for gate f."""
    del key
    return jnp.zeros(shape, dtype).at[:, 2].set(1.0)


Weights = tuple[Array, Array, Array, Array | None]
State = tuple[Array, Array]
Limits = tuple[float | None, float | None]


@functools.partial(jax.custom_vjp, nondiff_argnums=(4,))
def steps(
    inputs: Array, weights: Weights, keep: Array | None, state: State, limits: Limits
) -> tuple[Array, Array, Array]:
    """The recurrence.

    Args:
      inputs: [D, L, B, I].
      weights: W [D, I, 4, C], R [D, P, 4, C], b [D, 4, C] or of each row [D, B, 4, C], P [D, C, P];
        gates i, j, f, o. Without a projection (None in the place of P) the output is o tanh(c), and
        P = C.
      keep: [D, L, B] or None; no gradient.
      state: cell and output before the window, float32 [D, B, C] and [D, B, P].
      limits: limits of the cell and of the output, or None.

    Returns:
      Outputs [D, L, B, P], and the cell and the output after the last step, float32.
    """
    kernel, *rest = weights
    gates = _input_gates(inputs, kernel)

    def step(number, state):
        outputs, *state = state
        _, _, *state = _step(AT(gates, number, 1, False), rest, _mask(keep, number), state, limits)
        return INTO(outputs, state[1].astype(outputs.dtype), number, 1), *state

    # Uninitialised memory, because the loop writes every step of it.
    outputs = jax.lax.empty((*inputs.shape[:3], rest[0].shape[1]), inputs.dtype)
    return jax.lax.fori_loop(0, inputs.shape[1], step, (outputs, *state))


def _input_gates(inputs, kernel):
    """x W, [D, L, B, 4, C]."""
    # One axis of steps and rows could not be divided among devices: all rows would be gathered.
    gates = jnp.einsum("dlbi,dik->dlbk", inputs, kernel.reshape(*kernel.shape[:2], -1))
    return gates.reshape(*inputs.shape[:3], *kernel.shape[2:])


def _mask(keep, number):
    return None if keep is None else AT(keep, number, 1, False)[..., None]


def _step(gates, weights, keep, state, limits):
    """The gates after their nonlinearities, the input of the projection, the cell, the output."""
    cell, output = state
    if keep is not None:
        cell, output = cell * keep, output * keep
    recurrent, bias, projection = weights
    of_output = jnp.einsum(  # [D, B, 4 C]
        "dbp,dpk->dbk",
        output.astype(recurrent.dtype),
        recurrent.reshape(*recurrent.shape[:2], -1),
        preferred_element_type=jnp.float32,
    )
    # A bias of each row holds the product of an input that is constant over time (`laser.Laser`).
    bias = bias if bias.ndim == 4 else bias[:, None]
    # Sums, nonlinearities and states are float32; products have the type of the inputs.
    gates = gates.astype(jnp.float32) + of_output.reshape(gates.shape) + bias
    i, f, o = (jax.nn.sigmoid(gates[:, :, k]) for k in (0, 2, 3))
    j = jnp.tanh(gates[:, :, 1])
    cell = _clip(f * cell + i * j, limits[0])
    output = o * jnp.tanh(cell)
    hidden = output.astype(recurrent.dtype)
    if projection is not None:
        output = jnp.einsum("dbc,dcp->dbp", hidden, projection, preferred_element_type=jnp.float32)
    # The gates are rounded first, so that no float32 copy of them is written for the gradient.
    active = jnp.stack([x.astype(recurrent.dtype) for x in (i, j, f, o)], 2)
    return active, hidden, cell, _clip(output, limits[1])


def _clip(x, limit):
    return x if limit is None else jnp.clip(x, -limit, limit)


def _inside(gradient, x, limit):
    """The gradient with respect to the value before clipping; x is the clipped value."""
    # A value that was clipped equals the limit.
    return gradient if limit is None else jnp.where(jnp.abs(x) < limit, gradient, 0)


def _steps_forward(inputs, weights, keep, state, limits):
    kernel, *rest = weights

    def step(number, carry):
        gates, cells, hiddens, outputs, *state = carry
        step_gates = AT(gates, number, 1, False)
        active, hidden, cell, output = _step(step_gates, rest, _mask(keep, number), state, limits)
        # The active gates overwrite x W, which no later step reads.
        gates = INTO(gates, active, number, 1)
        cells = INTO(cells, cell.astype(cells.dtype), number + 1, 1)
        hiddens = INTO(hiddens, hidden, number, 1)
        outputs = INTO(outputs, output.astype(outputs.dtype), number, 1)
        return gates, cells, hiddens, outputs, cell, output

    gates = _input_gates(inputs, kernel)
    d, length, rows, _, size = gates.shape
    # The cell before each step, and after the last one.
    cells = jax.lax.empty((d, length + 1, rows, size), inputs.dtype)
    cells = INTO(cells, state[0].astype(inputs.dtype), 0, 1)
    empty = [jax.lax.empty((d, length, rows, n), inputs.dtype) for n in (size, rest[0].shape[1])]
    *buffers, cell, output = jax.lax.fori_loop(0, length, step, (gates, cells, *empty, *state))
    return (buffers[-1], cell, output), (inputs, weights, keep, state, *buffers)


def _steps_backward(limits, residuals, gradients):
    inputs, weights, keep, state, gates, cells, hiddens, outputs = residuals
    kernel, recurrent, bias, projection = weights
    d, length, rows, _, size = gates.shape
    width = outputs.shape[-1]
    dtype = inputs.dtype
    # Transposed once instead of in each step.
    to_output = recurrent.reshape(d, width, -1).swapaxes(1, 2)
    to_hidden = None if projection is None else projection.swapaxes(1, 2)

    def at(x, number):
        return AT(x, number, 1, False).astype(jnp.float32)

    def step(number, carry):
        number = length - 1 - number
        all_gates, all_outputs, of_bias, of_cell, of_output = carry
        step_gates = at(gates, number)
        i, j, f, o = (step_gates[:, :, k] for k in range(4))
        cell = at(cells, number + 1)
        previous = at(cells, number)
        mask = _mask(keep, number)
        if mask is not None:
            # The forget gate read the cell after its reset.
            previous = previous * mask
        of_output = _inside(of_output + at(gradients[0], number), at(outputs, number), limits[1])
        of_output = of_output.astype(dtype)
        of_hidden = of_output.astype(jnp.float32)
        if to_hidden is not None:
            of_hidden = jnp.einsum(
                "dbp,dpc->dbc", of_output, to_hidden, preferred_element_type=jnp.float32
            )
        tanh_cell = jnp.tanh(cell)
        # The gradient of c comes from the next step and, through tanh, from this output.
        of_cell = _inside(of_cell + of_hidden * o * (1 - tanh_cell * tanh_cell), cell, limits[0])
        of_gates = (
            of_cell * j * i * (1 - i),
            of_cell * i * (1 - j * j),
            of_cell * previous * f * (1 - f),
            of_hidden * tanh_cell * o * (1 - o),
        )
        of_gates = jnp.stack([x.astype(dtype) for x in of_gates], 2)
        # The rounded gradient, which all products read, also for the bias.
        to_bias = of_gates.astype(jnp.float32)
        of_bias = of_bias + (to_bias if bias.ndim == 4 else to_bias.sum(1))
        all_gates = INTO(all_gates, of_gates, number, 1)
        all_outputs = INTO(all_outputs, of_output, number, 1)
        of_cell = of_cell * f
        of_output = jnp.einsum(
            "dbk,dkp->dbp",
            of_gates.reshape(d, rows, -1),
            to_output,
            preferred_element_type=jnp.float32,
        )
        if mask is not None:
            of_cell = of_cell * mask
            of_output = of_output * mask
        return all_gates, all_outputs, of_bias, of_cell, of_output

    # Separate buffers, because XLA copies a buffer that a step both reads and writes.
    empty = jax.lax.empty(gates.shape, dtype), jax.lax.empty(outputs.shape, dtype)
    of_bias = jnp.zeros(bias.shape, jnp.float32)
    of_gates, of_outputs, of_bias, *of_state = jax.lax.fori_loop(
        0, length, step, (*empty, of_bias, *gradients[1:])
    )
    previous = jnp.concatenate([state[1].astype(dtype)[:, None], outputs[:, :-1]], 1)
    if keep is not None:
        previous = previous * keep.astype(dtype)[..., None]
    # One product over all steps for each weight, instead of a sum inside the loop.
    of_gates = of_gates.reshape(d, length, rows, -1)
    of_kernel, of_recurrent = (
        jnp.einsum("dlbi,dlbk->dik", x, of_gates).reshape(d, -1, 4, size)
        for x in (inputs, previous)
    )
    of_projection = None
    if projection is not None:
        of_projection = jnp.einsum("dlbc,dlbp->dcp", hiddens, of_outputs)
    of_inputs = jnp.einsum("dlbk,dik->dlbi", of_gates, kernel.reshape(d, kernel.shape[1], -1))
    of_weights = of_kernel, of_recurrent, of_bias.astype(dtype), of_projection
    # custom_vjp needs a gradient for each argument, also for those that are data.
    of_keep = None if keep is None else jnp.zeros_like(keep)
    return of_inputs, of_weights, of_keep, tuple(of_state)


steps.defvjp(_steps_forward, _steps_backward)


class BiLstm(nn.Module):
    """Layers of LSTM cells without projection or limits, each in both directions.

    Attributes:
      cells: C, number of cells of a layer and direction.
      layers: number of layers; each reads both directions of the layer below.
      dropout: dropout rate between layers.
    """

    cells: int
    layers: int = 1
    dropout: float = 0.0

    @nn.compact
    def __call__(self, x: Array, mask: Array, seed: Array | None = None) -> list[Array]:
        """Runs over rows of words.

        Args:
          x: [B, L, I].
          mask: bool [B, L], True at the first n positions of each row.
          seed: of the dropout, uint32 [2]; None: no dropout.

        Returns:
          The output of each layer, [B, L, 2, C]: forward, backward.
        """
        rows, length, _ = x.shape
        count = mask.sum(1)[:, None]
        place = jnp.arange(length)[None]
        # Its own inverse: the words of a row change their order, its padding stays at the end.
        flipped = jnp.where(place < count, count - 1 - place, place)
        zeros = jnp.zeros((2, rows, self.cells), jnp.float32)
        outputs = []
        for layer in range(self.layers):
            size = x.shape[-1]
            if layer:
                x = dropout.dropout(x, self.dropout, seed, layer)
            init, axes = glorot(size + self.cells), (None, "embed", None, "mlp")
            shape = (2, size, 4, self.cells)
            kernel = parameter(self, f"kernel_{layer}", axes, init, shape)
            shape = (2, self.cells, 4, self.cells)
            recurrent = parameter(self, f"recurrent_{layer}", axes, init, shape)
            bias = parameter(
                self, f"bias_{layer}", (None, None, "mlp"), forget_one, (2, 4, self.cells)
            )
            # [2, B, L, I]
            inputs = jnp.stack([x, jnp.take_along_axis(x, flipped[..., None], axis=1)])
            weights = (
                kernel.astype(x.dtype),
                recurrent.astype(x.dtype),
                bias.astype(x.dtype),
                None,
            )
            # No mask: both directions read the padding last, so that it changes no word.
            hidden, _, _ = steps(inputs.swapaxes(1, 2), weights, None, (zeros, zeros), (None, None))
            forward, backward = hidden.swapaxes(1, 2)  # [B, L, C] each
            backward = jnp.take_along_axis(backward, flipped[..., None], axis=1)
            outputs.append(jnp.stack([forward, backward], axis=2))
            x = outputs[-1].reshape(rows, length, -1)
        return outputs
