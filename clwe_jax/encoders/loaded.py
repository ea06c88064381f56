"""The contract of a loaded run, or of another program's loaded weights: it makes an encoder."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar, Protocol, Sequence, runtime_checkable

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.encode import Layer, Reduce
from clwe_jax.encoders.nearest import Neighbour
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.encoders.sense_view import SenseView
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter


BATCH = 64  # rows that a language model encodes at once, unless asked otherwise


class PoolsTexts(Encoder, Protocol):
    """An encoder that pools the vectors of a text as its user asks."""

    def pool_texts(
        self, texts: Sequence[str], language: str, pool: str | None, reduce: Reduce = np.asarray
    ) -> np.ndarray | list[np.ndarray]:
        """The vectors of texts.

        Args:
          pool: as in `checks.choose_pool`; None: a vector of each piece or word.
          reduce: [..., layers, D] -> the part that is kept, such as `encode.select`.

        Returns:
          float32 [N, layers, D], reduced; with pool=None a list of [pieces, layers, D], reduced.

        Raises:
          ValueError: another pool, or a weighted one without counts.
        """


class LoadedEncoder(abc.ABC):
    """A language model, static vectors or several models in one space, as a folder holds them.

    What only some kinds can do stands in the protocols below, asked for with isinstance. Codes of
    languages are those of `languages`: `api.Model`, which strangers call, checks them.

    Attributes:
      kind_name: name of the kind, in the plural, for messages.
      lack_message: how a message says that the kind lacks a method.
      tokenizer: cuts text into the model's pieces; None for static vectors and pairs of models.
    """

    kind_name: ClassVar[str]
    lack_message: ClassVar[str] = "have no method {method!r}"
    tokenizer: Tokenizer | None

    @property
    @abc.abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages that are encoded."""

    @abc.abstractmethod
    def encoder(self, batch_size: int = BATCH) -> PoolsTexts:
        """The encoder of text; a language model computes `batch_size` rows at once."""

    @abc.abstractmethod
    def segmenter(self, lang: str) -> Segmenter:
        """Cuts text of a language into words as the encoder does."""

    @abc.abstractmethod
    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """The frequent words of a language with their vectors, most frequent first.

        Raises:
          ValueError: an unknown layer, or a run without a list of frequent words.
        """

    @abc.abstractmethod
    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word without context, float32 [D].

        Raises:
          ValueError: an unknown layer, or a word that has no vector.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list_languages(self.languages)})"

    def __getstate__(self) -> dict[str, Any]:
        """The fields that a copy in another process gets; the others are computed again."""
        return {
            x.name: x.default_factory() if not x.init else getattr(self, x.name)
            for x in dataclasses.fields(self)
        }


@runtime_checkable
class SearchesWords(Protocol):
    """A loaded encoder that knows its words and searches them."""

    def knows(self, word: str, lang: str) -> bool:
        """Whether the word was learned as such."""

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str = "csls",
    ) -> list[Neighbour]:
        """The words nearest to a word, best first; the default method is the kind's own.

        Args:
          k: maximum number of neighbours.
          to: the language to search; None: all languages.
          method: one of `checks.METHODS`.

        Raises:
          ValueError: an unknown method or layer, or a word that cannot be encoded.
        """


@runtime_checkable
class OpensSenses(Protocol):
    """A loaded encoder that may have senses."""

    def open_senses(self) -> SenseView:
        """The senses; ValueError for a model that was trained without them."""


@runtime_checkable
class LabelsText(Protocol):
    """A loaded model that labels words, texts or spans, and gives no vectors.

    Attributes:
      languages: the languages whose text is labelled.
    """

    kind_name: ClassVar[str]
    lack_message: ClassVar[str]
    languages: tuple[str, ...]

    def tag(self, texts: Sequence[str], lang: str) -> list[list[tuple[str, str]]]:
        """The words of each text with their labels."""

    def classify(self, texts: Sequence[str] | Sequence[Sequence[str]], lang: str) -> list[str]:
        """The labels of texts, or of pairs of texts."""

    def label_spans(
        self, rows: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], lang: str
    ) -> list[tuple[str, ...]]:
        """The labels of spans, or of pairs of spans, in sentences of given words."""


@runtime_checkable
class Reduces(Protocol):
    """A loaded encoder that can leave out words, or bring them into another order (CLCR)."""

    def reduced(self, extract: bool, reorder: bool, threshold: float | None) -> PoolsTexts:
        """The encoder of the words that are kept."""


def list_languages(languages: Sequence[str], max_shown: int = 8) -> str:
    """'en, de, fr', for one line; of many languages the first ones and their number."""
    if len(languages) <= max_shown:
        return ", ".join(languages)
    return f"{', '.join(languages[:max_shown])}, ... {len(languages)} languages"
