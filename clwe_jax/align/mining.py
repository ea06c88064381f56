"""Bitext mining with the margin criterion (Artetxe and Schwenk 2019, Margin-based mining).

The score of x and y is their cosine over the mean cosine of both with their k nearest vectors of the
other side (their Eq. 2 and 3, 'ratio'). Vectors whose mean is not positive have none and are no pair.

    mined = mutual_best(nearest targets of the sources, nearest sources of the targets)
    mined.take(supported(places of mined.source, places of mined.target))

`mutual_best` keeps pairs that are each other's best, `supported` those beside another pair: in two
texts that share documents, the translations of neighbouring lines are neighbours too. False pairs
almost never meet by chance, whatever their margin. Support is this project's own.
"""

from __future__ import annotations

import itertools
from typing import Iterable, NamedTuple

import numpy as np

from clwe_jax.align import csls
from clwe_jax.types import Array

NEIGHBOURHOOD = 4  # nearest vectors of a margin, as in the paper


class Mined(NamedTuple):
    """Pairs of vectors, the best first.

    Attributes:
      source, target: indices of the vectors, int [P].
      scores: their margins, float [P]; above 1 the vectors are nearer to each other than to others.
    """

    source: np.ndarray
    target: np.ndarray
    scores: np.ndarray

    def take(self, chosen: np.ndarray) -> Mined:
        """The pairs that `chosen` names: bool [P] or indices."""
        return Mined(self.source[chosen], self.target[chosen], self.scores[chosen])


class Nearest(NamedTuple):
    """The k nearest keys of N queries, best first.

    Attributes:
      keys: their indices, int [N, k]; -1 where an approximate search found fewer.
      cosines: float [N, k].
    """

    keys: np.ndarray
    cosines: np.ndarray


def mine(source: Array, target: Array, neighbourhood: int = NEIGHBOURHOOD) -> Mined:
    """The pairs of two sets of vectors, each vector at most once.

    Each vector of each side proposes the best of its k nearest; pairs are taken best first (the
    paper's 'max. score').

    Args:
      source, target: [N, D] and [M, D].
      neighbourhood: k; N or M where that is less.

    Raises:
      ValueError: a side without vectors.
    """
    return best_first(*exact(source, target, neighbourhood))


def best_first(ahead: Nearest, back: Nearest) -> Mined:
    """The pairs of `mine`, from the nearest vectors of either side.

    Args:
      ahead, back: nearest targets of N sources, [N, k], and nearest sources of M targets, [M, k].

    Returns:
      At most min(N, M) pairs.
    """
    (best, margins), (best_back, margins_back) = _best(ahead, back)
    sources = np.concatenate([np.arange(len(best)), best_back])
    targets = np.concatenate([best, np.arange(len(best_back))])
    score = np.concatenate([margins, margins_back])
    mined_places = []
    paired_rows = (set(), set())
    for place in np.argsort(-score, kind="stable")[: np.count_nonzero(score > -np.inf)]:
        i = int(sources[place])
        j = int(targets[place])
        if i not in paired_rows[0] and j not in paired_rows[1]:
            paired_rows[0].add(i)
            paired_rows[1].add(j)
            mined_places.append(place)
    return Mined(sources[mined_places], targets[mined_places], score[mined_places])


def exact(source: Array, target: Array, neighbourhood: int) -> tuple[Nearest, Nearest]:
    """The nearest targets of the sources and the nearest sources of the targets.

    Args, errors: as of `mine`.
    """
    k = min(neighbourhood, len(source), len(target))
    sides = csls.nearest(source, target, k), csls.nearest(target, source, k)
    ahead, back = (Nearest(*map(np.asarray, side)) for side in sides)
    return ahead, back


def merge_nearest(parts_nearest: Iterable[Nearest], neighbourhood: int) -> Nearest:
    """The nearest keys of queries that were searched among several sets of keys.

    Args:
      parts_nearest: of each set, the nearest ones, [N, at most its size]; one set at least. No key is in two
        sets, and none is -1.
      neighbourhood: k, the largest number of keys of a query.

    Returns:
      [N, k], or fewer where all sets together have fewer keys.
    """
    keys, cosines = (np.concatenate(parts, 1) for parts in zip(*parts_nearest))
    # Of equal cosines the lowest key comes first, as in one search.
    order = np.lexsort((keys, -cosines))[:, :neighbourhood]
    return Nearest(np.take_along_axis(keys, order, 1), np.take_along_axis(cosines, order, 1))


def mutual_best(ahead: Nearest, back: Nearest) -> Mined:
    """The pairs that are each other's best by margin.

    Args:
      ahead, back: nearest targets of N sources, and nearest sources of M targets.
    """
    (best, margins), (best_back, _) = _best(ahead, back)
    mutual = best_back[best] == np.arange(len(best))
    sources = np.flatnonzero(mutual & (margins > -np.inf))
    sources = sources[np.argsort(-margins[sources], kind="stable")]
    return Mined(sources, best[sources], margins[sources])


