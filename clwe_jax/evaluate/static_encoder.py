"""Static word vectors as an encoder."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Callable, Mapping, Protocol, Sequence

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.types import WordSample, WordSpace


class Spaces(Protocol):
    """Vectors of several languages, such as `api.static.StaticModel`."""

    languages: tuple[str, ...]

    def vectors(self, language: str) -> Vectors:
        """The words of a language in the common space, most frequent first."""

    def space(self, source: str, target: str) -> tuple[Vectors, Vectors]:
        """The words of two languages in the space where their aligner compares them."""


@dataclasses.dataclass(frozen=True, eq=False)
class StaticEncoder:
    """Static vectors: a sentence is the weighted mean of its words' vectors (`types.Encoder`).

    The weights are inverse document frequencies (MUSE, section 3.3).

    Attributes:
      spaces: vectors of all languages.
      split: (text, language) -> the text's words, spelled as the vectors' words.
      pair: language -> vectors of two languages in their own space; None: the space of all.
    """

    spaces: Spaces
    split: Callable[[str, str], Sequence[str]]
    pair: Mapping[str, Vectors] | None = None
    layers = 1

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have vectors."""
        return tuple(self.spaces.languages if self.pair is None else self.pair)

    def between(self, source: str, target: str) -> StaticEncoder:
        """The encoder of two languages in the space where their aligner compares them."""
        pair = dict(zip((source, target), self.spaces.space(source, target)))
        return dataclasses.replace(self, pair=pair)

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text."""
        return list(self.split(text, language))

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, 1, D]: means of word vectors, weighted by idf over `texts`.

        Words without a vector are ignored. If all weights of a text are 0, as for a single text,
        its vector is the unweighted mean; a text without a known word has zeros.
        """
        cut = [self.words(text, language) for text in texts]
        weights = inverse_document_frequencies(cut)
        return weighted_means(cut, self._vectors(language), weights)[:, None]

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector."""
        index = self._vectors(language).index
        known = [word in index for text in texts for word in self.words(text, language)]
        return sum(known) / max(1, len(known))

    def in_context(
        self, texts: Sequence[str], language: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """See `types.Encoder`; words without a vector have zeros."""
        vectors, found = self._vectors(language), []
        for text in texts:
            words = self.words(text, language)
            rows = vectors.rows(words)
            known = vectors.vectors[rows] * (rows >= 0)[:, None]
            found.append((words, known.astype(np.float32)[:, None]))
        return found

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """All words of a language, all of them frequent; `wanted` and `sample` have no effect."""
        vectors = self._vectors(language)
        return WordSpace(vectors.words, vectors.vectors[:, None], len(vectors))

    def _vectors(self, language: str) -> Vectors:
        return self.spaces.vectors(language) if self.pair is None else self.pair[language]


def inverse_document_frequencies(sentences: Sequence[Sequence[str]]) -> dict[str, float]:
    """Word -> log(N / number of sentences with the word), for N sentences."""
    counts = collections.Counter(word for words in sentences for word in set(words))
    return {word: math.log(len(sentences) / count) for word, count in counts.items()}


def weighted_means(
    sentences: Sequence[Sequence[str]], vectors: Vectors, weights: Mapping[str, float]
) -> np.ndarray:
    """The weighted mean of the vectors of each sentence's words.

    Args:
      sentences: N lists of words.
      vectors: vectors of the language, [V, D]; words without a vector are ignored.
      weights: word -> weight.

    Returns:
      float32 [N, D]: the unweighted mean where all weights are 0, zeros for a sentence without a
      known word.
    """
    means = np.zeros((len(sentences), vectors.dim), np.float32)
    for number, sentence in enumerate(sentences):
        known = [word for word in sentence if word in vectors.index]
        if not known:
            continue
        given = np.array([weights[word] for word in known], np.float32)
        if given.sum() <= 0:
            given = np.ones(len(known), np.float32)
        means[number] = given @ vectors.vectors[[vectors.index[w] for w in known]] / given.sum()
    return means
