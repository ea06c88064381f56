"""A step of supervised joint training (Duong et al. 2016): choice, loss, gradients, AdaGrad.

A step uses NumPy on the rows of its batch, so its cost does not grow with the vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from clwe_jax.embeddings.joint_replace import ReplacementTable

_TINY = 1e-12


class Batch(NamedTuple):
    """Words in their contexts, by id.

    Attributes:
      words: predicted words, int [B].
      contexts: context words of all words, concatenated, int [C].
      splits: start of each word's context and the end of the last one, int [B + 1]; no context is
        empty.
      translations: predicted translations, int [B]; -1: no translation.
      noise: noise words, int [S].
    """

    words: np.ndarray
    contexts: np.ndarray
    splits: np.ndarray
    translations: np.ndarray
    noise: np.ndarray


class Gradients(NamedTuple):
    """The loss of a batch and its gradients for the rows that occur in the batch.

    Attributes:
      loss: sum over the words.
      inputs, outputs: distinct rows of the table, int [rows], and their gradients, float [rows, D].
    """

    loss: float
    inputs: tuple[np.ndarray, np.ndarray]
    outputs: tuple[np.ndarray, np.ndarray]


Context = tuple[np.ndarray, sparse.csr_matrix, np.ndarray]


def means(inputs: np.ndarray, batch: Batch) -> Context:
    """The mean input vector of each context, float [B, D], as `averages @ inputs[rows]`.

    Returns:
      The means, `averages` (sparse [B, rows]) and `rows`.
    """
    rows, place = np.unique(batch.contexts, return_inverse=True)
    sizes = np.diff(batch.splits)
    weights = np.repeat((1 / sizes).astype(inputs.dtype), sizes)
    shape = (len(batch.words), len(rows))
    averages = sparse.csr_matrix((weights, place, batch.splits), shape)
    return averages @ inputs[rows], averages, rows


def gradients(
    inputs: np.ndarray,
    outputs: np.ndarray,
    batch: Batch,
    negatives: float,
    combining: float,
    context: Context,
) -> Gradients:
    """The loss of a batch and its gradients (Duong et al. 2016, Eqs 1, 3 and 4).

    With v the input and u the output vectors, h_i the mean v of word i's context, w_i the word and
    t_i its translation, the loss is the sum over i of

        - log s(u_wi . h_i) - [t_i] log s(u_ti . h_i) - negatives * mean_n log s(-u_n . h_i)
        + combining * (|u_wi - v_wi|^2 + [t_i] |u_ti - v_ti|^2 + negatives * mean_n |u_n - v_n|^2)

    where s is the logistic function and the means are over the noise words; noise words that equal
    w_i or t_i have no weight in the first mean. As in the authors' program, the squared distances
    cover the predicted words and the noise of a step, not the whole vocabulary.

    Args:
      inputs, outputs: v and u, float [V, D].
      negatives: noise words per word.
      combining: weight delta.
      context: `means(inputs, batch)`.
    """
    hidden, averages, context_words = context
    count = len(batch.words)
    translated = np.flatnonzero(batch.translations >= 0)
    # The contexts predict the words and their translations.
    truth = np.concatenate([batch.words, batch.translations[translated]])
    place = np.concatenate([np.arange(count), translated])
    rows, row = np.unique(np.concatenate([truth, batch.noise]), return_inverse=True)
    noise = row[len(truth) :]
    row = row[: len(truth)]
    row_outputs = outputs[rows]
    positive = np.einsum("nd,nd->n", row_outputs[row], hidden[place])
    negative = hidden @ row_outputs[noise].T
    weights = np.full(negative.shape, negatives / len(batch.noise), inputs.dtype)
    weights[batch.words[:, None] == batch.noise] = 0
    weights[batch.translations[:, None] == batch.noise] = 0
    gaps = row_outputs - inputs[rows]
    # How often the distance of each row counts: once as a truth, and in the mean over the noise.
    times = np.bincount(row, minlength=len(rows)).astype(inputs.dtype)
    # A word may be drawn as noise twice: `add.at` adds both, += would add one.
    np.add.at(times, noise, inputs.dtype.type(count * negatives / len(noise)))
    loss = (
        np.logaddexp(0, -positive).sum()
        + (weights * np.logaddexp(0, negative)).sum()
        + combining * (times * (gaps**2).sum(1)).sum()
    )
    # d/dx -log s(x) = s(x) - 1 and d/dx -log s(-x) = s(x)
    wrong = _logistic(positive) - 1
    weights *= _logistic(negative)

    to_truth = sparse.csr_matrix((wrong, (row, place)), (len(rows), count))  # [rows, B]
    for_hidden = to_truth.T @ row_outputs + weights @ row_outputs[noise]
    for_outputs = to_truth @ hidden
    np.add.at(for_outputs, noise, weights.T @ hidden)
    pull = 2 * combining * times[:, None] * gaps
    for_outputs += pull

    input_rows, input_places = np.unique(np.concatenate([context_words, rows]), return_inverse=True)
    for_inputs = np.zeros((len(input_rows), inputs.shape[1]), inputs.dtype)
    for_inputs[input_places[: len(context_words)]] = averages.T @ for_hidden
    for_inputs[input_places[len(context_words) :]] -= pull
    return Gradients(float(loss), (input_rows, for_inputs), (rows, for_outputs))


def _logistic(x: np.ndarray) -> np.ndarray:
    # Without the limits exp overflows; beyond them s is 0 or 1 to 1e-13.
    return 1 / (1 + np.exp(-np.clip(x, -30, 30)))


def choose(
    inputs: np.ndarray, words: np.ndarray, hidden: np.ndarray, dictionary: ReplacementTable
) -> np.ndarray:
    """The translation of each word that fits the word and its context best, int [B].

    The chosen t has the largest cosine of v_t and v_w + h (Duong et al. 2016, Eq. 2); a tie goes to
    the first translation. A word without a translation gets -1.

    Args:
      inputs: v, float [V, D].
      words: word ids, int [B].
      hidden: h, float [B, D].
      dictionary: translations with the same ids.
    """
    first = dictionary.starts[words]
    sizes = np.diff(dictionary.starts)[words]
    translations = np.full(len(words), -1, np.int64)
    single = sizes == 1
    translations[single] = dictionary.targets[first[single]]
    ambiguous = np.flatnonzero(sizes > 1)
    if len(ambiguous):
        sizes = sizes[ambiguous]
        starts = np.cumsum(sizes) - sizes
        offsets = np.arange(sizes.sum()) - np.repeat(starts, sizes)
        candidates = dictionary.targets[np.repeat(first[ambiguous], sizes) + offsets]
        queries = inputs[words[ambiguous]] + hidden[ambiguous]
        vectors = inputs[candidates]
        # Eq. 2, without the length of the query, which all candidates of a word share.
        scores = np.einsum("nd,nd->n", vectors, np.repeat(queries, sizes, axis=0))
        scores /= np.sqrt(np.einsum("nd,nd->n", vectors, vectors)) + _TINY
        best = np.repeat(np.maximum.reduceat(scores, starts), sizes)
        winners = np.flatnonzero(scores == best)
        owner = np.repeat(np.arange(len(ambiguous)), sizes)[winners]
        # The first of the winners, so that a tie goes to the first translation.
        owner, place = np.unique(owner, return_index=True)
        translations[ambiguous[owner]] = candidates[winners[place]]
    return translations


class AdaGrad:
    """AdaGrad that updates only the rows with a gradient.

    Attributes:
      table: parameters, float [V, D].
    """

    def __init__(self, table: np.ndarray):
        self.table = table
        self._squares = np.full(table.shape, _TINY, table.dtype)

    def step(self, rows: np.ndarray, gradient: np.ndarray, rate: float) -> None:
        """Updates distinct rows [R] by their gradient [R, D]."""
        squares = self._squares[rows] + gradient * gradient
        self._squares[rows] = squares
        self.table[rows] -= rate * gradient / np.sqrt(squares)
