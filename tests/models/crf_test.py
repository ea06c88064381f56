"""The conditional random field: against enumeration, marginals, and pytorch-crf where it is there."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.models import crf

LENGTHS = (1, 3, 4)
K = 3


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    emissions = rng.normal(size=(3, 4, K)).astype(np.float32) * 2
    weights = crf.Weights(
        *(rng.normal(size=shape).astype(np.float32) for shape in ((K, K), (K,), (K,)))
    )
    mask = np.arange(4) < np.array(LENGTHS)[:, None]
    return emissions, weights, mask


def score_of(tags, emissions, weights):
    total = weights.start[tags[0]] + weights.end[tags[-1]]
    total += sum(emissions[t, tag] for t, tag in enumerate(tags))
    return total + sum(weights.transitions[a, b] for a, b in zip(tags, tags[1:]))


def everything(row, case):
    """All sequences of a row with their scores."""
    emissions, weights, _ = case
    found = list(itertools.product(range(K), repeat=LENGTHS[row]))
    return found, np.array([score_of(tags, emissions[row], weights) for tags in found], np.float64)


def test_partition_function_is_that_of_enumeration(case):
    found = np.asarray(crf.log_partition(*case))
    for row in range(3):
        _, scores = everything(row, case)
        assert found[row] == pytest.approx(np.log(np.exp(scores).sum()), abs=1e-5)


def test_gradients_are_the_marginals_of_enumeration(case):
    emissions, weights, mask = case
    found = np.asarray(jax.grad(lambda x: crf.log_partition(x, weights, mask).sum())(emissions))
    for row, length in enumerate(LENGTHS):
        sequences, scores = everything(row, case)
        shares = np.exp(scores) / np.exp(scores).sum()
        expected = np.zeros((4, K))
        for tags, share in zip(sequences, shares):
            expected[np.arange(length), tags] += share
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_best_sequence_is_that_of_enumeration(case):
    tags, scores = map(np.asarray, crf.viterbi(*case))
    for row, length in enumerate(LENGTHS):
        sequences, all_scores = everything(row, case)
        best = int(all_scores.argmax())
        assert tuple(tags[row, :length]) == sequences[best]
        assert scores[row] == pytest.approx(all_scores[best], abs=1e-5)


def test_probabilities_add_up_to_one(case):
    emissions, weights, mask = case
    for row in range(3):
        sequences, scores = everything(row, case)
        tags = np.zeros((len(sequences), 4), np.int32)
        tags[:, : LENGTHS[row]] = sequences
        repeated = [np.repeat(x[row : row + 1], len(tags), 0) for x in (emissions, mask)]
        likely = np.asarray(crf.log_likelihood(repeated[0], weights, tags, repeated[1]))
        assert np.exp(likely).sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(likely, scores - np.log(np.exp(scores).sum()), atol=1e-4)


def test_padding_has_no_effect(case):
    emissions, weights, mask = case
    other = np.where(mask[..., None], emissions, 100.0).astype(np.float32)
    np.testing.assert_array_equal(
        crf.log_partition(emissions, weights, mask), crf.log_partition(other, weights, mask)
    )
    first, second = (crf.viterbi(x, weights, mask)[0] for x in (emissions, other))
    np.testing.assert_array_equal(np.where(mask, first, 0), np.where(mask, second, 0))


def test_forbidden_steps_are_never_taken():
    tags = ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")
    between, start = crf.bio_steps(tags)
    allowed = {
        (a, b)
        for a, b in itertools.product(tags, tags)
        if not (b.startswith("I-") and (a == "O" or a[2:] != b[2:]))
    }
    found = {(tags[a], tags[b]) for a, b in zip(*np.nonzero(between == 0))}
    assert found == allowed
    assert [tag for tag, x in zip(tags, start) if x == 0] == ["B-LOC", "B-PER", "O"]

    scores = np.random.default_rng(1).normal(size=(50, 6, 5)).astype(np.float32) * 3
    weights = crf.Weights(jnp.array(between), jnp.array(start), jnp.zeros(5))
    best, _ = crf.viterbi(scores, weights, np.ones((50, 6), bool))
    free, _ = crf.viterbi(scores, crf.Weights(*(0 * x for x in weights)), np.ones((50, 6), bool))

    def wrong(sequences):
        rows = [["O", *(tags[i] for i in row)] for row in np.asarray(sequences)]
        return sum(pair not in allowed for row in rows for pair in zip(row, row[1:]))

    assert wrong(best) == 0 < wrong(free)


def test_the_gradient_is_finite_with_forbidden_steps():
    between, start = crf.bio_steps(("B-X", "I-X", "O"))
    weights = crf.Weights(jnp.array(between), jnp.array(start), jnp.zeros(3))
    mask = np.array([[True, True, False]])
    loss = lambda x: -crf.log_likelihood(x, weights, np.array([[2, 0, 0]]), mask).sum()
    gradient = jax.grad(loss)(jnp.full((1, 3, 3), 50.0))
    assert np.isfinite(gradient).all()


def test_equals_pytorch_crf():
    torch = pytest.importorskip("torch")
    torchcrf = pytest.importorskip("torchcrf")
    rng = np.random.default_rng(2)
    emissions = rng.normal(size=(5, 7, 6)).astype(np.float32)
    mask = np.arange(7) < np.array([7, 1, 3, 5, 2])[:, None]
    tags = rng.integers(0, 6, (5, 7))
    theirs = torchcrf.CRF(6, batch_first=True)
    weights = crf.Weights(
        *(
            x.detach().numpy()
            for x in (theirs.transitions, theirs.start_transitions, theirs.end_transitions)
        )
    )
    with torch.no_grad():
        given = [torch.tensor(x) for x in (emissions, tags, mask)]
        likely = theirs(*given, reduction="none").numpy()
        best = theirs.decode(given[0], given[2])
    np.testing.assert_allclose(
        crf.log_likelihood(emissions, weights, tags, mask), likely, atol=1e-5
    )
    ours = np.asarray(crf.viterbi(emissions, weights, mask)[0])
    assert [list(row[: len(x)]) for row, x in zip(ours, best)] == best
