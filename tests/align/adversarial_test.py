"""Adversarial training: its losses and steps against NumPy, planted rotations, bad options."""

import jax
import numpy as np
import pytest

from clwe_jax.align import adversarial, csls

QUICK = {"hidden": 16, "epochs": 1, "epoch_size": 320, "refinements": 0}


def world(seed, count=500, width=12, noise=0.02):
    """Skewed vectors, their noisy rotation in another order, and which word is which."""
    r = np.random.default_rng(seed)
    x = (r.gamma(1.0, 1.0, (count, width)) - 0.5) * np.geomspace(1.5, 0.3, width)
    turn = np.linalg.qr(r.normal(size=(width, width)))[0]
    place = r.permutation(count)
    y = np.empty_like(x)
    y[place] = x @ turn + noise * r.normal(size=x.shape)
    return x.astype("f4"), y.astype("f4"), place


def right(found, x, y, place):
    best = csls.nearest(found.apply(x), found.apply_target(y), 1, "csls")[0]
    return float((np.asarray(best)[:, 0] == place).mean())


def discriminator(seed=0, width=5, hidden=7):
    return adversarial.initial_weights(jax.random.key(seed), width, hidden)


def batches(count=6, width=5, seed=0):
    r = np.random.RandomState(seed)
    return r.standard_normal((2, count, width)).astype("f4")


def numpy_forward(weights, x):
    """Layers before and after the leaky ReLU, and the log odds."""
    first, first_bias, second, second_bias, last, last_bias = (np.float64(w) for w in weights)
    before = x @ first + first_bias
    h1 = np.where(before > 0, before, 0.2 * before)
    before = h1 @ second + second_bias
    h2 = np.where(before > 0, before, 0.2 * before)
    return h1, h2, h2 @ last + last_bias


