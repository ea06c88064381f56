"""Training of static vectors: fastText's skip-gram, with progress in the log."""

from __future__ import annotations

import time

from absl import logging
import numpy as np

from clwe_jax.embeddings import skipgram
from clwe_jax.embeddings.corpus import CorpusSentences
from clwe_jax.embeddings.subwords import GramTable, Subwords
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.embeddings import FastTextOptions

_EVERY = 10.0  # seconds between two log lines


class Meter:
    """Logs the progress of a training every ten seconds and at the end."""

    def __init__(self, words: int):
        """Args:
        words: number of running words of all epochs.
        """
        self._words = max(1, words)
        self._done = 0
        self._started = self._logged = time.monotonic()

    def advance(self, words: int) -> None:
        """Counts more running words as trained."""
        self._done += words
        if time.monotonic() - self._logged >= _EVERY:
            self._log()

    def finish(self) -> None:
        """Counts all running words as trained."""
        self._done = self._words
        self._log()

    def _log(self) -> None:
        self._logged = time.monotonic()
        rate = self._done / max(1e-9, self._logged - self._started)
        left = max(0, self._words - self._done) / max(1e-9, rate)
        logging.info(
            "Trained %.0f%%, %s words/s, %d:%02d left",
            100 * min(1.0, self._done / self._words),
            f"{rate:,.0f}",
            *divmod(round(left), 60),
        )


def fasttext(
    sentences: CorpusSentences, settings: FastTextOptions = FastTextOptions(), seed: int = 0
) -> Vectors:
    """The words' vectors of `fasttext_with_subwords`."""
    return fasttext_with_subwords(sentences, settings, seed)[0]


def fasttext_with_subwords(
    sentences: CorpusSentences, settings: FastTextOptions = FastTextOptions(), seed: int = 0
) -> tuple[Vectors, Subwords]:
    """Trains fastText's skip-gram; a word's vector is the mean of its own and its n-grams' vectors.

    Args:
      sentences: text; every pass takes its sentences in another order.
      settings: hyperparameters; `epochs` of 0 is by the size of the text, as if of one language.
      seed: seed of initialisation, order, subsampling, windows and negatives.

    Returns:
      Words that occur at least `min_count` times, most frequent first, with their counts; the
      vectors of the n-grams.

    Raises:
      ValueError: no word occurs `min_count` times.
    """
    settings = settings.over(sentences.size)
    counted = np.bincount(sentences.ids, minlength=len(sentences.words))
    order = np.argsort(-counted, kind="stable")
    order = order[counted[order] >= settings.min_count]
    if not len(order):
        raise ValueError(
            f"No word occurs min_count={settings.min_count} times in {sentences.size:,} running "
            "words: lower config.embeddings.min_count or train on more text"
        )
    number = np.full(len(sentences.words), -1, np.int32)
    number[order] = np.arange(len(order))
    words = [sentences.words[row] for row in order.tolist()]
    logging.info(
        "Training vectors of %d dimensions for %s words on %s running words, %d epochs",
        settings.dim,
        f"{len(words):,}",
        f"{sentences.size:,}",
        settings.epochs,
    )
    random = np.random.default_rng(seed)
    grams = GramTable.of(words, settings.min_n, settings.max_n)
    model = skipgram.SkipGram.start(grams, settings.dim, random)
    meter = Meter(sentences.size * settings.epochs)
    counts = counted[order]
    text = number[sentences.ids]
    skipgram.train(model, counts, text, sentences.spans, settings, random, meter.advance)
    meter.finish()
    vectors = Vectors(words, grams.vectors(model.inputs), counts)
    return vectors, grams.subwords(model.inputs, settings.min_n, settings.max_n)
