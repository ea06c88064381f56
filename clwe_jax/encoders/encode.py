"""Rows of word pieces to vectors: means over groups of pieces, in every layer."""

from __future__ import annotations

import collections
import functools
import numbers
from typing import Any, Callable, Iterator, Protocol, Sequence, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax import terminal
from clwe_jax.encoders import batching
from clwe_jax.encoders.batching import Plan, Row, Spot
from clwe_jax.encoders.protocols import Encoder, Pools
from clwe_jax.encoders.sharded_call import ShardedCall
from clwe_jax.models.pooling import last_layers
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Array, Batch, EncodeFn, Hidden, Variables, piece_shapes

_AHEAD = 2  # batches in flight while another one is fetched

VectorFn = Callable[[Variables, Batch], Array]
Reduce = Callable[[np.ndarray], np.ndarray]
WordLists = Sequence[Sequence[str]]  # the words of each sentence
Layer = int | str  # a layer's number (0: the embeddings), or 'mean_last4'
MEAN_OF_LAST_LAYERS = "mean_last4"


@runtime_checkable
class AveragesLayers(Protocol):
    """Vectors of layers whose mean is not that of their numbers."""

    def mean_of_layers(self) -> np.ndarray:
        """The mean of the layers, [..., D], of [..., layers, D]."""


@runtime_checkable
class EncodesSentences(Protocol):
    """An objective whose model has one vector for a sentence."""

    def sentence_vectors(self, variables: Variables, batch: Batch) -> Array:
        """float32 [B, D], for a batch of `types.Encodes.encode`."""


@runtime_checkable
class ReadsSentences(Protocol):
    """An encoder of text that makes sentences' vectors as its model's authors do."""

    def by_layer(self) -> Encoder:
        """The encoder that does not, whose sentences have a vector in every layer."""


@runtime_checkable
class SaysReading(Protocol):
    """An encoder whose sentence vectors are no means of pieces in the last four layers.

    Attributes:
      sentence_reading: how it makes them, in words.
    """

    sentence_reading: str


def describe_reading(encoder: Encoder) -> str:
    """How an encoder makes a sentence's vector."""
    if isinstance(encoder, SaysReading):
        return encoder.sentence_reading
    if isinstance(encoder, Pools) and encoder.pools == ("own",):
        return "the model's own vector"
    first, *others = last_layers(encoder.layers - 1)
    layers = f"layers {first} to {others[-1]}" if others else f"layer {first}"
    return f"the mean of the pieces in {layers}"


def by_layer(encoder: Any) -> Any:
    """The encoder, or the one by layer of an encoder that `ReadsSentences`."""
    return encoder.by_layer() if isinstance(encoder, ReadsSentences) else encoder


def select_layer(vectors: np.ndarray, layer: Layer) -> np.ndarray:
    """Reduces the vectors of all layers to one vector.

    Args:
      vectors: [..., layers + 1, D].
      layer: a layer's number, or 'mean_last4' for the mean of `last_layers`.

    Returns:
      [..., D].

    Raises:
      ValueError: there is no such layer.
    """
    layers = vectors.shape[-2] - 1
    if layer == MEAN_OF_LAST_LAYERS:
        if layers == 0:
            return vectors[..., 0, :]  # no copy: static vectors may fill the memory
        chosen = vectors[..., last_layers(layers), :]
        return chosen.mean_of_layers() if isinstance(chosen, AveragesLayers) else chosen.mean(-2)
    if not isinstance(layer, numbers.Integral) or not 0 <= layer <= layers:
        numbered = f"0 (the embeddings) to {layers}" if layers else "0 only"
        raise ValueError(
            f"layer={layer!r}: this model's layers are {numbered}; expected one of them, or "
            f"{MEAN_OF_LAST_LAYERS!r} for the mean of the last four (of all where there are fewer)"
        )
    return vectors[..., layer, :]


def select(vectors: np.ndarray, layer: Layer | None) -> np.ndarray:
    """The vectors of a layer, from [..., layers + 1, D]; all of them for the layer 'all'."""
    if isinstance(layer, str) and layer == "all":
        return vectors
    return select_layer(vectors, MEAN_OF_LAST_LAYERS if layer is None else layer)


