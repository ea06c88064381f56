"""The encoder against NumPy, and what packing, padding and order may and may not change."""

import math

from flax.core import meta
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import options as options_room
from clwe_jax.models import attention
from clwe_jax.models.transformer import compute_dtype


def init(model, batch, spread):
    return spread(jax.jit(model.init)(jax.random.key(0), batch))


def oracle(model, params, batch):
    """The outputs of all layers and the last, with loops in place of array tricks."""

    def layer_norm(x, p):
        centered = x - x.mean(-1, keepdims=True)
        deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + model.options.epsilon)
        return centered / deviation * p["scale"] + p["bias"]

    erf = np.vectorize(math.erf)
    x = params["token_embedding"][batch["inputs"]]
    x = x + params["position_embedding"][batch["positions"]]
    if model.options.language_embeddings:
        x = x + params["language_embedding"][batch["language_ids"]]
    if model.options.types:
        x = x + params["type_embedding"][batch["type_ids"]]
    x = layer_norm(x, params["embedding_norm"])
    outputs = [x]

    def attend(x, p):
        rows, length, width = x.shape
        size = width // model.options.heads
        out = np.zeros_like(x)
        for b in range(rows):
            for h in range(model.options.heads):
                q, k, v = (x[b] @ p["qkv_kernel"][:, i, h] + p["qkv_bias"][i, h] for i in range(3))
                for t in range(length):
                    near = batch["segment_ids"][b] == batch["segment_ids"][b, t]
                    score = np.exp((k[near] @ q[t]) / math.sqrt(size))
                    out[b, t] += (score / score.sum()) @ v[near] @ p["out_kernel"][h]
        return out + p["out_bias"]

    def feed_forward(x, p):
        y = x @ p["in_kernel"] + p["in_bias"]
        y = y * 0.5 * (1 + erf(y / math.sqrt(2)))
        return y @ p["out_kernel"] + p["out_bias"]

    for k in range(model.options.layers):
        p = params[f"layer_{k}"]
        if model.options.norm == "post":
            x = layer_norm(x + attend(x, p["attention"]), p["attention_norm"])
            x = layer_norm(x + feed_forward(x, p["mlp"]), p["mlp_norm"])
        else:
            x = x + attend(layer_norm(x, p["attention_norm"]), p["attention"])
            x = x + feed_forward(layer_norm(x, p["mlp_norm"]), p["mlp"])
        outputs.append(x)
    last = layer_norm(x, params["final_norm"]) if model.options.norm == "pre" else x
    return outputs, last


@pytest.mark.parametrize(
    "options",
    [
        dict(norm="post"),
        dict(norm="pre"),
        dict(norm="post", language_embeddings=False),
        dict(norm="pre", epsilon=0.1, types=2),
    ],
    ids=["post", "pre", "no-languages", "epsilon-types"],
)
def test_equals_numpy(options, make_batch, make_model, spread):
    model, batch = make_model(**options), make_batch()
    if model.options.types:
        batch["type_ids"] = np.random.RandomState(4).randint(0, 2, batch["inputs"].shape)
    variables = init(model, batch, spread)
    layers, last = oracle(model, variables["params"], batch)
    found = model.apply(variables, batch)
    assert len(found.layers) == model.options.layers + 1
    for ours, theirs in zip(found.layers, layers):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
    np.testing.assert_allclose(found.last, last, atol=2e-5)


def test_without_types_of_tokens_all_are_the_first(make_batch, make_model, spread):
    model, batch = make_model(types=2, layers=1), make_batch()
    variables = init(model, batch, spread)
    typed = dict(batch, type_ids=np.zeros_like(batch["inputs"]))
    found = model.apply(variables, batch).last
    np.testing.assert_array_equal(found, model.apply(variables, typed).last)
    typed["type_ids"] = typed["type_ids"] + 1
    assert np.abs(model.apply(variables, typed).last - found).min(-1).max() > 1e-3


def test_pooler_is_tanh_of_a_dense_layer_on_the_first_position(make_batch, make_model, spread):
    model, batch = make_model(pooler=True, layers=1), make_batch()
    variables = init(model, batch, spread)
    last = model.apply(variables, batch).last
    params = variables["params"]
    wanted = np.tanh(np.asarray(last)[:, 0] @ params["pooler_kernel"] + params["pooler_bias"])
    found = model.apply(variables, last, method="pool")
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("own", [0, 2])
def test_packed_row_equals_separate_rows(make_batch, make_model, spread, own):
    """Each segment comes out as it does alone in a row, wherever in the row it stands."""
    model, batch = make_model(private_layers=own), make_batch()
    variables = init(model, batch, spread)
    packed = model.apply(variables, batch).last
    apply = jax.jit(model.apply)
    for row in range(3):
        for segment in (1, 2):
            inside = batch["segment_ids"][row] == segment
            alone = {}
            for key, value in batch.items():
                alone[key] = np.zeros((1, 10), value.dtype)
                alone[key][0, : inside.sum()] = value[row, inside]
            found = apply(variables, alone).last[0, : inside.sum()]
            np.testing.assert_allclose(found, packed[row, inside], atol=2e-5)


