"""Both language models: order, state between windows, resets, streams, evaluation, names."""

import dataclasses

from flax.core import meta
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import options as options_room
from clwe_jax.models import bilm
from clwe_jax.options.models import BiLmOptions
from clwe_jax.options.training import MeshOptions
from clwe_jax.training import partition

CONFIG = BiLmOptions(
    width=4,
    layers=2,
    cells=6,
    cell_clip=0.8,
    projection_clip=0.5,
    dropout=0.3,
    character_dim=3,
    filters=((1, 3), (2, 4)),
    highways=1,
)
ROWS, LENGTH, WORDS, FRAME = 3, 8, 11, 6
MODEL = bilm.BiLmModel(CONFIG)
apply = jax.jit(MODEL.apply)


def make_batch(seed=0, length=LENGTH):
    r = np.random.RandomState(seed)
    characters = np.random.RandomState(9).randint(0, 260, (WORDS, FRAME)).astype(np.int32)
    characters[:, 4:] = 260
    spelling, reverse = r.randint(0, WORDS, (2, ROWS, length)).astype(np.int32)
    return dict(spelling=spelling, spelling_reverse=reverse, characters=characters)


def make_carry(seed=3):
    r = np.random.RandomState(seed)
    return jax.tree.map(
        lambda x: 0.3 * r.standard_normal(x.shape).astype(np.float32),
        bilm.initial_carry(CONFIG, ROWS),
    )


def make_variables():
    boxed = jax.jit(MODEL.init)(jax.random.key(0), make_batch())
    leaves, treedef = jax.tree.flatten(partition.unbox(boxed))
    r = np.random.RandomState(1)
    return treedef.unflatten([np.float32(x + 0.3 * r.standard_normal(x.shape)) for x in leaves])


@pytest.fixture(scope="module")
def variables():
    return make_variables()


def close(ours, theirs, atol=1e-5):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=atol), ours, theirs)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step_by_step(params, vectors, direction, carry):
    """The outputs of both layers of one direction, [B, L, P] each, word for word."""
    outputs = [np.zeros(vectors.shape), np.zeros(vectors.shape)]
    for b in range(len(vectors)):
        cells = [carry.cell[b, k, direction].astype(float) for k in range(2)]
        states = [carry.output[b, k, direction].astype(float) for k in range(2)]
        for t in range(vectors.shape[1]):
            x = vectors[b, t]
            for k in range(2):
                p = {name: value[direction] for name, value in params[f"layer_{k + 1}"].items()}
                z = np.einsum("i,igc->gc", x, p["kernel"]) + p["bias"]
                z += np.einsum("p,pgc->gc", states[k], p["recurrent"])
                i, j, f, o = z
                cells[k] = np.clip(sigmoid(f) * cells[k] + sigmoid(i) * np.tanh(j), -0.8, 0.8)
                hidden = sigmoid(o) * np.tanh(cells[k])
                states[k] = np.clip(hidden @ p["projection"], -0.5, 0.5)
                x = states[k] + x if k else states[k]
                outputs[k][b, t] = x
    return outputs


def test_equals_numpy_step_by_step(variables):
    batch, carry = make_batch(), make_carry()
    found = apply(variables, batch, carry)
    vectors = MODEL.apply(variables, batch["characters"], method=lambda model, x: model.words(x))
    vectors = np.array(vectors)
    for direction, key in enumerate(("spelling", "spelling_reverse")):
        read = vectors[batch[key]]
        expected = step_by_step(variables["params"], read, direction, carry)
        close(found.layers[0][direction], read)
        for layer in range(2):
            close(found.layers[layer + 1][direction], expected[layer], 2e-5)
        close((found.forward, found.backward)[direction], expected[1], 2e-5)


def test_two_windows_are_one_long_one(variables):
    batch = make_batch(length=2 * LENGTH)
    whole = apply(variables, batch)

    def part(batch, half):
        columns = slice(half * LENGTH, (half + 1) * LENGTH)
        return {k: v if k == "characters" else v[:, columns] for k, v in batch.items()}

    first = apply(variables, part(batch, 0), bilm.initial_carry(CONFIG, ROWS))
    second = apply(variables, part(batch, 1), first.carry)
    for name in ("forward", "backward"):
        joined = np.concatenate([getattr(first, name), getattr(second, name)], 1)
        close(joined, getattr(whole, name))
    close(second.carry, whole.carry)
    fresh = apply(variables, part(batch, 1))
    assert np.abs(fresh.forward - second.forward).max() > 0.01


