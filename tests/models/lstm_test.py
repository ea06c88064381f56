"""The projected, clipped LSTM against NumPy; its written-out gradient against the automatic one."""

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import lstm

D, L, B, SIZE, C, P = 2, 7, 3, 5, 6, 4
LIMITS = (0.8, 0.5)
run = jax.jit(lstm.steps, static_argnums=4)


def draw(*shape, seed=0, scale=1.0):
    return np.float32(scale * np.random.RandomState(seed + sum(shape)).standard_normal(shape))


@pytest.fixture
def given():
    """inputs, weights, keep, state."""
    weights = draw(D, SIZE, 4, C), draw(D, P, 4, C, scale=0.5), draw(D, 4, C), draw(D, C, P)
    keep = np.float32(np.random.RandomState(1).rand(D, L, B) > 0.3)
    return draw(D, L, B, SIZE), weights, keep, (draw(D, B, C), draw(D, B, P))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def oracle(inputs, weights, keep, state, limits):
    """One network, row and step after the other."""
    kernel, recurrent, bias, projection = weights
    cells, states = (np.array(x) for x in state)
    outputs = np.zeros((D, L, B, P))
    clipped = 0
    for d, b, t in np.ndindex(D, B, L):
        if keep is not None and not keep[d, t, b]:
            cells[d, b] = states[d, b] = 0
        z = bias[d].astype(float)
        for k in range(4):
            z[k] += inputs[d, t, b] @ kernel[d, :, k] + states[d, b] @ recurrent[d, :, k]
        i, j, f, o = z
        c = sigmoid(f) * cells[d, b] + sigmoid(i) * np.tanh(j)
        if limits[0] is not None:
            clipped += (np.abs(c) > limits[0]).sum()
            c = np.clip(c, -limits[0], limits[0])
        m = (sigmoid(o) * np.tanh(c)) @ projection[d]
        if limits[1] is not None:
            clipped += 1000 * (np.abs(m) > limits[1]).sum()
            m = np.clip(m, -limits[1], limits[1])
        cells[d, b], states[d, b], outputs[d, t, b] = c, m, m
    return outputs, cells, states, clipped


@pytest.mark.parametrize("limits", [LIMITS, (None, None)], ids=["clipped", "unclipped"])
@pytest.mark.parametrize("kept", [True, False], ids=["reset", "no-reset"])
def test_equals_numpy(given, limits, kept):
    inputs, weights, keep, state = given
    keep = keep if kept else None
    *expected, clipped = oracle(inputs, weights, keep, state, limits)
    found = run(inputs, weights, keep, state, limits)
    if limits == LIMITS:
        assert clipped > 1000 and clipped % 1000 > 0  # both limits were met
    for ours, theirs in zip(found, expected):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    "limits, kept", [(LIMITS, True), ((None, None), False)], ids=["clipped-reset", "bias-of-rows"]
)
def test_gradient_is_that_of_automatic_differentiation(given, limits, kept):
    inputs, weights, keep, state = jax.tree.map(jnp.asarray, given)
    if not kept:
        keep = None
        weights = *weights[:2], jnp.asarray(draw(D, B, 4, C)), weights[3]
    scales = draw(D, L, B, P, seed=5), draw(D, B, C, seed=5), draw(D, B, P, seed=5)

    def plain(inputs, weights, state):
        outputs = []
        for t in range(L):
            if keep is not None:
                state = tuple(x * keep[:, t, :, None] for x in state)
            kernel, recurrent, bias, projection = weights
            z = jnp.einsum("dbi,digc->dbgc", inputs[:, t], kernel)
            z += bias if bias.ndim == 4 else bias[:, None]
            z += jnp.einsum("dbp,dpgc->dbgc", state[1], recurrent)
            i, j, f, o = jnp.moveaxis(z, 2, 0)
            c = jax.nn.sigmoid(f) * state[0] + jax.nn.sigmoid(i) * jnp.tanh(j)
            c = c if limits[0] is None else jnp.clip(c, -limits[0], limits[0])
            m = jnp.einsum("dbc,dcp->dbp", jax.nn.sigmoid(o) * jnp.tanh(c), projection)
            m = m if limits[1] is None else jnp.clip(m, -limits[1], limits[1])
            state = c, m
            outputs.append(m)
        return jnp.stack(outputs, 1), *state

    def gradient(run):
        def loss(*arguments):
            return sum((x * s).sum() for x, s in zip(run(*arguments), scales))

        return jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(inputs, weights, state)

    ours = gradient(lambda x, w, s: lstm.steps(x, w, keep, s, limits))
    theirs = gradient(plain)
    assert all(np.abs(x).max() > 0.05 for x in jax.tree.leaves(theirs))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), ours, theirs)


def test_half_precision_keeps_the_state_in_float32(given):
    inputs, weights, keep, state = jax.tree.map(jnp.asarray, given)
    exact = run(inputs, weights, keep, state, LIMITS)
    half = jax.tree.map(lambda x: x.astype(jnp.bfloat16), (inputs, weights))
    found = run(*half, keep, state, LIMITS)
    assert [x.dtype.name for x in found] == ["bfloat16", "float32", "float32"]
    for ours, theirs in zip(found, exact):
        assert np.abs(ours.astype(np.float32) - theirs).max() < 0.1
    assert (np.float32(found[1].astype(jnp.bfloat16)) != found[1]).any()


def test_half_precision_gradient_is_near(given):
    inputs, weights, keep, state = jax.tree.map(jnp.asarray, given)

    def gradient(inputs, weights):
        def loss(*read):
            return lstm.steps(*read, keep, state, (3.0, 3.0))[0].astype(jnp.float32).sum()

        return jax.jit(jax.grad(loss, argnums=(0, 1)))(inputs, weights)

    exact = gradient(inputs, weights)
    found = gradient(*jax.tree.map(lambda x: x.astype(jnp.bfloat16), (inputs, weights)))
    for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(exact)):
        assert ours.dtype == jnp.bfloat16
        difference = np.linalg.norm(ours.astype(np.float32) - theirs)
        assert difference < 0.05 * np.linalg.norm(theirs)


def test_networks_are_independent(given):
    inputs, weights, keep, state = given
    before = run(inputs, weights, keep, state, LIMITS)
    changed = inputs.copy()
    changed[1] += 1
    after = run(changed, weights, keep, state, LIMITS)
    for x, y in zip(before, after):
        np.testing.assert_array_equal(x[0], y[0])
        assert np.abs(x[1] - y[1]).max() > 0.01


def test_forget_gates_start_open():
    module = lstm.Lstm(D, C, P)
    x, cell, output = draw(D, L, B, SIZE), draw(D, B, C), draw(D, B, P)
    params = nn.unbox(jax.jit(module.init)(jax.random.key(0), x, None, cell, output))["params"]
    np.testing.assert_array_equal(params["bias"][:, 2], 1)
    np.testing.assert_array_equal(np.delete(params["bias"], 2, axis=1), 0)
    assert not np.allclose(params["kernel"][0], params["kernel"][1])
    # Uniform by all inputs and outputs of the gates, TensorFlow's initialiser of the whole matrix.
    limit = (6 / (SIZE + P + 4 * C)) ** 0.5
    assert 0.8 * limit < np.abs(params["recurrent"]).max() <= limit
