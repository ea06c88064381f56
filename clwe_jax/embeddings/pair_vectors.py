"""Vectors of words from translated sentences: what the words of a language say of a sentence's meaning.

A sentence that several languages have gets one vector, and each language a ridge regression onto it
from the words of its own sentence and their n-grams. The sentences' vectors are what all languages can
say of them: the mean of the regressions' answers takes the place of the vectors, a few times, and
between, the vectors' columns are made orthonormal. That is the subspace iteration of a generalised
canonical correlation analysis (Kettenring 1971; Rastogi et al. 2015, Multiview LSA; by kernels, as
Bach and Jordan 2002). The vectors begin as what links and dictionary say. Long words of many parts gain
most, because their n-grams share what is learned.
"""

from __future__ import annotations

import time
from typing import Mapping, NamedTuple

from absl import logging
import numpy as np
from scipy import linalg, sparse

from clwe_jax import atomic
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.embeddings.ngrams import (
    Ngrams,
    Regression,
    factor_kernel,
    regression_arrays,
    regressions_of,
)

DIM = 512  # of the sentences' vectors
_STEPS = 2  # from orthonormal columns on
_ANSWERS = 2  # of a step; directions on which the languages agree weigh more with each
_RIDGE = 1.0  # beside a kernel whose diagonal is 1
_MAX_SENTENCES = 8_000  # that a kernel has: 0.3 GB and seconds, and time grows with the third power
_PIVOTS = 4  # languages that decide what sentences mean, beside the hub; the others follow them


class _View(NamedTuple):
    """What one language says of the sentences.

    Attributes:
      sentences: numbers of those that it has, int [n].
      words: of the language.
      weights: of the words in each of its sentences, float32 [n, words].
      factor: Cholesky's, of the kernel of its sentences and the ridge.
    """

    sentences: np.ndarray
    words: list[str]
    weights: sparse.csr_matrix
    factor: tuple[np.ndarray, bool]


def fit(
    ngrams: Ngrams, text: GivenText, hub: str, start: Mapping[str, np.ndarray]
) -> dict[str, Regression]:
    """The regression of each language onto the vectors of the given sentences.

    Args:
      ngrams: the weights of n-grams.
      text: the sentences; languages that share none with the hub, or with a language that does, are
        left out.
      hub: the language whose sentences are numbered.
      start: word of the hub -> its first vector, float32 [DIM].

    Returns:
      language -> its regression, whose `sums` are the vectors of words, of length 1 in the mean.
    """
    started = time.monotonic()
    numbered = _number_sentences(text, hub)
    if not numbered:
        logging.warning(
            "The given pairs have no sentence in the hub: they teach links, and no vectors of sentences. "
            "Add a file of pairs with %s; without a dictionary, --config.static.hub=xx chooses another hub",
            hub,
        )
        return {}
    count = 1 + max(int(numbers.max()) for _, numbers in numbered.values())
    pivots = sorted(numbered, key=lambda x: (x != hub, -len(numbered[x][0])))[: _PIVOTS + 1]
    views = {x: _view(text, x, ngrams, *numbered[x]) for x in pivots}
    targets = _agree(views, _start(views[hub], start, count))
    for _ in range(_STEPS):
        targets = np.linalg.qr(targets - targets.mean(0))[0]
        for _ in range(_ANSWERS):
            targets = _agree(views, targets)
    fitted = {}
    for language, sentences in numbered.items():
        # One factor at a time, apart from those of the pivots: all would fill the memory.
        view = views.pop(language, None) or _view(text, language, ngrams, *sentences)
        fitted[language] = _regression(ngrams, view, targets)
    logging.info(
        "Given pairs: vectors of %s words in %d languages, %.0f s",
        f"{sum(len(x.words) for x in fitted.values()):,}",
        len(fitted),
        time.monotonic() - started,
    )
    return fitted


def save(fitted: Mapping[str, Regression], path: str) -> None:
    """Writes an .npz file that `load` reads, in half precision."""
    arrays: dict[str, np.ndarray] = {}
    for language, regression in fitted.items():
        arrays |= regression_arrays("", language, regression)
    with atomic.writing(path) as file:
        np.savez(file, **arrays)


def load(path: str) -> dict[str, Regression]:
    """Reads a file that `save` wrote.

    Raises:
      FileNotFoundError: the file does not exist.
      ValueError: the file is damaged.
    """
    with atomic.naming_damage(path), np.load(path, allow_pickle=False) as file:
        return regressions_of("", dict(file))