def group_by_word(owners: Sequence[int], pool: str) -> list[int]:
    """The groups of `Row` for pieces that belong to the words `owners`."""
    if pool == "max":
        return list(range(len(owners)))  # every piece alone
    if pool == "mean":
        return list(owners)
    # 'first': the other pieces of a word are in no group.
    return [x if x != before else -1 for before, x in zip([-1, *owners], owners)]


class RowEncoder:
    """Encodes rows in batches of few distinct shapes, so that few programs are compiled."""

    def __init__(
        self,
        encode_fn: EncodeFn,
        tokenizer: Tokenizer,
        max_length: int,
        batch_size: int = 64,
        packs: bool = False,
    ):
        """Args:
        encode_fn: function from variables and a batch to hidden states.
        max_length: pieces of the longest row, [CLS] and [SEP] included; at most the model's.
        batch_size: rows computed at once.
        packs: whether short rows share a row of the batch, in segments of which none reads another.

        Raises:
          ValueError: a length that leaves no room for a piece.
        """
        if max_length < 3:
            raise ValueError(f"max_length={max_length}: [CLS], a piece and [SEP] take 3")
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.batch_size = batch_size
        self._packs = packs
        self._encode_fn = encode_fn
        self._pool = _program(encode_fn)

    def means(self, variables: Variables, rows: Sequence[Row]) -> list[np.ndarray]:
        """The means over each row's groups, float32 [groups, layers + 1, D]."""
        means: list[np.ndarray | None] = [None] * len(rows)
        for place, vectors in self.stream(variables, rows):
            means[place] = vectors.copy()  # a view would hold the whole batch
        return means

    def stream(self, variables: Variables, rows: Sequence[Row]) -> Iterator[tuple[int, np.ndarray]]:
        """Yields pairs of a row's index and its `means`, in no particular order."""
        for place, means in self.pool_rows(variables, rows):
            yield place, means[0]

    def pool_rows(
        self, variables: Variables, rows: Sequence[Row], reduce: Reduce = np.asarray
    ) -> Iterator[tuple[int, np.ndarray]]:
        """As `stream`, with the weighted means too where rows have weights: [1 or 2, groups, ...].

        Args:
          reduce: function of a batch's vectors, [..., layers + 1, D], that keeps their first axes.
        """
        pending: collections.deque[tuple[Plan, Array]] = collections.deque()
        with terminal.task("texts", len(rows)) as advance:
            plan_batches = batching.share_rows if self._packs else batching.separate
            for plan in plan_batches(rows, self.batch_size, self.max_length):
                batch_rows = [rows[i] for i in plan.places]
                batch = self.batch(batch_rows, plan.size, plan.length, plan.spots)
                pending.append((plan, self._pool(variables, batch, slots=plan.slots)))
                if len(pending) > _AHEAD:
                    yield from _fetch(rows, reduce, *pending.popleft())
                advance(len(batch_rows))
            while pending:
                yield from _fetch(rows, reduce, *pending.popleft())

    def vectors_of_rows(
        self, program: VectorFn, variables: Variables, rows: Sequence[Row]
    ) -> np.ndarray:
        """One vector of each row, float32 [N, D], as the model itself makes it; 0 without pieces.

        Args:
          program: function from variables and a batch to vectors, [B, D].
          rows: the rows; their groups are not read.
        """
        row_vectors = np.zeros((len(rows), self.shape(variables)[1]), np.float32)
        call = _row_program(program)
        for plan in batching.separate(rows, self.batch_size, self.max_length):
            batch = self.batch([rows[i] for i in plan.places], plan.size, plan.length)
            # The key is this module's own; a model reads those of `batch_shapes`.
            batch.pop("groups")
            vectors = np.asarray(call(variables, batch))
            for row, place in enumerate(plan.places):
                if len(rows[place].ids):
                    row_vectors[place] = vectors[row]
        return row_vectors

    def batch(
        self, rows: Sequence[Row], size: int, length: int, spots: Sequence[Spot] | None = None
    ) -> Batch:
        """A batch of `size` rows of `length` pieces, padded, with the 'groups' of the pieces.

        Args:
          spots: where each of the rows stands; None: each in a row of the batch of its own.
        """
        vocabulary = self.tokenizer.vocabulary
        shapes = piece_shapes(size, length)
        arrays = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
        arrays["inputs"][:] = vocabulary.pad_id
        arrays["groups"] = np.full((size, length), -1, np.int32)
        weighted = bool(rows) and rows[0].weights is not None
        if weighted:
            arrays["weights"] = np.zeros((size, length), np.float32)
        for row, spot in zip(rows, spots or [Spot(place) for place in range(len(rows))]):
            length = row.positions
            span = spot.row, slice(spot.start, spot.start + length)
            filled = vocabulary.real_places(length)
            arrays["inputs"][span] = [vocabulary.cls_id, *row.ids, vocabulary.sep_id]
            arrays["segment_ids"][span] = spot.segment * filled
            arrays["positions"][span] = np.arange(length)
            arrays["language_ids"][span] = row.language
            arrays["source_language_ids"][span] = row.language
            groups = np.array([row.ends[0], *row.groups, row.ends[1]])
            groups[groups >= 0] += spot.group
            arrays["groups"][span] = np.where(filled, groups, -1)
            if weighted:
                arrays["weights"][span] = [0.0, *row.weights, 0.0]
        # Nothing is masked: each piece is its own target.
        arrays["targets"] = arrays["inputs"]
        return arrays

    def shape(self, variables: Variables) -> tuple[int, int]:
        """(layers + 1, D); nothing is computed."""
        # Shapes depend neither on the rows nor on their length: one short row is enough.
        batch = self.batch([], 1, min(batching.SHORTEST, self.max_length))
        batch.pop("groups")
        hidden = jax.eval_shape(self._encode_fn, variables, batch)
        return len(hidden.layers), hidden.last.shape[-1]