def _best(ahead: Nearest, back: Nearest) -> list[tuple[np.ndarray, np.ndarray]]:
    """For either side, the best key of each query by margin, and that margin; -inf for none."""
    # A neighbour that the search has not found counts as one of cosine 0.
    cosines = [np.where(side.keys < 0, 0, side.cosines) for side in (ahead, back)]
    around = [x.mean(1) for x in cosines]
    sides = []
    for turned, side in enumerate((ahead, back)):
        means = around[turned][:, None] + around[1 - turned][side.keys]
        # Eqs. 2 and 3. A ratio to a mean of 0 or less says nothing of how near two vectors are.
        margins = np.full_like(means, -np.inf)
        sound = (side.keys >= 0) & (means > 0)
        np.divide(2 * cosines[turned], means, out=margins, where=sound)
        queries = np.arange(len(margins))
        best = margins.argmax(1)
        sides.append((side.keys[queries, best], margins[queries, best]))
    return sides


def has_support(source: np.ndarray, target: np.ndarray, lines: int = 3) -> np.ndarray:
    """Whether another pair lies within some lines on both sides: bool [P].

    Args:
      source, target: places of the pairs' sentences in their texts, int [P], >= 0; files are
        farther apart than `lines`.
      lines: largest distance on either side.
    """
    # One number for two places; with the margin of `lines` a step on one side changes no other one.
    span = int(target.max(initial=0)) + 2 * lines + 1
    keys = (source.astype(np.int64) + lines) * span + target + lines
    sorted_keys = np.sort(keys)
    near_another = np.zeros(len(keys), bool)
    steps = range(-lines, lines + 1)
    for ahead, aside in itertools.product(steps, steps):
        if (ahead, aside) != (0, 0) and len(keys):
            shifted_keys = keys + ahead * span + aside
            near = np.minimum(np.searchsorted(sorted_keys, shifted_keys), len(keys) - 1)
            near_another |= sorted_keys[near] == shifted_keys
    return near_another


class TextSide(NamedTuple):
    """The sentences of one side in the order of their text.

    Attributes:
      vectors: float [N, D], of unit length.
      places: place of each sentence, int [N].
      at: the sentence at each place, int [places]; -1 where there is none.
    """

    vectors: np.ndarray
    places: np.ndarray
    at: np.ndarray

    def near(self, sentences: np.ndarray, step: int) -> np.ndarray:
        """The sentences `step` places behind the given ones; -1 where there is none."""
        places = self.places[sentences] + step
        inside = (places >= 0) & (places < len(self.at))
        return np.where(inside, self.at[np.where(inside, places, 0)], -1)


def grow(
    pairs: Mined,
    source: TextSide,
    target: TextSide,
    lines: int = 2,
    cosine: float = 0.33,
    passes: int = 6,
) -> Mined:
    """The pairs, and pairs of unused sentences beside them, each sentence once.

    Args:
      pairs: pairs to begin with.
      source, target: both texts.
      lines: largest distance from a pair on either side.
      cosine: least cosine of a new pair; the best come first.
      passes: at most so many times, the new pairs are begun with again.

    Returns:
      `pairs`, then the new ones, whose scores are NaN.
    """
    is_used = np.zeros(len(source.places), bool), np.zeros(len(target.places), bool)
    is_used[0][pairs.source] = True
    is_used[1][pairs.target] = True
    parts = [pairs]
    last_pairs = pairs
    steps = range(-lines, lines + 1)
    for _ in range(passes):
        # Only the pairs of the last pass have neighbours that no pass has looked at.
        near = [
            np.stack([source.near(last_pairs.source, i), target.near(last_pairs.target, j)], 1)
            for i, j in itertools.product(steps, steps)
        ]
        rows = np.unique(np.concatenate(near), axis=0)
        rows = rows[(rows >= 0).all(1)]
        rows = rows[~is_used[0][rows[:, 0]] & ~is_used[1][rows[:, 1]]]
        x = source.vectors[rows[:, 0]]
        y = target.vectors[rows[:, 1]]
        cosines = np.einsum("nd,nd->n", x.astype(np.float32), y.astype(np.float32))
        new_rows = []
        for place in np.argsort(-cosines, kind="stable"):
            i, j = rows[place]
            if cosines[place] < cosine:
                break
            if not is_used[0][i] and not is_used[1][j]:
                is_used[0][i] = is_used[1][j] = True
                new_rows.append(place)
        if not new_rows:
            break
        last_pairs = Mined(rows[new_rows, 0], rows[new_rows, 1], np.full(len(new_rows), np.nan))
        parts.append(last_pairs)
    return Mined(*map(np.concatenate, zip(*parts)))


def best_threshold(scores: np.ndarray, right: np.ndarray, total: int) -> float:
    """The score from which on pairs have the highest F1.

    Args:
      scores: [P], falling.
      right: whether each pair is a translation, bool [P].
      total: number of translations that there are.
    """
    if not len(scores):
        return 0.0
    right_so_far = np.cumsum(right)
    f1 = 2 * right_so_far / (np.arange(1, len(scores) + 1) + total)
    return float(scores[f1.argmax()])


def quality(right: np.ndarray, total: int) -> tuple[float, float, float]:
    """Precision, recall and F1 of pairs.

    Args:
      right: whether each pair is a translation, bool [P].
      total: number of translations that there are.
    """
    hits = int(np.sum(right))
    return (hits / max(1, len(right)), hits / max(1, total), 2 * hits / max(1, len(right) + total))
