"""Pivots: the words of two sentences that attention matching aligns one to one (CLCR, section 3.2)."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.align import word_links


class Mapped(NamedTuple):
    """The words of one sentence in both spaces.

    Attributes:
      unmapped: vectors in the sentence's own space, float32 [M, D].
      mapped: vectors in the other language's space, float32 [M, D'].
    """

    unmapped: np.ndarray
    mapped: np.ndarray


def symmetric_distances(source: Mapped, target: Mapped) -> np.ndarray:
    """Half of D(T(r_i) || r_j) + D(T'(r_j) || r_i), the squared error a dimension, float32 [M, N]."""
    ahead = _squared_distances(source.mapped, target.unmapped)
    back = _squared_distances(target.mapped, source.unmapped).T
    return (ahead + back) / 2


def mean_distance_to_other_sentences(
    source: Sequence[Mapped], target: Sequence[Mapped], others: int, seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """How near words find a word in sentences that do not translate theirs.

    Args:
      source, target: parallel sentences.
      others: number of random other sentences, of the other language, for each sentence; fewer where
        there are not so many.
      seed: of their choice.

    Returns:
      For each sentence pair the mean, over the other sentences, of the symmetric distance to the
      nearest word: of the source's words float [M], of the target's float [N]. Infinite where there
      is no other sentence.
    """
    draw = np.random.default_rng([seed, 41])
    count = len(source)
    order = draw.permutation(count)
    sums = [[0.0, 0.0] for _ in range(count)]
    shifts = draw.permutation(np.arange(1, count))[:others]
    # The pairs of a shift give every sentence of both sides one other sentence.
    for shift in shifts:
        for sentence, other in zip(order, np.roll(order, -shift)):
            distances = symmetric_distances(source[sentence], target[other])
            sums[sentence][0] += distances.min(1, initial=np.inf)
            sums[other][1] += distances.min(0, initial=np.inf)
    if not len(shifts):
        return [
            (np.full(len(x.unmapped), np.inf), np.full(len(y.unmapped), np.inf))
            for x, y in zip(source, target)
        ]
    return [(x / len(shifts), y / len(shifts)) for x, y in sums]


def margin_distances(distances: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Distances in units of those that both words find elsewhere, [M, N]; 1: no nearer than there.

    A word that is near to some word of any sentence is near to no word in particular. The measure is
    the ratio margin of Artetxe and Schwenk 2019 (Margin-based Parallel Corpus Mining, section 3), a
    form of CSLS (Lample et al. 2018), with a word's nearest in other sentences as its neighbours.

    Args:
      distances: of a sentence pair, [M, N].
      source, target: mean distances of each word to other sentences, [M] and [N].
    """
    means = (source[:, None] + target[None]) / 2
    return np.where(np.isfinite(means), distances / np.maximum(means, 1e-12), distances)


def links(distances: np.ndarray, threshold: float = np.inf) -> np.ndarray:
    """Pivots: the pairs of which each is the other's nearest, nearer than a threshold, bool [M, N]."""
    return word_links.mutual_argmax(-distances) & (distances < threshold)


def orders(links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pivots of a pair of sentences in the source's order.

    Args:
      links: bool [M, N], at most one in each row and column.

    Returns:
      Their places in the source, int [n], rising; and their ranks in the target's order, int [n].
    """
    places, target_places = np.nonzero(links)
    # The second argsort turns an order into ranks.
    return places, np.argsort(np.argsort(target_places))


def _squared_distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared distances of all pairs of rows a dimension, [M, N]."""
    squares = np.square(x).sum(1)[:, None] + np.square(y).sum(1)[None] - 2 * x @ y.T
    # Rounding makes the squares of nearly equal vectors negative.
    return np.maximum(squares, 0) / x.shape[1]