def _number_sentences(text: GivenText, hub: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Language -> the rows of its sentences and the numbers of what they mean.

    The hub's sentences are numbered; a sentence of another language has the number of the one that it
    translates, in the hub or in a language that has numbers already.
    """
    pairs = text.parallel.pairs
    rows = len(text.parallel.sentences.get(hub, ()))
    number_of = {hub: np.arange(rows)}
    grew = True
    while grew:
        grew = False
        for a, b in [*pairs, *(pair[::-1] for pair in pairs)]:
            if a in number_of and b not in number_of:
                linked_rows = pairs[a, b] if (a, b) in pairs else pairs[b, a][:, ::-1]
                number_of[b] = np.full(len(text.parallel.sentences[b]), -1)
                number_of[b][linked_rows[:, 1]] = number_of[a][linked_rows[:, 0]]
                grew = True
    shared = np.bincount(
        np.concatenate([np.unique(x[x >= 0]) for x in number_of.values()]), minlength=rows
    )
    shared_numbers = np.flatnonzero(shared > 1)
    shared_numbers = shared_numbers[:: max(1, -(-len(shared_numbers) // _MAX_SENTENCES))]
    new_number = np.full(rows, -1)
    new_number[shared_numbers] = np.arange(len(shared_numbers))
    result = {}
    for language, meanings in number_of.items():
        numbers = np.where(meanings >= 0, new_number[meanings], -1)
        # Of the sentences with one meaning the first one counts.
        distinct, first = np.unique(numbers, return_index=True)
        result[language] = first[distinct >= 0], distinct[distinct >= 0]
    return {language: rows for language, rows in result.items() if len(rows[0])}


def _view(
    text: GivenText, language: str, ngrams: Ngrams, rows: np.ndarray, numbers: np.ndarray
) -> _View:
    index = {word: number for number, word in enumerate(text.corpus.words)}
    of_rows = text.word_rows(language, index)
    sentences = [of_rows[row] for row in rows.tolist()]
    word_numbers, columns = np.unique(np.concatenate(sentences), return_inverse=True)
    words = [text.corpus.words[number] for number in word_numbers.tolist()]
    splits = np.concatenate([[0], np.cumsum([len(words_of_row) for words_of_row in sentences])])
    counts = sparse.csr_matrix(
        (np.ones(len(columns), np.float32), columns, splits), (len(sentences), len(words))
    )
    counts.sum_duplicates()
    # Weighted as `StaticEncoder.sentences` weighs them.
    sentence_counts = np.bincount(counts.indices, minlength=len(words))
    idf = np.log(len(sentences) / np.maximum(sentence_counts, 1)).astype(np.float32)
    weights = (counts @ sparse.diags(idf)).tocsr()
    features = (weights @ ngrams.features(words)).tocsr()
    squares = [np.asarray(x.multiply(x).sum(1)).ravel() for x in (weights, features)]
    scale = sparse.diags((1 / np.sqrt(np.maximum(sum(squares), 1e-9))).astype(np.float32))
    weights = (scale @ weights).tocsr()
    features_of_rows = sparse.hstack([weights, scale @ features], "csr")
    return _View(numbers, words, weights, factor_kernel(features_of_rows, _RIDGE))


def _start(hub: _View, start: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """The first vectors of the sentences, float32 [count, DIM]: the weighted sums of the hub's words."""
    no_vector = np.zeros(DIM, np.float32)
    rows = np.stack([start.get(word, no_vector) for word in hub.words])
    targets = np.zeros((count, DIM), np.float32)
    targets[hub.sentences] = unit(hub.weights @ rows)
    return targets


def _agree(views: Mapping[str, _View], targets: np.ndarray) -> np.ndarray:
    """The mean of what the languages answer for each sentence, float32 [sentences, DIM]."""
    sums = np.zeros_like(targets)
    counts = np.zeros(len(targets), np.float32)
    for view in views.values():
        rows = view.sentences
        centered = targets[rows] - targets[rows].mean(0)
        # Kernel @ duals, since (kernel + ridge) @ duals are the targets.
        sums[rows] += centered - np.float32(_RIDGE) * linalg.cho_solve(
            view.factor, centered, check_finite=False
        )
        counts[rows] += 1
    return sums / np.maximum(counts, 1)[:, None]


def _regression(ngrams: Ngrams, view: _View, targets: np.ndarray) -> Regression:
    of_language = targets[view.sentences]
    duals = linalg.cho_solve(view.factor, of_language - of_language.mean(0), check_finite=False)
    fitted = Regression(view.words, np.asarray(view.weights.T @ duals, np.float32))
    lengths = np.linalg.norm(fitted.sums(ngrams, view.words), axis=1)
    factors = fitted.factors / np.float32(max(lengths.mean(), 1e-9))
    return Regression(view.words, factors.astype(np.float16))  # as a run that resumes reads them
