"""fastText's skip-gram with negative sampling (Bojanowski et al. 2017) in matrix products.

The running words of a batch are cut into blocks of neighbours. The vectors of a block's words, from their
n-grams, are multiplied with the output vectors of all words in its windows and of noise words of its own; a
mask leaves the pairs that are in a window. So three stacked products have the scores and both gradients
of all pairs, where fastText takes a vector at a time. What differs from fastText: the noise words of a block are shared
by its pairs, with a weight that makes their expectation the same, and n-grams are updated once a batch.

    vectors, subwords = skipgram.train(words, counts, ids, spans, FastTextOptions(), seed=0)
"""

from __future__ import annotations

from concurrent import futures
import dataclasses
import functools
from typing import Callable, NamedTuple

import numpy as np
from scipy import sparse

# Adds products to an array in place. The public classes make a new array of the table's size each time.
from scipy.sparse import _sparsetools

from clwe_jax.embeddings import passes
from clwe_jax.embeddings.subwords import GramTable
from clwe_jax.options.embeddings import FastTextOptions

_BLOCK = 32  # running words of a block
_NOISE = 32  # noise words of a block
_BLOCKS = 32  # blocks of a share at most, whose n-grams are read and written once
_SHARES = 2  # of a batch, computed from the same tables: two threads make the same bytes as one
_UPDATED = 8  # blocks at most after which a share's own copy of its vectors changes
# Sums of gradients are one step, and a step that is too long diverges. So the expected number of running words that
# move a running word's vectors at once is bounded: by more updates, and where a block is too much, by shorter steps.
_SAME = 0.5  # of the same word, between two updates of a share's copy
_LIKE = 8.0  # of a word with the same n-grams, in a batch; words with some of them count in part
_BATCHES = 200  # batches of a pass at least, but for the smallest texts: the learning rate falls in as many steps
_DRAWS = 1 << 20  # entries of the table that noise words are drawn from


class _Blocks(NamedTuple):
    """Blocks of running words with their windows.

    Attributes:
      words: int32 [blocks, 32].
      others: words in all windows of a block, and its noise words, int32 [blocks, C + K].
      weights: of each pair, times the learning rate, float32 [blocks, 32, C + K]; 0: no pair.
    """

    words: np.ndarray
    others: np.ndarray
    weights: np.ndarray


