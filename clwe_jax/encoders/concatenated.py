"""Two encoders beside each other: a downloaded one, and what a dictionary knows of the language.

A vector has both parts, the second as long as the first times the square root of its weight, so that a
cosine is that of the first encoder plus the weight times that of the second, over one plus the weight: at
each layer, and of the mean of several layers too. Where the mean of each language's sentences is known, the first
encoder's vectors are without it: most of their cosines are otherwise the language's, and not the sentence's.
"""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.checks import check_strings
from clwe_jax.encoders.encode import (
    MEAN_OF_LAST_LAYERS,
    Layer,
    Reduce,
    WordLists,
    by_layer,
    describe_reading,
    select,
    select_layer,
)
from clwe_jax.encoders.features import ComparesWords
from clwe_jax.encoders.loaded import BATCH, LoadedEncoder
from clwe_jax.encoders.protocols import Encoder, WordSample, WordSpace
from clwe_jax.text.words.words import Segmenter

_FREQUENT = 20_000  # words of `ConcatenatedModels.vectors`


class ConcatenatedEncoder:
    """An encoder whose vectors have those of a second one beside them (`loaded.PoolsTexts`).

    Words are cut as the first encoder cuts them, and it has the layers: each has the second encoder's
    own vector (the mean of its last four layers) beside it.
    """

    def __init__(
        self,
        first: Encoder,
        second: Encoder,
        weight: float | np.ndarray,
        by_pair: Mapping[tuple[str, str], np.ndarray] = {},
        means: Mapping[str, np.ndarray] = {},
    ):
        """Args:
        first, second: encoders of the same languages, which also encode given words
          (`features.EncodesWords`).
        weight: of the second encoder's cosine, beside 1: one, or those of the first encoder's layers
          and of the mean of its last four, [layers + 1].
        by_pair: two languages -> the weights in their space; others have the mean of these, or `weight`.
        means: of every language or of none, what is subtracted from the first encoder's vectors, [layers, D].
        """
        self._first = first
        self._second = second
        self._by_pair = by_pair
        self._means = means
        mean = np.mean(list(by_pair.values()), 0) if by_pair else weight
        self._weights = np.broadcast_to(np.asarray(mean, np.float32), (first.layers + 1,))
        self.languages = tuple(x for x in first.languages if x in second.languages)

    @property
    def layers(self) -> int:
        """The first encoder's layers."""
        return self._first.layers

    @property
    def sentence_reading(self) -> str:
        """How both encoders read a sentence."""
        return f"{describe_reading(self._first)}; beside it {describe_reading(self._second)}"

    @property
    def encoded_counts(self) -> Mapping[str, int]:
        return self._first.encoded_counts

    @property
    def cut_counts(self) -> Mapping[str, int]:
        return self._first.cut_counts

    def pairwise_space(self, source: str, target: str) -> ConcatenatedEncoder:
        """The encoder of both in the space where they compare the two languages."""
        parts = (x.pairwise_space(source, target) for x in (self._first, self._second))
        reverse = self._by_pair.get((target, source), self._weights)
        weights = self._by_pair.get((source, target), reverse)
        return ConcatenatedEncoder(*parts, weights, means=self._means)

    def by_layer(self) -> ConcatenatedEncoder:
        parts = map(by_layer, (self._first, self._second))
        return ConcatenatedEncoder(*parts, self._weights, self._by_pair, self._means)

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text, as the first encoder cuts it."""
        return self._first.words(text, language)

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, layers, D]: the sentence vectors of both."""
        parts = (x.sentences(texts, language) for x in (self._first, self._second))
        return self.join(*parts, language)

    def pool_texts(
        self, texts: Sequence[str], language: str, pool: str | None, reduce: Reduce = np.asarray
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of texts by a pool; with pool=None a vector of each word in context."""
        if pool is None:
            return [reduce(vectors) for _, vectors in self.in_context(texts, language)]
        parts = (x.pool_texts(texts, language, pool) for x in (self._first, self._second))
        return reduce(self.join(*parts, language))

    def in_context(self, texts: Sequence[str], language: str) -> list[tuple[list[str], np.ndarray]]:
        """The words of each text with their vectors; the second encoder reads the first one's words."""
        words_in_context = self._first.in_context(texts, language)
        beside = self._second.of_words([words for words, _ in words_in_context], language)
        return [
            (words, self.join(x, y, language)) for (words, x), y in zip(words_in_context, beside)
        ]

    def of_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[np.ndarray]:
        parts = (x.of_words(sentences, language, pool) for x in (self._first, self._second))
        return [reduce(self.join(first, other, language)) for first, other in zip(*parts)]

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """The words that the first encoder has, and their vectors of both."""
        space = self._first.vocabulary(language, wanted, sample)
        if isinstance(self._second, ComparesWords):
            beside = self._second.compared_words(space.words, language)
        else:
            beside = _alone(self._second, space.words, language)
        return dataclasses.replace(space, vectors=self.join(space.vectors, beside, language))

    def join(self, first: np.ndarray, beside: np.ndarray, language: str) -> JoinedVectors:
        """[..., layers, D + E], of [..., layers, D] and the second encoder's [..., its layers, E]."""
        first = first - self._means.get(language, np.float32(0))
        # One vector of a sentence, as its model's authors make it, has the weight of the last layer.
        lengths = np.sqrt(self._weights[-1 - first.shape[-2] : -1, None])
        beside = unit_rows(select_layer(beside, MEAN_OF_LAST_LAYERS))[..., None, :] * lengths
        joined = np.concatenate([first, _stretch(beside, first)], -1, dtype=np.float32)
        joined = joined.view(JoinedVectors)
        joined.width = first.shape[-1]
        joined.weight = float(self._weights[-1])
        return joined


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ConcatenatedModels(LoadedEncoder):
    """Two loaded encoders, whose vectors stand beside each other.

    Attributes:
      first: it cuts text into words, and its layers are the layers.
      second: such as static vectors, whose words are the frequent words of `vectors`.
      weight: of the second one's cosine, beside 1.
      by_pair, means: weights that were chosen for two languages, and the languages' mean vectors.
    """

    first: LoadedEncoder
    second: LoadedEncoder
    weight: float
    by_pair: Mapping[tuple[str, str], np.ndarray] = dataclasses.field(default_factory=dict)
    means: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    kind_name = "Encoders beside each other"
    lack_message = (
        "have no method {method!r}: api.load of one of the two, without the other, has it"
    )
    tokenizer = None

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that both know."""
        return tuple(x for x in self.first.languages if x in self.second.languages)

    def segmenter(self, lang: str) -> Segmenter:
        return self.first.segmenter(lang)

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of the second encoder, with their vectors of both."""
        words = self.second.vectors(lang).top(_FREQUENT).words
        return Vectors(words, _alone(self.encoder(), words, lang, lambda x: select(x, layer)))

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, of both: float32 [D]."""
        check_strings(word=word)
        return _alone(self.encoder(), [word], lang, lambda x: select(x, layer))[0]

    def encoder(self, batch_size: int = BATCH) -> ConcatenatedEncoder:
        """Both as one encoder of text."""
        parts = (x.encoder(batch_size) for x in (self.first, self.second))
        return ConcatenatedEncoder(*parts, self.weight, self.by_pair, self.means)


def _alone(
    encoder: Encoder, words: Sequence[str], language: str, reduce: Reduce = np.asarray
) -> np.ndarray:
    """The vectors of words without context, [words, layers, D] before `reduce`."""
    return np.concatenate(encoder.of_words([[word] for word in words], language, reduce=reduce))


class JoinedVectors(np.ndarray):
    """Vectors of both encoders by layer, [..., layers, D + E] (`encode.AveragesLayers`).

    The mean of the first encoder's layers is shorter than they are, so that a plain mean of both parts
    would have more of the second than its weight.

    Attributes:
      width: D, dimensions of the first encoder's part.
      weight: of the second encoder's cosine beside the mean of layers.
    """

    width: int
    weight: float

    def __array_finalize__(self, source: np.ndarray | None) -> None:
        self.width = getattr(source, "width", 0)
        self.weight = getattr(source, "weight", 0.0)

    def mean_of_layers(self) -> np.ndarray:
        """The mean of the first encoder's layers beside the second one's vector, [..., D + E]."""
        parts = np.asarray(self)
        first = parts[..., : self.width].mean(-2)
        beside = parts[..., self.width :].mean(-2)
        return np.concatenate([first, _stretch(unit_rows(beside) * self.weight**0.5, first)], -1)


def _stretch(beside: np.ndarray, others: np.ndarray) -> np.ndarray:
    """[..., E]: the vectors times the lengths of others, [..., D]; where these are zeros, themselves."""
    lengths = np.linalg.norm(others, axis=-1, keepdims=True)
    return beside * np.where(lengths > 0, lengths, 1)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """The vectors at length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
