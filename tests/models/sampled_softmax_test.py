"""Negatives against the distribution's formula, the sampled loss against the full one."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import sampled_softmax as softmax

V, D, N = 40, 6, 9
draw = jax.jit(softmax.log_uniform_sample, static_argnums=(1, 2, 3))
sampled = jax.jit(softmax.sampled_cross_entropy, static_argnums=5)


def probabilities(vocab_size):
    ids = np.arange(vocab_size, dtype=float)
    return (np.log(ids + 2) - np.log(ids + 1)) / np.log(vocab_size + 1)


@pytest.fixture
def given():
    """hidden, table, bias, targets."""
    r = np.random.RandomState(0)
    hidden, table = np.float32(r.standard_normal((N, D))), np.float32(r.standard_normal((V, D)))
    return hidden, table, np.float32(r.standard_normal(V)), r.randint(0, V, N).astype(np.int32)


def test_probabilities_are_the_formula_and_sum_to_one():
    for size in (1, 7, 800_000):
        found = softmax.log_uniform_probability(jnp.arange(size), size)
        np.testing.assert_allclose(found, probabilities(size), rtol=2e-4)
        assert np.sum(np.float64(found)) == pytest.approx(1, abs=1e-4)


def test_draws_with_replacement_follow_the_probabilities():
    count = 200_000
    samples = draw(jax.random.key(0), count, V, unique=False)
    share = np.bincount(samples.ids, minlength=V) / count
    p = probabilities(V)
    assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / count)).all()
    np.testing.assert_allclose(samples.log_counts, np.log(p * count)[samples.ids], rtol=1e-4)


def test_draws_reach_every_word_of_a_large_vocabulary():
    size, count = 1_000_000, 1 << 20
    samples = draw(jax.random.key(1), count, size, unique=False)
    rare = np.array(samples.ids)[np.array(samples.ids) >= size // 2]
    expected = -np.expm1(count * np.log1p(-probabilities(size)[size // 2 :])).sum()
    # Were only every second one reached, it would be 5% fewer.
    assert len(np.unique(rare)) == pytest.approx(expected, rel=0.015)
    assert 0 <= samples.ids.min() and samples.ids.max() < size


def test_distinct_draws_are_those_of_drawing_until_there_are_enough():
    size, count, trials = 5, 2, 20_000
    keys = jax.random.split(jax.random.key(2), trials)
    sample = jax.jit(jax.vmap(lambda key: softmax.log_uniform_sample(key, count, size)))
    samples = sample(keys)
    ids = np.sort(samples.ids, axis=1)
    p = probabilities(size)
    for a, b in itertools.combinations(range(size), 2):
        chance = p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b])
        share = ((ids[:, 0] == a) & (ids[:, 1] == b)).mean()
        assert abs(share - chance) < 5 * np.sqrt(chance / trials)
    # Divided by how often it was expected, what is drawn adds up to the whole on average.
    values = np.array([3.0, -1.0, 2.0, 0.5, 7.0])
    sums = (values[samples.ids] / np.exp(samples.log_counts)).sum(1)
    assert abs(sums.mean() - values.sum()) < 5 * sums.std() / np.sqrt(trials)


def test_the_same_key_draws_the_same(given):
    one, two, other = (draw(jax.random.key(seed), 8, V).ids for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def full(hidden, table, bias, targets):
    scores = np.float64(hidden) @ table.T + bias
    log_z = np.log(np.exp(scores).sum(1))
    return log_z - scores[np.arange(len(targets)), targets], scores.argmax(1) == targets


@pytest.mark.parametrize(
    "unique, correct_target", [(True, False), (False, True)], ids=["distinct", "replaced"]
)
def test_sampled_loss_is_the_formula(given, unique, correct_target):
    hidden, table, bias, targets = given
    samples = draw(jax.random.key(3), 12, V, unique)
    expected = []
    log_counts = np.log(-np.expm1(-probabilities(V) * float(samples.draws)))
    if not unique:
        log_counts = np.log(probabilities(V) * 12)
    for h, target in zip(hidden, targets):
        scores = [h @ table[w] + bias[w] - log_counts[w] for w in samples.ids if w != target]
        score = h @ table[target] + bias[target] - correct_target * log_counts[target]
        expected.append(np.log(np.exp([score, *scores]).sum()) - score)
    assert np.isin(targets, samples.ids).any()  # accidental hits
    found = sampled(*given, samples, correct_target)
    np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_all_words_drawn_is_the_full_loss(given):
    samples = draw(jax.random.key(0), V + 5, V)
    np.testing.assert_allclose(sampled(*given, samples), full(*given)[0], rtol=1e-5)


@pytest.mark.parametrize("unique", [True, False], ids=["distinct", "replaced"])
def test_sampled_loss_tends_to_the_full_one(given, unique):
    hidden, table, bias, targets = given
    given = hidden, 0.5 * table, 0.5 * bias, targets
    expected = full(*given)[0].mean()

    def error(count):
        def loss(key):
            samples = softmax.log_uniform_sample(key, count, V, unique)
            return softmax.sampled_cross_entropy(*given, samples).mean()

        keys = jax.random.split(jax.random.key(4), 200)
        return np.abs(jax.jit(jax.vmap(loss))(keys) - expected).mean()

    few, many = error(4), error(36 if unique else 400)
    assert many < few / 4 and many < 0.1


def test_a_position_whose_negatives_are_all_its_target_has_no_gradient(given):
    hidden, table, bias, targets = given
    samples = draw(jax.random.key(5), 1, V)
    targets = np.full_like(targets, samples.ids[0])

    def loss_of(hidden, table, bias):
        return softmax.sampled_cross_entropy(hidden, table, bias, targets, samples).sum()

    gradient = jax.jit(jax.value_and_grad(loss_of, argnums=(0, 1, 2)))
    loss, gradients = gradient(hidden, table, bias)
    assert loss == 0
    assert all((x == 0).all() for x in gradients)


@pytest.mark.parametrize("chunk", [64, 7, 1])
@pytest.mark.parametrize("biased", [True, False])
def test_full_loss_in_chunks(given, chunk, biased):
    hidden, table, bias, targets = given
    bias = bias if biased else None
    expected, correct = full(hidden, table, 0 if bias is None else bias, targets)
    padded = np.concatenate([table, 9 * np.ones((8, D), np.float32)])  # no words: a high score
    more = None if bias is None else np.pad(bias, (0, 8))
    run = jax.jit(softmax.full_cross_entropy, static_argnums=(4, 5))
    found, is_best = run(hidden, padded, more, targets, V, chunk)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_array_equal(is_best, correct)


def test_the_full_loss_knows_when_the_target_is_best(given):
    """Whatever the rounding."""
    hidden, table, _, _ = given
    hidden = np.float32(np.random.RandomState(1).standard_normal((3000, D)))
    scores = jnp.einsum("nd,md->nm", hidden, table, preferred_element_type=jnp.float32)
    best = np.array(scores).argmax(1)
    run = jax.jit(softmax.full_cross_entropy, static_argnums=(4, 5))
    assert np.mean(run(hidden, table, None, best, V, V)[1]) == 1.0
    assert np.mean(run(hidden, table, None, (best + 1) % V, V, V)[1]) == 0.0


def test_gradient_of_the_full_loss_in_chunks(given):
    hidden, table, bias, targets = given

    def plain(hidden, table, bias):
        scores = jax.nn.log_softmax(hidden @ table.T + bias)
        return -(jnp.take_along_axis(scores, targets[:, None], 1)[:, 0] * jnp.arange(N)).sum()

    def chunked(hidden, table, bias):
        # One word a chunk and some chunks of padding alone.
        padded, more = jnp.pad(table, ((0, 8), (0, 0))), jnp.pad(bias, (0, 8))
        loss, _ = softmax.full_cross_entropy(hidden, padded, more, targets, V, 1)
        return (loss * jnp.arange(N)).sum()

    expected = jax.jit(jax.grad(plain, argnums=(0, 1, 2)))(hidden, table, bias)
    found = jax.jit(jax.grad(chunked, argnums=(0, 1, 2)))(hidden, table, bias)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), found, expected)


@pytest.mark.parametrize("count, size", [(0, 5), (5, 0)])
def test_nothing_to_draw(count, size):
    with pytest.raises(ValueError, match="both must be at least 1"):
        softmax.log_uniform_sample(jax.random.key(0), count, size)
