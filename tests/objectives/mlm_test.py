"""The MLM loss and metrics against NumPy."""

import dataclasses

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import options
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective, cross_entropy
from clwe_jax.options.models import TransformerOptions
from clwe_jax.types import piece_shapes

VOCAB, PADDED = 21, 24


@pytest.fixture(scope="module")
def objective():
    sizes = TransformerOptions(layers=1, width=8, heads=2, mlp_dim=12)
    return MlmObjective(model=Transformer(sizes, PADDED, 3, 9), vocab_size=VOCAB, max_predictions=5)


def make_batch(rows, seed=0):
    r = np.random.RandomState(seed)
    shape = (rows, 9)
    batch = {key: r.randint(0, 3, shape) for key in piece_shapes(*shape)}
    batch["inputs"], batch["targets"] = r.randint(5, VOCAB, (2, *shape))
    batch["positions"] = np.tile(np.arange(9), (rows, 1))
    batch["segment_ids"] = np.tile(np.arange(9) < 7, (rows, 1))
    batch["loss_weights"] = (np.cumsum(r.rand(*shape) < 0.4, 1) <= 5) & (r.rand(*shape) < 0.4)
    batch["loss_weights"] &= batch["segment_ids"] > 0
    return {key: batch[key].astype(x.dtype) for key, x in piece_shapes(*shape).items()}


@pytest.fixture(scope="module")
def variables(objective):
    tree = nn.unbox(jax.jit(objective.init)(jax.random.key(0), make_batch(2)))
    r = np.random.RandomState(0)
    return jax.tree.map(lambda x: x + np.float32(0.4 * r.standard_normal(x.shape)), tree)


