"""Start vectors of a model's tokens, from vectors of words of several languages in one space.

A token is a piece of words, or a word. Tokens that no word contains have no start.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import sparse

from clwe_jax.options.training import START_METHODS

# of WECHSEL
_NEIGHBOURS = 10
_TEMPERATURE = 0.1
_MAX_ANCHORS = 20_000
_ROWS = 1_024  # tokens that are compared with all anchors at once


@dataclasses.dataclass(frozen=True, eq=False)
class CutWords:
    """Words with their vectors and the tokens that they are cut into.

    Attributes:
      vectors: float32 [N, D], of all languages in one space.
      weights: frequency of each word, float64 [N].
      tokens: token ids of all words, one word after the other, int [M].
      splits: place of each word's first token in `tokens`, and M at the end, int [N + 1].
      languages: number of each word's language, int [N].
      hub: number of the language that the others are compared with.
    """

    vectors: np.ndarray
    weights: np.ndarray
    tokens: np.ndarray
    splits: np.ndarray
    languages: np.ndarray
    hub: int = 0


def unit_vectors(vectors: np.ndarray, mean: np.ndarray | None) -> np.ndarray:
    """Vectors of one language with unit length, float32 [N, D].

    Args:
      vectors: float32 [N, D].
      mean: the language's mean vector, which is subtracted first, [D]; None: nothing is.
    """
    vectors = np.asarray(vectors, np.float32)
    return _unit(vectors if mean is None else vectors - mean)


def language_shares(words: CutWords, size: int) -> np.ndarray:
    """The languages' shares of each token's occurrences, float64 [V, languages]; zeros for none."""
    owners = np.repeat(np.arange(len(words.weights)), np.diff(words.splits))
    weights = np.zeros((size, int(words.languages.max()) + 1))
    np.add.at(weights, (words.tokens, words.languages[owners]), words.weights[owners])
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-30)


def token_vectors(
    method: str,
    words: CutWords,
    size: int,
    width: int,
    seed: int = 0,
    subwords: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The start vectors of all tokens.

    Args:
      method: 'mean' (`mean_of_words`), 'wechsel' (`by_hub_words`), 'focus' (`by_whole_words`) or
        'subword' (fastText's own vector of a token, from its character n-grams; tokens without one
        have the mean).
      words: the words of all languages.
      size: V, number of tokens.
      width: W, the model's width.
      seed: seed of the rotation into the width.
      subwords: float32 [V, D], the tokens' own vectors, zeros for none; needed by 'subword'.

    Returns:
      float32 [V, W], rows of unit length, zeros where a token has no start; bool [V], whether a
      token has a start.

    Raises:
      ValueError: an unknown method, or 'subword' without subword vectors.
    """
    if method not in START_METHODS:
        raise ValueError(f"config.init.method={method!r}: one of {', '.join(START_METHODS)}")
    values, has_start, is_word = mean_of_words(words, size)
    if method == "wechsel":
        values = by_hub_words(values, has_start, words)
    elif method == "focus":
        values = by_whole_words(values, has_start, is_word)
    elif method == "subword":
        if subwords is None:
            raise ValueError("config.init.method='subword' needs vectors with character n-grams")
        has_subwords = np.abs(subwords).max(1) > 0
        values = np.where(has_subwords[:, None], _unit(subwords), values)
        has_start = has_start | has_subwords
    values = into_width(values, has_start, width, seed)
    return values, has_start


