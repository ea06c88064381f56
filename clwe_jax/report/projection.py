"""Vectors in the plane, for pictures."""

from __future__ import annotations

from typing import Mapping

import numpy as np


def principal(groups: Mapping[str, np.ndarray]) -> dict[str, list[list[float]]]:
    """The first two principal components of several groups of vectors, found on all of them.

    Args:
      groups: name -> [N, D]; rows of unit length show directions, which cosines compare.

    Returns:
      name -> N points [x, y], rounded to four digits. In each component the point farthest from 0
      is positive.
    """
    vectors = np.concatenate(list(groups.values())).astype(np.float64)
    centered = vectors - vectors.mean(0)
    # An SVD of the points would need an N x D factor; the covariance is D x D.
    _, components = np.linalg.eigh(centered.T @ centered)
    plane = centered @ components[:, ::-1][:, :2]
    plane *= np.sign(plane[np.abs(plane).argmax(0), np.arange(plane.shape[1])])
    ends = np.cumsum([len(rows) for rows in groups.values()])[:-1]
    return {name: np.round(part, 4).tolist() for name, part in zip(groups, np.split(plane, ends))}
