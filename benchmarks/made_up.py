"""Made-up vectors of two languages, one of them a noisy rotation of the other."""

from __future__ import annotations

import numpy as np


def rotated(
    words: int, width: int, noise: float, dtype: str = "f4"
) -> tuple[np.ndarray, np.ndarray]:
    """Vectors [words, width] with the decaying spectrum of word vectors, and their noisy rotation."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((words, width), dtype) * np.geomspace(1, 0.1, width, dtype=dtype)
    turn = np.linalg.qr(draw.standard_normal((width, width)))[0].astype(dtype)
    return x, x @ turn + noise * draw.standard_normal((words, width), dtype)


def unit(x: np.ndarray) -> np.ndarray:
    """The rows at length 1."""
    return x / np.linalg.norm(x, axis=1, keepdims=True)
