"""How often the words of a run's text occur, and the weights of words in a sentence that follow from it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

from clwe_jax import atomic
from clwe_jax.text.vocab.base_vocab import Vocabulary

FILE = "counts.json"
# Names of the pools that weigh words: of language models, and of static vectors.
SIF = "sif"
INFORMATION = "information"
_A = 1e-3  # of SIF
_POWER = 1.5  # of the information
# Words of a language that are kept. A rarer word weighs 1, though its information may be less (docs/lessons.md).
MAX_WORDS = 20_000
_SHIFT = 2.7  # of ranks, in the law of Zipf and Mandelbrot
_RUNNING = 1_000_000  # running words of counts that follow from ranks


def sif_weights(counts: np.ndarray | int, total: float) -> np.ndarray:
    """The weights a / (a + c / N) of smooth inverse frequency, a = .001 (Arora et al. 2017, algorithm 1).

    Language models of real text want them: `information_weights` find four points less (docs/lessons.md).

    Args:
      counts: c, occurrences of each word or piece in the running text.
      total: N, words or pieces of the running text.

    Returns:
      float32, as `counts`: 1 for a word that does not occur.
    """
    shares = np.asarray(counts, np.float64) / max(total, 1.0)
    return (_A / (_A + shares)).astype(np.float32)


def information_weights(counts: np.ndarray | int, total: float) -> np.ndarray:
    """The information of words, log(N / c) (Shannon 1948), over that of a word that occurs once, to the power 1.5.

    In most tests static vectors find more sentences by these weights than by SIF or inverse document frequency. The
    power wins five points in Basque news, read with a New Testament, and loses at most .4 elsewhere (docs/lessons.md).

    Args:
      counts: c, occurrences of each word or piece in the running text.
      total: N, words or pieces of the running text.

    Returns:
      float32, as `counts`: from 0 for a word that is the whole text to 1 for one that occurs once or never.
    """
    total = max(total, 2.0)  # log 1 would divide by 0
    shares = np.maximum(np.asarray(counts, np.float64), 1) / total
    return ((-np.log(shares) / np.log(total)) ** _POWER).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class Frequencies:
    """Counts of the words of each language in a run's text.

    Attributes:
      totals: language -> running words that were counted.
      words: language -> word -> occurrences, of the most frequent words.
    """

    totals: Mapping[str, int]
    words: Mapping[str, Mapping[str, int]]

    def word_weights(self, language: str, pool: str) -> dict[str, float]:
        """word -> its weight by a pool, SIF or INFORMATION; a word that is absent weighs 1."""
        if (language, pool) not in self._weights:
            weigh = {SIF: sif_weights, INFORMATION: information_weights}[pool]
            words = self.words.get(language, {})
            counts = np.fromiter(words.values(), np.float64, len(words))
            weights = weigh(counts, self.totals.get(language, 0)).tolist()
            self._weights[language, pool] = dict(zip(words, weights))
        return self._weights[language, pool]

    @functools.cached_property
    def _weights(self) -> dict[tuple[str, str], dict[str, float]]:
        return {}  # of `word_weights`, which each sentence asks for all words of its language

    def piece_weights(self, language: str, vocabulary: Vocabulary) -> np.ndarray:
        """float32 [pieces]: the SIF weight of each piece, by its share of the language's pieces.

        It serves batches, which do not know the words; elsewhere a word's pieces share its weight.
        """
        counts = np.zeros(len(vocabulary))
        for word, count in self.words.get(language, {}).items():
            for piece in vocabulary.encode_word(word):
                counts[piece] += count
        return sif_weights(counts, counts.sum())

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON has them; `from_json` reads it."""
        return {
            language: {"total": total, "words": dict(self.words[language])}
            for language, total in self.totals.items()
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Frequencies:
        """The counts that `to_json` gave."""
        return cls(
            {language: part["total"] for language, part in saved.items()},
            {language: part["words"] for language, part in saved.items()},
        )

    def save(self, folder: str) -> None:
        """Writes FOLDER/counts.json."""
        atomic.write_json(os.path.join(folder, FILE), self.to_json(), indent=None)


def most_frequent(counts: Mapping[str, Mapping[str, int]]) -> Frequencies:
    """The counts of the most frequent words.

    Args:
      counts: language -> word -> occurrences, most frequent first.
    """
    return Frequencies(
        {language: sum(words.values()) for language, words in counts.items()},
        {
            language: dict(itertools.islice(words.items(), MAX_WORDS))
            for language, words in counts.items()
        },
    )


def join_counts(parts: Iterable[Frequencies | None]) -> Frequencies | None:
    """The counts of several runs, of a language those of its last run; None where a run has kept none."""
    counts = list(parts)
    if None in counts:
        return None
    totals: dict[str, int] = {}
    words: dict[str, Mapping[str, int]] = {}
    for part in counts:
        totals |= part.totals
        words |= part.words
    return Frequencies(totals, words)


def of_first(words: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    """word -> its count, in their order; the first one of a word that stands there several times."""
    return dict.fromkeys(words, 0) | dict(zip(reversed(words), reversed(counts)))


def of_ranks(words: Sequence[str]) -> dict[str, int]:
    """word -> its count in a million running words by its rank alone, for lists without counts.

    The share of the word of rank r is proportional to 1 / (r + 2.7), the law of Zipf and Mandelbrot
    (Mandelbrot 1953, An Informational Theory of the Statistical Structure of Language).

    Args:
      words: words of one language, most frequent first.
    """
    shares = 1 / (_SHIFT + np.arange(1, len(words) + 1))
    return of_first(words, np.rint(_RUNNING * shares / shares.sum()).astype(int).tolist())


def load(folder: str) -> Frequencies | None:
    """The counts of the run in a folder; None where the run has kept none.

    Raises:
      ValueError: the file is damaged.
    """
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return None
    with atomic.naming_damage(path, "Delete it, and sentences are pooled by their mean alone"):
        return Frequencies.from_json(atomic.read_json(path))
