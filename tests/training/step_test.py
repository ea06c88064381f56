"""The training step: microbatches, guarded updates, statistics, randomness, transfers."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from clwe_jax.options.training import GroupOptions, MeshOptions
from clwe_jax.training import compiled_steps, optim, partition, train_state
from clwe_jax.training.step import make_step
from clwe_jax.types import Sums

ROWS, LENGTH = 8, 4


@dataclasses.dataclass(frozen=True)
class Regression:
    """Weighted squared error of a linear model with noise; counts the rows that it saw."""

    noise: float = 0.0

    def init(self, rng, batch):
        params = {"kernel": jax.random.normal(rng, (LENGTH,)), "bias": jnp.zeros(())}
        return {"params": params, "statistics": {"rows": jnp.zeros((), jnp.int32)}}

    def loss(self, variables, batch, *, step, rngs=None, train=True):
        params = variables["params"]
        noise = self.noise * jax.random.normal(rngs["dropout"])
        error = batch["x"] @ params["kernel"] + params["bias"] + noise - batch["y"]
        sums = Sums((batch["w"] * error**2).sum(), batch["w"].sum())
        return {"loss": sums}, batch["x"]

    def update(self, variables, observed, step):
        seen = {"rows": variables["statistics"]["rows"] + len(observed)}
        return {"statistics": seen}, None


def make_batch(seed=0):
    r = np.random.RandomState(seed)
    x, y = r.standard_normal((ROWS, LENGTH)), r.standard_normal(ROWS)
    w = r.randint(0, 4, ROWS)  # uneven: microbatches weigh differently
    return {k: jnp.asarray(v, jnp.float32) for k, v in dict(x=x, y=y, w=w).items()}


def start(objective, tx, seed=0):
    mesh = partition.make_mesh(MeshOptions(), jax.devices()[:1])
    return train_state.start(objective, tx, make_batch(), mesh, seed)


def setup(microbatches=1, noise=0.0):
    objective, tx = Regression(noise), optax.sgd(0.1)
    step = make_step(objective, tx, lambda step: jnp.float32(0.1), microbatches)
    return start(objective, tx), jax.jit(step)


@pytest.mark.parametrize("microbatches", [1, 2, 4])
def test_gradient_is_that_of_the_whole_batch(microbatches):
    state, step = setup(microbatches)
    batch = make_batch()
    x, y, w = (np.asarray(batch[key], np.float64) for key in "xyw")
    kernel, bias = np.asarray(state.params["kernel"], np.float64), 0.0
    error = x @ kernel + bias - y
    found, metrics = step(state, batch)
    expected = kernel - 0.1 * 2 * (w * error) @ x / w.sum()
    np.testing.assert_allclose(found.params["kernel"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found.params["bias"], -0.1 * 2 * (w * error).sum() / w.sum(), rtol=1e-5
    )
    np.testing.assert_allclose(metrics["loss"].mean(), (w * error**2).sum() / w.sum(), rtol=1e-5)
    assert int(found.collections["statistics"]["rows"]) == ROWS
    assert int(found.step) == 1


def test_mlm_gradients_do_not_depend_on_microbatches(toy):
    """The real objective, without dropout, three steps with LAMB."""
    results = []
    mesh = partition.make_mesh(MeshOptions(), jax.devices()[:1])
    objective = toy.objective(dropout=0.0)
    optimizer = optim.Optimizer(name="lamb", learning_rate=0.02)
    batches = toy.Source()
    batches = [partition.global_batch(next(batches), mesh) for _ in range(3)]
    for microbatches in (1, 4):
        tx = optimizer.build(10)
        step = jax.jit(make_step(objective, tx, optimizer.rate(10), microbatches))
        state = train_state.start(objective, tx, batches[0], mesh, 0)
        for batch in batches:
            state, metrics = step(state, batch)
        results.append((toy.arrays(state.params), metrics))
    for path, value in results[0][0].items():
        np.testing.assert_allclose(results[1][0][path], value, rtol=1e-3, atol=2e-5, err_msg=path)
    for name in results[0][1]:
        a, b = results[0][1][name], results[1][1][name]
        np.testing.assert_allclose(a.mean(), b.mean(), rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("poison", [("y", np.nan), ("x", np.inf), ("y", 1e30)])
@pytest.mark.parametrize("microbatches", [1, 2])
def test_non_finite_steps_are_not_applied(poison, microbatches):
    """1e30 squared overflows; nothing of such a step stays but the counters."""
    state, step = setup(microbatches)
    key, value = poison
    bad = make_batch(1)
    bad[key] = bad[key].at[ROWS - 1].set(value)
    bad["w"] = bad["w"].at[ROWS - 1].set(1.0)
    state, _ = step(state, make_batch())
    before = jax.tree.map(np.asarray, state)
    for count in (1, 2):
        state, metrics = step(state, bad)
        assert int(state.skipped) == int(state.skipped_in_row) == count
        assert float(metrics["skipped"].mean()) == 1.0
        assert float(metrics["loss"].weight) == 0.0 == float(metrics["loss"].value)
    for name in ("params", "opt_state", "collections"):
        jax.tree.map(np.testing.assert_array_equal, getattr(state, name), getattr(before, name))
    state, metrics = step(state, make_batch(2))
    assert (int(state.skipped), int(state.skipped_in_row), int(state.step)) == (2, 0, 4)
    assert not np.array_equal(state.params["kernel"], before.params["kernel"])
    assert float(metrics["skipped_in_row"].value) == 0.0


def test_the_logged_rate_is_the_applied_one():
    """A skipped step does not move the optimizer's schedule."""
    rate, objective = lambda step: 0.1 / (1.0 + step), Regression()
    tx = optax.sgd(rate)
    step, state = jax.jit(make_step(objective, tx, rate)), start(objective, tx)
    bad = make_batch(1)
    bad["y"] = bad["y"] * np.nan
    skipped, _ = step(state, bad)
    (wanted, logged), (found, after_skip) = (step(x, make_batch()) for x in (state, skipped))
    np.testing.assert_array_equal(found.params["kernel"], wanted.params["kernel"])
    assert float(after_skip["learning_rate"].mean()) == float(logged["learning_rate"].mean())


