"""IBM model 1 against loops over the formulas, and on sentences of an invented language."""

import collections
import math

import numpy as np
import pytest

from clwe_jax.align import ibm1


def _posteriors(given, made, similar, iterations, position, flat, pseudo):
    """p(place of `given` | place of `made`) of each pair of sentences, by loops."""
    words = {(x, y) for a, b in zip(given, made) for x in a for y in b}

    def normalised(counts):
        totals = collections.Counter()
        for (x, _), count in counts.items():
            totals[x] += count
        return {pair: count / totals[pair[0]] for pair, count in counts.items()}

    def expected(table):
        found = []
        for a, b in zip(given, made):
            share = np.zeros((len(a), len(b)))
            for (i, x), (j, y) in ((p, q) for p in enumerate(a) for q in enumerate(b)):
                apart = abs((i + 0.5) / len(a) - (j + 0.5) / len(b))
                share[i, j] = table[x, y] * math.exp(-position * apart)
            found.append(share / share.sum(0))
        return found

    near = {(x, y): max(0, similar(x, y)) for x, y in words}
    table = normalised({pair: flat + value for pair, value in near.items()})
    for _ in range(iterations):
        counts = {pair: pseudo * value for pair, value in near.items()}
        for (a, b), share in zip(zip(given, made), expected(table)):
            for i, x in enumerate(a):
                for j, y in enumerate(b):
                    counts[x, y] += share[i, j]
        table = normalised(counts)
    return expected(table)


@pytest.mark.parametrize("seed", range(3))
def test_links_equal_the_formulas(seed):
    rng = np.random.default_rng(seed)
    source = [rng.integers(0, 6, rng.integers(1, 6)) for _ in range(8)]
    target = [rng.integers(0, 7, rng.integers(1, 6)) for _ in range(8)]
    table = rng.uniform(-0.5, 1, (6, 7))
    options = dict(
        iterations=3, position_weight=3.0, flat=0.05, pseudo_count=0.3, min_posterior=0.2
    )
    found = ibm1.align(source, target, lambda x, y: table[x, y], **options)

    args = 3, 3.0, 0.05, 0.3
    ahead = _posteriors(source, target, lambda x, y: table[x, y], *args)
    back = _posteriors(target, source, lambda y, x: table[x, y], *args)
    expected = collections.Counter()
    for a, b, p, q in zip(source, target, ahead, back):
        both = np.sqrt(p * q.T)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                expected[int(x), int(y)] += both[i, j] if both[i, j] >= 0.2 else 0
    pairs = list(zip(found.source.tolist(), found.target.tolist()))
    assert len(set(pairs)) == len(pairs)
    for pair, count in zip(pairs, found.counts):
        assert count == pytest.approx(expected[pair], abs=1e-6)
    assert found.counts.sum() == pytest.approx(sum(expected.values()))


def test_words_that_translate_each_other_are_linked_without_any_similarity():
    """Word n is word n of the other language, and sentences keep their order."""
    rng = np.random.default_rng(0)
    source = [rng.permutation(30)[:8] for _ in range(300)]
    found = ibm1.align(source, source, lambda x, y: np.zeros(len(x)))
    right = found.counts[found.source == found.target].sum()
    assert right > 0.95 * found.counts.sum() > 0.9 * 300 * 8


def test_links_of_two_sentences_weigh_at_most_the_mean_of_their_lengths():
    rng = np.random.default_rng(1)
    source = [rng.permutation(9)[:5] for _ in range(20)]
    target = [rng.permutation(9)[:4] for _ in range(20)]
    found = ibm1.align(source, target, lambda x, y: np.zeros(len(x)), min_posterior=0.0)
    assert found.counts.sum() <= 20 * np.sqrt(5 * 4) + 1e-6  # by Cauchy and Schwarz


def test_no_sentences_have_no_links():
    assert len(ibm1.align([], [], lambda x, y: x).counts) == 0
    empty = np.zeros(0, np.int64)
    assert ibm1.align([empty], [np.array([1])], lambda x, y: np.zeros(0)).counts.sum() == 0


def test_barred_words_are_never_linked_and_link_to_others():
    sentences = [np.array([0, 1]), np.array([0])]
    free = ibm1.align(sentences, sentences, lambda x, y: np.zeros(len(x)))
    barred = ibm1.align(
        sentences, sentences, lambda x, y: np.where((x == 0) & (y == 0), -np.inf, 0)
    )
    counts = [
        dict(zip(zip(some.source.tolist(), some.target.tolist()), some.counts))
        for some in (free, barred)
    ]
    assert counts[0][0, 0] > 1.5 and counts[1][0, 0] == 0
    assert counts[1][0, 1] > counts[0][0, 1]
