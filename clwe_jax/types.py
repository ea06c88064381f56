"""The words that rooms speak to each other: batches, sums, hidden states, protocols."""

from __future__ import annotations

import dataclasses
import functools
from typing import (
    Any, Callable, Iterator, Mapping, Protocol, Sequence, runtime_checkable,
)  # fmt: skip

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array | np.ndarray
Variables = Mapping[str, Any]

# A batch is a plain dict of [rows, length] arrays. Loss is taken where `loss_weights` > 0 and
# nowhere else; attention stays within a segment; segment 0 is padding.
Batch = dict[str, Array]


def piece_batch(rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Keys, shapes and types of a batch of masked pieces.

    Returns:
      All [rows, length]:
      inputs: int32, piece ids after masking.
      targets: int32, the piece to predict where loss_weights > 0.
      loss_weights: float32, 1 at every piece of a masked word, else 0.
      positions: int32, restart at 0 in every segment.
      segment_ids: int32, 1, 2, ... within a row; 0 is padding.
      language_ids: int32, of the target where masked, else of the piece.
      source_language_ids: int32, of the text that the piece stands in.
    """
    integers = jax.ShapeDtypeStruct((rows, length), np.int32)
    return dict(
        inputs=integers,
        targets=integers,
        loss_weights=jax.ShapeDtypeStruct((rows, length), np.float32),
        positions=integers,
        segment_ids=integers,
        language_ids=integers,
        source_language_ids=integers,
    )


# Keys of a batch of sentences with their code-switched copies: `COPY + key` is the copy's `key`.
COPY = "copy_"

# Keys of a batch that are not rows: all parts of a batch see the whole of them.
SHARED_KEYS = ("characters",)


@flax.struct.dataclass
class Sums:
    """A metric as numerator and denominator.

    Sums are added over microbatches and hosts and divided once, so that parts of uneven weight
    are not misweighted.
    """

    value: Array
    weight: Array

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.value + other.value, self.weight + other.weight)

    def mean(self) -> Array:
        """value / weight; 0 where nothing was weighed."""
        return self.value / jnp.maximum(self.weight, 1e-9)


@flax.struct.dataclass
class Hidden:
    """The hidden states of a backbone.

    Attributes:
      last: [B, L, D], what the heads read.
      layers: tuple of [B, L, D]: the embedding output, then the output of each layer.
    """

    last: Array
    layers: tuple[Array, ...]


class BatchSource(Protocol):
    """An endless or finite iterator of batches whose place can be saved and restored exactly."""

    def __iter__(self) -> Iterator[Batch]: ...

    def __next__(self) -> Batch: ...

    def stats(self) -> dict[str, float]:
        """Counts and shares of what was read so far, for the report."""

    def get_state(self) -> bytes:
        """The place in the stream: the next batch after `set_state` is the same batch."""

    def set_state(self, state: bytes) -> None:
        """Goes to a place that `get_state` gave.

        Raises:
          ValueError: the state is damaged, or belongs to other data, another seed or batch size.
        """


class Objective(Protocol):
    """A training objective: predictions and their loss.

    What an objective can do beyond this is one of the protocols below, asked for with isinstance.

    Collections beside 'params' are never differentiated. The collection 'rows' holds what belongs
    to the rows of the batch, their axis first: a part of a batch comes with its rows of it.
    """

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch. No other place knows them.

        Args:
          rows: rows of the batch.
          length: positions of a row.
        """

    def init(self, rng: Array, batch: Batch) -> Variables:
        """Variables for batches like `batch`, boxed with their logical axis names."""

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], Any]:
        """The sums of every metric, and what was observed of the batch.

        Args:
          variables: 'params' and the collections.
          batch: as `batch_shapes` describes it.
          step: int32 [], steps before this one; what anneals or decays depends on it.
          rngs: name -> PRNG key; needed where `train`.
          train: whether dropout and sampling are on.

        Returns:
          Metric -> sums ('loss' is optimised), and a tree of arrays, their first axis the rows of
          the batch: the input of `Stateful.update`.
        """


@runtime_checkable
class Stateful(Protocol):
    """An objective whose collections change with every step: an LSTM's carry, senses."""

    def update(self, variables: Variables, observed: Any, step: Array) -> Variables:
        """The variables after a step. Called once a step, never where the step was not finite.

        Args:
          variables: 'params' after the optimizer's update, collections before the step, and
            'moments': a tuple of trees like 'params', the optimizer's state of each number (Adam:
            its two moments), so that an objective that copies a row of parameters can copy its
            moments. A parameter that is frozen, by its group or in this phase, has an
            `optax.MaskedNode` in place of each moment, and what is returned for it is ignored.
          observed: what `loss` observed of all rows of the batch.
          step: int32 [], steps before this one.
        """


@runtime_checkable
class Encodes(Protocol):
    """An objective whose model represents text.

    Attributes:
      max_length: positions of a row, at most.
    """

    max_length: int

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """As `Objective.batch_shapes`."""

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """Hidden states without dropout."""


