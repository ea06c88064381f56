"""The nearest in both directions, by cosine and by CSLS, against NumPy."""

import numpy as np
import pytest

from clwe_jax.align import both_sides, induce, search


def numpy_best(x, y, neighbourhood):
    """Scores by the definition, float64 [N, M]; 0 neighbours: cosines."""
    x, y = (np.asarray(search.unit(v), np.float64) for v in (x, y))
    cosine = x @ y.T
    if not neighbourhood:
        return cosine
    of_x = np.sort(cosine, axis=1)[:, -neighbourhood:].mean(1)
    of_y = np.sort(cosine, axis=0)[-neighbourhood:].mean(0)
    return 2 * cosine - of_x[:, None] - of_y


@pytest.mark.parametrize("n, m, rows", [(37, 23, 5), (50, 203, 64), (5, 9, 64), (1, 3, 64)])
def test_equals_numpy(device, monkeypatch, same_ranking, n, m, rows):
    monkeypatch.setattr(search, "_CHUNK", 64)
    r = np.random.RandomState(n)
    x, y = 1 + r.standard_normal((n, 6)), r.standard_normal((m, 6))
    memory = 4 * search._COPIES * min(m, 64) * rows  # several pieces, the last ones filled up
    found = both_sides.best(x, y, [10, 1], memory)
    found += both_sides.best(x, y, memory_bytes=memory)
    for neighbourhood, (best_y, best_x) in zip((0, 10, 1, 0), found, strict=True):
        scores = numpy_best(x, y, neighbourhood)
        same_ranking(best_y[:, None], scores)
        same_ranking(best_x[:, None], scores.T)


def test_means_are_those_of_each_direction(device):
    r = np.random.RandomState(0)
    x, y = r.standard_normal((37, 6)), r.standard_normal((5, 6))
    of_x, of_y = both_sides.means(x, y, 7, search.MEMORY_BYTES)
    np.testing.assert_allclose(of_x, search.means(x, y, 7, search.MEMORY_BYTES), atol=1e-6)
    np.testing.assert_allclose(of_y, search.means(y, x, 7, search.MEMORY_BYTES), atol=1e-6)


def test_the_lowest_index_wins_ties(device, monkeypatch):
    monkeypatch.setattr(search, "_CHUNK", 16)
    x = np.tile(np.eye(4), (30, 1))
    for best_y, best_x in both_sides.best(x, x[:60], [3], 4 * search._COPIES * 20 * 32):
        np.testing.assert_array_equal(best_y, np.arange(120) % 4)
        np.testing.assert_array_equal(best_x, np.arange(60) % 4)


def test_mutual_pairs_are_those_of_the_search_in_each_direction(monkeypatch):
    r = np.random.RandomState(0)
    x = r.standard_normal((70, 8)).astype(np.float32)
    y = x[r.permutation(70)[:60]] + 0.5 * r.standard_normal((60, 8)).astype(np.float32)
    scores = numpy_best(x, y, 10)
    best, back = scores.argmax(1), scores.argmax(0)
    expected = [(a, b) for a, b in enumerate(best) if back[b] == a]
    assert 20 < len(expected) < 60
    np.testing.assert_array_equal(induce.induce_dictionary(x, y, max_words=None), expected)
    np.testing.assert_array_equal(induce.induce_dictionary(x, y, max_words=70), expected)
    # Fewer words: the search of all words decides.
    monkeypatch.setattr(both_sides, "best", lambda *_: pytest.fail("words beyond max_words count"))
    fewer = induce.induce_dictionary(x, y, max_words=40)
    np.testing.assert_array_equal(fewer, [p for p in expected if max(p) < 40])
