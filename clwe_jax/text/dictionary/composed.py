"""Pairs between two languages without a dictionary, composed through a third one."""

from __future__ import annotations

import itertools
from typing import Collection, Mapping, Sequence

import numpy as np

# (language, language, numbers of the words of the one, of the other)
Edges = tuple[str, str, np.ndarray, np.ndarray]


def compose(
    edges: Sequence[Edges], pivot: str, left_out: Mapping[str, np.ndarray] = {}
) -> list[Edges]:
    """Two words with a common translation in the pivot, of languages without pairs of their own.

    Args:
      edges: the pairs of words that dictionaries have.
      left_out: language -> numbers of the words that get no pairs, such as test words. A word of the
        pivot that is tested with one language still leads to another.
    """
    direct = {frozenset(edge[:2]) for edge in edges}
    languages = sorted(set().union(*direct) - {pivot})
    to_pivot = {language: _to(edges, language, pivot, left_out) for language in languages}
    composed = []
    for source, target in itertools.combinations(languages, 2):
        if frozenset((source, target)) not in direct:
            composed.append((source, target, *_join(to_pivot[source], to_pivot[target])))
    return [edge for edge in composed if len(edge[2])]


def _to(
    edges: Sequence[Edges], language: str, pivot: str, left_out: Mapping[str, Collection[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs of a language's words with words of the pivot."""
    empty = np.zeros(0, np.int32)
    parts = [(empty, empty)]
    parts += [(a, b) for left, right, a, b in edges if (left, right) == (language, pivot)]
    parts += [(b, a) for left, right, a, b in edges if (right, left) == (language, pivot)]
    pairs = np.unique(np.stack([np.concatenate(side) for side in zip(*parts)]), axis=1)
    words, middle = pairs[:, ~np.isin(pairs[0], left_out.get(language, empty))]
    return words, middle


def _join(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of words with the same word of the pivot."""
    order = np.argsort(other[1], kind="stable")
    words = other[0][order]
    middle = other[1][order]
    first = np.searchsorted(middle, one[1])
    count = np.searchsorted(middle, one[1], side="right") - first
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(one[0], count), words[np.repeat(first, count) + within]