@functools.lru_cache(maxsize=4)  # encoders of one model share the compiled programs
def _program(encode_fn: EncodeFn) -> ShardedCall:
    return ShardedCall(make_pool(encode_fn), static_argnames=("slots",))


@functools.lru_cache(maxsize=4)
def _row_program(program: VectorFn) -> ShardedCall:
    return ShardedCall(program)


def make_pool(encode_fn: EncodeFn):
    """A function from variables and a batch to means, [B, 1 or 2, slots, layers + 1, D].

    The batch has 'groups' and, for a second, weighted mean, 'weights'.
    """

    def pool(variables: Variables, batch: Batch, slots: int) -> Array:
        batch = dict(batch)
        groups = batch.pop("groups")
        weights = batch.pop("weights", None)
        hidden = encode_fn(variables, batch)
        member = groups[:, None, :] == jnp.arange(slots)[None, :, None]  # [B, slots, L]
        counts = jnp.maximum(member.sum(-1), 1).astype(jnp.float32)  # [B, slots]
        means = [_sums(member, hidden) / counts[:, :, None, None]]
        if weights is not None:
            member = member * weights[:, None, :]
            total = member.sum(-1)
            # A group whose weights are all 0 has the mean 0 instead of NaN.
            total = jnp.where(total > 0, total, 1.0)
            means.append(_sums(member, hidden) / total[:, :, None, None])
        return jnp.stack(means, axis=1)

    return pool


def _sums(member: Array, hidden: Hidden) -> Array:
    """[B, slots, layers + 1, D]: sums over positions, weighted by `member` [B, slots, L]."""
    sums = [
        # HIGHEST keeps float32 on accelerators, whose matrix units would round the states.
        jnp.einsum(
            "bsl,bld->bsd",
            member.astype(layer.dtype),
            layer,
            precision=jax.lax.Precision.HIGHEST,
            preferred_element_type=jnp.float32,
        )
        for layer in hidden.layers
    ]
    return jnp.stack(sums, axis=2)


def _fetch(
    rows: Sequence[Row], reduce: Reduce, plan: Plan, vectors: Array
) -> Iterator[tuple[int, np.ndarray]]:
    vectors = reduce(np.asarray(vectors))
    for place, spot in zip(plan.places, plan.spots):
        # Slots behind the row's last group are another row's or padding: [1 or 2, groups, ...].
        yield place, vectors[spot.row, :, spot.group : spot.group + rows[place].count]
