"""An encoder of pivots in the target's order: the steps Extract and Reorder of CLCR."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

import numpy as np

from clwe_jax.align import predictors, reorder
from clwe_jax.align.predictors import TrainedClassifier
from clwe_jax.encoders.checks import choose_pool
from clwe_jax.encoders.encode import Reduce, WordLists
from clwe_jax.encoders.protocols import Encoder


@dataclasses.dataclass(frozen=True, eq=False)
class ClcrSteps:
    """The steps after the transform.

    Attributes:
      pivots: language -> predictor of pivots, in the common space.
      orders: language -> predictor of whether a word stays before a later one, in the common space;
        the words of these languages are brought into the order of the target (or, of the target, into
        that of the source).
      threshold: least probability of a pivot.
      beam: beam of the search for an order.
    """

    pivots: Mapping[str, TrainedClassifier]
    orders: Mapping[str, TrainedClassifier]
    threshold: float = 0.2
    beam: int = 10

    def choose_pivots(self, vectors: np.ndarray, language: str) -> np.ndarray:
        """The places of the pivots of a sentence, int [n]: its likeliest word where none is one.

        Args:
          vectors: words in the common space, [words, D].
          language: their language.
        """
        likely = self.pivots[language].probabilities(vectors)[:, 1]
        pivots = np.flatnonzero(likely >= self.threshold)
        return pivots if len(pivots) else np.array([likely.argmax()]) if len(likely) else pivots

    def order_words(self, vectors: np.ndarray, language: str) -> np.ndarray:
        """The predicted order of words of a language of `orders`, int [n]."""
        pairs, features = predictors.pair_features(vectors)
        stays = self.orders[language].probabilities(features)[:, 1]
        return reorder.by_pairs(predictors.pair_costs(pairs, stays, len(vectors)), self.beam)


@dataclasses.dataclass(frozen=True, eq=False)
class ClcrEncoder:
    """The words of a text as CLCR represents them (`protocols.Encoder` of texts, not of words' labels).

    Attributes:
      base: encoder of all languages in the common space, of one layer.
      steps: the predictors.
      extract: whether only pivots are kept.
      reorder: whether words of one language are brought into the other one's order.
    """

    base: Encoder
    steps: ClcrSteps
    extract: bool
    reorder: bool

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the common space."""
        return self.base.languages

    @property
    def layers(self) -> int:
        """1: the transformed layer."""
        return self.base.layers

    def words(self, text: str, language: str) -> list[str]:
        return self.base.words(text, language)

    def of_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[np.ndarray]:
        """As `features.EncodesWords`, with a vector for each pivot instead of each word."""
        return [x for _, x in self.kept_words(sentences, language, pool, reduce)]

    def pool_texts(
        self, texts: Sequence[str], language: str, pool: str | None, reduce: Reduce = np.asarray
    ) -> np.ndarray | list[np.ndarray]:
        """As `loaded.PoolsTexts`, over the pivots of each text: their mean, or each one's vector."""
        pool = choose_pool(pool, "word")
        by_text = self.of_words([self.words(x, language) for x in texts], language, reduce=reduce)
        if pool is None:
            return by_text
        # A text without words has no pivot, and zeros.
        return np.stack([x.mean(0) if len(x) else np.zeros(x.shape[1:], x.dtype) for x in by_text])

    def kept_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The pivots of each sentence: their places and their vectors."""
        pivots = []
        for vectors in self.base.of_words(sentences, language, pool):
            places = np.arange(len(vectors))
            if self.extract:
                places = self.steps.choose_pivots(vectors[:, -1], language)
            # After the extraction: the predictor of orders has learned from pivots alone.
            if self.reorder and language in self.steps.orders:
                places = places[self.steps.order_words(vectors[places, -1], language)]
            pivots.append((places, np.array(reduce(vectors[places]))))
        return pivots
