"""Dictionaries from both directions: CSLS word by word, and the law of the random draws."""

import numpy as np
import pytest

from clwe_jax.align import search, stochastic


def sides(seed=0, count=(40, 30), width=5):
    r = np.random.RandomState(seed)
    return tuple(
        v / np.linalg.norm(v, axis=1, keepdims=True)
        for v in (r.standard_normal((c, width)) for c in count)
    )


def numpy_csls(x, y, k):
    """2 cos minus both neighbourhoods' means: [N, M]."""
    scores = x @ y.T
    of_x = np.sort(scores, 1)[:, -k:].mean(1)
    of_y = np.sort(scores, 0)[-k:].mean(0)
    scores = 2 * scores - of_x[:, None] - of_y[None]
    # The tests compare ranks: no two scores of a word may be within float32's rounding.
    assert min(np.diff(np.sort(scores, axis), axis=axis).min() for axis in (0, 1)) > 1e-5
    return scores


def test_everyone_gets_the_best_by_csls():
    x, y = sides()
    found = stochastic.induce(x, y, neighbourhood=4)
    scores = numpy_csls(x, y, 4)
    np.testing.assert_array_equal(found.pairs[:40, 0], np.arange(40))
    np.testing.assert_array_equal(found.pairs[:40, 1], scores.argmax(1))
    np.testing.assert_array_equal(found.pairs[40:, 0], scores.argmax(0))
    np.testing.assert_array_equal(found.pairs[40:, 1], np.arange(30))
    cosines = x @ y.T
    expected = (cosines.max(1).mean() + cosines.max(0).mean()) / 2
    np.testing.assert_allclose(found.objective, expected, rtol=1e-5)


def test_draws_follow_the_law_of_dropped_similarities():
    """The n-th best is taken with probability keep (1 - keep)^(n - 1)."""
    x, y = sides()
    ranks = np.argsort(np.argsort(-numpy_csls(x, y, 4), 1), 1)
    rng, keep, rounds = np.random.default_rng(0), 0.3, 60
    counts = np.zeros(30)
    for _ in range(rounds):
        pairs = stochastic.induce(x, y, keep=keep, neighbourhood=4, rng=rng).pairs[:40]
        counts += np.bincount(ranks[pairs[:, 0], pairs[:, 1]], minlength=30)
    expected = keep * (1 - keep) ** np.arange(30)
    spread = np.sqrt(expected * (1 - expected) / (40 * rounds))
    assert (np.abs(counts / counts.sum() - expected) < 4.5 * spread + 1e-3).all()
    assert counts[1:4].min() > 0


def test_draws_are_seeded():
    x, y = sides()

    def pairs(seed):
        rng = np.random.default_rng(seed)
        return stochastic.induce(x, y, keep=0.2, rng=rng).pairs

    np.testing.assert_array_equal(pairs(1), pairs(1))
    assert (pairs(1) != pairs(2)).any()


def test_the_same_dictionary_on_accelerators(monkeypatch):
    x, y = sides()
    plain = stochastic.induce(x, y, neighbourhood=5)
    monkeypatch.setattr(search, "uses_numpy", lambda: False)
    compiled = stochastic.induce(x, y, neighbourhood=5)
    np.testing.assert_array_equal(plain.pairs, compiled.pairs)
    np.testing.assert_allclose(plain.objective, compiled.objective, rtol=1e-6)


@pytest.mark.parametrize("keep", [0.3, 1.0])
def test_the_same_dictionary_slab_by_slab(keep, monkeypatch):
    """Similarities that do not fit are computed in slabs, here of 7 words and a rest, twice."""
    x, y = sides()
    products = []
    whole_product = stochastic._similarities
    monkeypatch.setattr(
        stochastic, "_similarities", lambda a, b: products.append(len(a)) or whole_product(a, b)
    )

    def induced(memory_bytes):
        rng = np.random.default_rng(0)
        return stochastic.induce(
            x, y, keep=keep, neighbourhood=9, rng=rng, memory_bytes=memory_bytes
        )

    whole = induced(stochastic.MEMORY_BYTES)
    assert products == [40]
    cut = induced(7 * 30 * 4 * 3)
    assert products[1:] == 2 * [7, 7, 7, 7, 7, 5]
    np.testing.assert_array_equal(whole.pairs, cut.pairs)
    np.testing.assert_allclose(whole.objective, cut.objective, rtol=1e-6)
