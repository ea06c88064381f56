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
BATCH_DTYPES: dict[str, np.dtype] = {
    "inputs": np.dtype(np.int32),  # piece ids after masking
    "targets": np.dtype(np.int32),  # the piece to predict where loss_weights > 0
    "loss_weights": np.dtype(np.float32),  # 1 at every piece of a masked word, else 0
    "positions": np.dtype(np.int32),  # restart at 0 in every segment
    "segment_ids": np.dtype(np.int32),  # 1, 2, ... within a row; 0 is padding
    "language_ids": np.dtype(np.int32),  # of the target where masked, else of the piece
    "source_language_ids": np.dtype(np.int32),  # of the text that the piece stands in
}


def piece_batch(rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Shapes and types of a batch of `BATCH_DTYPES`."""
    return {key: jax.ShapeDtypeStruct((rows, length), dtype) for key, dtype in BATCH_DTYPES.items()}


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
    """What a backbone returns.

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
    """What is predicted and how it is scored.

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

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """Hidden states without dropout."""


@runtime_checkable
class HasSenses(Protocol):
    """An objective that assigns senses to words.

    Attributes:
      directions: name of each sense state -> the slice of a representation that it clusters.
      sense_input: the input of sense selection: 'own', a word's own representation, or 'context',
        the representations that predict it.
    """

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


@dataclasses.dataclass(frozen=True, eq=False)
class WordSpace:
    """Words of one language with vectors by layer, in a space that another language shares.

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
        """word -> row."""
        return {word: row for row, word in enumerate(self.words)}


@runtime_checkable
class Encoder(Protocol):
    """Whatever turns text into vectors by layer: a run, a projected run, static vectors, foreign
    weights. Evaluators, transfer tasks and the API take any of them.

    Attributes:
      languages: that it knows.
      layers: vectors of a word or sentence; layer 0 is the embedding output. Static vectors have 1.
    """

    languages: tuple[str, ...]
    layers: int

    def words(self, text: str, language: str) -> list[str]:
        """The words of a text, spelled as the encoder's vocabulary spells them."""

    def sentences(self, texts: Sequence[str], language: str) -> np.ndarray:
        """float32 [N, layers, D]: sentence vectors, zeros for a text without words."""

    def in_context(
        self, texts: Sequence[str], language: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """For each text its words and their vectors in context, float32 [words, layers, D]."""

    def spaces(
        self, source: str, target: str, wanted: Mapping[str, Sequence[str]]
    ) -> tuple[WordSpace, WordSpace]:
        """The words of two languages in one space.

        Args:
          source, target: languages.
          wanted: language -> words that should have a vector where that is possible, whether they
            are frequent or not.
        """


class Evaluator(Protocol):
    """A measurement, chosen by its `name` in config.evals, whatever key it stands under.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
    """

    every_steps: int

    def run(self, model: Any) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value).

        Args:
          model: an `Encoder`; an evaluator of training losses or senses asks for what else it needs
            with isinstance and says what is missing.
        """


EncodeFn = Callable[[Variables, Batch], Hidden]
