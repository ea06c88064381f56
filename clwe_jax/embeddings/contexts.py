"""Vectors of one language's words from the words beside them: synonyms are near.

Counts of the words in a window become positive pointwise mutual information, whose singular vectors
are the vectors (Levy, Goldberg and Dagan 2015, section 3), here without their singular values: every
direction counts alike.
"""

from __future__ import annotations

from typing import Sequence

import numpy as np
from scipy import sparse

from clwe_jax.embeddings.dictionary_vectors import unit

# frequent words that have vectors, and that stand beside them
_WORDS = 60_000
_CONTEXTS = 15_000
_FITTED = 20_000  # frequent words that the directions are found from
_LEAST = 3  # occurrences of a word with a vector
_WINDOW = 5  # words on either side; one at distance d counts 1 / d
_SMOOTHING = 0.75  # exponent of the contexts' frequencies
_RUNNING = 20_000_000  # words of the text that are counted, from its beginning
# iterations and further columns of the randomised decomposition
_POWERS = 2
_SPARE = 32


def vectors(
    words: Sequence[str], ids: np.ndarray, splits: np.ndarray, dim: int, seed: int
) -> tuple[list[str], np.ndarray]:
    """The vectors of frequent words, as unit vectors around their mean.

    Args:
      words: words by id.
      ids: running words of a text, int [R].
      splits: starts of its sentences and their end, int [sentences + 1].
      dim: width of a vector, at most.
      seed: of the decomposition.

    Returns:
      The words, most frequent first, and their vectors, float32 [N, at most dim]; words without a context
      that says anything are left out.
    """
    ids = ids[:_RUNNING]
    counts = np.bincount(ids, minlength=len(words))
    frequent = np.argsort(-counts, kind="stable")[:_WORDS]
    frequent = frequent[counts[frequent] >= _LEAST]
    names = [words[row] for row in frequent.tolist()]
    if len(names) < 2:
        return names, np.zeros((len(names), 0), np.float32)
    rank = np.full(len(words), -1)
    rank[frequent] = np.arange(len(frequent))
    sentence = np.repeat(np.arange(len(splits) - 1), np.diff(splits))[: len(ids)]
    information = _information(rank[ids], sentence, len(names))
    points = information @ _directions(information[:_FITTED], dim, seed)
    # Words without an informative context would all have the same vector, the mean's opposite.
    rows = np.flatnonzero(points.any(1))
    if len(rows) < 2:
        return [], np.zeros((0, 0), np.float32)
    mean = points[rows[rows < _FITTED]].mean(0)
    return [names[row] for row in rows], unit(points[rows] - mean).astype(np.float32)


def _information(ranks: np.ndarray, sentence: np.ndarray, size: int) -> sparse.csr_matrix:
    """Positive pointwise mutual information of words and contexts, float32 [size, contexts]."""
    shape = (size, min(size, _CONTEXTS))
    total = sparse.csr_matrix(shape, dtype=np.float32)
    for distance in range(1, _WINDOW + 1):
        first = ranks[:-distance]
        second = ranks[distance:]
        together = (sentence[:-distance] == sentence[distance:]) & (first >= 0) & (second >= 0)
        for word, context in ((first, second), (second, first)):
            mask = together & (context < shape[1])
            weight = np.full(np.count_nonzero(mask), 1 / distance, np.float32)
            total = total + sparse.csr_matrix((weight, (word[mask], context[mask])), shape)
    rows, columns = (np.asarray(total.sum(axis)).ravel() for axis in (1, 0))
    shares = columns**_SMOOTHING
    shares /= max(shares.sum(), 1e-12)
    pairs = total.tocoo()
    # The number of pairs cancels in P(w, c) / (P(w) P(c)) = n(w, c) / (n(w) P(c)).
    values = np.log(pairs.data / (rows[pairs.row] * shares[pairs.col]))
    positive = values > 0
    return sparse.csr_matrix(
        (values[positive].astype(np.float32), (pairs.row[positive], pairs.col[positive])), shape
    )


def _directions(matrix: sparse.csr_matrix, dim: int, seed: int) -> np.ndarray:
    """Right singular vectors over their singular values, float32 [columns, dim] (Halko et al. 2011)."""
    draw = np.random.default_rng(seed)
    width = min(dim + _SPARE, *matrix.shape)
    basis = draw.standard_normal((matrix.shape[1], width), np.float32)
    for _ in range(_POWERS):
        # Without QR the columns would all turn towards the first singular vector.
        basis = np.linalg.qr(matrix.T @ (matrix @ basis))[0]
    _, sizes, turned = np.linalg.svd(matrix @ basis, full_matrices=False)
    # Directions without extent would be rounding errors over almost nothing.
    is_wide = sizes[:dim] > 1e-5 * sizes[0]
    return (basis @ turned[: len(is_wide)].T)[:, is_wide] / sizes[: len(is_wide)][is_wide]
