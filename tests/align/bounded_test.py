"""Bounded retrieval gives the answers of the whole product, and looks at few keys for them."""

import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.align import bounded, csls, search


BETA = 12.0


def whole(queries, keys, pool, neighbourhood, method="csls"):
    """All scores by the definition, float64 [N, M]."""
    x, y, p = (np.asarray(search.unit(v), np.float64) for v in (queries, keys, pool))
    cosine = x @ y.T
    if method == "inverted_softmax":
        return BETA * cosine - np.log(np.exp(BETA * y @ p.T).sum(1))
    own = np.sort(cosine, axis=1)[:, -neighbourhood:].mean(1)
    return 2 * cosine - own[:, None] - np.sort(y @ p.T, axis=1)[:, -neighbourhood:].mean(1)


@pytest.fixture
def small(monkeypatch):
    """Limits so small that every step is needed."""
    monkeypatch.setattr(bounded, "_PART", 20)
    monkeypatch.setattr(bounded, "_CENTERS", 12)
    monkeypatch.setattr(bounded, "_MEMBERS", 4)
    monkeypatch.setattr(bounded, "_CANDIDATES", 3)
    monkeypatch.setattr(bounded, "_SLAB", 16)


def around(keys, pool, neighbourhood, **options):
    return bounded.Neighbourhoods(
        np.float32(keys),
        np.float32(pool),
        neighbourhood=neighbourhood,
        beta=BETA,
        memory_bytes=search.MEMORY_BYTES,
        **options,
    )


def run(queries, keys, pool, k, neighbourhood, method="csls"):
    x, *sets = (search.unit(v) for v in (queries, keys, pool))
    return bounded.nearest(x, around(*sets, neighbourhood, methods=(method,)), k, method)


@pytest.fixture
def check(same_ranking):
    """Fails unless the found keys and scores equal those of the whole product."""

    def compared(vectors, k, neighbourhood, found, method="csls"):
        expected = whole(*vectors, neighbourhood, method)
        assert np.shape(found[0]) == (len(vectors[0]), k)
        same_ranking(found[0], expected)
        taken = np.take_along_axis(expected, np.asarray(found[0]), 1)
        np.testing.assert_allclose(found[1], taken, atol=2e-5)

    return compared


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "k, neighbourhood, method",
    [
        (1, 10, "csls"),
        (10, 10, "csls"),
        (3, 1, "csls"),
        (1, 10, "inverted_softmax"),
        (10, 10, "inverted_softmax"),
    ],
)
def test_equals_the_whole_product(small, check, seed, k, neighbourhood, method, made_up):
    vectors = made_up(seed, 70, 900, 500)
    check(vectors, k, neighbourhood, run(*vectors, k, neighbourhood, method), method)


@pytest.mark.parametrize(
    "pool, method", [(1, "csls"), (5, "csls"), (19, "csls"), (19, "inverted_softmax")]
)
def test_a_pool_smaller_than_the_first_bound(small, check, pool, method, made_up):
    vectors = made_up(0, 9, 100, pool)
    check(vectors, 2, 10, run(*vectors, 2, 10, method), method)


def test_all_keys_asked_for(small, check, made_up):
    vectors = made_up(1, 5, 40, 60)
    check(vectors, 40, 4, run(*vectors, 40, 4))


def test_copies_of_a_key_are_all_found(small, same_ranking, made_up):
    queries, keys, pool = made_up(2, 20, 60, 100)
    copies = np.concatenate([keys, keys, keys])
    found, _ = run(queries, copies, pool, 6, 4)
    # Rounding decides which of equal copies comes first.
    keys_found = np.asarray(found) % 60
    same_ranking(keys_found[:, ::3], whole(queries, keys, pool, 4))
    np.testing.assert_array_equal(keys_found, keys_found[:, ::3].repeat(3, axis=1))
    assert all(len(set(row)) == 6 for row in found.tolist())


def test_the_search_ends_when_it_has_seen_every_key(small, monkeypatch, made_up):
    """Scores of NaN prove nothing; more keys than there are would not change that."""
    searched, search_once = [], bounded._search

    def counted(queries, around, k, width, method):
        searched.append(width)
        assert len(searched) < 20, "the search does not end"
        return search_once(queries, around, k, width, method)

    monkeypatch.setattr(bounded, "_search", counted)
    queries, keys, pool = made_up(7, 6, 100, 60)
    queries[2] = np.nan
    found, _ = run(queries, keys, pool, 2, 4)
    assert searched[-1] == 100
    good = [0, 1, 3, 4, 5]
    expected, _ = run(queries[good], keys, pool, 2, 4)
    np.testing.assert_array_equal(np.asarray(found)[good], expected)


@pytest.mark.parametrize("method", csls.METHODS)
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_query_that_is_not_finite_is_refused_with_its_row(method, array, value, made_up):
    queries, keys, _ = made_up(7, 6, 100, 60)
    queries[3, 1] = value
    with pytest.raises(ValueError, match="1 of 6 queries .* row 3"):
        csls.nearest(array(queries, np.float32), keys, 2, method)


