"""Ranks of right answers by few exact numbers are those of whole lists."""

import numpy as np
import pytest

from clwe_jax.align import bounded, csls, ranks
from clwe_jax.align.retriever import Retriever


@pytest.fixture
def small(monkeypatch):
    """Limits so small that every step is needed; returns the numbers of keys that were settled."""
    for name, value in dict(_PART=20, _CENTERS=12, _MEMBERS=4, _SLAB=16, _MIN_KEYS=50).items():
        monkeypatch.setattr(bounded, name, value)
    monkeypatch.setattr(ranks, "_WIDTH", 3)
    settled, settle = [], bounded.Neighbourhoods.settle
    monkeypatch.setattr(
        bounded.Neighbourhoods,
        "settle",
        lambda self, rows, whole: settled.append(len(rows)) or settle(self, rows, whole),
    )
    return settled


def answers(seed, queries, keys, most=4):
    """Up to `most` right keys of each query, some of which have none."""
    r = np.random.RandomState(seed)
    return [
        set(r.choice(keys, r.randint(most + 1), replace=False).tolist()) for _ in range(queries)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", csls.METHODS)
@pytest.mark.parametrize("k", [1, 5, 10])
def test_equal_the_places_in_whole_lists(small, monkeypatch, seed, method, k, made_up):
    x, y, pool = map(np.float32, made_up(seed, 70, 900, 500))
    right = answers(seed, 70, 900)
    # Of half of the queries, right keys are near.
    options = dict(pool=pool, neighbourhood=7, beta=12.0)
    with monkeypatch.context() as patch:
        patch.setattr(bounded, "_MIN_KEYS", 10**9)
        found = np.asarray(csls.nearest(x, y, 12, method, **options)[0])
        for line in range(0, 70, 2):
            right[line] |= {int(found[line, line // 10])}
        expected = ranks.first_ranks(found[:, :k], right)
    assert len(set(expected.tolist())) > (1 if k == 1 else 4)
    np.testing.assert_array_equal(
        ranks.ranks_of_answers(x, y, right, k, method, **options), expected
    )
    assert bool(small) == (method != "cosine")


@pytest.mark.parametrize("method", ["csls", "inverted_softmax"])
def test_of_equal_keys_the_first_one_comes_first(small, method):
    """Numbers that are computed in blocks of other sizes differ in the last bit."""
    r = np.random.RandomState(0)
    base = r.randn(60, 33)
    keys = np.concatenate([np.repeat(base, 6, 0), r.randn(100, 33)])[r.permutation(460)]
    pool = np.concatenate([base + 0.3 * r.randn(60, 33), r.randn(300, 33)])
    queries = pool[:60]
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    # One cosine for each vector, so that equal keys have equal scores.
    _, first, same = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    near = unit(keys[first]) @ unit(pool).T
    numbers = np.sort(near, 1)[:, -10:].mean(1)
    scale = 2.0
    if method == "inverted_softmax":
        numbers, scale = np.log(np.exp(30 * near).sum(1)), 30.0
    scores = (scale * unit(queries) @ unit(keys[first]).T - numbers)[:, same]
    order = np.argsort(-scores, 1, kind="stable")[:, :10]
    right = [[int(line[r.randint(10)])] for line in order]
    x, y, others = (np.float32(some) for some in (queries, keys, pool))
    expected = ranks.first_ranks(order, right)
    found = ranks.ranks_of_answers(x, y, right, 10, method, pool=others)
    np.testing.assert_array_equal(found, expected)
    # One product of all rows rounds equal keys differently on some processors: their order is not its promise.
    lists = np.asarray(csls.nearest(x[:9], y, 10, method, pool=others)[0])
    np.testing.assert_array_equal(same[lists], same[order[:9]])
    retriever = Retriever(y, others, method)
    for query, line in zip(x, order):
        assert retriever.nearest(query, 10)[0].tolist() == line.tolist()


def test_far_fewer_keys_are_settled_than_for_lists(small, made_up):
    x, y, pool = map(np.float32, made_up(5, 100, 2000, 1500, width=64))
    right = answers(5, 100, 2000, most=1)
    lists = csls.SharedProducts(("csls",))
    csls.nearest(x, y, 10, "csls", pool=pool, shared=lists)
    of_lists = sum(small)
    small.clear()
    ranks.ranks_of_answers(x, y, right, 10, "csls", pool=pool)
    assert 0 < sum(small) < of_lists / 2


def test_no_right_keys_and_numbers_that_are_none(small, made_up):
    x, y, pool = map(np.float32, made_up(1, 6, 100, 60))
    assert not ranks.ranks_of_answers(x, y, [()] * 6, 3, "csls", pool=pool).any() and not small
    y[:] = np.nan
    assert not ranks.ranks_of_answers(x, y, [(1,)] * 6, 3, "csls", pool=pool).any()
    x[2] = np.inf
    with pytest.raises(ValueError, match="row 2"):
        ranks.ranks_of_answers(x, y, [(1,)] * 6, 3, "csls", pool=pool)


def test_of_equal_keys_the_first_one_is_nearer(small):
    # Products of 64 signs have no rounding, whatever the sizes are.
    draw = np.random.RandomState(0)
    x, y, pool = (np.float32(draw.choice([-1, 1], (n, 64))) for n in (20, 60, 100))
    y = np.concatenate([y, y, y])
    right = [{int(i)} for i in draw.randint(180, size=20)]
    found = np.asarray(csls.nearest(x, y, 30, "csls", pool=pool)[0])
    np.testing.assert_array_equal(
        ranks.ranks_of_answers(x, y, right, 30, "csls", pool=pool), ranks.first_ranks(found, right)
    )