class _Change(NamedTuple):
    """What a share of a batch changes.

    Attributes:
      words: distinct words, with their rows of the n-grams' sums, float32 [words, R].
      moved: gradients of their vectors, float32 [words, D].
      others: distinct output words, int64 [others].
      others_moved: what is added to their vectors, float32 [others, D].
    """

    words: sparse.csr_matrix
    moved: np.ndarray
    others: np.ndarray
    others_moved: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class SkipGram:
    """The tables of a training.

    Attributes:
      grams: the words' n-grams.
      inputs: of words and n-grams, float32 [R, D].
      outputs: of words, float32 [V, D].
    """

    grams: GramTable
    inputs: np.ndarray
    outputs: np.ndarray

    @classmethod
    def start(cls, grams: GramTable, dim: int, random: np.random.Generator) -> SkipGram:
        """fastText's start: uniform inputs, and outputs of 0."""
        inputs = random.random((len(grams.sizes), dim), np.float32)
        inputs -= np.float32(0.5)
        inputs *= np.float32(2 / dim)
        return cls(grams, inputs, np.zeros((len(grams.counts), dim), np.float32))

    def likeness(self, shares: np.ndarray) -> np.ndarray:
        """How far a gradient of a word moves each word, on average, beside how far it moves itself.

        Args:
          shares: relative frequencies, float [V].
        """
        return self._scale(self.grams.sums @ (self.grams.sums.T @ shares), slice(None))

    def _scale(self, rows: np.ndarray, words: np.ndarray | slice) -> np.ndarray:
        """Sums of n-grams as means."""
        # As in fastText the word itself, which is in the sum, does not count.
        counts = np.maximum(1, self.grams.counts[words])
        return (rows.T / counts).T

    # The exponential of a very wrong score is infinite, and its inverse 0.
    @np.errstate(over="ignore", invalid="ignore")
    def change(self, blocks: _Blocks, updated: int) -> _Change:
        """The gradients of some blocks; nothing is changed yet.

        Args:
          updated: blocks whose gradients are summed before they count for the next ones.
        """
        words, word = _number(blocks.words, len(self.outputs))
        others, other = _number(blocks.others, len(self.outputs))
        sums = self.grams.sums[words]
        hidden = self._scale(sums @ self.inputs, words)
        predicted = np.take(self.outputs, others, 0)
        hidden_before = hidden.copy()
        predicted_before = predicted.copy()
        noise = blocks.others.shape[1] - _NOISE
        for first in range(0, len(word), updated):
            some = slice(first, first + updated)
            near = np.take(hidden, word[some], 0)
            far = np.take(predicted, other[some], 0)
            # The gradient of log s(x) is s(-x), that of log s(-x) is -s(x).
            scores = np.matmul(near, far.transpose(0, 2, 1))
            np.negative(scores[:, :, noise:], out=scores[:, :, noise:])
            np.exp(scores, out=scores)
            scores += 1
            np.divide(blocks.weights[some], scores, out=scores)
            np.negative(scores[:, :, noise:], out=scores[:, :, noise:])
            add_rows(hidden, word[some], np.matmul(scores, far))
            add_rows(predicted, other[some], np.matmul(scores.transpose(0, 2, 1), near))
        hidden -= hidden_before
        predicted -= predicted_before
        return _Change(sums, hidden, others, predicted)

    def add(self, change: _Change) -> None:
        """Makes a change."""
        words, moved, others, others_moved = change
        columns, rows = words.shape
        add = _sparsetools.csc_matvecs
        # The transpose of rows is columns, of the same arrays.
        start, index, value = words.indptr, words.indices, words.data
        dim = moved.shape[1]
        add(rows, columns, dim, start, index, value, moved.ravel(), self.inputs.ravel())
        add_rows(self.outputs, others, others_moved)


