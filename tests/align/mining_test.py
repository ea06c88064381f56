"""Mining against the formula, by loops; the threshold and the figures by hand."""

import numpy as np
import pytest

from clwe_jax.align import mining


def oracle(x, y, k):
    """Artetxe and Schwenk 2019: the margin of every pair; the best of the k nearest of each side."""
    x, y = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    cosines = x @ y.T
    near_x, near_y = np.argsort(-cosines, 1)[:, :k], np.argsort(-cosines, 0)[:k].T
    proposed = set()
    margin = np.zeros_like(cosines)
    for i, j in np.ndindex(cosines.shape):
        mean = cosines[i, near_x[i]].sum() / (2 * k) + cosines[near_y[j], j].sum() / (2 * k)
        margin[i, j] = cosines[i, j] / mean
    for i in range(len(x)):
        proposed.add((i, max(near_x[i], key=lambda j: margin[i, j])))
    for j in range(len(y)):
        proposed.add((max(near_y[j], key=lambda i: margin[i, j]), j))
    found = []
    for i, j in sorted(proposed, key=lambda pair: -margin[pair]):
        if i not in {a for a, _, _ in found} and j not in {b for _, b, _ in found}:
            found.append((i, j, margin[i, j]))
    return found


@pytest.mark.parametrize("k", [2, 3])
def test_mining_equals_the_formula(k):
    random = np.random.RandomState(k)
    x = random.rand(14, 6).astype(np.float32)
    y = np.concatenate([x[3:11] + 0.1 * random.rand(8, 6), random.rand(4, 6)]).astype(np.float32)
    found, expected = mining.mine(x, y, k), oracle(x, y, k)
    assert list(zip(found.source, found.target)) == [pair[:2] for pair in expected]
    np.testing.assert_allclose(found.scores, [pair[2] for pair in expected], rtol=1e-4)
    assert len({*found.source}) == len({*found.target}) == len(found.source)


def test_a_margin_prefers_the_pair_that_is_near_to_nothing_else():
    # Target 0 is near to all sources; source 2's own target 1 is a little farther away.
    hub, own = np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 0.9, 1])
    x = np.array([[1.0, 0.2, 0.8, 0], [0.5, 1, 0.7, 0], [0.4, 0.4, 1, 0.8]])
    found = mining.mine(x, np.stack([hub, own]), 2)
    assert (2, 1) in list(zip(found.source, found.target))


def test_threshold_and_quality():
    right = np.array([True, True, False, True, False])
    scores = np.array([1.5, 1.4, 1.3, 1.2, 1.1])
    # F1 of the first n of 4: 2/5, 4/6, 4/7, 6/8, 6/9.
    assert mining.best_threshold(scores, right, 4) == 1.2
    assert mining.quality(right[:4], 4) == (0.75, 0.75, 0.75)
    assert mining.quality(right[:0], 4) == (0.0, 0.0, 0.0)
    assert mining.best_threshold(scores[:0], right[:0], 4) == 0


@pytest.mark.parametrize("seed", range(3))
def test_mutual_best_pairs_are_each_others_best_by_margin(seed):
    random = np.random.RandomState(seed)
    x, y = random.rand(12, 5).astype(np.float32), random.rand(9, 5).astype(np.float32)
    found = mining.mutual_best(*mining.exact(x, y, 3))
    kept = {(i, j): margin for i, j, margin in oracle(x, y, 3)}
    # A pair that both propose is taken by the oracle too, because no better one has either vector.
    for i, j, score in zip(*found):
        assert kept[i, j] == pytest.approx(score, rel=1e-4)
    assert list(found.scores) == sorted(found.scores, reverse=True)
    best = max(kept, key=kept.get)
    assert (found.source[0], found.target[0]) == best


@pytest.mark.parametrize("seed", range(5))
def test_support_equals_its_definition(seed):
    rng = np.random.default_rng(seed)
    places = rng.permutation(60)[:25], rng.permutation(60)[:25]
    found = mining.has_support(*places, 3)
    for n, (i, j) in enumerate(zip(*places)):
        others = ((a, b) for m, (a, b) in enumerate(zip(*places)) if m != n)
        assert found[n] == any(abs(a - i) <= 3 and abs(b - j) <= 3 for a, b in others)