def test_no_word_depends_on_later_words_of_its_stream(variables):
    batch = make_batch()
    before = apply(variables, batch)
    for key, name, other in (
        ("spelling", "forward", "backward"),
        ("spelling_reverse", "backward", "forward"),
    ):
        changed = dict(batch, **{key: batch[key].copy()})
        changed[key][:, 5] = (changed[key][:, 5] + 1) % WORDS
        after = apply(variables, changed)
        a, b = getattr(before, name), getattr(after, name)
        np.testing.assert_array_equal(a[:, :5], b[:, :5])
        assert (np.abs(a - b).max(-1)[:, 5:] > 1e-6).all()
        np.testing.assert_array_equal(getattr(before, other), getattr(after, other))


def test_a_reset_zeroes_the_state(variables):
    batch, carry = make_batch(), make_carry()
    reset = np.zeros((ROWS, LENGTH), np.float32)
    reset[1, 3] = 1
    kept, found = apply(variables, batch, carry), apply(variables, dict(batch, reset=reset), carry)
    tail = {k: v if k == "characters" else v[:, 3:] for k, v in batch.items()}
    alone = apply(variables, tail)
    for name in ("forward", "backward"):
        a, b, c = (np.array(getattr(x, name)) for x in (kept, found, alone))
        np.testing.assert_array_equal(a[[0, 2]], b[[0, 2]])
        np.testing.assert_array_equal(a[1, :3], b[1, :3])
        close(b[1, 3:], c[1])
        assert np.abs(a[1, 3:] - b[1, 3:]).max() > 1e-3


def test_a_window_read_from_its_end(variables):
    """Without a reversed stream the backward model starts from zeros at the end of the window."""
    batch = make_batch()
    backward = batch.pop("spelling_reverse")
    flipped = apply(variables, dict(batch, spelling_reverse=batch["spelling"][:, ::-1]))
    found = apply(variables, batch, make_carry())
    close(found.backward, flipped.backward[:, ::-1])
    close(found.layers[1][1], flipped.layers[1][1][:, ::-1])
    assert not np.array_equal(backward, batch["spelling"])


def test_a_window_read_from_its_end_starts_again_at_texts_and_padding(variables):
    batch = make_batch()
    del batch["spelling_reverse"]
    reset, weights = np.zeros((2, ROWS, LENGTH), np.float32)
    reset[:, 5] = 1  # words 0-4, and 5-7
    weights[:, :7] = 1  # and 7 is padding
    found = apply(variables, dict(batch, reset=reset, loss_weights=weights))
    for columns in (slice(0, 5), slice(5, 7)):
        part = apply(variables, dict(batch, spelling=batch["spelling"][:, columns]))
        close(found.backward[:, columns], part.backward)
        close(found.forward[:, columns], part.forward)


def test_sentences_have_both_directions_word_by_word(variables):
    batch = make_batch()
    sizes = [8, 3, 5]
    weights = np.float32(np.arange(LENGTH) < np.array(sizes)[:, None])
    found = jax.jit(MODEL.apply, static_argnames="method")(
        variables, dict(batch, loss_weights=weights), method="encode"
    )
    assert len(found.layers) == 3
    np.testing.assert_array_equal(found.last, found.layers[-1])
    for row, size in enumerate(sizes):
        words = np.repeat(batch["spelling"][row : row + 1, :size], ROWS, 0)
        alone = apply(variables, dict(batch, spelling=words, spelling_reverse=words[:, ::-1]))
        for ours, theirs in zip(found.layers, alone.layers):
            expected = np.concatenate([theirs[0, 0], theirs[1, 0][::-1]], -1)
            close(ours[row, :size], expected)


def test_words_are_spelt_once_and_looked_up(variables):
    """Two rows of `characters` that spell the same word give the same vector."""
    batch = make_batch()
    double = np.concatenate([batch["characters"], batch["characters"]])
    moved = dict(batch, characters=double, spelling=batch["spelling"] + WORDS)
    close(apply(variables, moved).forward, apply(variables, batch).forward)


def test_dropout_in_training_only(variables):
    batch, carry = make_batch(), make_carry()
    train = jax.jit(lambda key: MODEL.apply(variables, batch, carry, True, rngs={"dropout": key}))
    one, two = train(jax.random.key(0)), train(jax.random.key(1))
    plain = apply(variables, batch, carry)
    assert not np.allclose(one.forward, two.forward) and not np.allclose(one.forward, plain.forward)
    dropped = [np.mean(x == 0) for x in (one.forward, one.backward)]
    assert all(0.1 < share < 0.5 for share in dropped)
    close(one.layers[0], plain.layers[0])  # what is given back is not dropped out
    assert not (one.layers[-1] == 0).any()


