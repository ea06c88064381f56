"""Counted links between the words of sentences that translate each other."""

from __future__ import annotations

from typing import Callable, Iterable, Mapping, Sequence

import numpy as np

from clwe_jax.align import ibm1
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.word_graph import CountedLinks, WordGraph

_CHUNK = 2_000  # pairs of words whose cosines are computed at once: their vectors fit in the cache
_MIN_COUNT = 0.5  # of a link
_MIN_SHARE = 0.05  # of a link, among all links of its source word

# (source words [K], target words [K]), as rows of the graph -> their similarities [K].
Similarity = Callable[[np.ndarray, np.ndarray], np.ndarray]
# (language, other language) -> the links of their words.
WordLinks = Mapping[tuple[str, str], CountedLinks]


def link_words(
    graph: WordGraph,
    pair: tuple[str, str],
    sentences: Sequence[Sequence[np.ndarray]],
    vectors: Sequence[np.ndarray],
    position_weight: float,
) -> CountedLinks:
    """The links that occur often enough between the words of sentences and of their translations.

    A link that `graph.dictionary.rejected` names is none: its words link to others.

    Args:
      pair: the two languages, of which the first is the source of IBM model 1.
      sentences: for each of them, the rows of each sentence's words in the graph.
      vectors: for each of them, the vectors of the graph's words, whose cosines are the prior.
    """
    similarity = _bar_rejected(_cosines(*vectors), graph, pair)
    linked = ibm1.align(*sentences, similarity, position_weight=position_weight)
    totals = np.bincount(linked.source, linked.counts, len(graph.words[pair[0]]))
    frequent = linked.counts >= np.maximum(_MIN_COUNT, _MIN_SHARE * totals[linked.source])
    names = [graph.words[language] for language in pair]
    return CountedLinks(
        [names[0][i] for i in linked.source[frequent].tolist()],
        [names[1][i] for i in linked.target[frequent].tolist()],
        linked.counts[frequent].astype(np.float32),
    )


def _bar_rejected(similarity: Similarity, graph: WordGraph, pair: tuple[str, str]) -> Similarity:
    """The similarities of words, -inf between those whose link is rejected."""
    a, b = (graph.index[language] for language in pair)
    rejected = graph.dictionary.rejected_pairs(*pair)
    # One number for a pair of words; int64, because the product of two vocabularies exceeds int32.
    numbers = [a[x] * len(b) + b[y] for x, y in rejected if x in a and y in b]

    def compare(source: np.ndarray, target: np.ndarray) -> np.ndarray:
        barred = np.isin(source * np.int64(len(b)) + target, numbers)
        return np.where(barred, -np.inf, similarity(source, target))

    return compare if numbers else similarity


def add_links(parts: Iterable[WordLinks]) -> dict[tuple[str, str], CountedLinks]:
    """The links of all parts; the counts of a link that several have are added."""
    by_pair: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for part in parts:
        for pair, links in part.items():
            sums = by_pair.setdefault(pair, {})
            for source, target, count in zip(links.source, links.target, links.counts.tolist()):
                sums[source, target] = sums.get((source, target), 0.0) + count
    return {
        pair: CountedLinks(
            [source for source, _ in sums],
            [target for _, target in sums],
            np.array(list(sums.values()), np.float32),
        )
        for pair, sums in by_pair.items()
    }


def _cosines(x: np.ndarray, y: np.ndarray) -> Similarity:
    """Returns the function (rows of x [K], rows of y [K]) -> their cosines, float32 [K]."""

    def compare(source: np.ndarray, target: np.ndarray) -> np.ndarray:
        sides = []  # each word's unit vector once, and the place of each pair's word among them
        for vectors, rows in ((x, source), (y, target)):
            unique_rows, places = np.unique(rows, return_inverse=True)
            sides.append((unit(vectors[unique_rows].astype(np.float32)), places))
        values = np.empty(len(source), np.float32)
        for start in range(0, len(source), _CHUNK):
            part = slice(start, start + _CHUNK)
            a, b = (vectors[places[part]] for vectors, places in sides)
            values[part] = np.einsum("nd,nd->n", a, b)
        return values

    return compare
