"""Passes over running words: sentences in random order, without some of the frequent words."""

from __future__ import annotations

from typing import Iterator, NamedTuple

import numpy as np

_CHUNK = 1_000_000  # running words prepared at once
_TINY = 1e-12


class Chunk(NamedTuple):
    """Running words of whole sentences.

    Attributes:
      ids: the words that subsampling keeps, int32 [n].
      sentences: number of each word's sentence, rising, int64 [n].
      running: number of running words, also of those that are left out.
    """

    ids: np.ndarray
    sentences: np.ndarray
    running: int


def kept_shares(shares: np.ndarray, subsample: float) -> np.ndarray:
    """The probability of each word to be kept, by word2vec's rule sqrt(t / f) + t / f.

    Args:
      shares: f, relative frequencies, float [V].
      subsample: t.

    Returns:
      float [V + 1]; the last entry is that of id -1, words without a vector, which all go.
    """
    ratio = subsample / np.maximum(shares, _TINY)
    return np.append(np.minimum(1.0, np.sqrt(ratio) + ratio), 0.0)


def read(
    ids: np.ndarray, spans: np.ndarray, kept: np.ndarray, random: np.random.Generator
) -> Iterator[Chunk]:
    """One pass over a text, in chunks of about a million running words.

    Words go before windows are cut, which then reach farther, as in word2vec.

    Args:
      ids: ids of the running words, int32; -1: a word without a vector.
      spans: start and end of each sentence in `ids`, int64 [sentences, 2].
      kept: see `kept_shares`.
      random: draws the order of the sentences and the words that are kept.
    """
    spans = spans[random.permutation(len(spans))]
    ends = np.cumsum(spans[:, 1] - spans[:, 0])
    bounds = np.searchsorted(ends, np.arange(_CHUNK, ends[-1] + _CHUNK, _CHUNK)) + 1
    for part in np.split(spans, np.minimum(np.unique(bounds), len(spans))):
        lengths = part[:, 1] - part[:, 0]
        if not lengths.sum():
            continue
        starts = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(part[:, 0] - starts, lengths)
        words = ids[places]
        chosen = np.flatnonzero(random.random(len(words)) < kept[words])
        sentences = np.repeat(np.arange(len(part)), lengths)
        yield Chunk(words[chosen], sentences[chosen], len(words))
