"""One query at a time: the results of `csls.nearest`, with bounds and without."""

import numpy as np
import pytest

from clwe_jax.align import bounded, csls
from clwe_jax.align.retriever import Retriever


@pytest.fixture(scope="module")
def sides():
    r = np.random.RandomState(0)
    groups = r.randn(6, 12)
    keys, pool = (
        (groups[r.randint(6, size=n)] + 0.3 * r.randn(n, 12)).astype(np.float32) for n in (700, 900)
    )
    keys[3] = 0  # a word without a known part
    keys[11] = keys[12]
    return keys, pool


@pytest.mark.parametrize("least", [1, 10**6], ids=["bounds", "all"])
@pytest.mark.parametrize("method", csls.METHODS)
def test_the_results_are_those_of_many_queries(sides, method, least, monkeypatch):
    keys, pool = sides
    monkeypatch.setattr(bounded, "_MIN_KEYS", least)
    monkeypatch.setattr(bounded, "_PART", 40)
    retriever = Retriever(keys, pool, method)
    queries = np.concatenate([pool[:40], keys[12:13] * 7])
    monkeypatch.setattr(bounded, "_MIN_KEYS", 10**6)
    places, scores = csls.nearest(queries, keys, 5, method, pool=pool)
    for query, expected, values in zip(queries, np.asarray(places), np.asarray(scores)):
        found, score = retriever.nearest(query, 5)
        assert found.tolist() == expected.tolist()
        np.testing.assert_allclose(score, values, rtol=1e-4, atol=1e-5)
    assert len(retriever.nearest(queries[0], 700)[0]) == 700


def test_what_was_computed_is_kept(sides, monkeypatch):
    keys, pool = sides
    monkeypatch.setattr(bounded, "_MIN_KEYS", 1)
    retriever = Retriever(keys, pool)
    first = retriever.nearest(pool[0], 5)
    monkeypatch.delattr(Retriever, "_settle")
    np.testing.assert_array_equal(retriever.nearest(pool[0], 5), first)


@pytest.mark.parametrize(
    "query, k, said", [([np.nan] * 12, 1, "NaN"), ([1.0] * 12, 0, "k=0"), ([1.0], 1, "width")]
)
def test_bad_queries(sides, query, k, said):
    with pytest.raises(ValueError, match=said):
        Retriever(*sides).nearest(np.array(query), k)
