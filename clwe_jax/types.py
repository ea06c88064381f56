"""What data, models, objectives and the training loop share: batches, metrics, hidden states, objectives.

Encoders have their protocols in `encoders/protocols.py`, evaluators in `evaluate/evaluator.py`.
Shapes: B rows of a batch, L positions of a row, D dimensions of a vector; [] is a scalar.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Protocol, runtime_checkable

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.options.senses import SenseOptions

Array = jax.Array | np.ndarray
Variables = Mapping[str, Any]  # collection of a linen module ('params', ...) -> its tree of arrays

# Key -> array [B, ...], most of them [B, L]; those of `SHARED_KEYS` have no axis of rows. A row holds one
# segment (sentence) or several.
Batch = dict[str, Array]


def piece_shapes(rows: int, length: int, entries: bool = False) -> dict[str, jax.ShapeDtypeStruct]:
    """Keys, shapes and types of a batch of masked pieces (subwords), B = `rows` and L = `length`.

    Returns:
      All [B, L]:
      inputs: int32, piece ids after masking.
      targets: int32, the piece to predict where loss_weights > 0; with `entries=True`, of a word with an entry,
        its own first piece, which `align_labels` reads, while the labels come from `entries`.
      loss_weights: float32, 1 where a piece is predicted, else 0: at each piece of a masked word; with
        `entries=True` a word with an entry has 1 at its first piece alone, which predicts a bag: all pieces of
        the word and of its translations.
      positions: int32, starting at 0 in every segment, and again at 0 in the second text of a pair.
      segment_ids: int32, 1, 2, ... within a row; 0 is padding. No segment reads another.
      language_ids: int32, the language of the target where a piece is predicted, elsewhere that of the input
        piece. It differs from the language of the text where a synonym is the label or stands in the input.
      source_language_ids: int32, the language of the text, which metrics and private layers read.
      entries (with `entries=True`): int32, 1 + the number of the word's entry in the run's
        `text.dictionary.label_table.LabelTable`; all labels of this entry are predicted. 0: no entry, as of
        all words of a language without a dictionary; a predicted position then has the label `targets`.
    """
    # In the order of the columns in `data.graph.rows`. A new key needs a value there and in `encoders.encode`.
    keys = ["inputs", "targets", "loss_weights", "positions", "segment_ids"]
    keys += ["language_ids", "source_language_ids"]
    if entries:
        keys.append("entries")
    shapes = dict.fromkeys(keys, jax.ShapeDtypeStruct((rows, length), np.int32))
    return {**shapes, "loss_weights": jax.ShapeDtypeStruct((rows, length), np.float32)}


# A batch of `objectives.contrastive` also holds each row's code-switched copy or translation: `COPY + key`.
COPY = "copy_"
# Keys of arrays without an axis of rows, which no microbatch splits: the characters of a batch's distinct words.
SHARED_KEYS = ("characters",)


@flax.struct.dataclass
class Sums:
    """The two sums of a weighted mean: of a metric's weighted values, and of their weights. Both are added over
    microbatches and hosts and divided once at the end, so that every position counts equally."""

    value: Array
    weight: Array

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.value + other.value, self.weight + other.weight)

    def mean(self) -> Array:
        """value / weight; 0 where nothing was added."""
        return self.value / jnp.maximum(self.weight, 1e-9)


@flax.struct.dataclass
class Hidden:
    """A backbone's hidden states, all [B, L, D].

    `layers` has the embedding output and the output of each layer, or the one output of an objective that has no
    others: vectors of words and sentences are means of them.
    `normalised` is the last output after the final normalisation of a pre-norm model, which the heads alone read:
    vectors lose by it. It is None where the model has none or where `layers` ends with it (post-norm, rotary).
    """

    layers: tuple[Array, ...]
    normalised: Array | None = None

    @property
    def last(self) -> Array:
        """What the heads read, [B, L, D]."""
        return self.layers[-1] if self.normalised is None else self.normalised

    @property
    def states(self) -> tuple[Array, ...]:
        """`layers`, of which the last one is normalised: as the library transformers returns them (`hidden_states`)."""
        return (*self.layers[:-1], self.last)


class BatchSource(Protocol):
    """An iterator of batches whose position can be saved and restored exactly."""

    def __iter__(self) -> Iterator[Batch]: ...

    def __next__(self) -> Batch: ...

    def stats(self) -> dict[str, float]:
        """Counts and shares of the data read so far, for the report."""

    def get_state(self) -> bytes:
        """The position in the stream; `set_state` with it makes the next batch the same again."""

    def set_state(self, state: bytes) -> None:
        """Goes to a position that `get_state` returned.

        Raises:
          ValueError: the state is damaged, or belongs to other data, another seed or batch size.
        """


class Objective(Protocol):
    """A training objective: predictions and their loss.

    An objective may also satisfy `Stateful`, `Encodes`, `HasSenses` or `Generates`; callers check with
    isinstance.

    Only the collection 'params' is differentiated. The collection 'rows' holds what a row of a batch passes
    on to the row of the same number in the next batch, such as an LSTM's state: arrays [B, ...], of which
    each microbatch gets its own rows. Without it `loss` may get none or {}: both mean that streams start.
    """

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch of `rows` rows; the only place that defines them."""

    def init(self, rng: Array, batch: Batch) -> Variables:
        """Variables for batches like `batch`.

        A `linen.LogicallyPartitioned` names the axes of an array; an array without one is copied to every device.
        """

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], Any]:
        """The sums of every metric, and the observations of the batch.

        Args:
          variables: 'params' and the other collections.
          batch: the arrays that `batch_shapes` describes.
          step: int32 [], number of steps before this one, for losses that change over time.
          rngs: {'dropout': PRNG key}, for dropout and all sampling; required if `train`.
          train: whether dropout and sampling are on.

        Returns:
          Metric -> sums over the batch's rows, of which 'loss' is optimised. Its total weight in a batch must be 0
          or at least 1: the step divides by max(weight, 1). Make values and weights sums over rows: then the number
          of microbatches does not change the result (dropout and sampling aside). A term that is a mean of its
          own, such as the distances of `MlmObjective`, changes a little.
          And the observations: what `Stateful.update` needs to know of this batch, a tree of arrays [B, ...].
        """


