"""Types that several packages of clwe_jax share: batches, metrics, hidden states and protocols."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Iterator, Mapping, Protocol, Sequence, runtime_checkable

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.options.senses import SenseOptions

Array = jax.Array | np.ndarray
Variables = Mapping[str, Any]  # collection of a linen module ('params', ...) -> its tree of arrays

# Key -> array [rows, ...], most of them [rows, length]. A row holds one segment (sentence) or several.
Batch = dict[str, Array]


def piece_shapes(rows: int, length: int, entries: bool = False) -> dict[str, jax.ShapeDtypeStruct]:
    """Keys, shapes and types of a batch of masked pieces (subwords).

    Returns:
      All [rows, length]:
      inputs: int32, piece ids after masking.
      targets: int32, the piece to predict where loss_weights > 0.
      loss_weights: float32, 1 where a piece is predicted, else 0. Each piece of a masked word is predicted;
        with `entries` only its first piece, for the whole word.
      positions: int32, starting at 0 in every segment.
      segment_ids: int32, 1, 2, ... within a row; 0 is padding. No segment reads another.
      language_ids: int32, the language of the target where a piece is predicted; elsewhere of the input
        piece, which may belong to a synonym in another language than the text.
      source_language_ids: int32, the language of the text.
      entries (if asked for): int32, 1 + the entry of the dictionary's `LabelTable` whose labels, in all
        languages, are predicted here; 0: none.
    """
    keys = ["inputs", "targets", "loss_weights", "positions", "segment_ids"]
    keys += ["language_ids", "source_language_ids"]
    if entries:
        keys.append("entries")
    shapes = dict.fromkeys(keys, jax.ShapeDtypeStruct((rows, length), np.int32))
    return {**shapes, "loss_weights": jax.ShapeDtypeStruct((rows, length), np.float32)}


# A batch of `objectives.contrastive` also holds each row's code-switched copy: `COPY + key` beside `key`.
COPY = "copy_"
# Keys of arrays without an axis of rows, such as the characters of a batch's words: no microbatch splits them.
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
        """value / weight; 0 where the weight is 0."""
        return self.value / jnp.maximum(self.weight, 1e-9)


@flax.struct.dataclass
class Hidden:
    """A backbone's hidden states: `layers`, the embedding output and then each layer's, and `normalised`, the
    last layer after the final normalisation of a pre-norm model. All [B, L, D]."""

    layers: tuple[Array, ...]
    normalised: Array | None = None

    @property
    def last(self) -> Array:
        """What the heads read, [B, L, D]."""
        return self.layers[-1] if self.normalised is None else self.normalised


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
    isinstance. The name of such a protocol says what its classes do or have.

    Only the collection 'params' is differentiated. The collection 'rows' holds what a row passes on to the
    row of the same number in the next batch, such as an LSTM's state: arrays [rows of the batch, ...], of
    which a microbatch gets the part of its own rows.
    """

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch of `rows` rows; the only place that defines them."""

    def init(self, rng: Array, batch: Batch) -> Variables:
        """Variables for batches like `batch`, each in a `linen.LogicallyPartitioned`, which names its axes."""

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
          rngs: name -> PRNG key; required if `train`.
          train: whether dropout and sampling are on.

        Returns:
          Metric -> sums, of which 'loss' is optimised; and the observations: what `Stateful.update` needs to
          know of this batch, a tree of arrays [rows of the batch, ...].
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
          'params' (None: nothing is copied). A new sense, for example, starts as a copy of another sense's row.
          The step also applies the function to the optimizer's moments and to the start values of
          `decay_to_start`, because what they hold belongs to the row that was overwritten. In these trees an
          `optax.MaskedNode` replaces a parameter that is frozen or of another group.
        """


@runtime_checkable
class Encodes(Protocol):
    """An objective whose model represents text."""

    max_length: int  # maximum number of positions in a row

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """As `Objective.batch_shapes`."""

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """Hidden states without dropout."""


EncodeFn = Callable[[Variables, Batch], Hidden]  # `Encodes.encode`, perhaps jitted