def test_randomness_is_of_the_seed_and_the_step_alone():
    state, step = setup(noise=1.0)
    again, _ = setup(noise=1.0)
    assert not np.array_equal(state.seed, start(Regression(), optax.sgd(0.1), seed=1).seed)
    first, a = step(state, make_batch())
    _, b = step(again, make_batch())
    assert float(a["loss"].value) == float(b["loss"].value)
    later = state.replace(step=state.step + 1)
    assert float(step(later, make_batch())[1]["loss"].value) != float(a["loss"].value)


def test_microbatches_have_their_own_randomness():
    """With one noise for all parts the result would be that of a single part."""
    losses = [
        float(step(state, make_batch())[1]["loss"].value)
        for state, step in (setup(1, noise=1.0), setup(2, noise=1.0))
    ]
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)


def test_weightless_batch_changes_nothing_by_zero_division():
    state, step = setup()
    batch = dict(make_batch(), w=jnp.zeros(ROWS))
    found, metrics = step(state, batch)
    np.testing.assert_array_equal(found.params["kernel"], state.params["kernel"])
    assert int(found.skipped) == 0 and float(metrics["grad_norm"].value) == 0.0


def test_compiled_step_donates_and_refuses_hidden_transfers(toy):
    mesh = partition.make_mesh(MeshOptions(), jax.devices()[:1])
    objective, optimizer = toy.objective(), optim.Optimizer()
    batch = next(toy.Source())
    tx = optimizer.build(10)
    target = train_state.plan(objective, tx, batch, mesh)
    step = (
        compiled_steps.trace_step(objective, optimizer, 10, 1, mesh, target, batch)
        .lower()
        .compile()
    )
    state = train_state.start(objective, tx, batch, mesh, 0)
    placed = partition.global_batch(batch, mesh)
    with jax.transfer_guard("disallow"):
        following, _ = step(state, placed)
        with pytest.raises(Exception, match="[Dd]isallowed host-to-device"):
            step(following, batch)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(state.params))