def numpy_loss(weights, x, source):
    """Binary cross-entropy as written in Conneau et al. 2018, with smoothed labels."""
    labels = np.where(np.arange(len(x)) < len(x) // 2, source, 1 - source)
    p = 1 / (1 + np.exp(-numpy_forward(weights, x)[2]))
    return -(labels * np.log(p) + (1 - labels) * np.log(1 - p)).mean()


def numpy_slopes(weights, x, source):
    """Back-propagation by hand: of all weights, and of x."""
    first, _, second, _, last, _ = (np.float64(w) for w in weights)
    h1, h2, odds = numpy_forward(weights, x)
    labels = np.where(np.arange(len(x)) < len(x) // 2, source, 1 - source)
    d = (1 / (1 + np.exp(-odds)) - labels) / len(x)
    d2 = np.outer(d, last) * np.where(h2 > 0, 1, 0.2)
    d1 = d2 @ second.T * np.where(h1 > 0, 1, 0.2)
    slopes = x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d, d.sum()
    return slopes, d1 @ first.T


@pytest.mark.parametrize("source", [0.9, 0.1, 1.0])
def test_loss_and_discriminator_step_equal_numpy(source):
    weights, x = discriminator(), np.concatenate(batches())
    value = numpy_loss(weights, x, source)
    np.testing.assert_allclose(adversarial.loss(weights, x, source), value, rtol=1e-5)
    if source < 0.5:
        return  # a discriminator's label is never below one half
    after, before = adversarial.discriminator_step(weights, x, 0.5, 1 - source)
    np.testing.assert_allclose(before, value, rtol=1e-5)
    slopes, _ = numpy_slopes(weights, x, source)
    for new, old, slope in zip(after, weights, slopes, strict=True):
        np.testing.assert_allclose(new, np.asarray(old) - 0.5 * slope, atol=1e-6)


def test_map_step_equals_numpy():
    weights, (x, y) = discriminator(), batches()
    matrix = np.random.RandomState(1).standard_normal((5, 5)).astype("f4")
    stacked = np.concatenate([x @ matrix, y]).astype(np.float64)
    after, before = adversarial.map_step(matrix, weights, x, 0.3, 0.1, 0.01)
    # The map wants source words labelled as target words; of the mean over both sides' words the
    # target's half is the same whatever the map.
    p = 1 / (1 + np.exp(-numpy_forward(weights, stacked)[2]))
    fooled = -(0.1 * np.log(p) + 0.9 * np.log(1 - p))[: len(x)].mean()
    np.testing.assert_allclose(before, fooled, rtol=1e-5)
    slope = x.T @ numpy_slopes(weights, stacked, 0.1)[1][: len(x)]
    moved = matrix - 0.3 * slope
    expected = 1.01 * moved - 0.01 * moved @ moved.T @ moved
    np.testing.assert_allclose(after, expected, atol=1e-5)


def test_many_steps_equal_steps_one_by_one():
    """The compiled loop draws words of the pools, drops inputs and takes turns as it should."""
    options = adversarial.Adversarial(batch_size=6, hidden=7, input_dropout=0.0)
    x, y = batches(count=1)  # pools of one word: every draw is known
    state = adversarial.AdversarialState(np.eye(5, dtype="f4"), discriminator())
    matrix, weights = state.matrix.copy(), state.weights
    sums = np.zeros(2)
    many = [np.repeat(side, 6, 0) for side in (x, y)]
    for _ in range(3):
        for _ in range(options.discriminator_steps):
            mixed = np.concatenate([many[0] @ matrix, many[1]])
            weights, value = adversarial.discriminator_step(weights, mixed, 0.1, 0.1)
            sums[0] += value
        matrix, value = adversarial.map_step(matrix, weights, many[0], 0.2, 0.1, 0.001)
        sums[1] += value
    state = jax.tree.map(jax.numpy.array, state)
    found, totals = adversarial._train(state, x, y, jax.random.key(0), 3, 0.2, options)
    np.testing.assert_allclose(found.matrix, matrix, atol=1e-5)
    np.testing.assert_allclose(found.weights.second, weights.second, atol=1e-5)
    np.testing.assert_allclose(totals, sums, rtol=1e-5)


def test_orthogonalisation_approaches_an_orthogonal_matrix():
    matrix = np.diag(np.linspace(0.5, 1.5, 6)).astype("f4")
    for _ in range(300):
        matrix = adversarial.step_towards_orthogonal(matrix, 0.05)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(6), atol=1e-4)


def test_recovers_a_planted_rotation_without_supervision():
    # A training can fail, and rounding decides which one: the better of two is kept.
    x, y, place = world(1, width=4, noise=0.005)
    options = {"hidden": 32, "epochs": 2, "epoch_size": 32_000, "map_rate": 0.3}
    found = adversarial.Adversarial(restarts=2, seed=1, **options).fit(x, y)
    assert right(found, x, y, place) > 0.9
    info = found.info
    assert info["best_criterion"] == max(info["criterion"] + info["refined_criterion"])
    assert info["kept"].startswith("refinement")
    np.testing.assert_allclose(found.source_map @ found.source_map.T, np.eye(4), atol=1e-5)


def test_the_best_restart_is_kept():
    x, y, _ = world(1, count=100)
    info = adversarial.Adversarial(restarts=3, **QUICK).fit(x, y).info
    assert len(set(info["restart_criteria"])) == 3
    assert info["best_criterion"] == max(info["restart_criteria"])


def test_rates_decay_and_are_halved_from_the_second_worse_criterion_on(monkeypatch):
    x, y, _ = world(1, count=100)
    criteria = iter([0.5, 0.4, 0.3, 0.6, 0.2, 0.1])
    monkeypatch.setattr(
        adversarial.induce, "unsupervised_criterion", lambda *_, **__: next(criteria)
    )
    options = QUICK | {"epochs": 6, "map_rate": 2.0}
    fitted = adversarial.Adversarial(**options).fit(x, y)
    info = fitted.info
    shrunk = np.array([1, 1, 1, 0.5, 0.5, 0.25])
    np.testing.assert_allclose(info["rate"], 2.0 * 0.98 ** np.arange(6) * shrunk)
    assert info["kept"] == "epoch 4" and info["best_criterion"] == 0.6
    # The map is that epoch's: a training that ends there has the same.
    criteria = iter([0.5, 0.4, 0.3, 0.6])
    ended = adversarial.Adversarial(**options | {"epochs": 4}).fit(x, y)
    np.testing.assert_array_equal(fitted.source_map, ended.source_map)


def test_is_seeded():
    x, y, _ = world(0, count=100)

    def fit(seed):
        return adversarial.Adversarial(seed=seed, **QUICK).fit(x, y).source_map

    np.testing.assert_array_equal(fit(1), fit(1))
    assert np.abs(fit(1) - fit(2)).max() > 1e-4


def test_losses_that_are_not_finite_are_an_error():
    x, y, _ = world(0, count=100)
    options = QUICK | {"map_rate": 1e30}
    with pytest.raises(FloatingPointError, match="map_rate"):
        adversarial.Adversarial(**options).fit(x, y)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"epochs": 0}, "epochs"),
        ({"hidden": 0}, "hidden"),
        ({"restarts": 0}, "restarts"),
        ({"input_dropout": 1.0}, "input_dropout"),
        ({"smoothing": 0.5}, "smoothing"),
    ],
)
def test_options_out_of_range(options, match):
    x, y, _ = world(0, count=20)
    with pytest.raises(ValueError, match=match):
        adversarial.Adversarial(**options).fit(x, y)