@runtime_checkable
class HasSenses(Protocol):
    """An objective that assigns senses to words.

    Attributes:
      senses: the options that all directions share.
      directions: direction ('forward', ...) -> the slice of a word's representation that is its own.
      sense_input: what selects a word's sense: 'own', the word's own representation, or 'context', the
        representations by which the model predicts the word.
    """

    senses: SenseOptions
    directions: Mapping[str, slice]
    sense_input: str

    def sense_vectors(self, variables: Variables, direction: str, ids: np.ndarray) -> Array:
        """The rows of the S senses of N words in the softmax's table, float32 [N, S, d]."""

    def encode_for_senses(self, variables: Variables, batch: Batch) -> Hidden:
        """As `Encodes.encode`; the last layer at a word is the input of sense selection."""


@runtime_checkable
class Generates(Protocol):
    """An objective whose model writes text."""

    def decode(self, variables: Variables, batch: Batch, **options: Any) -> Array:
        """Token ids int32 [B, L] that the model writes for each row of the batch."""


@dataclasses.dataclass(frozen=True)
class WordSample:
    """The text over which contextual vectors of words are averaged; static vectors need none.

    Attributes:
      lines: language -> lines of raw text.
      occurrences: maximum number of occurrences that are averaged for a word.
      min_count: number of times that a frequent word must occur: in the text that the encoder learned from,
        if it has kept its counts, else in `lines`.
      max_words: maximum number of frequent words of a language; None: all.
    """

    lines: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    occurrences: int = 10
    min_count: int = 2
    max_words: int | None = 20_000


def row_index(words: Sequence[str], keys: Sequence[str] = ()) -> dict[str, int]:
    """Word or key -> its row. The key of a row is its normalised word, and several rows may have one key.

    A key leads to the row whose word is spelled like it ('haus' before 'Haus'), else to its first row. A word
    that is no key leads to its first row.
    """
    rows = range(len(words) - 1, -1, -1)  # in reverse, because a dict keeps the last row of a word
    by_word = dict(zip(reversed(words), rows))
    by_key = dict(zip(reversed(keys), rows))
    equal_to_key = {word: row for word, row in by_word.items() if keys and keys[row] == word}
    return by_word | by_key | equal_to_key


@dataclasses.dataclass(frozen=True, eq=False)
class WordSpace:
    """Words of one language, each with one vector of every layer.

    Attributes:
      words: words as they are written, the frequent ones first, by descending frequency.
      vectors: float32 [N, layers, D].
      frequent_count: number of frequent words, which are the candidates of retrieval and the neighbours of
        CSLS. The other words were asked for.
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
    """An encoder that pools the words of a sentence in several ways."""

    # Names of the ways, first that of `Encoder.sentences`; with 'sif' (smooth inverse frequency) if word
    # counts are known.
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
    """An encoder that cuts long sentences."""

    encoded_counts: Mapping[str, int]  # language -> number of sentences encoded so far
    cut_counts: Mapping[str, int]  # language -> number of these that lost their end


@runtime_checkable
class Covers(Protocol):
    """An encoder that has vectors for some words only."""

    def coverage(self, texts: Sequence[str], language: str) -> float:
        """The share of the texts' running words that have a vector."""


class Evaluator(Protocol):
    """A measurement. The `name` of an entry of config.evals chooses the class; its key may be any.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
      has_data: whether its options name data; a run skips it otherwise.
    """

    every_steps: int
    has_data: bool

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields (path of a metric, value), such as ('retrieval/de-en/chance', 0.001).

        Args:
          model: the model to measure. An evaluator of losses or senses needs a `HasObjective`.

        Raises:
          ValueError: the model lacks a capability, which the message names.
        """


class TrainingEvaluator(Protocol):
    """A measurement during training, of variables instead of an encoder."""

    every_steps: int  # as of `Evaluator`

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        """Yields (path of a metric, value) of the variables, sharded as in training, after `step` steps."""


@runtime_checkable
class HasDetails(Protocol):
    """An evaluator that keeps a row for each test item of its last run."""

    details: Sequence[Mapping[str, Any]]


@runtime_checkable
class HasExamples(Protocol):
    """An evaluator that keeps a few rows of its last run, which its section of the report shows."""

    examples: Sequence[Mapping[str, Any]]