def test_compiler_gets_the_options_of_the_device(toy, monkeypatch):
    monkeypatch.setattr(compiled_steps, "_COMPILER_OPTIONS", {"cpu": {"no_such_option": True}})
    mesh = partition.make_mesh(MeshOptions(), jax.devices()[:1])
    objective, optimizer, batch = toy.objective(), optim.Optimizer(), next(toy.Source())
    target = train_state.plan(objective, optimizer.build(10), batch, mesh)
    traced = compiled_steps.trace_step(objective, optimizer, 10, 1, mesh, target, batch)
    with pytest.raises(Exception, match="no_such_option"):
        traced.lower().compile()


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Rows of a table that are to be ones, and centers that follow the rows that were looked up."""

    shape: tuple[int, int] = (384, 40)

    def init(self, rng, batch):
        zeros = jnp.zeros(self.shape)
        params = {"table": zeros, "bias": jnp.zeros(())}
        return {"params": params, "state": {"centers": zeros + 0.5}}

    def loss(self, variables, batch, *, step, rngs=None, train=True):
        rows = variables["params"]["table"][batch["ids"]]
        error = rows + variables["params"]["bias"] - 1
        return {"loss": Sums((error**2).sum(), jnp.float32(rows.size))}, (batch["ids"], rows)

    def update(self, variables, observed, step):
        ids, rows = observed
        centers = variables["state"]["centers"].at[ids].add(0.1 * rows + 0.1)
        return {"state": {"centers": centers}}, None


class Copies(Lookup):
    """Its row 0 becomes a copy of row 1."""

    def update(self, variables, observed, step):
        def copied(tree):
            if isinstance(tree["table"], optax.MaskedNode):  # the moments of another group
                return tree
            return {**tree, "table": tree["table"].at[0].set(tree["table"][1])}

        return {}, copied


@pytest.mark.parametrize(
    "options, count",
    [
        (dict(name="adam"), 2),
        (dict(name="adamw"), 2),
        (dict(name="lamb"), 2),
        (dict(name="muon"), 2),
        (dict(name="adagrad"), 1),
        (dict(groups={"other": GroupOptions(pattern="bias")}), 2),
    ],
)
def test_who_copies_a_row_copies_its_moments(options, count):
    objective, optimizer = Copies(), optim.Optimizer(**options)
    batch = {"ids": jnp.array([1, 1, 2])}
    tx = optimizer.build(10)
    state = train_state.create(objective, tx, batch, 0)
    state, _ = jax.jit(make_step(objective, tx, optimizer.rate(10)))(state, batch)
    assert jax.tree.structure(state.opt_state) == jax.tree.structure(tx.init(state.params))
    tables = [x for x in jax.tree.leaves(state.opt_state) if x.shape == (384, 40)]
    assert len(tables) == count
    for table in (state.params["table"], *tables):
        assert (np.asarray(table[0] == table[1])).all() and (np.asarray(table[1] != table[3])).all()


def grouped(groups, objective=None, microbatches=1):
    """The states before and after three steps, the norms, and the shapes of the trees of moments."""
    given, norms = [], []

    class Watched(type(objective or Regression())):
        def update(self, variables, observed, step):
            changed, copied = super().update(variables, observed, step)
            given.clear()

            def watched(tree):
                given.append(jax.tree.map(lambda x: x.shape, tree))
                return copied(tree) if copied else tree

            return changed, watched

    objective = Watched()
    optimizer = optim.Optimizer(learning_rate=0.1, groups=groups)
    tx = optimizer.build(10)
    first = state = start(objective, tx)
    step = make_step(objective, tx, optimizer.rate(10), microbatches, optimizer.trainable_mask())
    for number in range(3):
        state, metrics = jax.jit(step)(state, make_batch(number))
        norms.append(float(metrics["grad_norm"].value))
    return first, state, norms, given[1:]  # the first tree is the parameters


@pytest.mark.parametrize("microbatches", [1, 2])
def test_frozen_parameters_stay_bitwise_and_learning_ones_move(microbatches):
    frozen = {"kernels": GroupOptions(pattern="kernel", frozen=True)}
    before, after, norms, moments = grouped(frozen, microbatches=microbatches)
    kernel = np.asarray(before.params["kernel"])
    np.testing.assert_array_equal(np.asarray(after.params["kernel"]).view(int), kernel.view(int))
    assert float(after.params["bias"]) != 0.0
    assert not [x for x in jax.tree.leaves(after.opt_state) if x.shape == (LENGTH,)]
    assert moments == [{"kernel": optax.MaskedNode(), "bias": ()}] * 2
    batch = {key: np.asarray(x, np.float64) for key, x in make_batch(0).items()}
    gradient = 2 * (batch["w"] * (batch["x"] @ kernel - batch["y"])).sum() / batch["w"].sum()
    assert norms[0] == pytest.approx(abs(gradient), rel=1e-4)  # of what learns: the bias


def test_an_objective_cannot_change_a_frozen_parameter():
    class Moves(Regression):
        def update(self, variables, observed, step):
            changed, _ = super().update(variables, observed, step)
            return changed, lambda tree: jax.tree.map(lambda x: x + 1, tree)

    frozen = {"kernels": GroupOptions(pattern="kernel", frozen=True)}
    before, after, _, _ = grouped(frozen, Moves())
    np.testing.assert_array_equal(before.params["kernel"], after.params["kernel"])
    assert float(after.params["bias"]) > 2.0


def test_groups_are_clipped_by_their_common_norm():
    """Groups with the optimizer's own settings change nothing; without a common norm they would."""
    _, whole, norms, _ = grouped({})
    _, parts, again, moments = grouped({"kernels": GroupOptions(pattern="kernel")})
    assert norms[0] > 1.0 and norms == pytest.approx(again)  # clipped
    for name in whole.params:
        np.testing.assert_allclose(whole.params[name], parts.params[name], rtol=1e-6)
    masked = optax.MaskedNode()
    groups = {"kernel": masked, "bias": ()}, {"kernel": (LENGTH,), "bias": masked}
    assert [moments.count(group) for group in groups] == [2, 2] and len(moments) == 4