def test_a_hub_is_passed_over(small, check, made_up):
    """A key near all queries wins by cosine and must not win here, though it is found late."""
    queries, keys, pool = made_up(3, 50, 800, 400)
    keys[700] = pool.mean(0)
    check((queries, keys, pool), 1, 10, run(queries, keys, pool, 1, 10))


def test_bounds_are_below_the_numbers_and_near_them(small, made_up):
    _, keys, pool = made_up(4, 1, 900, 700)
    found = around(keys, pool, 10)
    y, p = (np.asarray(search.unit(v), np.float64) for v in (keys, pool))

    def numbers(some):
        cosines = y @ some.T
        masses = np.log(np.exp(BETA * cosines).sum(1))
        return {"csls": np.sort(cosines, axis=1)[:, -10:].mean(1), "inverted_softmax": masses}

    right, of_any = numbers(p), numbers(p[:20])
    for method, bound in found.bounds.items():
        assert (bound <= right[method]).all()
        assert np.mean(right[method] - bound) < 0.5 * np.mean(right[method] - of_any[method])
    wanted = np.array([5, 899, 3])
    found.settle(wanted, found.pool_keys())
    for method, bound in found.bounds.items():
        np.testing.assert_allclose(bound[wanted], right[method][wanted], atol=2e-5)
    np.testing.assert_array_equal(np.flatnonzero(found.exact), np.sort(wanted))


def test_groups_without_a_part_have_at_least_the_mass_of_their_mean(small):
    """Jensen's inequality: nearly all of the mass is bounded where the groups are narrow."""
    r = np.random.RandomState(0)
    centers = r.standard_normal((12, 16))
    pool = centers.repeat(40, 0) + 0.01 * r.standard_normal((480, 16))
    keys = r.standard_normal((30, 16))
    found = around(keys, pool, 10)
    y, p = (np.asarray(search.unit(v), np.float64) for v in (keys, pool))
    mass = np.log(np.exp(BETA * y @ p.T).sum(1))
    assert (found.bounds["inverted_softmax"] <= mass).all()
    np.testing.assert_allclose(found.bounds["inverted_softmax"], mass, atol=0.7)


@pytest.mark.parametrize(
    "k, most, method", [(1, 200, "csls"), (10, 1_200, "csls"), (1, 300, "inverted_softmax")]
)
def test_few_keys_are_computed(monkeypatch, check, k, most, method, made_up):
    computed = []
    settle = bounded.Neighbourhoods.settle

    def counted(self, wanted, whole):
        computed.extend(wanted)
        settle(self, wanted, whole)

    monkeypatch.setattr(bounded.Neighbourhoods, "settle", counted)
    monkeypatch.setattr(bounded, "_PART", 400)
    monkeypatch.setattr(bounded, "_CENTERS", 64)
    monkeypatch.setattr(bounded, "_MEMBERS", 10)
    vectors = made_up(5, 100, 6_000, 6_000, width=24, topics=300)
    check(vectors, k, 10, run(*vectors, k, 10, method), method)
    assert len(set(computed)) == len(computed) <= most


def test_methods_share_what_they_compute_of_a_key(small, monkeypatch, check, made_up):
    settled, settle = [], bounded.Neighbourhoods.settle
    monkeypatch.setattr(
        bounded.Neighbourhoods,
        "settle",
        lambda self, rows, whole: settled.extend(rows) or settle(self, rows, whole),
    )
    monkeypatch.setattr(bounded, "_MIN_KEYS", 100)
    queries, keys, pool = made_up(8, 40, 300, 200)
    shared = csls.SharedProducts()
    for method in ("csls", "inverted_softmax", "csls"):
        options = dict(pool=pool.copy(), beta=BETA, shared=shared)
        found = csls.nearest(queries, keys.copy(), 5, method, **options)
        check((queries, keys, pool), 5, 10, found, method)
    assert len(settled) == len(set(settled))
    csls.nearest(queries, keys, 5, "csls", pool=pool, neighbourhood=3, shared=shared)
    assert len(settled) > len(set(settled)), "another neighbourhood needs numbers of its own"


def test_retrieval_uses_it_where_it_pays(monkeypatch, check, made_up):
    vectors = made_up(6, 20, 1_000, 300)
    check(vectors, 5, 10, csls.nearest(*vectors[:2], 5, "csls", pool=vectors[2]))
    calls = []
    nearest = bounded.nearest
    monkeypatch.setattr(bounded, "_MIN_KEYS", 1_000)
    monkeypatch.setattr(bounded, "nearest", lambda *a: calls.append(1) or nearest(*a))
    found = csls.nearest(*vectors[:2], 5, "csls", pool=vectors[2])
    assert calls
    check(vectors, 5, 10, found)
