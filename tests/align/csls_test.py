"""Retrieval against NumPy, ties, chunks, and planted sets that only some methods can match."""

import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.align import both_sides, csls, search


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def numpy_scores(queries, keys, pool, method, neighbourhood, beta):
    """[N, M] scores from the definitions, in float64."""
    x, y, p = (unit(np.asarray(v, np.float64)) for v in (queries, keys, pool))
    cosine = x @ y.T
    if method == "cosine":
        return cosine
    if method == "csls":
        # Of fewer rows the slice takes all.
        own = np.sort(cosine, axis=1)[:, -neighbourhood:].mean(1)
        hubness = np.sort(y @ p.T, axis=1)[:, -neighbourhood:].mean(1)
        return 2 * cosine - own[:, None] - hubness[None]
    return beta * cosine - np.log(np.exp(beta * (p @ y.T)).sum(0))[None]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("method", csls.METHODS)
@pytest.mark.parametrize("n, m, k", [(7, 5, 5), (40, 333, 1), (33, 700, 10), (2, 64, 3)])
def test_equals_numpy(device, same_ranking, method, n, m, k, pooled):
    r = np.random.RandomState(n)
    queries, keys = r.standard_normal((n, 12)), 5 + 3 * r.standard_normal((m, 12))
    pool = r.standard_normal((51, 12)) if pooled else queries
    found, scores = csls.nearest(
        queries, keys, k, method, pool=pool if pooled else None, neighbourhood=4, beta=8.0
    )
    expected = numpy_scores(queries, keys, pool, method, 4, 8.0)
    same_ranking(found, expected)
    np.testing.assert_allclose(
        scores, np.take_along_axis(expected, np.asarray(found), 1), atol=2e-5
    )


@pytest.mark.parametrize("method", csls.METHODS)
def test_chunks_change_nothing(device, same_ranking, method, monkeypatch):
    r = np.random.RandomState(0)
    queries, keys = r.standard_normal((50, 6)), r.standard_normal((203, 6))
    whole = csls.nearest(queries, keys, 7, method)
    monkeypatch.setattr(search, "_CHUNK", 64)
    parts = csls.nearest(queries, keys, 7, method, memory_bytes=4 * search._COPIES * 64 * 8)
    scores = numpy_scores(queries, keys, queries, method, 10, 30.0)
    same_ranking(whole[0], scores, tolerance=3e-5)
    same_ranking(parts[0], scores, tolerance=3e-5)
    np.testing.assert_allclose(whole[1], parts[1], atol=3e-5)


@pytest.mark.parametrize("chunk", [16, 8_192])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_lowest_index_wins_ties(device, k, chunk, monkeypatch):
    # Axes have exact cosines: every fourth key is the same vector.
    monkeypatch.setattr(search, "_CHUNK", chunk)
    keys = np.tile(np.eye(4), (50, 1))
    found, scores = csls.nearest(np.eye(4)[[2, 0]], keys, k)
    np.testing.assert_array_equal(found, [2 + 4 * np.arange(k), 4 * np.arange(k)])
    np.testing.assert_array_equal(scores, np.ones((2, k)))


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("k", [1, 5, 63, 64])
def test_bounds_find_what_sorting_finds(array, k):
    # Few distinct values, the larger the rarer: ties inside blocks and between them everywhere.
    r = np.random.RandomState(1)
    scores = r.choice([0, 1, 2, 3], (200, 64), p=[0.85, 0.1, 0.04, 0.01]).astype(np.float32)
    values, places = search.top_k(array(scores), k)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, order, 1))


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
def test_rows_with_numbers_that_are_none_leave_the_others_right(array):
    scores = np.random.RandomState(2).standard_normal((4, 40)).astype(np.float32)
    scores[1] = np.nan
    scores[2] = -np.inf
    scores[3, ::2] = np.nan
    values, places = search.top_k(array(scores), 5)
    np.testing.assert_array_equal(places[0], np.argsort(-scores[0])[:5])
    np.testing.assert_array_equal(values[0], -np.sort(-scores[0])[:5])
    np.testing.assert_array_equal(places[2], np.arange(5))


def test_csls_sees_past_a_hub():
    # One key lies nearer to every query than the query's own counterpart.
    r = np.random.RandomState(5)
    points = unit(r.standard_normal((100, 40)))
    centre = np.ones(40) / np.sqrt(40)
    queries = unit(points + 2 * centre)
    keys = unit(points + 0.03 * r.standard_normal((100, 40)) + 0.5 * centre)
    keys[17] = centre
    truth = np.arange(100) != 17

    def accuracy(method):
        found, _ = csls.nearest(queries, keys, 1, method)
        return np.mean((np.asarray(found)[:, 0] == np.arange(100))[truth])

    assert accuracy("cosine") < 0.1
    assert accuracy("csls") > 0.8
    assert accuracy("inverted_softmax") > 0.8