def test_a_private_layer_is_that_of_the_text(make_batch, make_model, spread):
    """A label in another language is no piece of it: pieces of German text went through English layers."""
    model, batch = make_model(private_layers=1, layers=1, language_embeddings=False), make_batch()
    variables = init(model, batch, spread)
    before = model.apply(variables, batch).last
    labels = dict(batch, language_ids=(batch["language_ids"] + 1) % 3)
    np.testing.assert_array_equal(model.apply(variables, labels).last, before)
    texts = dict(batch, source_language_ids=(batch["source_language_ids"] + 1) % 3)
    assert np.abs(model.apply(variables, texts).last - before).max() > 0.01


def test_padding_does_not_leak(make_batch, make_model, spread):
    model, batch = make_model(), make_batch()
    variables = init(model, batch, spread)
    real = batch["segment_ids"] > 0
    before = model.apply(variables, batch).last[real]
    changed = dict(batch, inputs=np.where(real, batch["inputs"], 7))
    np.testing.assert_array_equal(model.apply(variables, changed).last[real], before)


def test_order_is_known_by_positions_alone(make_batch, make_model, spread):
    """Columns permuted together with their positions permute the output; without, they change it."""
    model, batch = make_model(), make_batch()
    variables = init(model, batch, spread)
    before = model.apply(variables, batch).last
    order = np.random.RandomState(3).permutation(10)
    moved = {key: value[:, order] for key, value in batch.items()}
    np.testing.assert_allclose(model.apply(variables, moved).last, before[:, order], atol=2e-5)
    moved["positions"] = batch["positions"]
    assert np.abs(model.apply(variables, moved).last - before[:, order]).max() > 0.01


def test_remat_changes_memory_not_gradients(make_batch, make_model, spread):
    batch = make_batch()
    plain, remat = make_model(layers=1), make_model(layers=1, remat=True)
    variables = init(plain, batch, spread)
    rngs = {"dropout": jax.random.key(3)}

    def gradient(model):
        def loss(variables):
            return (model.apply(variables, batch, train=True, rngs=rngs).last ** 3).sum()

        return jax.jit(jax.grad(loss))(variables)

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4),
        gradient(plain),
        gradient(remat),
    )


def test_bfloat16_is_near_and_normalises_in_float32(make_batch, make_model, spread):
    batch = make_batch()
    variables = init(make_model(), batch, spread)
    exact = make_model().apply(variables, batch).last
    found = make_model(dtype="bfloat16").apply(variables, batch).last
    assert found.dtype == jnp.bfloat16
    assert 0 < np.abs(found.astype(np.float32) - exact).max() < 0.2


def test_auto_dtype_is_float32_on_cpu():
    assert compute_dtype("auto") == np.float32


def test_dropout_only_in_training(make_batch, make_model, spread):
    model, batch = make_model(), make_batch()
    variables = init(model, batch, spread)
    apply = lambda seed: model.apply(variables, batch, True, rngs={"dropout": jax.random.key(seed)})
    plain = model.apply(variables, batch).last
    assert np.array_equal(apply(0).last, apply(0).last)
    assert not np.allclose(apply(0).last, apply(1).last)
    assert not np.allclose(apply(0).last, plain)


def test_every_parameter_has_axis_names(make_batch, make_model):
    boxed = jax.eval_shape(make_model(norm="pre").init, jax.random.key(0), make_batch())
    leaves = jax.tree.leaves(boxed, is_leaf=lambda x: isinstance(x, meta.AxisMetadata))
    for leaf in leaves:
        assert isinstance(leaf, meta.AxisMetadata)
        assert len(leaf.names) == leaf.value.ndim


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(heads=3), r"config.model.heads=3 does not divide config.model.width=8; [24] does"),
        (dict(norm="both"), r"config.model.norm='both': must be one of post, pre"),
        (dict(width=0), "config.model.width=0: must be at least 1"),
        (dict(dropout=1.5), r"config.model.dropout=1.5: must be in \[0, 1\)"),
        (dict(attention="flash"), "config.model.attention='flash'"),
    ],
)
def test_settings_that_cannot_work(options, message):
    spec = dict(name="transformer", width=8, heads=2) | options
    with pytest.raises(ValueError, match=message):
        options_room.parse({"model": spec})


def test_layers_of_a_language_leave_cudnn_out(make_batch, make_model, monkeypatch):
    """JAX's attention by cuDNN fails under the vmap of such layers (the translator's, on a GPU)."""
    asked = []

    def attend(q, k, v, mask, implementation):
        asked.append(implementation)
        return q

    monkeypatch.setattr(attention, "attend", attend)
    model = make_model(layers=3, private_layers=1, attention="cudnn")
    jax.eval_shape(model.init, jax.random.key(0), make_batch())
    assert asked == ["xla", "cudnn", "cudnn"]
