"""The words that rooms speak to each other: batches, sums, hidden states, protocols."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Protocol

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
    """An endless (or finite) iterator of batches whose place can be saved and restored exactly."""

    def __iter__(self) -> Iterator[Batch]: ...

    def __next__(self) -> Batch: ...

    def get_state(self) -> bytes:
        """The place in the stream: the next batch after `set_state` is the same batch."""

    def set_state(self, state: bytes) -> None: ...


class Objective(Protocol):
    """What is predicted and how it is scored.

    Collections beside 'params' are never differentiated. The collection 'rows' holds what belongs
    to the rows of the batch, their axis first: a part of a batch comes with its rows of it.

    An objective whose `loss` reads few rows of a table may have a method `taps(batch)`: name in
    'params' -> shape of what those rows are, [..., n, d]. Training then gives zeros of that shape as
    variables['taps'][name], which `loss` adds to the rows that it reads, and whose gradient is the
    table's; 'read' of what it observed tells by name which they were, int32 [..., n], numbered over
    the table's leading axes.
    """

    max_length: int
    reads_characters: bool

    def init(self, rng: Array, batch: Batch) -> Variables: ...

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """What `loss` takes, to compile with before there are data."""

    def encode(self, variables: Variables, batch: Batch) -> Hidden: ...

    def loss(
        self, variables: Variables, batch: Batch, rngs: Mapping[str, Array], train: bool = True
    ) -> tuple[dict[str, Sums], Any]:
        """The sums of every metric ('loss' is what is optimised), and a tree of arrays, their
        first axis the rows of the batch: what `update` has to know of it."""

    def update(self, variables: Variables, observed: Any, step: Array) -> Variables:
        """The variables that a step leaves, once a step.

        Args:
          variables: 'params' after the optimizer's update, collections before the step, and
            'moments': trees like 'params' of what the optimizer keeps of each number, so that
            whoever copies a row copies its moments. Not called where the step was not finite.
          observed: what `loss` observed of all rows of the batch.
          step: int32 [], steps before this one.
        """


class Evaluator(Protocol):
    """Runs every `every_steps` training steps and at the end; yields (metric path, value)."""

    every_steps: int

    def run(self, variables: Variables) -> Iterator[tuple[str, float]]: ...


EncodeFn = Callable[[Variables, Batch], Hidden]