def test_extreme_lengths_and_zeros():
    directions = unit(np.random.RandomState(6).standard_normal((30, 8)))
    scales = np.logspace(-30, 30, 30)[:, None]
    found, scores = csls.nearest(directions * scales, directions * scales[::-1], 1)
    np.testing.assert_array_equal(found[:, 0], np.arange(30))
    np.testing.assert_allclose(scores, 1, atol=1e-5)
    _, scores = csls.nearest(np.zeros((2, 8)), directions, 1, "csls")
    assert np.isfinite(scores).all()


def test_memory_is_bounded(monkeypatch):
    budget = 4 * 2**20
    keys = search.chunk_keys(np.random.RandomState(0).standard_normal((40_000, 16)), 0.0, 10)
    rows = search.rows_that_fit(keys.size, budget)
    queries = np.random.RandomState(1).standard_normal((rows, 16)).astype(np.float32)
    arguments = queries, keys.vectors[0], keys.bias[0], 1.0
    tracemalloc.start()
    search._best(*arguments, k=10)
    assert tracemalloc.get_traced_memory()[1] < budget
    tracemalloc.stop()
    # The compiled program's temporaries stay within the budget too.
    monkeypatch.setattr(search, "uses_numpy", lambda: False)
    program = jax.jit(search._best, static_argnames="k").lower(*arguments, k=10).compile()
    assert program.memory_analysis().temp_size_in_bytes < budget


def test_pieces_have_few_sizes_and_fit_the_memory(monkeypatch):
    counts = range(1, 8_193)
    assert [search.piece(count, 3_000) for count in (0, 7, 3_000, 3_001)] == [1, 7, 3_000, 1_501]
    monkeypatch.setattr(search, "uses_numpy", lambda: False)
    sizes = [search.piece(count, 100_000) for count in counts]
    assert sorted(set(sizes)) == [2**n for n in range(12)]
    assert all(size >= count for count, size in zip(counts, sizes) if count <= 2_048)
    assert search.piece(3_000, 900) == 900
    assert search.piece(20_001, 9_000) == 6_667, "of many rows little is filled anyway"
    assert search.piece(0, 10) == 1


def test_no_queries():
    found, scores = csls.nearest(np.zeros((0, 4)), np.eye(4), 2)
    assert found.shape == scores.shape == (0, 2)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: csls.nearest(x, x, 4), r"k=4 nearest of 3 vectors"),
        (lambda x: csls.nearest(x, x, 0), r"k must be in \[1, 3\]"),
        (lambda x: csls.nearest(x, x, method="csl"), "Did you mean 'csls'"),
        (lambda x: csls.nearest(x, x[:, :2]), r"\(3, 3\) and \(3, 2\)"),
        (lambda x: csls.nearest(x, x, method="csls", pool=x[:, :2]), r"\(3, 2\) and \(3, 3\)"),
        (lambda x: csls.nearest(x, x[:0]), "of 0 vectors"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.eye(3))


def test_takes_device_arrays(device):
    found, scores = csls.nearest(jnp.eye(4), jnp.eye(4), 2, "csls")
    expected = csls.nearest(np.eye(4), np.eye(4), 2, "csls")
    assert found.dtype == np.int32 and scores.dtype == np.float32
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(scores, expected[1])


def test_both_masses_are_those_of_each_direction(device, monkeypatch):
    r = np.random.RandomState(0)
    x, y = r.standard_normal((37, 6)), r.standard_normal((23, 6))
    monkeypatch.setattr(search, "_CHUNK", 8)
    memory = 3 * 4 * 8 * 5  # some rows at once, the last ones filled up
    of_x, of_y = search.log_masses(x, y, 30.0, memory)
    for found, keys, pool in ((of_x, x, y), (of_y, y, x)):
        keys, pool = (np.asarray(search.unit(v), np.float64) for v in (keys, pool))
        np.testing.assert_allclose(found, np.log(np.exp(30 * keys @ pool.T).sum(1)), atol=1e-4)


@pytest.mark.parametrize(
    "method, module, name, other",
    [
        ("inverted_softmax", search, "log_masses", {"beta": 10.0}),
        ("csls", both_sides, "means", {"neighbourhood": 3}),
    ],
)
def test_both_directions_of_a_method_take_one_product(monkeypatch, method, module, name, other):
    r = np.random.RandomState(1)
    x, y = r.standard_normal((20, 6)), r.standard_normal((30, 6))
    calls = [
        ((asked, keys), dict(k=3, method=method, pool=pool))
        for asked, keys, pool in ((x[:5], y, x), (y[:7], x, y), (y[:7], x.copy(), y))
    ]
    alone = [csls.nearest(*sets, **options) for sets, options in calls]
    products, product = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: products.append(1) or product(*a, **k))
    both = csls.SharedProducts()
    for (sets, options), expected in zip(calls, alone):
        found = csls.nearest(*sets, shared=both, **options)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1], atol=1e-4)
    assert len(products) == 1
    csls.nearest(x[:5], y + 1, shared=both, **options | dict(pool=x))
    csls.nearest(x[:5], y + 1, shared=both, **options | dict(pool=x) | other)
    assert len(products) == 3, "other vectors and other options need products of their own"
    csls.nearest(x[:5], y, shared=both, **options | dict(pool=x))
    assert len(products) == 4, "only the last two sets are kept"
