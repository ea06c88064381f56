"""Vectors for retrieval, and a comparison of rankings that rounding cannot upset."""

import numpy as np
import pytest

from clwe_jax.align import search


def check_ranking(found, scores, tolerance=1e-5, most=0.01):
    """Fails unless `found` holds the best columns of each row, best first.

    Columns whose scores differ by less than the rounding error may change places; at most the share
    `most` of all places may hold such a column.

    Args:
      found: columns int [N, k].
      scores: the oracle's scores, float64 [N, M].
      tolerance: rounding error of a score.
      most: share of near ties.
    """
    found = np.asarray(found)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : found.shape[1]]
    assert all(len(set(row)) == len(row) for row in found.tolist())
    np.testing.assert_allclose(
        np.take_along_axis(scores, found, 1), np.take_along_axis(scores, order, 1), atol=tolerance
    )
    assert np.mean(found != order) <= most


@pytest.fixture
def same_ranking():
    """The function `check_ranking`."""
    return check_ranking


def clusters(seed, queries, keys, pool, width=16, topics=30):
    """Vectors in clusters, which have hubs and near misses."""
    r = np.random.RandomState(seed)
    centers = r.standard_normal((topics, width))

    def draw(count):
        return centers[r.randint(topics, size=count)] + 0.7 * r.standard_normal((count, width))

    source = draw(pool)
    target = source[r.randint(pool, size=keys)] + 0.5 * r.standard_normal((keys, width))
    return source[r.randint(pool, size=queries)], target, source


@pytest.fixture
def made_up():
    """The function `clusters`."""
    return clusters


@pytest.fixture(params=["NumPy", "compiled"])
def device(request, monkeypatch):
    """Runs a test on searches of a CPU, and on those of accelerators."""
    monkeypatch.setattr(search, "uses_numpy", lambda: request.param == "NumPy")
