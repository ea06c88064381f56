"""InfoNCE between sentences and their code-switched copies: the loss of the contrastive finish.

A sentence and its copy attract each other; all other copies of the batch, on all devices, repel the
sentence, and all other sentences the copy (van den Oord et al. 2018, Eq. 4, in both directions; the
temperature is that of SimCSE, Gao et al. 2021). No parallel text is needed. Where there is some, given
or mined, translations take the place of copies (`data.graph.copies`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import pooling
from clwe_jax.objectives.mlm import cross_entropy
from clwe_jax.types import COPY, Array, Batch, Encodes, Objective, Sums, Variables

_NEVER = -1e9  # score of a row without pieces


@dataclasses.dataclass(frozen=True)
class ContrastiveObjective:
    """InfoNCE on the sentence vectors of another objective's model; its variables are that model's.

    Attributes:
      base: the objective of the pretraining; it encodes (`types.Encodes`).
      temperature: divisor of the cosines.
      microbatches: parts in which rows are encoded, one after the other. Their activations are
        computed again in the backward pass instead of being kept. All pairs of the batch repel each
        other whatever the cut, and loss and gradient are the same.
      weights: weight of each piece of each language in the vector of a sentence, float32
        [languages, V], such as those of SIF; None: all pieces weigh the same.
      against: the vectors that the layers' vector of a sentence is compared with: 'layers', those of
        the copies by the same layers; 'table', those by layer 0, which do not learn from this, so
        that the layers stay in the space of the table.
    """

    base: Encodes | Objective
    temperature: float = 0.05
    microbatches: int = 1
    weights: np.ndarray | None = dataclasses.field(default=None, compare=False)
    against: str = "layers"

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ValueError(
                f"config.finish.temperature={self.temperature}: must be positive, e.g. 0.05"
            )

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch: of sentences, and with the prefix `COPY` of copies."""
        shapes = self.base.batch_shapes(rows, length)
        shapes.pop("entries", None)  # sentences have no labels
        return {**shapes, **{COPY + key: shape for key, shape in shapes.items()}}

    def init(self, rng: Array, batch: Batch) -> Variables:
        """The base's variables."""
        return self.base.init(rng, _sides(batch)[0])

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], dict[str, Any]]:
        """The sums of every metric over the pairs; nothing is observed, and nothing is dropped out.

        Returns:
          'loss': mean of both directions, in nats; 'accuracy': share of sentences and copies that
          are nearest to their counterparts; 'pair_cosine', 'other_cosine': mean cosine of a
          sentence with its copy and with the other copies; 'padding': share of positions without a piece.
        """
        del step, rngs, train
        sides = [self._vectors(variables, side) for side in _sides(batch)]
        (a, a_to_find, weights), (b, b_to_find, _) = sides
        pairs = [(a, b)]
        # On real text most of the gain in retrieval comes from this (docs/lessons.md). The layers learn to
        # find the table's vectors, which as targets stay where they are.
        if self.against == "table":
            pairs = [(a, jax.lax.stop_gradient(b_to_find)), (jax.lax.stop_gradient(a_to_find), b)]
        pair_sums = [info_nce(x, y, weights, self.temperature) for x, y in pairs]
        means = jax.tree.map(lambda *sums: sum(sums) / len(sums), *pair_sums)
        empty = jnp.stack([side["segment_ids"] == 0 for side in _sides(batch)])
        padding = Sums(empty.sum(dtype=jnp.float32), jnp.float32(empty.size))
        return {**means, "padding": padding}, {}

    def _vectors(self, variables: Variables, batch: Batch) -> tuple[Array, Array, Array]:
        """Sentences by the last layers, [B, D], and by what they are compared with, [B, D]; 1 for a
        row with pieces, else 0, [B]."""

        def encode(batch: Batch) -> tuple[Array, Array, Array]:
            weights = None
            if self.weights is not None:
                weights = jnp.asarray(self.weights)[batch["language_ids"], batch["inputs"]]
            hidden = self.base.encode(variables, batch)
            last, has_pieces = pooling.sentences(hidden, batch, weights)
            if self.against == "layers":
                return last, last, has_pieces
            table, _ = pooling.sentences(hidden, batch, weights, layers=(0,))
            return last, table, has_pieces

        if self.microbatches == 1:
            return encode(batch)

        # Row r goes to part r % M, so that every device keeps its own rows.
        def deal(x: Array) -> Array:
            # [R, ...] -> [M, R / M, ...].
            return jnp.swapaxes(x.reshape(-1, self.microbatches, *x.shape[1:]), 0, 1)

        def collect(x: Array) -> Array:
            # [M, R / M, ...] -> [R, ...].
            return jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:])

        parts = jax.lax.map(jax.checkpoint(encode), jax.tree.map(deal, batch))
        return jax.tree.map(collect, parts)


def _sides(batch: Batch) -> tuple[Batch, Batch]:
    """The batch of the sentences and that of their copies."""
    copies = {key.removeprefix(COPY): x for key, x in batch.items() if key.startswith(COPY)}
    return {key: batch[key] for key in copies}, copies


def info_nce(a: Array, b: Array, weights: Array, temperature: float) -> dict[str, Sums]:
    """The loss of pairs of vectors that repel the other pairs, and its accuracy and cosines.

    Args:
      a, b: vectors of any length, [B, D]; row i of one belongs to row i of the other.
      weights: 1 for a pair, 0 for a row that is none, float32 [B].
      temperature: divisor of the cosines.

    Returns:
      'loss', 'accuracy', 'pair_cosine', 'other_cosine' of `ContrastiveObjective.loss`.
    """
    # By default a TPU multiplies float32 in bfloat16, and the temperature multiplies that error.
    cosines = jnp.dot(pooling.unit(a), pooling.unit(b).T, precision=jax.lax.Precision.HIGHEST)
    are_pairs = (weights[:, None] > 0) & (weights[None, :] > 0)
    scores = jnp.where(are_pairs, cosines / temperature, _NEVER)
    targets = jnp.arange(len(weights))
    directions = [cross_entropy(x, targets) for x in (scores, scores.T)]
    loss = sum((loss * weights).sum() for loss, _ in directions)
    right = sum((right * weights).sum() for _, right in directions)
    total = weights.sum()
    pair_sum = (jnp.diagonal(cosines) * weights).sum()
    # total * (total - 1) pairs: each sentence with the copies of all others
    other_sum = jnp.where(are_pairs, cosines, 0.0).sum() - pair_sum
    return {
        "loss": Sums(loss / 2, total),
        "accuracy": Sums(right / 2, total),
        "pair_cosine": Sums(pair_sum, total),
        "other_cosine": Sums(other_sum, total * (total - 1)),
    }
