"""Rotary layers: the rotation against complex numbers, what a piece reads, and one step of training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import registry
from clwe_jax.models import rotary
from clwe_jax.options.models import RotaryOptions
from clwe_jax.options.section import OptionError
from clwe_jax.types import piece_shapes

SIZES = dict(
    layers=2,
    width=8,
    heads=2,
    mlp_dim=6,
    dropout=0.0,
    language_embeddings=False,
    condition_on_language=False,
)


def test_rotations_are_products_with_complex_numbers():
    r = np.random.RandomState(0)
    x, positions = r.randn(1, 6, 2, 4), np.array([[0, 2, 5, 0, 1, 2]])
    angles = positions[..., None] * 100.0 ** (-np.arange(2) / 2)
    wanted = (x[..., :2] + 1j * x[..., 2:]) * np.exp(1j * angles)[:, :, None]
    found = rotary.rotate(jnp.asarray(x, jnp.float32), positions, 100.0)
    np.testing.assert_allclose(found[..., :2], wanted.real, atol=1e-5)
    np.testing.assert_allclose(found[..., 2:], wanted.imag, atol=1e-5)


def a_batch(length):
    batch = {x: np.zeros(y.shape, y.dtype) for x, y in piece_shapes(1, length).items()}
    batch["positions"][:] = np.arange(length)
    batch["segment_ids"][:] = 1
    batch["inputs"][:] = np.arange(length)
    return batch


def readers(**options):
    """bool [L, L]: whether the last layer at a place changes with the piece at another place."""
    model = rotary.RotaryTransformer(RotaryOptions(**SIZES | options), 16, 1)
    batch = a_batch(7)
    variables = model.init(jax.random.key(0), batch)
    encode = jax.jit(lambda batch: model.apply(variables, batch).last[0])
    before = encode(batch)
    changed = []
    for place in range(7):
        other = {**batch, "inputs": batch["inputs"].copy()}
        other["inputs"][0, place] = 15
        changed.append(np.abs(encode(other) - before).max(-1) > 1e-6)
    return np.array(changed).T


@pytest.mark.parametrize(
    "options, reads",
    [
        (dict(), lambda here, there: True),
        (dict(norm="pre", causal=True, kv_heads=1), lambda here, there: there <= here),
        (dict(layers=1, window=2, local_layers=(0,)), lambda here, there: abs(here - there) <= 2),
        (dict(window=2, local_layers=(0,), rms=True, query_norm=True), lambda here, there: True),
    ],
)
def test_what_a_piece_reads(options, reads):
    found = readers(**options)
    wanted = [[reads(here, there) for there in range(7)] for here in range(7)]
    np.testing.assert_array_equal(found, wanted)


def test_training_lowers_the_loss():
    options = RotaryOptions(**SIZES, kv_heads=1, output_norms=True, local_layers=(1,), window=2)
    model = rotary.RotaryTransformer(options, 16, 1)
    objective = registry.lookup("objective", "mlm")(model=model, vocab_size=16, max_predictions=7)
    batch = a_batch(7)
    batch["targets"] = batch["inputs"]
    batch["loss_weights"][:] = 1
    params = objective.init(jax.random.key(0), batch)["params"]
    loss = lambda params: objective.loss({"params": params}, batch, step=0)[0]["loss"].mean()
    step = jax.jit(jax.value_and_grad(loss))
    values = []
    for _ in range(10):
        value, gradient = step(params)
        values.append(float(value))
        params = jax.tree.map(lambda x, y: x - 0.1 * y, params, gradient)
    assert values[-1] < 0.9 * values[0]


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match="head_dim=3.*even"):
        RotaryOptions(**SIZES, head_dim=3)
    with pytest.raises(OptionError, match="kv_heads=3 does not divide"):
        RotaryOptions(**SIZES | dict(heads=4, kv_heads=3))
