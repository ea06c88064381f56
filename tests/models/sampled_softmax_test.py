"""Negatives against the distribution's formula."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import sampled_softmax as softmax

V = 40
draw = jax.jit(softmax.log_uniform_sample, static_argnums=(1, 2))


def probabilities(vocab_size):
    ids = np.arange(vocab_size, dtype=float)
    return (np.log(ids + 2) - np.log(ids + 1)) / np.log(vocab_size + 1)


def test_probabilities_are_the_formula_and_sum_to_one():
    for size in (1, 7, 800_000):
        found = softmax.log_uniform_probability(jnp.arange(size), size)
        np.testing.assert_allclose(found, probabilities(size), rtol=2e-4)
        assert np.sum(np.float64(found)) == pytest.approx(1, abs=1e-4)


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


def test_the_same_key_draws_the_same():
    one, two, other = (draw(jax.random.key(seed), 8, V).ids for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_expected_counts_are_the_formula():
    samples = draw(jax.random.key(3), 12, V)
    p = probabilities(V)[samples.ids]
    expected = np.log(-np.expm1(-p * float(samples.draws)))
    np.testing.assert_allclose(samples.log_counts, expected, rtol=1e-4)


@pytest.mark.parametrize("left_out", [(3, 4), (0, 1, 3, 4), (V - 1, V - 2), (7, 2)])
@pytest.mark.parametrize("count", [5, V])
def test_words_that_are_left_out_are_not_drawn_and_the_others_close_up(left_out, count):
    """Log-uniform over the ranks of the other words, whose expected counts are those of labels."""
    rest = np.delete(np.arange(V), left_out)
    found = softmax.log_uniform_sample(jax.random.key(4), count, V, left_out)
    among = softmax.log_uniform_sample(jax.random.key(4), count, len(rest))
    np.testing.assert_array_equal(found.ids, rest[among.ids])
    np.testing.assert_array_equal(found.log_counts, among.log_counts)
    p = probabilities(len(rest)) * float(found.draws)
    np.testing.assert_allclose(found.log_count(rest), np.log(-np.expm1(-p)), rtol=1e-4, atol=1e-6)
    assert np.isfinite(found.log_count(np.arange(V))).all()


@pytest.mark.parametrize("count, size", [(0, 5), (5, 0)])
def test_nothing_to_draw(count, size):
    with pytest.raises(ValueError, match="at least 1"):
        softmax.log_uniform_sample(jax.random.key(0), count, size)
