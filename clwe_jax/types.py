"""The types that the packages share: batches, sums of metrics, hidden states and protocols."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence, runtime_checkable

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array | np.ndarray
Variables = Mapping[str, Any]  # collection of a linen module ('params', ...) -> its tree of arrays

# Key -> array. All but `SHARED_KEYS` are [rows, ...], most of them [rows, length].
Batch = dict[str, Array]


def piece_batch(rows: int, length: int, entries: bool = False) -> dict[str, jax.ShapeDtypeStruct]:
    """Keys, shapes and types of a batch of masked pieces (subwords).

    Returns:
      All [rows, length]:
      inputs: int32, piece ids after masking.
      targets: int32, the piece to predict where loss_weights > 0.
      loss_weights: float32, 1 where a piece is predicted, else 0: at all pieces of a masked word, or at its
        first alone where `entries` has all labels of the word.
      positions: int32, starting at 0 in every segment.
      segment_ids: int32, 1, 2, ... within a row; 0 is padding. No segment reads another.
      language_ids: int32, the target's language at masked pieces, the piece's own at others.
      source_language_ids: int32, the language of the text that contains the piece.
      entries (if asked for): int32, 1 + the row of the dictionary entry whose labels are all predicted
        (`models.expected_labels`), or 0.
    """
    keys = "inputs targets loss_weights positions segment_ids language_ids source_language_ids"
    keys += " entries" if entries else ""
    shapes = dict.fromkeys(keys.split(), jax.ShapeDtypeStruct((rows, length), np.int32))
    return {**shapes, "loss_weights": jax.ShapeDtypeStruct((rows, length), np.float32)}


# A batch of `objectives.contrastive` also holds each row's code-switched copy: `COPY + key` beside `key`.
COPY = "copy_"
# Keys of arrays without an axis of rows (the spelling of each word of a biLM): every microbatch gets all.
SHARED_KEYS = ("characters",)


@flax.struct.dataclass
class Sums:
    """A metric as numerator and denominator.

    Sums are added over microbatches and hosts, and divided once: every position counts equally.
    """

    value: Array
    weight: Array

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.value + other.value, self.weight + other.weight)

    def mean(self) -> Array:
        """value / weight; 0 where the weight is 0."""
        return self.value / jnp.maximum(self.weight, 1e-9)


@flax.struct.dataclass
class Hidden:
    """A backbone's hidden states, [B, L, D]: the embedding output, then each layer's. Of a pre-norm model the
    last one is normalised once more, as transformers does."""

    layers: tuple[Array, ...]

    @property
    def last(self) -> Array:
        """The last layer, [B, L, D], which the heads read."""
        return self.layers[-1]


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

    An objective may also satisfy the protocols below, which callers check with isinstance.

    Collections other than 'params' are never differentiated. Arrays in the collection 'rows', such as an
    LSTM's state after each row, are [rows of the batch, ...], and a microbatch gets the part of its own rows.
    """

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch of `rows` rows; the only place that defines them."""

    def init(self, rng: Array, batch: Batch) -> Variables:
        """Variables for batches like `batch`, each in linen's box that names its logical axes."""

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
          variables: 'params' and the collections.
          batch: the arrays that `batch_shapes` describes.
          step: int32 [], number of steps before this one, for losses that change over time.
          rngs: name -> PRNG key; required if `train`.
          train: whether dropout and sampling are on.

        Returns:
          Metric -> sums, of which 'loss' is optimised; and the observations, a tree of arrays
          [rows of the batch, ...] that `Stateful.update` reads.
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
          The changed collections, and a function that copies rows within the arrays of a tree like
          'params', as where a new sense starts from another's vector (None: nothing is copied). It is also applied to the optimizer's moments and to the start
          that `decay_to_start` keeps: those of the old row would spoil the copy's next update. In these
          trees an `optax.MaskedNode` replaces a parameter that is frozen or of another group.
        """


@runtime_checkable
class Encodes(Protocol):
    """An objective whose model represents text.

    Attributes:
      max_length: maximum number of positions in a row.
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
      senses: the `options.senses.SenseOptions` that all directions share.
      directions: direction ('forward', ...) -> its slice of a word's representation, which is clustered.
      sense_input: the input of sense selection: 'own', a word's own representation, or 'context',
        the representations that predict it.
    """

    senses: Any
    directions: Mapping[str, slice]
    sense_input: str

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        """The output vectors of the S senses of N words, float32 [N, S, d]."""

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        """As `Encodes.encode`; the last layer at a word is the input of sense selection."""


@runtime_checkable
class Generates(Protocol):
    """An objective whose model writes text."""

    def decode(self, variables: Variables, batch: Batch, **options: Any) -> Any:
        """Token ids int32 [B, L] that the model writes for each row of the batch."""


@dataclasses.dataclass(frozen=True)
class WordSample:
    """The text over which contextual vectors of words are averaged; static vectors need none.

    Attributes:
      lines: language -> lines of raw text.
      occurrences: maximum number of occurrences that are averaged for a word.
      min_count: minimum count of a frequent word, by the encoder's own counts, else in `lines`.
      max_words: maximum number of frequent words of a language; None: all.
    """

    lines: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    occurrences: int = 10
    min_count: int = 2
    max_words: int | None = 20_000


def row_index(words: Sequence[str], keys: Sequence[str] = ()) -> dict[str, int]:
    """Word or key (the normalised word) -> its first row; a word that is its own key goes before others of the key."""
    rows = range(len(words) - 1, -1, -1)  # in reverse, because a dict keeps the last row of a word
    by_word = dict(zip(reversed(words), rows))
    by_key = dict(zip(reversed(keys), rows))
    equal_to_key = {word: row for word, row in by_word.items() if keys and keys[row] == word}
    return by_word | by_key | equal_to_key


@dataclasses.dataclass(frozen=True, eq=False)
class WordSpace:
    """Words of one language, with a vector of each layer.

    Attributes:
      words: words as they are written, the `frequent` ones first, by descending frequency.
      vectors: float32 [N, layers, D].
      frequent: number of frequent words: the candidates of retrieval, also for the means of CSLS.
      counts: int [N], number of occurrences averaged in each vector, 0 if the word was encoded without
        context; None for static vectors.
      keys: normalised words, by which they are looked up; (): the words themselves.
    """

    words: Sequence[str]
    vectors: np.ndarray
    frequent: int
    counts: np.ndarray | None = None
    keys: Sequence[str] = ()

    @functools.cached_property
    def index(self) -> dict[str, int]:
        return row_index(self.words, self.keys)


@runtime_checkable
class Encoder(Protocol):
    """Text to vectors of each layer, by a run, a projected run, static vectors or another program's model.

    Attributes:
      languages: the languages that the encoder knows.
      layers: number of vectors of a word or sentence; layer 0 is the embedding output. Static
        vectors have 1.
    """

    languages: tuple[str, ...]
    layers: int

    def pairwise_space(self, source: str, target: str) -> Encoder:
        """The encoder in the space where the two languages are compared.

        This is the encoder itself where all languages share one space, else an encoder of only
        these two languages.
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
    """An encoder that pools the words of a sentence in several ways.

    Attributes:
      pools: names of the ways, first that of `Encoder.sentences`; has 'sif' if word counts are known.
    """

    pools: tuple[str, ...]

    def pool_in_all_ways(self, texts: Sequence[str], language: str) -> Mapping[str, np.ndarray]:
        """Pool -> sentence vectors like those of `Encoder.sentences`, from one pass of encoding."""