def test_no_gradient_through_the_carry(variables):
    def loss(variables, carry):
        after = MODEL.apply(variables, make_batch(), carry).carry
        return sum(x.sum() for x in jax.tree.leaves(after))

    gradients = jax.jit(jax.grad(loss))(variables, make_carry())
    assert all((x == 0).all() for x in jax.tree.leaves(gradients))


def test_every_parameter_has_axis_names_and_directions_are_apart():
    boxed = jax.eval_shape(MODEL.init, jax.random.key(0), make_batch())["params"]
    leaves = jax.tree.leaves(boxed, is_leaf=lambda x: isinstance(x, meta.AxisMetadata))
    for leaf in leaves:
        assert isinstance(leaf, meta.AxisMetadata)
        assert len(leaf.names) == leaf.value.ndim
    shapes = jax.tree.map(lambda x: x.shape, partition.unbox(boxed))
    assert all(x.value.shape[0] == 2 for x in boxed["layer_1"].values())
    assert sorted(shapes) == ["layer_1", "layer_2", "words"]


def test_the_same_on_a_mesh(run_python):
    run_python(__file__, devices=8)


def on_a_mesh():
    """Parameters and rows cut over devices: the same values, the same gradients."""
    mesh = partition.make_mesh(MeshOptions(data=2, fsdp=2, tensor=2))
    batch, variables = make_batch(), make_variables()
    batch = {
        k: np.concatenate([v] * 4)[: 44 if k == "characters" else 12] for k, v in batch.items()
    }

    def loss(variables, batch):
        found = MODEL.apply(variables, batch)
        return (found.forward * found.backward).sum()

    expected = jax.jit(jax.value_and_grad(loss))(variables, batch)
    boxed = jax.eval_shape(MODEL.init, jax.random.key(0), batch)
    placed = jax.device_put(variables, partition.shardings_of(boxed, mesh))
    cut = placed["params"]["layer_1"]["recurrent"].sharding.shard_shape((2, 4, 4, 6))
    assert cut == (2, 2, 4, 3)
    with partition.use(mesh):
        rows = partition.global_batch(batch, mesh)
        found = jax.jit(jax.value_and_grad(loss))(placed, rows)
    close(found, expected, 1e-4)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(cells=0), "config.model.cells=0: must be at least 1"),
        (dict(dropout=1.0), "config.model.dropout=1.0"),
        (dict(filters=()), "config.model.filters"),
        (dict(filters=((1, 4), (1, 8))), "each size once"),
        (dict(filters=((0, 4),)), "each at least 1"),
    ],
)
def test_settings_that_cannot_work(options, message):
    with pytest.raises(ValueError, match=message):
        options_room.parse({"model": {"name": "bilm", **options}})


def test_defaults_are_elmos():
    config = BiLmOptions()
    assert sum(count for _, count in config.filters) == 2048
    assert (config.width, config.cells, config.layers) == (512, 4096, 2)
    batch = dict(make_batch(), characters=jnp.zeros((4, 50), int))
    shapes = jax.eval_shape(bilm.BiLmModel(config).init, jax.random.key(0), batch)
    # 93.6 million, as the published model has without its softmax.
    count = sum(x.size for x in jax.tree.leaves(shapes))
    assert 93.5e6 < count < 93.7e6


if __name__ == "__main__":
    on_a_mesh()


def test_gradient_of_a_frequent_word_is_summed_in_float32():
    """A sum in bfloat16 stops at 256: it would lose most of what a frequent word gets."""
    model = bilm.BiLmModel(dataclasses.replace(CONFIG, dtype="bfloat16", dropout=0.0))
    spelling = np.zeros((ROWS, 200), np.int32)
    batch = dict(make_batch(), spelling=spelling, spelling_reverse=spelling)
    variables = make_variables()

    def summed(bias):
        params = {**variables["params"]}
        params["words"] = {**params["words"], "projection_bias": bias}
        return model.apply({"params": params}, batch).layers[0].astype(jnp.float32).sum()

    gradient = jax.jit(jax.grad(summed))(variables["params"]["words"]["projection_bias"])
    np.testing.assert_allclose(gradient, 2 * ROWS * 200, rtol=0.01)
