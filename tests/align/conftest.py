"""Comparison of rankings that rounding cannot upset."""

import numpy as np
import pytest


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
