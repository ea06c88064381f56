"""The order in which rows are learned from."""

from __future__ import annotations

import itertools
from typing import Iterable, Iterator

import numpy as np


def batches(rows: int, draw: np.random.Generator, sizes: Iterable[int]) -> Iterator[np.ndarray]:
    """Yields places of rows, int64 [size]: every row once in a new random order, then again.

    Args:
      rows: number of rows, at least 1.
      draw: source of the orders.
      sizes: number of places of each array.
    """
    epochs = (draw.permutation(rows) for _ in itertools.count())
    places = itertools.chain.from_iterable(epochs)
    for size in sizes:
        yield np.fromiter(itertools.islice(places, size), np.int64, size)
