"""Sense-aware cross-entropy against brute force over all senses of all words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

from clwe_jax.models import sampled_softmax
from clwe_jax.models.senses import softmax
from clwe_jax.models.senses.softmax import SenseLabels

V, S, D, N = 37, 3, 5, 11
CHUNKS = [1000, 8, 5, 1]  # all at once; parts; parts that do not divide V; single vectors


class Case:
    """Random vectors; words from 30 on are padding; slot 1 of the others is enabled."""

    def __init__(self, seed=0, slots=S):
        r = np.random.RandomState(seed)
        self.hidden = r.randn(N, D).astype(np.float32)
        self.table = r.randn(V, slots, D).astype(np.float32)
        self.bias = r.randn(V, slots).astype(np.float32)
        self.enabled = (r.rand(V, slots) < 0.6) & (np.arange(V) < 30)[:, None]
        slot = min(1, slots - 1)
        self.enabled[:30, slot] = True
        self.words = r.randint(0, 30, (3, N))  # and their translations into two languages
        self.senses = np.full((3, N), slot)
        self.words[1, 0] = self.words[0, 0]  # a word that is its own translation
        self.words[2, 1] = self.words[1, 1]  # two languages have the same word
        there = r.rand(2, N) < 0.6
        there[:, :2] = True
        there[:, 2] = False
        shares = 0.6 * there / np.maximum(there.sum(0), 1)
        self.weights = jnp.float32(np.concatenate([1 - shares.sum(0, keepdims=True), shares]))

    def labels(self, translations=True):
        if not translations:
            return SenseLabels(self.words[:1], self.senses[:1], jnp.ones((1, N)))
        return SenseLabels(self.words, self.senses, self.weights)

    def arrays(self):
        return self.hidden, self.table, self.bias


def log_softmax(case, hidden, table, bias):
    """log p(word, sense) [N, V, S], -inf where disabled."""
    scores = jnp.einsum("nd,vsd->nvs", hidden, table) + bias
    scores = jnp.where(case.enabled, scores, -jnp.inf).reshape(len(hidden), -1)
    return jax.nn.log_softmax(scores).reshape(-1, *table.shape[:2])


def brute_force(case, hidden, table, bias):
    """Eqs. 7, 4 and 6, the first as cross-entropy with soft labels."""
    log_p = log_softmax(case, hidden, table, bias)
    losses = -log_p[np.arange(N), case.words, case.senses]
    weighted = case.weights * losses
    return weighted.sum(0), losses[0], weighted[1] + weighted[2]


@pytest.mark.parametrize("chunk", CHUNKS)
def test_losses_and_gradients_are_those_of_brute_force(chunk):
    case = Case()
    weights = jnp.arange(1.0, N + 1)

    def loss(*arrays):
        found = softmax.sense_cross_entropy(*arrays, case.labels(), case.enabled, chunk)
        return (found.loss * weights).sum(), found

    def expected(*arrays):
        return (brute_force(case, *arrays)[0] * weights).sum()

    gradient, found = jax.grad(loss, (0, 1, 2), has_aux=True)(*case.arrays())
    triple = brute_force(case, *case.arrays())
    for x, y in zip((found.loss, found.sense, found.translation), triple, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)
    for x, y in zip(gradient, jax.grad(expected, (0, 1, 2))(*case.arrays()), strict=True):
        np.testing.assert_allclose(x, y, atol=2e-5)
    assert not gradient[1][~case.enabled].any() and not gradient[2][~case.enabled].any()


def test_the_loss_is_the_mean_over_draws_of_one_label():
    case = Case()
    expected = jnp.zeros(N)
    for words, senses, weights in zip(case.words, case.senses, case.weights):
        drawn = SenseLabels(words[None], senses[None], jnp.ones((1, N)))
        losses = softmax.sense_cross_entropy(*case.arrays(), drawn, case.enabled)
        expected += weights * losses.loss  # by the odds of this draw
    found = softmax.sense_cross_entropy(*case.arrays(), case.labels(), case.enabled)
    np.testing.assert_allclose(found.loss, expected, rtol=1e-6)


@pytest.mark.parametrize("chunk", [1000, 8])
def test_without_translations_and_bias(chunk):
    case = Case()
    case.bias[:] = 0
    found = softmax.sense_cross_entropy(
        case.hidden, case.table, None, case.labels(False), case.enabled, chunk
    )
    _, own, _ = brute_force(case, *case.arrays())
    np.testing.assert_allclose(found.loss, own, atol=1e-5)
    np.testing.assert_array_equal(found.loss, found.sense)
    assert not found.translation.any()


@pytest.mark.parametrize("chunk", [1000, 8])
def test_one_sense_a_word_is_plain_cross_entropy(chunk):
    case = Case(slots=1)
    case.enabled[:] = True
    found = softmax.sense_cross_entropy(*case.arrays(), case.labels(False), case.enabled, chunk)
    hidden, table, bias = case.hidden, case.table[:, 0], case.bias[:, 0]
    scores = np.float64(hidden) @ table.T + bias
    words = case.words[0]
    score = scores[np.arange(len(hidden)), words]
    plain = np.log(np.exp(scores).sum(1)) - score
    np.testing.assert_allclose(found.loss, plain, atol=1e-5)
    samples = sampled_softmax.log_uniform_sample(jax.random.key(0), 9, V)
    found = softmax.sampled_sense_cross_entropy(
        *case.arrays(), case.labels(False), case.enabled, samples, jax.random.key(1)
    )
    negative = (scores[:, samples.ids] - np.float64(samples.log_counts)).astype(float)
    negative[samples.ids == words[:, None]] = -np.inf  # accidental hits
    score = score - np.float64(samples.log_count(words))
    plain = np.log(np.exp(score) + np.exp(negative).sum(1)) - score
    np.testing.assert_allclose(found.loss, plain, atol=1e-5)


def test_large_scores_overflow_nowhere():
    case = Case()
    case.hidden *= 100
    for chunk in (1000, 8):
        gradient = jax.grad(
            lambda h, chunk=chunk: softmax.sense_cross_entropy(
                h, case.table, case.bias, case.labels(), case.enabled, chunk
            ).loss.sum()
        )(case.hidden)
        expected = jax.grad(lambda h: brute_force(case, h, case.table, case.bias)[0].sum())
        np.testing.assert_allclose(gradient, expected(case.hidden), atol=1e-4)


def test_bfloat16_sums_in_float32():
    r = np.random.RandomState(0)
    words, width = 3000, 4
    # 3,000 equal scores: a sum in bfloat16 stops growing at 256.
    hidden = jnp.array(np.ones((2, width)), jnp.bfloat16)
    table = jnp.zeros((words, 2, width))
    enabled = jnp.array(r.rand(words, 2) < 2)
    labels = SenseLabels(jnp.array([[0, 1]]), jnp.array([[0, 1]]), jnp.ones((1, 2)))
    for chunk in (10_000, 500):
        found = softmax.sense_cross_entropy(hidden, table, None, labels, enabled, chunk)
        np.testing.assert_allclose(found.loss, np.log(2 * words), rtol=1e-6)
        assert found.loss.dtype == jnp.float32
    gradient = jax.grad(
        lambda h, t: softmax.sense_cross_entropy(h, t, None, labels, enabled, 500).loss.sum(),
        (0, 1),
    )(hidden, table)
    assert gradient[0].dtype == jnp.bfloat16 and gradient[1].dtype == jnp.float32
    np.testing.assert_allclose(gradient[1][0, 0], -1 + 2 / (2 * words), rtol=1e-2)


def largest(program):
    """Elements of the largest array that a traced program makes, inner programs included."""
    most = 0
    for equation in program.eqns:
        most = max([most] + [getattr(x.aval, "size", 0) for x in equation.outvars])
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")
        ):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                most = max(most, largest(inner))
    return most


def test_scores_of_all_senses_are_never_there_at_once():
    words, slots, width, rows, chunk = 4000, 20, 4, 64, 4000
    hidden = jax.ShapeDtypeStruct((rows, width), jnp.float32)
    table = jax.ShapeDtypeStruct((words, slots, width), jnp.float32)
    ids = jnp.zeros((1, rows), jnp.int32)
    labels = SenseLabels(ids, ids, jnp.ones((1, rows)))
    enabled = jnp.ones((words, slots), bool)

    def gradient(chunk):
        def loss(h, t):
            return softmax.sense_cross_entropy(h, t, None, labels, enabled, chunk).loss.sum()

        return largest(jax.make_jaxpr(jax.grad(loss, (0, 1)))(hidden, table).jaxpr)

    assert gradient(words * slots) == rows * words * slots
    assert gradient(chunk) == max(rows * chunk, words * slots * width)


# Samples.


def test_the_sampled_loss_is_tensorflows():
    """tf.nn.sampled_softmax_loss, which subtracts the log of the expected count everywhere."""
    case = Case(slots=1)
    case.enabled[:] = True
    samples = sampled_softmax.log_uniform_sample(jax.random.key(0), 9, V)
    words = case.words[0]
    found = softmax.sampled_sense_cross_entropy(
        *case.arrays(), case.labels(False), case.enabled, samples, jax.random.key(1)
    )
    assert np.isin(words, samples.ids).any()  # accidental hits
    counts = np.exp(samples.log_count(words)), np.exp(samples.log_counts)
    expected = tf.nn.sampled_softmax_loss(
        case.table[:, 0],
        case.bias[:, 0],
        words[:, None].astype(np.int64),
        case.hidden,
        num_sampled=9,
        num_classes=V,
        sampled_values=(np.asarray(samples.ids, np.int64), counts[0][:, None], counts[1]),
    )
    np.testing.assert_allclose(found.loss, expected.numpy(), atol=1e-5)


@pytest.mark.parametrize("slots", [1, S])
def test_the_sampled_loss_is_least_at_the_probabilities_of_the_words(slots):
    """At the logs of the labels' true probabilities the expected gradient is nearly 0."""
    words = 10
    enabled = np.arange(slots) <= (np.arange(words) % slots)[:, None]
    true = np.where(enabled, np.random.RandomState(0).uniform(1, 2, (words, slots)), 1e-9)
    bias = jnp.log(jnp.float32(true / true.sum()))

    def gradient(key):
        label, sample, sense = jax.random.split(key, 3)
        drawn = jax.random.categorical(label, bias.reshape(-1))[None, None]
        samples = sampled_softmax.log_uniform_sample(sample, 2, words)

        def loss(bias):
            return softmax.sampled_sense_cross_entropy(
                jnp.zeros((1, 1)),
                jnp.zeros((words, slots, 1)),
                bias,
                SenseLabels(drawn // slots, drawn % slots, jnp.ones((1, 1))),
                jnp.array(enabled),
                samples,
                sense,
            ).loss.sum()

        return jax.grad(loss)(bias)

    found = np.asarray(jax.vmap(gradient)(jax.random.split(jax.random.key(1), 50_000)))
    # A little is left: draws of distinct words depend on one another. With labels that are not
    # corrected 0.05 are left.
    assert np.abs(found.mean(0)).max() < 0.01


def test_the_sampled_loss_tends_to_the_full_one():
    case = Case(slots=1)
    case.enabled[:] = True
    arrays, labels = [jnp.array(x) for x in case.arrays()], case.labels()
    full = brute_force(case, *arrays)

    def apart(count):
        def losses(key):
            keys = jax.random.split(key)
            samples = sampled_softmax.log_uniform_sample(keys[0], count, V)
            found = softmax.sampled_sense_cross_entropy(
                *arrays, labels, jnp.array(case.enabled), samples, keys[1]
            )
            return found.loss, found.sense, found.translation

        found = jax.vmap(losses)(jax.random.split(jax.random.key(0), 2_000))
        return max(np.abs(x.mean(0) - y).max() for x, y in zip(found, full, strict=True))

    few, more, nearly, every = map(apart, (V // 8, V // 2, V - 1, V))
    assert few > more > nearly > every and every < 1e-5


def test_all_words_of_one_sense_as_samples_are_the_full_loss():
    case = Case()
    case.enabled &= np.arange(S) == 1
    samples = sampled_softmax.log_uniform_sample(jax.random.key(0), V, V)
    found = softmax.sampled_sense_cross_entropy(
        *case.arrays(), case.labels(), case.enabled, samples, jax.random.key(1)
    )
    triple = brute_force(case, *case.arrays())
    for x, y in zip((found.loss, found.sense, found.translation), triple, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)


def test_gradients_stay_finite_where_every_negative_is_a_label():
    case = Case()
    case.words[:] = 0
    case.enabled[:] = False
    case.enabled[0, 1] = True
    samples = sampled_softmax.log_uniform_sample(jax.random.key(0), 1, 1)
    found, gradient = jax.value_and_grad(
        lambda h: softmax.sampled_sense_cross_entropy(
            h, case.table, case.bias, case.labels(), case.enabled, samples, jax.random.key(1)
        ).loss.sum()
    )(case.hidden)
    assert found == 0 and not gradient.any()


def test_only_enabled_senses_are_drawn():
    case = Case()
    case.bias[~case.enabled] = 50.0  # a disabled sense in the sum would show
    samples = sampled_softmax.log_uniform_sample(jax.random.key(0), 20, V)
    for rng in jax.random.split(jax.random.key(1), 20):
        found = softmax.sampled_sense_cross_entropy(
            *case.arrays(), case.labels(), case.enabled, samples, rng
        )
        assert found.loss.max() < 30


# Words.


@pytest.mark.parametrize("chunk", CHUNKS)
def test_a_words_probability_is_the_sum_over_its_senses(chunk):
    case = Case()
    log_p = jax.nn.logsumexp(log_softmax(case, *case.arrays()), axis=-1)
    found = softmax.word_log_likelihood(*case.arrays(), case.words[0], case.enabled, chunk)
    np.testing.assert_allclose(found, log_p[np.arange(N), case.words[0]], atol=1e-5)
    np.testing.assert_allclose(np.exp(log_p).sum(1), 1, atol=1e-5)
    words = softmax.best_words(*case.arrays(), case.enabled, chunk)
    assert np.diff(np.sort(log_p, axis=1)[:, -2:]).min() > 1e-4  # no near ties
    np.testing.assert_array_equal(words, log_p.argmax(1))