def test_no_pair_supports_itself():
    assert not mining.has_support(np.array([5]), np.array([5])).any()
    assert not mining.has_support(np.array([], int), np.array([], int)).any()


def _text(vectors):
    """A text with an empty line behind each sentence."""
    at = np.full(2 * len(vectors), -1)
    at[::2] = np.arange(len(vectors))
    return mining.TextSide(np.asarray(vectors, np.float32), 2 * np.arange(len(vectors)), at)


def test_pairs_grow_along_both_texts_until_nothing_fits():
    eye = np.eye(6)
    other = eye.copy()
    other[4] = eye[0]  # sentence 4 has no translation; 5 is too far from 3
    start = mining.Mined(np.array([1]), np.array([1]), np.array([1.4]))
    found = mining.grow(start, _text(eye), _text(other), lines=2, cosine=0.5)
    assert sorted(zip(found.source, found.target)) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert found.scores[0] == 1.4 and np.isnan(found.scores[1:]).all()
    once = mining.grow(start, _text(eye), _text(other), lines=2, cosine=0.5, passes=1)
    assert sorted(zip(once.source, once.target)) == [(0, 0), (1, 1), (2, 2)]


def test_the_nearest_neighbours_grow_first_and_a_sentence_once():
    x = np.eye(3)
    y = np.array([[1, 0, 0], [0, 0.6, 0.8], [0, 0.8, 0.6]])
    start = mining.Mined(np.array([0]), np.array([0]), np.array([1.4]))
    found = mining.grow(start, _text(x), _text(y), lines=4, cosine=0.5)
    assert sorted(zip(found.source, found.target)) == [(0, 0), (1, 2), (2, 1)]


@pytest.mark.parametrize("seed", range(3))
def test_searches_of_parts_merge_into_one_search(seed):
    r = np.random.default_rng(seed)
    x, y = (
        r.choice([-1.0, 1.0], (n, 16)) for n in (9, 12)
    )  # whose cosines are exact, and often equal
    whole, _ = mining.exact(x, y, 4)
    cuts = [0, *sorted(r.choice(np.arange(1, 12), 3, replace=False)), 12]  # parts below 4 too
    parts = [(a, mining.exact(x, y[a:b], 4)[0]) for a, b in zip(cuts, cuts[1:])]
    parts = [mining.Nearest(near.keys + first, near.cosines) for first, near in parts]
    for order in (parts, parts[::-1]):
        merged = mining.merge_nearest([mining.merge_nearest(order[:2], 4), *order[2:]], 4)
        np.testing.assert_array_equal(merged.keys, whole.keys)
        np.testing.assert_array_equal(merged.cosines, whole.cosines)


@pytest.mark.parametrize("mined", [mining.best_first, mining.mutual_best])
def test_only_positive_means_make_a_margin(mined):
    random = np.random.RandomState(0)
    x, y = (random.randn(4, 3).astype(np.float32) for _ in range(2))
    x, y = x - x.mean(0), y - y.mean(0)
    u, v = (z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    cosines = u @ v.T
    means = cosines.mean(1)[:, None] + cosines.mean(0)
    assert (means < 0).any() and (means > 0).any()
    found = mined(*mining.exact(x, y, 4))
    assert len(found.scores)
    for i, j, score in zip(*found):
        assert means[i, j] > 0
        assert score == pytest.approx(2 * cosines[i, j] / means[i, j], rel=1e-3)


@pytest.mark.parametrize("mined", [mining.best_first, mining.mutual_best])
def test_a_missing_neighbour_is_no_pair(mined):
    missing = mining.Nearest(np.array([[-1]]), np.array([[0.0]]))
    assert not len(mined(missing, missing).scores)
    # Source 0 has one neighbour, at a negative cosine, which is another's.
    ahead = mining.Nearest(np.array([[0, -1], [0, -1]]), np.array([[-0.1, 0], [0.9, 0]]))
    found = mined(ahead, mining.Nearest(np.array([[1, 0]]), np.array([[0.9, -0.1]])))
    assert list(zip(found.source, found.target)) == [(1, 0)]
