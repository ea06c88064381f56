"""Training of static vectors: fastText's skip-gram by gensim, with progress in the log."""

from __future__ import annotations

import dataclasses
import time
from typing import Iterator

from absl import logging
import numpy as np

from clwe_jax.embeddings.corpus import CorpusSentences
from clwe_jax.embeddings.subwords import Subwords
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.options.embeddings import FastTextOptions

_EVERY = 10.0  # seconds between two log lines
_CHECKED = 2_000  # words between two readings of the clock
_JOBS = 200  # least number of batches per epoch: the learning rate falls in as many steps


class Meter:
    """Logs the progress of a training every ten seconds and at the end."""

    def __init__(self, words: int):
        """`words`: number of running words of all epochs."""
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
        seconds_left = max(0, self._words - self._done) / max(1e-9, rate)
        logging.info(
            "Trained %.0f%%, %s words/s, %d:%02d left",
            100 * min(1.0, self._done / self._words),
            f"{rate:,.0f}",
            *divmod(round(seconds_left), 60),
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

    Subsampling, noise distribution and the fall of the learning rate are set to fastText's defaults
    where gensim's differ.

    Args:
      sentences: text in the order of training, the same in every epoch.
      settings: hyperparameters; `epochs` of 0 is by the size of the text, as if of one language.
      seed: seed of initialisation, windows and negatives.

    Returns:
      Words that occur at least `min_count` times, most frequent first, with their counts; the
      vectors of the n-grams.

    Raises:
      ValueError: no word occurs `min_count` times.
    """
    from gensim.models.fasttext import FastText as Model

    settings = settings.over(sentences.size)
    batch = min(10_000, max(100, sentences.size // (_JOBS * settings.workers)))
    # fastText draws noise by the root of the frequency; gensim's default is the power .75.
    model = Model(
        vector_size=settings.dim,
        epochs=settings.epochs,
        min_count=settings.min_count,
        window=settings.window,
        negative=settings.negatives,
        alpha=settings.learning_rate,
        min_alpha=0.0,
        min_n=settings.min_n,
        max_n=settings.max_n,
        bucket=settings.buckets,
        sample=settings.subsample,
        ns_exponent=0.5,
        sg=1,
        seed=seed + 1,
        workers=settings.workers,
        batch_words=batch,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise ValueError(
            f"No word occurs min_count={settings.min_count} times in {sentences.size:,} running "
            "words: lower config.embeddings.min_count or train on more text"
        )
    logging.info(
        "Training vectors of %d dimensions for %s words on %s running words, %d epochs",
        settings.dim,
        f"{len(model.wv):,}",
        f"{sentences.size:,}",
        settings.epochs,
    )
    meter = Meter(sentences.size * settings.epochs)
    model.train(
        _Metered(sentences, meter),
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=settings.epochs,
    )
    meter.finish()
    words = list(model.wv.index_to_key)
    counts = np.array([model.wv.get_vecattr(word, "count") for word in words], np.int64)
    vectors = Vectors(words, np.array(model.wv.vectors, np.float32), counts)
    return vectors, Subwords(model.wv.vectors_ngrams, settings.min_n, settings.max_n)


@dataclasses.dataclass(frozen=True)
class _Metered:
    """Sentences that advance a meter while they are read."""

    sentences: CorpusSentences
    meter: Meter

    def __iter__(self) -> Iterator[list[str]]:
        words = 0
        for sentence in self.sentences:
            words += len(sentence)
            if words >= _CHECKED:
                self.meter.advance(words)
                words = 0
            yield sentence
        self.meter.advance(words)
