"""Approximate nearest neighbours for millions of vectors: inverted lists of faiss (Johnson et al. 2021).

The keys are divided into lists by k-means; a query is compared with the keys of the nearest lists
only. A key takes two bytes a dimension.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clwe_jax.align.mining import Nearest

_LISTS = 2  # times the root of the number of keys
_PROBED = 8  # lists that a query is compared with
_POINTS = 64  # keys of a list that k-means learns from
_STEPS = 10  # of k-means


def build(keys: np.ndarray) -> Any:
    """An index of unit vectors [M, D], for `nearest`."""
    import faiss  # takes a third of a second, which other users of `align` save

    count, dim = keys.shape
    lists = max(1, int(_LISTS * math.sqrt(count)))
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dim), dim, lists, faiss.ScalarQuantizer.QT_fp16,
        faiss.METRIC_INNER_PRODUCT,
    )  # fmt: skip
    index.cp.max_points_per_centroid, index.cp.niter = _POINTS, _STEPS
    index.cp.min_points_per_centroid = 1  # silences a warning
    keys = np.ascontiguousarray(keys, np.float32)
    index.train(keys)
    index.add(keys)
    index.nprobe = _PROBED
    return index


def nearest(queries: np.ndarray, index: Any, k: int) -> Nearest:
    """The k nearest keys of unit vectors [N, D], of those in the nearest lists."""
    cosines, keys = index.search(np.ascontiguousarray(queries, np.float32), k)
    return Nearest(keys, cosines)