def mean_of_words(words: CutWords, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean vector of the words that contain a token, weighted by frequency and occurrences.

    A token that is a word by itself has the mean of these words only (of several languages).
    WECHSEL does the same for word vectors without subword vectors.

    Args:
      words: the words of all languages.
      size: V, number of tokens.

    Returns:
      float32 [V, D], zeros for tokens that no word contains; bool [V], whether a word contains the
      token; bool [V], whether the token is a word.
    """
    lengths = np.diff(words.splits)
    owners = np.repeat(np.arange(len(lengths)), lengths)

    def average_tokens(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = (words.tokens[kept], owners[kept])
        # csr_matrix adds what has one place: a token counts as often as a word contains it.
        shares = sparse.csr_matrix(
            (words.weights[owners[kept]], places), (size, len(lengths)), np.float64
        )
        total = np.asarray(shares.sum(1)).ravel()
        return shares @ words.vectors / np.maximum(total, 1e-30)[:, None], total > 0

    is_whole = lengths[owners] == 1
    of_word, is_word = average_tokens(is_whole)
    inside, is_in_words = average_tokens(~is_whole)
    values = np.where(is_word[:, None], of_word, inside)
    return values.astype(np.float32), is_in_words | is_word, is_word


def by_hub_words(values: np.ndarray, has_start: np.ndarray, words: CutWords) -> np.ndarray:
    """Tokens as mixtures of the hub's words most like them (WECHSEL, Minixhofer et al. 2022).

    The weights are the softmax of cosine / 0.1 over the 10 nearest. The paper mixes the source
    model's tokens; here the source language's words take their place.

    Args:
      values: means of the tokens' words, float32 [V, D].
      has_start: bool [V]; other rows are left as they are.
      words: of which the most frequent words of the hub are the anchors.

    Returns:
      float32 [V, D].
    """
    anchors = np.flatnonzero(words.languages == words.hub)
    order = np.argsort(-words.weights[anchors], kind="stable")[:_MAX_ANCHORS]
    anchors = words.vectors[anchors[order]]
    count = min(_NEIGHBOURS, len(anchors))

    def shares(cosines: np.ndarray) -> np.ndarray:
        nearest = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        scores = np.take_along_axis(cosines, nearest, axis=1) / _TEMPERATURE
        scores = np.exp(scores - scores.max(1, keepdims=True))
        weights = np.zeros_like(cosines)
        np.put_along_axis(weights, nearest, scores / scores.sum(1, keepdims=True), axis=1)
        return weights

    return _mix_anchors(values, has_start, anchors, shares)


def by_whole_words(values: np.ndarray, has_start: np.ndarray, is_word: np.ndarray) -> np.ndarray:
    """Tokens that are no word as mixtures of tokens that are one (FOCUS, Dobler & de Melo 2023).

    The weights are the sparsemax (Martins & Astudillo 2016) of the cosines. The paper's anchors
    are the tokens that both vocabularies have; here they are the tokens that are words.

    Args:
      values: means of the tokens' words, float32 [V, D].
      has_start: bool [V]; other rows are left as they are.
      is_word: bool [V], whether a token is a word.

    Returns:
      float32 [V, D].
    """
    return _mix_anchors(values, has_start & ~is_word, values[is_word], sparsemax)


def _mix_anchors(values: np.ndarray, chosen: np.ndarray, anchors: np.ndarray, shares) -> np.ndarray:
    """The values with mixtures of the anchors, by `shares(cosines)`, in the chosen rows."""
    values = values.copy()
    rows = np.flatnonzero(chosen)
    units = _unit(anchors)
    for first in range(0, len(rows) if len(anchors) else 0, _ROWS):
        block = rows[first : first + _ROWS]
        values[block] = shares(_unit(values[block]) @ units.T) @ anchors
    return values


def sparsemax(scores: np.ndarray) -> np.ndarray:
    """The Euclidean projection of each row onto the probability simplex, float [N, K].

    Michelot's algorithm (1986): the threshold rises until no score of the support is below it.
    """
    scores = np.asarray(scores)
    support = np.ones(scores.shape, bool)
    while True:
        count = support.sum(1, keepdims=True)
        threshold = ((scores * support).sum(1, keepdims=True) - 1) / count
        fewer = support & (scores > threshold)
        if (fewer == support).all():
            return np.maximum(scores - threshold, 0)
        support = fewer


def into_width(values: np.ndarray, has_start: np.ndarray, width: int, seed: int) -> np.ndarray:
    """The vectors in the model's width, with unit length, float32 [V, width].

    More dimensions than the width are reduced to its principal components. A random rotation then
    spreads the variance evenly over all dimensions, as an initialiser does.

    Args:
      values: float32 [V, D].
      has_start: bool [V]; the other rows are 0.
      width: the model's width.
      seed: seed of the rotation.
    """
    if values.shape[1] > width:
        start_vectors = values[has_start].astype(np.float64)
        _, vectors = np.linalg.eigh(start_vectors.T @ start_vectors)
        # `eigh` has the principal directions last.
        values = values @ vectors[:, ::-1][:, :width].astype(np.float32)
    draws = np.random.default_rng(seed).standard_normal((width, values.shape[1]))
    # [D, width]; its orthonormal rows leave the cosines as they are.
    rotation = np.linalg.qr(draws)[0].T.astype(np.float32)
    return np.where(has_start[:, None], _unit(values @ rotation), np.float32(0))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