def add_rows(table: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Adds rows to those of a table in place; a row that is named twice gets both.

    Args:
      table: float32 [N, D], C-contiguous.
      rows: numbers of rows, int of any shape.
      values: float32 [..., D], of the shape of `rows`.
    """
    count = rows.size
    _sparsetools.csc_matvecs(
        len(table),
        count,
        table.shape[1],
        np.arange(count + 1, dtype=np.int32),
        rows.ravel().astype(np.int32, copy=False),
        np.ones(count, np.float32),
        values.ravel(),
        table.ravel(),
    )


def _number(ids: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct ids, rising, and the place of each among them; `np.unique` would sort."""
    used = np.zeros(size, bool)
    used[ids] = True
    distinct = np.flatnonzero(used)
    places = np.empty(size, np.int32)
    places[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, places[ids]


def train(
    model: SkipGram,
    counts: np.ndarray,
    ids: np.ndarray,
    spans: np.ndarray,
    settings: FastTextOptions,
    random: np.random.Generator,
    advance: Callable[[int], None],
) -> None:
    """Trains a model on a text.

    Args:
      model: its start, which is changed.
      counts: occurrences of the words, int64 [V].
      ids, spans: see `passes.read`.
      settings: hyperparameters.
      random: draws order, subsampling, widths of windows and noise.
      advance: called with the number of running words that were trained.

    Raises:
      ValueError: the vectors became infinite.
    """
    kept = passes.kept_shares(counts / max(1, counts.sum()), settings.subsample)
    left = kept[:-1] * counts
    noise = np.sqrt(counts)
    shares = left / left.sum()
    same = _BLOCK * shares @ np.maximum(shares, noise / noise.sum())
    like = _BLOCK * _SHARES * shares @ model.likeness(shares)
    blocks = min(left.sum() / (_BLOCK * _SHARES * _BATCHES), _LIKE / like)
    blocks = int(np.clip(blocks, 1, _BLOCKS))
    updated = int(np.clip(_SAME / same, 1, _UPDATED))
    highest = settings.learning_rate * min(1.0, _SAME / same, _LIKE / like)
    noise = np.cumsum(noise)
    places = (np.arange(_DRAWS) + 0.5) * (noise[-1] / _DRAWS)
    drawn = np.searchsorted(noise, places).astype(np.int32)
    change = functools.partial(model.change, updated=updated)
    total = max(1, settings.epochs * len(ids))
    done = 0
    with futures.ThreadPoolExecutor(settings.workers) as pool:
        each = pool.map if settings.workers > 1 else map
        for _ in range(settings.epochs):
            for chunk in passes.read(ids, spans, kept, random):
                windows = _Windows.of(chunk, blocks, settings, random)
                firsts = range(0, len(chunk.ids), blocks * _BLOCK)
                steps = max(1, -(-len(firsts) // _SHARES))
                parts = np.diff(np.linspace(0, chunk.running, steps + 1).astype(np.int64))
                for step, running in enumerate(parts.tolist()):
                    rate = highest * (1 - done / total)
                    batch = [
                        windows.cut(
                            first, rate, drawn[random.integers(0, _DRAWS, (blocks, _NOISE))]
                        )
                        for first in firsts[step * _SHARES : (step + 1) * _SHARES]
                    ]
                    # All are computed before the first is made.
                    for made in list(each(change, batch)):
                        model.add(made)
                    done += running
                    advance(running)
    if not np.isfinite(model.inputs).all():
        raise ValueError(
            f"The vectors became infinite: lower config.embeddings.learning_rate={settings.learning_rate}"
        )


class _Windows(NamedTuple):
    """A chunk's words with what lies between the blocks.

    Attributes:
      words: the chunk's words, with zeros before and behind, int32.
      sentences: of the words, -1 before and behind, int64.
      widths: of the words' windows, 0 behind the last word, int8.
      apart: distance of a block's words and those of its windows, int8 [32, C].
      places: of the first share's windows, int64 [blocks, C].
      negatives: noise words a pair.
    """

    words: np.ndarray
    sentences: np.ndarray
    widths: np.ndarray
    apart: np.ndarray
    places: np.ndarray
    negatives: int

    @classmethod
    def of(
        cls,
        chunk: passes.Chunk,
        blocks: int,
        settings: FastTextOptions,
        random: np.random.Generator,
    ) -> _Windows:
        """Args as of `train`; `blocks` is the number of blocks of a share."""
        reach = settings.window
        count = len(chunk.ids)
        around = (reach, reach + -count % (blocks * _BLOCK))
        widths = random.integers(1, reach + 1, count)
        apart = np.abs(np.arange(_BLOCK)[:, None] - np.arange(-reach, _BLOCK + reach))
        apart[apart == 0] = reach + 1  # a word is no neighbour of itself
        return cls(
            np.pad(chunk.ids, around),
            np.pad(chunk.sentences, around, constant_values=-1),
            np.pad(widths, around).astype(np.int8),
            apart.astype(np.int8),
            np.arange(blocks)[:, None] * _BLOCK + np.arange(_BLOCK + 2 * reach),
            settings.negatives,
        )

    def cut(self, first: int, rate: float, noise: np.ndarray) -> _Blocks:
        """The blocks of a share, whose first word has the number `first` in the chunk.

        Args:
          rate: learning rate.
          noise: noise words, int32 [blocks, K].
        """
        there = self.places + first
        count = there.shape[1]
        reach = (count - _BLOCK) // 2
        here = there[:, reach:-reach]
        near = self.apart <= self.widths[here][:, :, None]
        near &= self.sentences[here][:, :, None] == self.sentences[there][:, None]
        weights = np.empty((len(there), _BLOCK, count + _NOISE), np.float32)
        np.multiply(near, np.float32(rate), out=weights[:, :, :count])
        pairs = near.sum(2, keepdims=True)
        weights[:, :, count:] = pairs * np.float32(rate * self.negatives / _NOISE)
        return _Blocks(self.words[here], np.concatenate([self.words[there], noise], 1), weights)
