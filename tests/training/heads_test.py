"""Heads for all seeds at once: each equals its own training, keeps its best epoch and stops."""

import dataclasses

import jax
from jax import flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.data.arrays import ArraySource
from clwe_jax.models import heads as modules
from clwe_jax.models.labelling import Labeller, Labelling, Mix
from clwe_jax.options.models import LinearHead
from clwe_jax.training import heads, partition, paths
from clwe_jax.training.heads import Recipe

K, DIM, WORDS = 3, 6, 60


@pytest.fixture(scope="module")
def data():
    """A table in which a word's label is its largest of K dimensions, and rows of words."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(WORDS, 1, DIM)).astype(np.float32)
    table[0] = 0
    words = [rng.integers(1, WORDS, n).astype(np.int32) for n in rng.integers(1, 7, 50)]
    gold = [table[x, 0, :K].argmax(-1).astype(np.int32) for x in words]
    return table, {"words": words, "gold": gold}


LABELLER = Labeller(Mix(), Labelling(modules.Linear(LinearHead(dropout=0.1), K, True)))
RECIPE = Recipe(name="adam", learning_rate=0.05, epochs=4, batch_size=8, patience=0)


def fitted(data, seeds, recipe=RECIPE, measure=None, labeller=LABELLER):
    table, columns = data
    sources = [
        ArraySource(
            columns, recipe.batch_size, seed=s, padding={"gold": -1}, buckets=(4, 8), width_seed=0
        )
        for s in seeds
    ]
    measure = measure or (lambda params: np.zeros(len(seeds)))
    steps = -(-len(columns["words"]) // recipe.batch_size)
    return heads.fit(labeller, table, sources, seeds, recipe, steps, measure)


def test_a_member_equals_its_own_training(data):
    together, alone = fitted(data, [3, 5]), fitted(data, [5])
    np.testing.assert_allclose(together.losses[:, 1], alone.losses[:, 0], rtol=1e-4)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a[1], b[0], rtol=1e-3, atol=1e-5),
        together.params,
        alone.params,
    )
    assert abs(together.losses[0, 0] - together.losses[0, 1]) > 1e-6  # the seeds differ


def test_heads_learn(data):
    found = fitted(data, [0, 1])
    assert (found.losses[-1] < 0.6 * found.losses[0]).all()


def test_an_epoch_is_a_pass_through_the_rows(data):
    # Where nothing is learned and nothing dropped, every pass has the same mean loss.
    labeller = Labeller(Mix(), Labelling(modules.Linear(LinearHead(dropout=0.0), K, True)))
    recipe = dataclasses.replace(RECIPE, learning_rate=1e-12)
    losses = fitted(data, [0, 1], recipe, labeller=labeller).losses
    np.testing.assert_allclose(losses, np.broadcast_to(losses[0], losses.shape), rtol=1e-5)


def test_each_member_keeps_its_best_epoch_and_stops(data):
    # Development figures by epoch: the first member is best at epoch 1, the second at epoch 0.
    figures = iter([[0.1, 0.9], [0.5, 0.3], [0.4, 0.2], [0.3, 0.95], [0.9, 0.9]])
    seen = []

    def measure(params):
        seen.append(jax.tree.map(np.asarray, params))
        return np.array(next(figures))

    recipe = dataclasses.replace(RECIPE, epochs=5, patience=2)
    found = fitted(data, [0, 1], recipe, measure)
    assert found.best.tolist() == [1, 0] and len(found.history) == 4
    # The second member stops after epoch 2: the parameters of epoch 0 stay, and so does their figure.
    assert found.history[:, 1].tolist() == [0.9, 0.3, 0.2, 0.9]
    for member, epoch in ((0, 1), (1, 0)):
        jax.tree.map(
            lambda a, b: np.testing.assert_array_equal(a[member], b[member]),
            found.params,
            seen[epoch],
        )


def test_a_member_that_has_found_nothing_yet_goes_on(data):
    figures = iter([[0.0], [0.0], [0.0], [0.0], [0.4], [0.3], [0.2], [0.1]])
    recipe = dataclasses.replace(RECIPE, epochs=8, patience=2)
    found = fitted(data, [0], recipe, lambda params: np.array(next(figures)))
    assert found.best.tolist() == [4] and len(found.history) == 7


def rates_by_hand(recipe, steps):
    """The learning rate of each step, where every epoch is a step and none gains after the first."""
    if recipe.schedule == "halve":  # a second epoch at the first rate is the first without a gain
        return [0.4, 0.4, 0.2]
    if recipe.schedule == "linear":
        return [recipe.learning_rate * (1 - t / steps) for t in range(steps)]
    if recipe.schedule == "onecycle":
        up = [0.04 + 0.48 * (1 - np.cos(np.pi * t / (0.3 * steps))) for t in range(steps)]
        down = [0.5 * (1 + np.cos(np.pi * (t / steps - 0.3) / 0.7)) for t in range(steps)]
        return [recipe.learning_rate * (up if t < 0.3 * steps else down)[t] for t in range(steps)]
    return [recipe.learning_rate] * steps


def steps_by_hand(recipe, steps, start, gradient):
    """The parameters, one vector, after each step."""
    params, velocity, mean, square = start, 0.0, 0.0, 0.0
    for t, rate in enumerate(rates_by_hand(recipe, steps)):
        g = gradient(params)
        if recipe.clip:
            g = g * min(1.0, recipe.clip / np.linalg.norm(g))
        if recipe.name == "sgd":
            momentum = recipe.momentum
            if recipe.schedule == "onecycle":
                momentum = momentum - 0.1 * rate / recipe.learning_rate
            update = velocity = momentum * velocity + g + recipe.l2 * params
        else:
            coupled = recipe.l2 if recipe.name == "adam" else 0.0
            g = g + coupled * params
            mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g**2
            update = mean / (1 - 0.9 ** (t + 1))
            update = update / (np.sqrt(square / (1 - 0.999 ** (t + 1))) + 1e-8)
            update = update + (recipe.l2 - coupled) * params
        params = params - rate * update
        yield params


@pytest.mark.parametrize(
    "values",
    [
        dict(
            name="sgd",
            schedule="halve",
            patience=1,
            learning_rate=0.4,
            least_rate=0.15,
            l2=0.1,
            momentum=0.5,
        ),
        dict(name="sgd", schedule="onecycle", momentum=0.9, learning_rate=0.2),
        dict(name="sgd", schedule="linear", clip=0.3, learning_rate=2.0),
        dict(name="adam", l2=0.5, learning_rate=0.05),
        dict(name="adamw", l2=0.5, learning_rate=0.05),
    ],
    ids=lambda x: "-".join([x["name"], x.get("schedule", "constant")]),
)
def test_the_steps_of_a_recipe_are_those_of_numpy(values, data):
    table, columns = data
    labeller = Labeller(Mix(), Labelling(modules.Linear(LinearHead(dropout=0.0), K, True)))
    rows = len(columns["words"])
    recipe = Recipe(**{"batch_size": rows, "epochs": 5, "patience": 0, "clip": 0.0} | values)
    batch = next(ArraySource(columns, rows, padding={"gold": -1}))
    start = labeller.init(jax.random.key(3), table, batch, method=Labeller.loss)["params"]
    start = partition.unbox(start)
    flat, unflatten = flatten_util.ravel_pytree(start)
    seen = []

    def measure(params):
        member = jax.tree.map(lambda x: x[0], params)
        seen.append(flatten_util.ravel_pytree(member)[0])
        return np.ones(1)

    @jax.jit
    def gradient(params):
        def loss(params):
            variables = {"params": unflatten(params)}
            sums = labeller.apply(variables, table, batch, method=Labeller.loss)["loss"]
            return sums.value / sums.weight

        return jax.grad(loss)(params)

    source = ArraySource(columns, rows, padding={"gold": -1})
    heads.fit(labeller, table, [source], [0], recipe, 1, measure, paths.flat(start))
    by_hand = list(steps_by_hand(recipe, 5, np.asarray(flat), lambda p: np.asarray(gradient(p))))
    # Halving ends below the least rate, after three epochs.
    assert len(seen) == len(by_hand) == (3 if recipe.schedule == "halve" else 5)
    np.testing.assert_allclose(np.array(seen), by_hand, rtol=2e-3, atol=2e-5)


def test_a_rate_below_the_least_one_is_an_error():
    with pytest.raises(ValueError, match="learning_rate=0.0001 is below least_rate"):
        Recipe(schedule="halve", learning_rate=1e-4, least_rate=1e-3)
    Recipe(schedule="constant", learning_rate=1e-4, least_rate=1e-3)


@pytest.mark.parametrize("schedule", ["onecycle", "linear"])
def test_early_stopping_does_not_cut_a_schedule_with_an_end(schedule, data):
    with pytest.raises(ValueError, match="--patience=0"):
        Recipe(schedule=schedule, patience=2)
    figures = iter([[0.5], [0.4], [0.3], [0.2], [0.9]])
    recipe = dataclasses.replace(RECIPE, name="sgd", epochs=5, schedule=schedule, patience=0)
    assert fitted(data, [0], recipe, lambda params: np.array(next(figures))).best.tolist() == [4]


def test_onecycle_goes_up_and_down_and_the_momentum_does_the_opposite():
    rates = np.array([heads.onecycle(jnp.float32(t), 100) for t in range(100)])
    assert rates.argmax() == 30 and rates.max() == pytest.approx(1) and rates[0] < 0.05
    assert (np.diff(rates[:30]) > 0).all() and (np.diff(rates[31:]) < 0).all()
    tx = Recipe(name="sgd", schedule="onecycle", patience=0, momentum=0.9, clip=0.0).build(10)
    state = tx.init(jnp.zeros(1))
    moments = []
    for _ in range(4):
        _, state = tx.update(jnp.zeros(1), state)
        moments.append(float(jax.tree.leaves(state[0].hyperparams)[0]))
    assert moments[0] > moments[3] > 0.79


def test_a_loss_that_is_not_finite_is_an_error(data):
    recipe = dataclasses.replace(RECIPE, name="sgd", learning_rate=3e38, clip=0.0)
    with pytest.raises(ValueError, match="config.recipe.learning_rate"):
        fitted(data, [0], recipe)


def test_parameters_are_saved_and_read(tmp_path, data):
    found = fitted(data, [0], dataclasses.replace(RECIPE, epochs=1)).params
    path = str(tmp_path / "head.npz")
    heads.save(found, path)
    jax.tree.map(np.testing.assert_array_equal, heads.load(path), jax.tree.map(np.asarray, found))
    (tmp_path / "head.npz").write_bytes(b"PK damaged")
    with pytest.raises(ValueError, match="damaged"):
        heads.load(path)


class _Watched(np.ndarray):
    """A table that counts the most rows that are read at once."""

    most = 0

    def __getitem__(self, rows):
        found = np.asarray(np.ndarray.__getitem__(self, rows))
        _Watched.most = max(_Watched.most, len(found) if found.ndim == self.ndim else 1)
        return found


def test_a_step_reads_the_rows_of_its_batches_alone(data):
    """So that a table may be a mapped file, larger than the memory."""
    table, columns = data
    many = np.concatenate([table, np.ones((5_000, 1, DIM), np.float32)])
    found = fitted((many.view(_Watched), columns), [0, 1])
    expected = fitted(data, [0, 1])
    jax.tree.map(np.testing.assert_array_equal, found.params, expected.params)
    assert 0 < _Watched.most <= 2 * RECIPE.batch_size * 8 + 1
