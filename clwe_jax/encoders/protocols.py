"""What an encoder is, what only some encoders can do, and the words with vectors that it gives."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, Protocol, Sequence, runtime_checkable

import numpy as np

from clwe_jax.embeddings.vectors import row_index
from clwe_jax.types import Objective, Variables


@dataclasses.dataclass(frozen=True)
class WordSample:
    """The text over which contextual vectors of words are averaged; static vectors need none.

    Attributes:
      lines: language -> lines of raw text.
      occurrences: maximum number of occurrences that are averaged for a word.
      min_count, max_words: the frequent words of a language are the `max_words` (None: all) most frequent of
        the words that occur at least `min_count` times. They are counted in the text that the encoder learned
        from, if it has kept its counts, else in `lines`.
    """

    lines: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    occurrences: int = 10
    min_count: int = 2
    max_words: int | None = 20_000


@dataclasses.dataclass(frozen=True, eq=False)
class WordSpace:
    """Words of one language, each with a vector of every layer.

    Attributes:
      words: words as they are written, the frequent ones first, by descending frequency.
      vectors: float32 [N, layers, D].
      frequent_count: number of frequent words (`WordSample`), which are the candidates of retrieval and the
        neighbours of CSLS. The other words are those that `Encoder.vocabulary` was asked for.
      counts: int [N], number of occurrences averaged in each vector, 0 if the word was encoded without
        context; None for static vectors.
      keys: normalised words, by which they are looked up; (): the words themselves.
    """

    words: Sequence[str]
    vectors: np.ndarray
    frequent_count: int
    counts: np.ndarray | None = None
    keys: Sequence[str] = ()

    @functools.cached_property
    def index(self) -> dict[str, int]:
        return row_index(self.words, self.keys)


@runtime_checkable
class Encoder(Protocol):
    """What turns text into vectors: a trained model, static vectors, or a model of another program.

    Attributes:
      languages: the languages that the encoder knows.
      layers: number of layers, of each of which a word or sentence has a vector. Layer 0 is the embedding
        output; static vectors are one layer.
    """

    languages: tuple[str, ...]
    layers: int

    def pairwise_space(self, source: str, target: str) -> Encoder:
        """The encoder whose vectors of the two languages can be compared.

        This is the encoder itself where all languages share one space; else one that maps these two
        languages into a space of their own.
        """

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text, spelled as the encoder's vocabulary spells them."""

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, layers, D]: sentence vectors, zeros for a text without words."""

    def in_context(self, texts: Sequence[str], language: str) -> list[tuple[list[str], np.ndarray]]:
        """For each text its words and their vectors in context, float32 [words, layers, D]."""

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """The words of a language, the frequent ones first.

        Args:
          wanted: words that get a vector where that is possible, frequent or not.
          sample: the text to average contextual vectors over, and the limits of its frequent words.
        """


@runtime_checkable
class Pools(Protocol):
    """An encoder that says how it pools the words of a sentence, in one way or two.

    Attributes:
      pools: first the way of `Encoder.sentences`, such as 'mean' or 'own'; then, if word counts are known,
        'sif' (`frequencies.sif_weights`).
    """

    pools: tuple[str, ...]

    def pool_in_all_ways(self, texts: Sequence[str], language: str) -> Mapping[str, np.ndarray]:
        """Pool -> sentence vectors like those of `Encoder.sentences`, from one pass of encoding."""


@runtime_checkable
class HasObjective(Protocol):
    """A language model as an encoder: it has its training objective, whose losses and senses can be measured.

    Attributes:
      objective: the training objective, with the model.
      tokenizer: the run's `text.vocab.tokenizer.Tokenizer`.
      variables: 'params' and the collections.
      step: number of training steps that led to the variables.
    """

    objective: Objective
    tokenizer: Any
    variables: Variables
    step: int


@runtime_checkable
class Truncates(Protocol):
    """An encoder that cuts long sentences."""

    encoded_counts: Mapping[str, int]  # language -> number of sentences encoded so far
    cut_counts: Mapping[str, int]  # language -> number of these that lost their end


@runtime_checkable
class HasCoverage(Protocol):
    """An encoder that has vectors of some words only, such as static vectors."""

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector."""
