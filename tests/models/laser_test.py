"""LASER's encoder and decoder: one piece at a time against a whole row, and NumPy."""

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models.laser import Laser
from clwe_jax.options.models import LaserOptions

PAD = 0


@pytest.fixture(scope="module")
def made():
    options = LaserOptions(
        width=4, cells=3, layers=2, decoder_cells=5, language_width=2, dropout=0.5
    )
    model = Laser(options, vocab_size=12, languages=3, max_length=9)
    ids = np.array([[5, 6, 7, 3], [8, 3, PAD, PAD]])
    before = np.array([[3, 9, 4], [3, 5, 6]])
    language = np.array([2, 0])
    shapes = jax.eval_shape(model.init, jax.random.key(0), ids, ids != PAD, None, before, language)
    spread = lambda x: 0.5 * jax.random.normal(jax.random.key(x.size), x.shape)
    variables = jax.tree.map(spread, nn.unbox(shapes))
    return model, variables, ids, before, language


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, kernel, recurrent, bias, cell, output):
    """One row, one direction, by the equations: [L, C]."""
    found = []
    for now in x:
        i, j, f, o = (now @ kernel[:, k] + output @ recurrent[:, k] + bias[k] for k in range(4))
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(j)
        output = sigmoid(o) * np.tanh(cell)
        found.append(output)
    return np.array(found)


def test_all_equals_numpy(made):
    model, variables, ids, before, language = made
    p = jax.tree.map(lambda x: np.asarray(x, np.float64), variables["params"])
    found = model.apply(variables, ids, ids != PAD, None, before, language)
    for row in range(2):
        x = p["source_pieces"][ids[row][ids[row] != PAD]]
        for layer in range(2):
            weights = [p["encoder"][f"{name}_{layer}"] for name in ("kernel", "recurrent", "bias")]
            zeros = np.zeros(3)
            ahead = lstm(x, *(w[0] for w in weights), zeros, zeros)
            back = lstm(x[::-1], *(w[1] for w in weights), zeros, zeros)[::-1]
            x = np.concatenate([ahead, back], -1)
        sentence = x.max(0)
        cell, output = np.einsum("s,skc->kc", sentence, p["start"]) + p["start_bias"]
        fixed = np.concatenate([sentence, p["language"][language[row]]])
        read = np.stack([np.concatenate([p["target_pieces"][b], fixed]) for b in before[row]])
        states = lstm(read, *(p[name][0] for name in ("kernel", "recurrent", "bias")), cell, output)
        np.testing.assert_allclose(found[row], states, atol=1e-5)


def test_one_piece_at_a_time_equals_the_row(made):
    model, variables, ids, before, language = made

    def whole(m):
        sentence = m.sentence(m.encode(ids, ids != PAD), ids != PAD)
        return m.logits(m.states(sentence, before, language), 10)

    def single(m):
        sentence = m.sentence(m.encode(ids, ids != PAD), ids != PAD)
        state, found = m.first(sentence, language), []
        for place in range(3):
            scores, state = m.next(state, before[:, place], 10)
            found.append(scores)
        return jnp.stack(found, 1)

    one, other = (model.apply(variables, method=method) for method in (whole, single))
    np.testing.assert_allclose(one, other, atol=1e-5)
    assert (np.asarray(one)[..., 10:] < -1e8).all() and (np.asarray(one)[..., :10] > -1e3).all()


def test_padding_does_not_count_and_an_empty_text_is_zero(made):
    model, variables, ids, _, _ = made

    def sentence(m, ids):
        return m.sentence(m.encode(ids, ids != PAD), ids != PAD)

    wide = np.pad(ids, ((0, 1), (0, 3)))
    one, other = (model.apply(variables, x, method=sentence) for x in (ids, wide))
    np.testing.assert_allclose(one, other[:2], atol=1e-6)
    assert not np.asarray(other[2]).any()


def test_dropout_needs_training(made):
    model, variables, ids, before, language = made
    states = lambda train, seed: model.apply(
        variables,
        jnp.ones((2, 6)),
        before,
        language,
        train,
        method=Laser.states,
        rngs={"dropout": jax.random.key(seed)},
    )
    np.testing.assert_array_equal(states(False, 0), states(False, 1))
    assert (states(True, 0) != states(True, 1)).any()
