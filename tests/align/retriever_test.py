"""One query at a time: the results of `csls.nearest`, with bounds and without."""

import numpy as np
import pytest

from clwe_jax.align import csls
from clwe_jax.align import retriever as retriever_module
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


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("method", csls.METHODS)
def test_the_results_are_those_of_many_queries(sides, method, few, monkeypatch):
    keys, pool = sides
    if few:  # small parts, whose bounds are far from the numbers
        for name in ("_TOGETHER", "_AROUND", "_CANDIDATES"):
            monkeypatch.setattr(retriever_module, name, 12)
    retriever = Retriever(keys, pool, method)
    queries = np.concatenate([pool[:40], keys[12:13] * 7])
    places, scores = csls.nearest(queries, keys, 5, method, pool=pool)
    for query, expected, values in zip(queries, np.asarray(places), np.asarray(scores)):
        found, score = retriever.nearest(query, 5)
        assert found.tolist() == expected.tolist()
        np.testing.assert_allclose(score, values, rtol=1e-4, atol=1e-5)
        again, cosines = retriever.compare(query, expected)
        np.testing.assert_allclose(again, values, rtol=1e-4, atol=1e-5)
        lengths = np.linalg.norm(keys[expected], axis=1) * np.linalg.norm(query)
        np.testing.assert_allclose(
            cosines, keys[expected] @ query / np.maximum(lengths, 1e-9), atol=1e-5
        )
    assert len(retriever.nearest(queries[0], 700)[0]) == 700


def test_what_was_computed_is_kept(sides, monkeypatch):
    keys, pool = sides
    retriever = Retriever(keys, pool)
    first = retriever.nearest(pool[0], 5)
    monkeypatch.delattr(Retriever, "_numbers_of")
    np.testing.assert_array_equal(retriever.nearest(pool[0], 5), first)


def test_a_first_query_computes_the_numbers_of_few_keys(monkeypatch):
    """The numbers of all keys took seconds before the first word was translated."""
    r = np.random.RandomState(1)
    groups = r.randn(60, 24)
    keys, pool = (
        (groups[r.randint(60, size=4_000)] + 0.5 * r.randn(4_000, 24)).astype(np.float32)
        for _ in range(2)
    )
    retriever, whole = Retriever(keys, pool), []
    numbers_of = Retriever._numbers_of

    def counting(self, wanted, part):
        whole.extend([] if isinstance(part, np.ndarray) else wanted)
        return numbers_of(self, wanted, part)

    monkeypatch.setattr(Retriever, "_numbers_of", counting)
    found, _ = retriever.nearest(pool[0], 5)
    assert (
        found.tolist()
        == np.asarray(csls.nearest(pool[:1], keys, 5, "csls", pool=pool)[0])[0].tolist()
    )
    assert 5 <= len(whole) <= 200


@pytest.mark.parametrize(
    "query, k, said", [([np.nan] * 12, 1, "NaN"), ([1.0] * 12, 0, "k=0"), ([1.0], 1, "width")]
)
def test_bad_queries(sides, query, k, said):
    with pytest.raises(ValueError, match=said):
        Retriever(*sides).nearest(np.array(query), k)


def test_equal_keys_have_one_number(sides, monkeypatch):
    keys, pool = sides
    retriever = Retriever(keys, pool, "csls")
    one, _ = retriever.compare(pool[0], np.array([12]))
    monkeypatch.setattr(retriever, "_numbers_of", lambda wanted, part: np.full(len(wanted), np.nan))
    both, _ = retriever.compare(pool[0], np.array([11, 12]))
    assert both.tolist() == [one[0], one[0]]
