"""Gradients of rows alone against those of whole tables: sums, optimizers, steps, programs."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.training import optim, partition, rows, train_state
from clwe_jax.training.step import make_step
from clwe_jax.types import Sums


@pytest.mark.parametrize("shape", [(7, 3), (2, 5, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_there_once_with_the_sum_of_its_gradients(shape, seed):
    draw = np.random.default_rng(seed)
    count = (1, 6, 40, 200)[seed]
    ids = draw.integers(0, np.prod(shape), count).astype(np.int32)
    values = draw.normal(size=(count, 4)).astype(np.float32)
    dense = np.zeros((*shape, 4), np.float32)
    np.add.at(dense.reshape(-1, 4), ids, values)
    places, sums = rows.merged(jnp.asarray(ids), jnp.asarray(values), shape)
    found = rows.plus(places, sums, jnp.ones((*shape, 4)))
    np.testing.assert_allclose(found, 1 + dense, rtol=1e-5, atol=1e-6)
    places = np.stack(places, 1)
    assert [tuple(place) for place in places] == sorted({tuple(place) for place in places})
    there = (places < shape).all(1)
    assert there.sum() == len(set(ids.tolist())) and not np.asarray(sums)[~there].any()
    np.testing.assert_array_equal(np.ravel_multi_index(places[there].T, shape), np.unique(ids))


@pytest.mark.parametrize("shape", [(7,), (1 << 20, 1 << 11)])
def test_tables_that_cannot_be_told_or_counted_are_refused(shape):
    with pytest.raises(ValueError, match="a table of rows"):
        rows.merged(jnp.zeros(3, jnp.int32), jnp.zeros((3, 4)), shape)


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Rows of a table that are to be like the batch's."""

    tapped: bool
    shape: tuple[int, ...] = (96, 4, 40)

    def init(self, rng, batch):
        table = jax.random.normal(rng, self.shape)
        return {"params": {"table": table, "dense": jnp.ones(40)}}

    def taps(self, batch):
        return {"table": (batch["words"].size, self.shape[-1])} if self.tapped else {}

    def loss(self, variables, batch, rngs, train=True):
        words, slots = (batch[name].reshape(-1) for name in ("words", "slots"))
        found = variables["params"]["table"][words, slots] * 1.0
        observed = {}
        if variables.get("taps"):
            found = found + variables["taps"]["table"]
            observed["read"] = {"table": words * self.shape[1] + slots}
        loss = ((found * variables["params"]["dense"] - batch["wanted"].reshape(-1, 1)) ** 2).sum()
        return {"loss": Sums(loss, jnp.float32(found.size))}, observed

    def update(self, variables, observed, step):
        return variables


def batch(seed):
    draw = np.random.default_rng(seed)
    integers = {
        name: draw.integers(0, most, (8, 3)) for name, most in (("words", 20), ("slots", 4))
    }
    found = {name: x.astype(np.int32) for name, x in integers.items()}
    return {**found, "wanted": draw.normal(size=(8, 3)).astype(np.float32)}


OPTIONS = [
    dict(name="adam"), dict(name="adamw", weight_decay=0.1), dict(name="lamb"),
    dict(name="adagrad", scale=20.0), dict(name="sgd"), dict(name="sgd", momentum=0),
]  # fmt: skip


@pytest.mark.parametrize("microbatches, decays", [(1, 64), (4, 1), (1, 3)])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_are_those_of_the_whole_tables_gradient(options, microbatches, decays, monkeypatch):
    """Whether decays are made up for in the last of six steps, in each of them, or never."""
    monkeypatch.setattr(optim, "_DECAYS", decays)
    optimizer = optim.Optimizer(**{"learning_rate": 0.1, "clip": 0.01, **options})
    found = []
    for tapped in (True, False):
        objective, tx = Lookup(tapped), optimizer.build(10)
        state = train_state.create(objective, tx, batch(0), 0)
        step = jax.jit(make_step(objective, tx, optimizer.rate(10), microbatches))
        for number in range(6):
            state, metrics = step(state, batch(number))
        found.append((state.params, state.opt_state, metrics["grad_norm"].value))
    assert jax.tree.structure(found[0]) == jax.tree.structure(found[1])
    if decays == 64:  # moments of the two are held differently
        found = [(params, norm) for params, _, norm in found]
    for a, b in zip(*map(jax.tree.leaves, found), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_a_step_that_is_not_finite_changes_nothing():
    objective, optimizer = Lookup(True), optim.Optimizer(name="adagrad")
    tx = optimizer.build(10)
    state = train_state.create(objective, tx, batch(0), 0)
    bad = {**batch(0), "wanted": np.full((8, 3), np.nan, np.float32)}
    after, _ = jax.jit(make_step(objective, tx, optimizer.rate(10)))(state, bad)
    assert after.skipped == 1
    jax.tree.map(np.testing.assert_array_equal, after.params, state.params)
    jax.tree.map(np.testing.assert_array_equal, after.opt_state, state.opt_state)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="holds the program for CPUs")
@pytest.mark.parametrize("name, passes", [("adam", 1), ("adagrad", 0)])
def test_no_pass_over_a_table_but_adams_own(name, passes):
    """No copy, no gradient of all rows: Adam moves them all, and Adagrad those that were read."""
    objective, optimizer = Lookup(True), optim.Optimizer(name, learning_rate=0.1)
    mesh = partition.make_mesh({}, jax.devices()[:1])
    state = train_state.start(objective, optimizer.build(10), batch(0), mesh, 0)
    step = make_step(objective, optimizer.build(10), optimizer.rate(10))
    program = jax.jit(step, donate_argnums=0).lower(state, batch(0)).compile().as_text()
    whole = re.findall(r"= f32\[96,4,40\]\S* ([\w-]+)\((.*)", program)
    # What is inside a fusion is not written; a scatter writes rows, in place; and the inner loops
    # are what makes up for decays, in few steps.
    assert "copy" not in [kind for kind, _ in whole]
    fused = [rest for kind, rest in whole if kind == "fusion" and "scatter" not in rest]
    fused = [rest for rest in fused if "while/body/while/body" not in rest]
    assert len(fused) <= passes, fused