@runtime_checkable
class HasObjective(Protocol):
    """An encoder that is a language model, whose losses and senses can be measured.

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
    """An encoder that cuts long sentences.

    Attributes:
      encoded_counts: language -> number of sentences encoded so far.
      cut_counts: language -> number of encoded sentences that lost their end.
    """

    encoded_counts: Mapping[str, int]
    cut_counts: Mapping[str, int]


@runtime_checkable
class Covers(Protocol):
    """An encoder that has vectors for some words only."""

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector."""


class Evaluator(Protocol):
    """A measurement. In config.evals an entry's `name` chooses the class, and its key is arbitrary.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
      has_data: whether its options name data; a run skips it otherwise.
    """

    every_steps: int
    has_data: bool

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value).

        Args:
          model: the model to measure. An evaluator of losses or senses needs a `HasObjective`.

        Raises:
          ValueError: the model lacks a capability, which the message names.
        """


class TrainingEvaluator(Protocol):
    """A measurement during training, of variables instead of an encoder.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
    """

    every_steps: int

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value) of the variables, sharded as in training, after `step` steps."""


@runtime_checkable
class HasDetails(Protocol):
    """An evaluator that keeps a row for each test item of its last run."""

    details: Sequence[Mapping[str, Any]]


@runtime_checkable
class HasExamples(Protocol):
    """An evaluator that keeps a few rows of its last run, which its section of the report shows."""

    examples: Sequence[Mapping[str, Any]]


EncodeFn = Callable[[Variables, Batch], Hidden]  # `Encodes.encode`, perhaps jitted
