"""Word alignment of two sentences from the vectors of their words or word pieces.

All functions take plain arrays, so that any similarity of the words of two sentences can be aligned:
cosines of hidden states, distances in a transformed space, or attention.
"""

from __future__ import annotations

import numpy as np


def cosines(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Cosines of all pairs of rows, float32 [M, N], of [M, D] and [N, D]; 0 for a row of zeros."""
    x, y = (
        side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12)
        for side in (np.asarray(source, np.float32), np.asarray(target, np.float32))
    )
    return x @ y.T


def mutual_argmax(similarity: np.ndarray) -> np.ndarray:
    """The pairs of which each side is the other's most similar (SimAlign's Argmax).

    Jalili Sabet et al. 2020, SimAlign, section 2.2. Of equal values the first one counts.

    Args:
      similarity: [M, N].

    Returns:
      bool [M, N].
    """
    links = np.zeros(similarity.shape, bool)
    if links.size:
        rows = np.arange(len(similarity))
        best = similarity.argmax(1)
        mutual = similarity.argmax(0)[best] == rows
        links[rows[mutual], best[mutual]] = True
    return links


def itermax(similarity: np.ndarray, rounds: int = 2, discount: float = 0.9) -> np.ndarray:
    """Mutual argmax in several rounds, each among the pairs that the rounds before left (Itermax).

    Jalili Sabet et al. 2020, SimAlign, section 2.2. A later round multiplies the similarity of a
    pair by `discount` where one of its sides is linked already, and leaves it out where both are.
    The rounds end when all words of a side are linked.

    Args:
      similarity: cosines, [M, N] in [-1, 1].
      rounds: number of rounds, the first one included.
      discount: in [0, 1].

    Returns:
      bool [M, N].
    """
    links = mutual_argmax(similarity)
    positive = (1 + similarity) / 2  # so that a discount makes a pair less similar
    for _ in range(rounds - 1):
        linked_rows = links.any(1, keepdims=True)
        linked_columns = links.any(0, keepdims=True)
        if linked_rows.all() or linked_columns.all():
            break
        allowed = ~(linked_rows & linked_columns)
        weights = np.where(linked_rows | linked_columns, discount, 1.0)
        new_links = mutual_argmax(np.where(allowed, positive * weights, 0.0)) & allowed
        if not new_links.any():
            break
        links |= new_links
    return links


def softmax_intersection(scores: np.ndarray, threshold: float) -> np.ndarray:
    """The pairs whose probability is above a threshold in both directions (awesome-align).

    Dou and Neubig 2021, Word Alignment by Fine-tuning Embeddings on Parallel Corpora, section 2.1.

    Args:
      scores: inner products of the hidden states, [M, N].
      threshold: probability; the published one, .001, is for hidden states of 768 dimensions.

    Returns:
      bool [M, N].
    """
    if not scores.size:
        return np.zeros(scores.shape, bool)
    return (softmax(scores, 1) > threshold) & (softmax(scores, 0) > threshold)


def softmax(scores: np.ndarray, axis: int) -> np.ndarray:
    """Softmax along an axis in float64."""
    scores = np.asarray(scores, np.float64)
    powers = np.exp(scores - scores.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def from_pieces(links: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Links of words from links of their pieces: words are linked where any of their pieces are.

    Args:
      links: bool [M, N], of pieces.
      source, target: the word that each piece belongs to, int [M] and [N], numbered from 0.

    Returns:
      bool [words, words].
    """
    linked = np.zeros((_count(source), _count(target)), bool)
    rows, columns = np.nonzero(links)
    linked[np.asarray(source, int)[rows], np.asarray(target, int)[columns]] = True
    return linked


def _count(owners: np.ndarray) -> int:
    return int(max(owners, default=-1)) + 1