@runtime_checkable
class HasSenses(Protocol):
    """An objective that assigns senses to words.

    Attributes:
      senses: the `models.senses.config.SenseConfig` of all sense states.
      directions: name of each sense state -> the slice of a representation that it clusters.
      sense_input: the input of sense selection: 'own', a word's own representation, or 'context',
        the representations that predict it.
    """

    senses: Any
    directions: Mapping[str, slice]
    sense_input: str

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        """float32 [N, S, d], the output vectors of words' senses."""

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        """As `Encodes.encode`; the last layer at a word is the input of sense selection."""


@runtime_checkable
class Generates(Protocol):
    """An objective whose model writes text."""

    def decode(self, variables: Variables, batch: Batch, **options: Any) -> Any:
        """Token ids int32 [B, L] that the model writes for each row of the batch."""


@dataclasses.dataclass(frozen=True)
class WordSample:
    """Text that contextual vectors of words are averaged over; static vectors need none.

    Attributes:
      lines: language -> lines of raw text.
      occurrences: of a word, that its vector is the mean of, at most.
      min_count: of a frequent word in the lines.
      max_words: frequent words of a language, at most; 0: all.
    """

    lines: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    occurrences: int = 10
    min_count: int = 2
    max_words: int = 20_000


@dataclasses.dataclass(frozen=True, eq=False)
class WordSpace:
    """Words of one language with vectors by layer.

    Attributes:
      words: distinct words; the first `frequent` of them are candidates, most frequent first.
      vectors: float32 [N, layers, D].
      frequent: how many words are candidates and stand for the language in CSLS.
      counts: int [N], occurrences that a vector is the mean of; 0 where the word was encoded by
        itself; None where vectors are no means (static vectors).
    """

    words: Sequence[str]
    vectors: np.ndarray
    frequent: int
    counts: np.ndarray | None = None

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """word -> row; of a word that is there twice, the first."""
        rows = range(len(self.words) - 1, -1, -1)
        return dict(zip(reversed(self.words), rows))


@runtime_checkable
class Encoder(Protocol):
    """A run, a projected run, static vectors or foreign weights: text to vectors by layer.

    Evaluators, transfer tasks and the API take any of them.

    Attributes:
      languages: that it knows.
      layers: vectors of a word or sentence; layer 0 is the embedding output. Static vectors have 1.
    """

    languages: tuple[str, ...]
    layers: int

    def between(self, source: str, target: str) -> Encoder:
        """The encoder in the space where the two languages are compared.

        The encoder itself where all languages share one space; else one that knows the two
        languages alone.
        """

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text, spelled as the encoder's vocabulary spells them."""

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, layers, D]: sentence vectors, zeros for a text without words."""

    def in_context(
        self, texts: Sequence[str], language: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """For each text its words and their vectors in context, float32 [words, layers, D]."""

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """The words of a language, the frequent ones first.

        Args:
          language: one of `languages`.
          wanted: words that should have a vector where that is possible, whether they are frequent
            or not.
          sample: text to average contextual vectors over, and which of its words are frequent.
        """


@runtime_checkable
class HasObjective(Protocol):
    """An encoder that is a language model: what losses and senses are measured on.

    Attributes:
      objective: of its training, with the model.
      tokenizer: the run's (`text.tokenizer.Tokenizer`).
      variables: 'params' and the collections.
      step: training steps that the variables have seen.
    """

    objective: Objective
    tokenizer: Any
    variables: Variables
    step: int


@runtime_checkable
class Truncates(Protocol):
    """An encoder that cuts long sentences.

    Attributes:
      seen: sentences encoded so far, by language.
      cut: those of them that lost their end, by language.
    """

    seen: Mapping[str, int]
    cut: Mapping[str, int]


@runtime_checkable
class Covers(Protocol):
    """An encoder that has vectors for some words only."""

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector."""


class Evaluator(Protocol):
    """A measurement, chosen by its `name` in config.evals, whatever key it stands under.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
      has_data: whether its options name data; without data it is left out of a run.
    """

    every_steps: int
    has_data: bool

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value).

        Args:
          model: what is measured. An evaluator of losses or senses needs a `HasObjective`.

        Raises:
          ValueError: the model lacks what the evaluator measures; the message says what.
        """


class TrainingEvaluator(Protocol):
    """A measurement during training, which knows variables and no encoders.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
    """

    every_steps: int

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value).

        Args:
          variables: 'params' and the collections, sharded as in training.
          step: training steps that the variables have seen.
        """


@runtime_checkable
class HasDetails(Protocol):
    """An evaluator whose last run left more than figures.

    Attributes:
      details: rows of a table, for the report.
    """

    details: Sequence[Mapping[str, Any]]


EncodeFn = Callable[[Variables, Batch], Hidden]