def test_metrics_equal_numpy(objective, variables):
    batch = make_batch(16)
    sums, collections = objective.loss(variables, batch, step=0, train=False)
    assert collections == {}
    hidden = objective.encode(variables, batch).last
    logits = objective.module.apply(variables, hidden, batch["language_ids"], method="score")
    logits = np.asarray(logits, np.float64)[..., :VOCAB]
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    nll = -np.take_along_axis(log_p, batch["targets"][..., None].astype(int), -1)[..., 0]
    masked = batch["loss_weights"] > 0
    cross = masked & (batch["language_ids"] != batch["source_language_ids"])
    right = logits.argmax(-1) == batch["targets"]
    assert 0 < cross.sum() < masked.sum() and right[masked].any()
    expected = {
        "loss": (nll[masked].sum(), masked.sum()),
        "accuracy": (right[masked].sum(), masked.sum()),
        "cross_lingual_loss": (nll[cross].sum(), cross.sum()),
        "monolingual_loss": (nll[masked & ~cross].sum(), (masked & ~cross).sum()),
        "cross_lingual_share": (cross.sum(), masked.sum()),
        "predictions_per_row": (masked.sum(), 16),
        "padding": (2 * 16, 9 * 16),
        "overflow": (0, masked.sum()),
    }
    assert set(sums) == set(expected)
    for name, (value, weight) in expected.items():
        np.testing.assert_allclose(sums[name].value, value, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(sums[name].weight, weight, err_msg=name)


def test_sums_of_parts_are_the_sums_of_the_whole(objective, variables):
    loss = jax.jit(lambda batch: objective.loss(variables, batch, step=0, train=False)[0])
    whole = loss(make_batch(16))
    parts = [
        loss({key: value[rows] for key, value in make_batch(16).items()})
        for rows in (slice(0, 3), slice(3, 16))
    ]
    for name in whole:
        joined = parts[0][name] + parts[1][name]
        np.testing.assert_allclose(joined.mean(), whole[name].mean(), rtol=1e-5, err_msg=name)


def test_overflow_is_reported(objective, variables):
    batch = make_batch(2)
    batch["loss_weights"][:] = batch["segment_ids"]
    sums, _ = objective.loss(variables, batch, step=0, train=False)
    assert float(sums["overflow"].mean()) == pytest.approx(2 / 7)


def test_cross_entropy_gradient_equals_automatic_one():
    r = np.random.RandomState(0)
    logits = jnp.asarray(r.standard_normal((3, 4, 11)) * 30, jnp.float32)
    targets, weights = r.randint(0, 11, (3, 4)), r.rand(3, 4).astype(np.float32)

    def plain(logits):
        log_p = jax.nn.log_softmax(logits)
        return -(jnp.take_along_axis(log_p, targets[..., None], -1)[..., 0] * weights).sum()

    ours = lambda logits: (cross_entropy(logits, targets)[0] * weights).sum()
    np.testing.assert_allclose(ours(logits), plain(logits), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(ours)(logits), jax.grad(plain)(logits), atol=1e-6)


def test_training_drops_out(objective, variables):
    batch = make_batch(4)
    loss = jax.jit(
        lambda key: objective.loss(variables, batch, step=0, rngs={"dropout": key})[0]["loss"].value
    )
    assert float(loss(jax.random.key(0))) != float(loss(jax.random.key(1)))


def test_a_head_without_a_dense_layer_reads_no_language():
    run = options.parse({"objective": {"dense": False}})
    with pytest.raises(ValueError, match="--config.model.condition_on_language=False"):
        run.objective.check(run, "config.objective")
    run = options.with_values(run, {"model": {"condition_on_language": False}})
    run.objective.check(run, "config.objective")
    model = Transformer(run.model, PADDED, 3)
    made = MlmObjective(model=model, vocab_size=VOCAB, max_predictions=5, dense=False)
    assert not made.module.dense


def test_words_are_drawn_to_their_labels_where_these_are_in_the_batch():
    run = options.parse(
        {
            "objective": {"align_labels": 1.0},
            "task": {"name": "dict_mlm", "only_words_with_entries": True},
        }
    )
    with pytest.raises(ValueError, match="--config.task.labels=expected"):
        run.objective.check(run, "config.objective")
    run = options.with_values(run, {"task": {"labels": "expected"}})
    run.objective.check(run, "config.objective")


def test_hold_equals_numpy(objective, variables):
    batch = make_batch(6)
    held = dataclasses.replace(objective, stay_near_embeddings=3.0)
    plain, _ = objective.loss(variables, batch, step=0, train=False)
    sums, _ = held.loss(variables, batch, step=0, train=False)
    hidden = objective.encode(variables, batch)
    first, second = (np.asarray(x, np.float64) for x in hidden.layers)
    lengths = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    moved = 1 - (first * second).sum(-1) / lengths
    read = (batch["segment_ids"] > 0) & (batch["loss_weights"] == 0)
    np.testing.assert_allclose(sums["drift"].value, moved[read].sum(), rtol=1e-5)
    assert float(sums["drift"].weight) == read.sum()
    assert float(sums["loss"].value) == float(
        plain["loss"].value
    )  # perplexities stay what they are
    sizes = dataclasses.replace(objective.model.options, dropout=0.0)
    held = dataclasses.replace(held, model=objective.model.clone(options=sizes))
    losses = [
        float(held.loss(variables, batch, step=0, train=train)[0]["loss"].mean())
        for train in (True, False)
    ]
    assert losses[0] - losses[1] == pytest.approx(3 * moved[read].mean(), rel=1e-4)


def test_hold_keeps_the_layers_at_the_embeddings(objective, variables):
    """Steps along the gradient of the drift alone bring the layers back, and not the embeddings."""
    batch = make_batch(6)
    held = dataclasses.replace(objective, stay_near_embeddings=1.0)

    def drift(variables):
        return held.loss(variables, batch, step=0, train=False)[0]["drift"].mean()

    before, gradient = jax.value_and_grad(drift)(variables)
    after = drift(jax.tree.map(lambda x, g: x - 0.1 * g, variables, gradient))
    assert float(after) < float(before)


def test_layers_that_add_nothing_do_not_drift(objective):
    batch = make_batch(6)
    sizes = dataclasses.replace(objective.model.options, norm="pre")
    model = objective.model.clone(options=sizes)
    pre = dataclasses.replace(objective, model=model, stay_near_embeddings=1.0)
    params = nn.unbox(jax.jit(pre.init)(jax.random.key(0), batch))
    params["params"]["backbone"]["layer_0"] = jax.tree.map(
        jnp.zeros_like, params["params"]["backbone"]["layer_0"]
    )
    assert float(pre.loss(params, batch, step=0, train=False)[0]["drift"].mean()) < 1e-6