@runtime_checkable
class Stateful(Protocol):
    """An objective whose collections change with every step, such as an LSTM's state or word senses."""

    def update(
        self, variables: Variables, observed: Any, step: Array
    ) -> tuple[Variables, Callable[[Any], Any] | None]:
        """The collections that a step changes; not called if its loss or gradients are not finite.

        Args:
          variables: 'params' after the optimizer's update, collections before the step.
          observed: the observations of `loss`, of all rows of the batch.
          step: int32 [], number of steps before this one.

        Returns:
          The changed collections, and None or a function. The function takes a tree of parameters and copies
          some of its entries over others: a new sense, for example, starts from the vector of another sense. The
          step applies it to 'params'. By `optim.map_param_trees` it also applies it to every tree of the
          optimizer's state that is built like 'params' (the moments, and the start values towards which
          `decay_to_start` pulls), because their old values belong to a vector that is gone. In these trees an
          `optax.MaskedNode` stands for a parameter that the tree leaves out: a frozen one, one of another of
          `optimizer.groups`, or one that a part of the optimizer does not treat (Muon's matrices, masked biases).
        """


@runtime_checkable
class Encodes(Protocol):
    """An objective whose model represents text."""

    max_length: int  # maximum number of positions in a row

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """As `Objective.batch_shapes`: the batches that `encode` takes."""

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """Hidden states without dropout."""


EncodeFn = Callable[[Variables, Batch], Hidden]  # `Encodes.encode`, perhaps jitted


@runtime_checkable
class HasSenses(Protocol):
    """An objective that assigns senses to words.

    Attributes:
      senses: the options that all directions share.
      directions: direction in which the model reads ('forward', 'backward') -> the slice of a word's
        representation that this direction makes; a model with one kind of senses has one direction.
      sense_input: what selects a word's sense: 'own', the output at the word itself, or 'context', the
        outputs beside the word from which the model predicts it.
    """

    senses: SenseOptions
    directions: Mapping[str, slice]
    sense_input: str

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        """The output embeddings of N words, float32 [N, slots, d]: one for each of `SenseOptions.slots`, of which
        the first may be the warm-up's, which stands for the whole word."""

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        """As `Encodes.encode`; the last layer at a word is the input of sense selection."""


@runtime_checkable
class Generates(Protocol):
    """An objective whose model writes text."""

    def decode(self, variables: Variables, batch: Batch, **options: Any) -> Array:
        """Token ids int32 [B, L] that the model writes for each row; `options` are those of its search."""


class TrainingEvaluator(Protocol):
    """What the training loop calls to measure a model, with the model's variables alone.

    The evaluators of `evaluate` measure an encoder: `runs.evaluators.InTraining` makes one of these of them.
    """

    every_steps: int  # training steps between two runs; 0: at the end only

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        """Yields (path of a metric, value) after `step` steps; `variables` are sharded as in training."""
