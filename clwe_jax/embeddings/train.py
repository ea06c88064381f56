"""Training of static vectors: fastText's skip-gram, by gensim, with progress."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from typing import Callable, Iterator, NamedTuple

from absl import logging
import numpy as np

from clwe_jax.embeddings.corpus import Sentences
from clwe_jax.embeddings.vectors import Vectors, publish

_EVERY = 10.0  # seconds between two lines of the log
_LOOKED = 2_000  # words between two looks at the clock
_JOBS = 200  # parts of an epoch at least: the learning rate falls in so many steps


class Progress(NamedTuple):
    """How far a training is.

    Attributes:
      done: share of the running words of all epochs, in [0, 1].
      words_per_second: running words; the mean since the start.
      seconds_left: at that rate.
    """

    done: float
    words_per_second: float
    seconds_left: float


Report = Callable[[Progress], None]


def log(progress: Progress) -> None:
    """Writes progress to the log."""
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    logging.info(
        "Trained %.0f%%, %s words/s, %d:%02d left", 100 * progress.done,
        f"{progress.words_per_second:,.0f}", minutes, seconds,
    )  # fmt: skip


class Meter:
    """Tells how far a training is, every ten seconds and at the end."""

    def __init__(self, words: int, report: Report | None):
        """Args:
        words: running words of all epochs together.
        report: what is told; None: the log.
        """
        self._words, self._report = max(1, words), report or log
        self._started = self._told = time.monotonic()
        self._done = 0

    def advance(self, words: int) -> None:
        """So many more running words are trained on."""
        self._done += words
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            self._tell(now)

    def finish(self) -> None:
        """Tells the end."""
        self._done = self._words
        self._tell(time.monotonic())

    def _tell(self, now: float) -> None:
        rate = self._done / max(1e-9, now - self._started)
        left = max(0, self._words - self._done) / max(1e-9, rate)
        self._report(Progress(min(1.0, self._done / self._words), rate, left))


@dataclasses.dataclass(frozen=True)
class FastText:
    """Hyperparameters of fastText's skip-gram (joint-align, 4.1: fastText's defaults).

    Attributes:
      dim: numbers of a vector.
      epochs: passes over the text.
      min_count: rarer words get no vector.
      window: words to each side at most; the width is drawn for every word.
      negatives: noise words for each pair, drawn by the square root of their frequency.
      learning_rate: at the start; it falls to 0.
      min_n, max_n: lengths of the character n-grams; max_n=0 for none.
      buckets: that n-grams are hashed to.
      subsample: words above this relative frequency are left out at random.
      workers: threads. With one, the same seed gives the same bits; more are faster, not the same.
    """

    dim: int = 300
    epochs: int = 5
    min_count: int = 5
    window: int = 5
    negatives: int = 5
    learning_rate: float = 0.05
    min_n: int = 3
    max_n: int = 6
    buckets: int = 2_000_000
    subsample: float = 1e-4
    workers: int = 1

    def __post_init__(self) -> None:
        for name in ("dim", "epochs", "min_count", "window", "negatives", "buckets", "workers"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")


def fasttext(
    sentences: Sentences,
    settings: FastText = FastText(),
    seed: int = 0,
    progress: Report | None = None,
    *,
    model_path: str | None = None,
) -> Vectors:
    """Trains fastText's skip-gram: a vector a word, the mean of its own and its n-grams'.

    What gensim does otherwise than fastText by default is set as fastText has it: subsampling,
    noise distribution, learning rate down to 0.

    Args:
      sentences: in the order to train in, the same one every epoch.
      settings: hyperparameters.
      seed: of the initialisation, windows and negatives.
      progress: is told how far it is, every ten seconds and at the end; None: the log.
      model_path: a file for the whole model, n-grams included, as fastText's .bin.

    Returns:
      The words that occur `min_count` times or more, most frequent first, with their counts.

    Raises:
      ValueError: no word occurs that often.
    """
    from gensim.models.fasttext import FastText as Model

    batch = min(10_000, max(100, sentences.size // (_JOBS * settings.workers)))
    model = Model(
        vector_size=settings.dim, epochs=settings.epochs, min_count=settings.min_count,
        window=settings.window, negative=settings.negatives, alpha=settings.learning_rate,
        min_alpha=0.0, min_n=settings.min_n, max_n=settings.max_n, bucket=settings.buckets,
        sample=settings.subsample, ns_exponent=0.5, sg=1, seed=seed + 1, workers=settings.workers,
        batch_words=batch,
    )  # fmt: skip
    model.build_vocab(sentences)
    if not len(model.wv):
        raise ValueError(
            f"No word occurs min_count={settings.min_count} times in {sentences.size:,} running "
            "words: lower config.embeddings.min_count or bring more text"
        )
    logging.info(
        "Training vectors of %d dimensions for %s words on %s running words, %d epochs",
        settings.dim, f"{len(model.wv):,}", f"{sentences.size:,}", settings.epochs,
    )  # fmt: skip
    meter = Meter(sentences.size * settings.epochs, progress)
    model.train(
        _Metered(sentences, meter),
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=settings.epochs,
    )
    meter.finish()
    if model_path is not None:
        _save(model, model_path)
    words = list(model.wv.index_to_key)
    counts = np.array([model.wv.get_vecattr(word, "count") for word in words], np.int64)
    return Vectors(words, np.array(model.wv.vectors, np.float32), counts)


class _Metered:
    """Sentences that tell a meter how many words of them were asked for."""

    def __init__(self, sentences: Sentences, meter: Meter):
        self._sentences, self._meter = sentences, meter

    def __iter__(self) -> Iterator[list[str]]:
        words = 0
        for sentence in self._sentences:
            words += len(sentence)
            if words >= _LOOKED:
                self._meter.advance(words)
                words = 0
            yield sentence
        self._meter.advance(words)


def _save(model, path: str) -> None:
    from gensim.models.fasttext import save_facebook_model

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), suffix=".tmp")
    os.close(handle)
    try:
        save_facebook_model(model, temporary)
        publish(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
