"""Sentence translation retrieval with word vectors (MUSE, section 3.3: idf-weighted means)."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Callable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate import pairs
from clwe_jax.evaluate.retrieval import matches
from clwe_jax.evaluate.statistics import wilson_interval

# How sentences are compared -> what the metric's name ends in.
SUFFIXES = {"cosine": "", "csls": "_csls"}


def inverse_document_frequencies(sentences: Sequence[Sequence[str]]) -> dict[str, float]:
    """log(N / number of sentences with the word), for each word of N sentences."""
    counts = collections.Counter(word for words in sentences for word in set(words))
    return {word: math.log(len(sentences) / count) for word, count in counts.items()}


def weighted_means(
    sentences: Sequence[Sequence[str]], vectors: Vectors, weights: Mapping[str, float]
) -> tuple[np.ndarray, float]:
    """The weighted mean of the vectors of each sentence's words.

    Args:
      sentences: N lists of words.
      vectors: of the language, [V, D]; words without one are passed over.
      weights: of the words; those without one weigh nothing.

    Returns:
      float32 [N, D], zeros for a sentence none of whose words has both, and the share of the
      running words that have a vector.
    """
    means = np.zeros((len(sentences), vectors.vectors.shape[1]), np.float32)
    words = known = 0
    for number, sentence in enumerate(sentences):
        rows = [vectors.index[word] for word in sentence if word in vectors.index]
        words, known = words + len(sentence), known + len(rows)
        given = np.array([weights.get(vectors.words[row], 0.0) for row in rows], np.float32)
        if given.sum() > 0:
            means[number] = given @ vectors.vectors[rows] / given.sum()
    return means, known / max(1, words)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SentenceTranslation:
    """Sentence translation retrieval of a run's vectors.

    Attributes:
      data: a folder of sentence pairs; see `pairs.find`. '' leaves it out.
      max_sentences: of each pair, from the beginning; 0: all.
      neighbourhood: of CSLS.
    """

    data: str = ""
    max_sentences: int = 1_000
    neighbourhood: int = 10

    def run(
        self,
        languages: Sequence[str],
        space: Callable[[str, str], tuple[Vectors, Vectors]],
        words: Callable[[str, str], Sequence[str]],
    ) -> Iterator[tuple[str, float]]:
        """Yields for each pair of the folder and both directions, as fractions,

        sentences/{src}-{trg}/acc@1*: how often the nearest sentence is the translation, with ''
          (cosine) and '_csls' in place of *; *_low and *_high: its 95% interval;
        sentences/{src}-{trg}/coverage: the share of the source's running words with a vector;
        sentences/acc@1*: means over the pairs.

        A word's weight is its inverse document frequency among its own side's sentences, of which
        no one knows what they translate to.

        Args:
          languages: those that have vectors.
          space: (language, language) -> the vectors of both in one space.
          words: (text, language) -> its words, spelled as the vectors'.
        """
        totals: dict[str, list[float]] = {}
        found = pairs.find(self.data, languages)
        if not found:
            logging.warning("%s holds no pair of the run's languages: left out", self.data)
        for pair in found:
            texts = dict(zip((pair.source, pair.target), pairs.read(pair, self.max_sentences)))
            space_of = dict(zip(texts, space(pair.source, pair.target)))
            sides = {}
            for language, lines in texts.items():
                cut = [words(line, language) for line in lines]
                weights = inverse_document_frequencies(cut)
                sides[language] = weighted_means(cut, space_of[language], weights)
            for source, target in ((pair.source, pair.target), (pair.target, pair.source)):
                (x, share), (y, _) = sides[source], sides[target]
                for how, suffix in SUFFIXES.items():
                    right = matches(x, y, how, self.neighbourhood)
                    name = f"sentences/{source}-{target}/acc@1{suffix}"
                    low, high = wilson_interval(float(right.mean()), len(right))
                    yield name, float(right.mean())
                    yield f"{name}_low", low
                    yield f"{name}_high", high
                    totals.setdefault(suffix, []).append(float(right.mean()))
                yield f"sentences/{source}-{target}/coverage", share
        for suffix, values in totals.items():
            yield f"sentences/acc@1{suffix}", float(np.mean(values))
