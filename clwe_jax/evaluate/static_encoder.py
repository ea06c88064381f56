"""Static word vectors as an encoder."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Callable, Mapping, Protocol, Sequence

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.frequencies import Frequencies
from clwe_jax.types import WordSample, WordSpace

POOLS = ("idf", "sif")

class Spaces(Protocol):
    """Vectors of several languages, as `api.static.StaticModel` has them."""

    languages: tuple[str, ...]

    def vectors(self, language: str) -> Vectors:
        """A language's words in the space that all languages share, most frequent first."""

    def space(self, source: str, target: str) -> tuple[Vectors, Vectors]:
        """Two languages in the space where their aligner compares them."""


@dataclasses.dataclass(frozen=True, eq=False)
class StaticEncoder:
    """A word has one vector; a sentence is the weighted mean of its words' vectors.

    The weights are inverse document frequencies (MUSE, section 3.3).

    Attributes:
      spaces: the vectors.
      split: (text, language) -> its words, spelled as the vectors' words.
      pair: the vectors of two languages in their common space; None: those that all share.
      frequencies: counts of words in the run's text; None where they are not known.
      candidates: most frequent words of a language that lexicon induction chooses from; 0: all.
    """

    spaces: Spaces
    split: Callable[[str, str], Sequence[str]]
    pair: Mapping[str, Vectors] | None = None
    frequencies: Frequencies | None = None
    candidates: int = 0
    layers = 1

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have vectors."""
        return tuple(self.spaces.languages if self.pair is None else self.pair)

    def between(self, source: str, target: str) -> StaticEncoder:
        """The encoder in the space where the aligner compares two languages."""
        pair = dict(zip((source, target), self.spaces.space(source, target)))
        return dataclasses.replace(self, pair=pair)

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text."""
        return list(self.split(text, language))

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, 1, D]: means of word vectors, weighted by idf among `texts`.

        Words without a vector are passed over. A text whose words all weigh nothing, as a text by
        itself, is the plain mean of its words; one without a known word is zero.
        """
        return self.pooled(texts, language)["idf"]

    @property
    def pools(self) -> tuple[str, ...]:
        """'idf' and, where the counts of words are given, 'sif'; see `types.Pools`."""
        return POOLS if self.frequencies is not None else POOLS[:1]

    def pooled(self, texts: Sequence[str], language: str) -> dict[str, np.ndarray]:
        """See `types.Pools`."""
        cut = [self.words(text, language) for text in texts]
        weights = {"idf": inverse_document_frequencies(cut)}
        if self.frequencies is not None:
            weights["sif"] = self.frequencies.word_weights(language)
        vectors = self._vectors(language)
        return {x: weighted_means(cut, vectors, some)[:, None] for x, some in weights.items()}

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector."""
        index = self._vectors(language).index
        known = [word in index for text in texts for word in self.words(text, language)]
        return sum(known) / max(1, len(known))

    def in_context(
        self, texts: Sequence[str], language: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """For each text its words and their vectors, float32 [words, 1, D]; unknown words are 0."""
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
        """All words of a language, the first `candidates` frequent; the arguments change nothing."""
        vectors = self._vectors(language)
        frequent = min(self.candidates or len(vectors), len(vectors))
        return WordSpace(vectors.words, vectors.vectors[:, None], frequent)

    def _vectors(self, language: str) -> Vectors:
        return self.spaces.vectors(language) if self.pair is None else self.pair[language]


def inverse_document_frequencies(sentences: Sequence[Sequence[str]]) -> dict[str, float]:
    """log(N / number of sentences with the word), for each word of N sentences."""
    counts = collections.Counter(word for words in sentences for word in set(words))
    return {word: math.log(len(sentences) / count) for word, count in counts.items()}


def weighted_means(
    sentences: Sequence[Sequence[str]], vectors: Vectors, weights: Mapping[str, float]
) -> np.ndarray:
    """The weighted mean of the vectors of each sentence's words.

    Args:
      sentences: N lists of words.
      vectors: of the language, [V, D]; words without one are passed over.
      weights: of the words; a word that is absent weighs 1.

    Returns:
      float32 [N, D]: the plain mean where all weights are 0, zeros for a sentence without a known
      word.
    """
    means = np.zeros((len(sentences), vectors.dim), np.float32)
    for number, sentence in enumerate(sentences):
        known = [word for word in sentence if word in vectors.index]
        if not known:
            continue
        given = np.array([weights.get(word, 1.0) for word in known], np.float32)
        if given.sum() <= 0:
            given = np.ones(len(known), np.float32)
        means[number] = given @ vectors.vectors[[vectors.index[w] for w in known]] / given.sum()
    return means
