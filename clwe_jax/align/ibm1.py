"""IBM model 1 in both directions: which words of two sentences translate each other.

Brown et al. 1993, The Mathematics of Statistical Machine Translation, section 4.2, with what is
known before: the words' similarity is the first table and adds to the counts of every iteration, and
a word rather links to a place of the same share of the sentence (as the prior of fast_align, Dyer et
al. 2013, section 2). A link's weight is the geometric mean of both directions' posteriors.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

import numpy as np

_TINY = 1e-30


class NumberedLinks(NamedTuple):
    """Pairs of words and how often they are linked.

    Attributes:
      source, target: numbers of the words, int [K]; no pair occurs twice.
      counts: sums of the links' weights, float [K].
    """

    source: np.ndarray
    target: np.ndarray
    counts: np.ndarray


class _Cells(NamedTuple):
    """All pairs of places in pairs of sentences.

    Attributes:
      pair: number of the pair of words, int32 [C].
      nearness: exp(-position_weight |distance|), float32 [C].
      source, target: number of the running word of either side, int32 [C].
    """

    pair: np.ndarray
    nearness: np.ndarray
    source: np.ndarray
    target: np.ndarray


def align(
    source: Sequence[np.ndarray],
    target: Sequence[np.ndarray],
    similarity: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *,
    iterations: int = 5,
    position_weight: float = 4.0,
    flat: float = 0.05,
    pseudo_count: float = 0.3,
    min_posterior: float = 0.2,
) -> NumberedLinks:
    """Links the words of sentences and their translations.

    Args:
      source, target: for each pair of sentences, the numbers of either side's words.
      similarity: function (source words [K], target words [K]) -> similarities [K]; negative ones
        count as 0, and words of the similarity -inf are never linked.
      iterations: of expectation maximisation.
      position_weight: a place d (in shares of the sentences) away weighs exp(-position_weight |d|).
      flat: added to the similarities in the first table.
      pseudo_count: times the similarities, is added to the counts.
      min_posterior: posterior below which a link is dropped.
    """
    cells, words = _cells(source, target, position_weight)
    similarities = similarity(*words)
    nonnegative = np.maximum(similarities, 0).astype(np.float64)
    prior = nonnegative, np.isneginf(similarities), iterations, flat, pseudo_count
    ahead = _posteriors(cells, words[0], cells.target, *prior)
    back = _posteriors(cells, words[1], cells.source, *prior)
    posteriors = np.sqrt(ahead * back)
    posteriors[posteriors < min_posterior] = 0
    return NumberedLinks(*words, np.bincount(cells.pair, posteriors, len(nonnegative)))


def _cells(
    source: Sequence[np.ndarray], target: Sequence[np.ndarray], position_weight: float
) -> tuple[_Cells, tuple[np.ndarray, np.ndarray]]:
    """The cells, and the words of each pair of words."""
    x, place_x, of_x = _join_sentences(source)
    y, place_y, _ = _join_sentences(target)
    lengths = np.array([len(words) for words in target], np.int64)
    begins = np.cumsum(lengths) - lengths
    wide = lengths[of_x]
    # A running word of the source has a cell with each word of its sentence's translation.
    cells = _int32(np.repeat(np.arange(len(x)), wide))
    # From where a translation begins, `target_cells` counts through it for each word of the source.
    target_cells = np.arange(len(cells)) - np.repeat(np.cumsum(wide) - wide - begins[of_x], wide)
    target_cells = _int32(target_cells)
    nearness = np.exp(-position_weight * np.abs(place_x[cells] - place_y[target_cells]))
    # One number for two words, so that `unique` compares numbers.
    span = np.int64(y.max(initial=0) + 1)
    pairs, pair = np.unique(x[cells] * span + y[target_cells], return_inverse=True)
    return _Cells(_int32(pair), nearness, cells, target_cells), (pairs // span, pairs % span)


def _join_sentences(sentences: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The running words, their places in shares of their sentences, and these sentences' numbers."""
    lengths = np.array([len(words) for words in sentences], np.int64)
    words = np.concatenate([np.zeros(0, np.int64), *sentences]).astype(np.int64)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(words)) - (np.cumsum(lengths) - lengths)[owners]
    return words, ((within + 0.5) / lengths[owners]).astype(np.float32), owners


def _int32(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.int32)  # there are millions of cells


def _posteriors(
    cells: _Cells,
    source_words: np.ndarray,
    generated: np.ndarray,
    near: np.ndarray,
    barred: np.ndarray,
    iterations: int,
    flat: float,
    pseudo_count: float,
) -> np.ndarray:
    """The probability that each generated running word comes from each place of the other side: [C].

    Args:
      source_words: the word of each pair that the other is generated from, [K].
      generated: number of the running word that a cell generates, [C].
      near: similarity of each pair of words, [K].
      barred: whether a pair of words is never linked, bool [K].
    """

    def normalise(counts: np.ndarray) -> np.ndarray:
        return counts / np.maximum(np.bincount(source_words, counts)[source_words], _TINY)

    table = normalise(np.where(barred, 0, flat + near))
    for _ in range(iterations):
        # Expectation, then maximisation with the similarities as pseudo-counts.
        counts = np.bincount(cells.pair, _shares(table, cells, generated), len(near))
        table = normalise(counts + pseudo_count * near)
    return _shares(table, cells, generated)


def _shares(table: np.ndarray, cells: _Cells, generated: np.ndarray) -> np.ndarray:
    weights = table[cells.pair]
    weights *= cells.nearness
    weights /= np.maximum(np.bincount(generated, weights), _TINY)[generated]
    return weights
