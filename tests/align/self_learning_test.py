"""Self-learning: planted rotations from no dictionary and from a few words, VecMap's stages."""

import numpy as np
import pytest

from clwe_jax.align import csls, preprocess, self_learning, weighting


def world(seed, count=300, width=15, noise=0.05, clusters=25):
    """Clustered words of two languages, a noisy rotation apart, and which word is which."""
    r = np.random.default_rng(seed)
    spread = np.linspace(1.5, 0.3, width)
    x = r.normal(size=(clusters, width))[r.integers(0, clusters, count)]
    x = (x * r.gamma(2, 0.5, (count, 1)) + 0.5 * r.normal(size=(count, width))) * spread
    turn = np.linalg.qr(r.normal(size=(width, width)))[0]
    place = r.permutation(count)
    y = np.empty_like(x)
    y[place] = x @ turn + noise * r.normal(size=x.shape)
    return x.astype("f4"), y.astype("f4"), place


def right(found, x, y, place):
    best = csls.nearest(found.apply(x), found.apply_target(y), 1, "csls")[0]
    return float((np.asarray(best)[:, 0] == place).mean())


@pytest.mark.parametrize("seed", range(2))
def test_recovers_a_planted_rotation_without_supervision(seed):
    x, y, place = world(seed, noise=0.3)
    found = self_learning.SelfLearning(interval=4, keep=0.3, seed=seed).fit(x, y)
    assert right(found, x, y, place) > 0.95
    info = found.info
    assert info["keep"][0] == 0.3 and info["keep"][-1] == 1.0
    assert info["keep"] == sorted(info["keep"])
    assert info["objective"][-1] > info["objective"][0] + 0.05


def test_a_few_seed_pairs_are_enough():
    x, y, place = world(2, noise=0.15)
    few = np.stack([np.arange(10), place[:10]], 1)
    once = self_learning.SelfLearning(self_learning=False).fit(x, y, few)
    assert right(once, x, y, place) < 0.5
    learned = self_learning.SelfLearning(interval=4, keep=0.5).fit(x, y, few)
    assert right(learned, x, y, place) > 0.98
    assert learned.info["pairs"] == [10, 600] and once.info["pairs"] == [10]


def test_without_iterations_it_is_the_supervised_map():
    x, y, place = world(0)
    pairs = np.stack([np.arange(100), place[:100]], 1)
    found = self_learning.SelfLearning(self_learning=False).fit(x, y, pairs)
    steps = ("unit", "center", "unit")
    a, b = preprocess.fit(x, steps)[0], preprocess.fit(y, steps)[0]
    maps = weighting.symmetric(a[pairs[:, 0]], b[pairs[:, 1]])
    np.testing.assert_allclose(found.apply(x), a @ maps[0], atol=1e-4)
    np.testing.assert_allclose(found.apply_target(y), b @ maps[1], atol=1e-4)


def test_without_weights_the_map_is_orthogonal():
    x, y, place = world(0)
    pairs = np.stack([np.arange(100), place[:100]], 1)
    found = self_learning.SelfLearning(self_learning=False, reweight=None).fit(x, y, pairs)
    assert found.target_map is None
    np.testing.assert_allclose(found.source_map @ found.source_map.T, np.eye(15), atol=1e-5)


@pytest.mark.parametrize("start", [None, range(100, 300)])
def test_the_dictionary_that_it_starts_from_may_lie_beyond_max_words(start):
    x, y, place = world(0)
    y = y[place]
    pairs = None if start is None else np.stack([start, start], 1)
    options = {"interval": 2, "keep": 0.5, "max_words": 150, "initial_words": 300}
    found = self_learning.SelfLearning(**options).fit(x, y, pairs)
    assert right(found, x, y, np.arange(300)) > 0.95
    # Of the words that self-learning uses, one pair each in both directions.
    assert found.info["pairs"] == [200 if start else 600, 300]


def test_is_seeded():
    x, y, place = world(1, count=100)
    few = np.stack([np.arange(20), place[:20]], 1)

    def objectives(seed):
        options = {"interval": 2, "keep": 0.4, "seed": seed}
        return self_learning.SelfLearning(**options).fit(x, y, few).info["objective"]

    assert objectives(1) == objectives(1)
    assert objectives(1) != objectives(2)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"keep": 0.0}, "keep"),
        ({"keep": 1.5}, "keep"),
        ({"multiplier": 1.0}, "multiplier"),
        ({"interval": 0}, "interval"),
    ],
)
def test_options_out_of_range(options, match):
    x, y, _ = world(0, count=40)
    with pytest.raises(ValueError, match=match):
        self_learning.SelfLearning(**options).fit(x, y)


def test_no_pairs_and_nothing_to_iterate():
    x, y, _ = world(0, count=40)
    with pytest.raises(ValueError, match="learns from a dictionary"):
        self_learning.SelfLearning(self_learning=False).fit(x, y)
