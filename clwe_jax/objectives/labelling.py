"""Fine-tuning: the loss of labelled words or texts on a pretrained backbone."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models.tuned import TunedModel
from clwe_jax.types import Array, Batch, Sums, Variables, piece_shapes

_KEYS = ("inputs", "positions", "segment_ids", "language_ids")


@dataclasses.dataclass(frozen=True)
class LabellingObjective:
    """The negative log-likelihood of labels (`types.Objective`)."""

    model: TunedModel  # backbone and head

    @property
    def max_length(self) -> int:
        """The longest row."""
        return self.model.backbone.max_length

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of what `TunedModel` reads. At most `length` words of a row have labels."""
        shapes = {key: x for key, x in piece_shapes(rows, length).items() if key in _KEYS}
        labels = (rows, length) if self.model.labelling.head.tags else (rows,)
        shapes["gold"] = jax.ShapeDtypeStruct(labels, np.int32)
        if self.model.labelling.head.tags:
            for key in ("words", "starts"):
                shapes[key] = jax.ShapeDtypeStruct((rows, length), np.int32)
        return shapes

    def init(self, rng: Array, batch: Batch) -> Variables:
        return self.model.init(rng, batch, method=TunedModel.loss)

    def loss(
        self,
        variables: Variables,
        batch: Batch,
        *,
        step: Array | int,
        rngs: Mapping[str, Array] | None = None,
        train: bool = True,
    ) -> tuple[dict[str, Sums], dict[str, Any]]:
        """'loss' and 'accuracy' of `Labelling.loss`, and 'padding'; nothing is observed."""
        del step
        params = {"params": variables["params"]}
        sums = self.model.apply(params, batch, train, rngs=rngs, method=TunedModel.loss)
        filled = batch["segment_ids"] > 0
        empty = Sums((~filled).sum(dtype=jnp.float32), jnp.float32(filled.size))
        return {**sums, "padding": empty}, {}

    def best(self, variables: Variables, batch: Batch) -> Array:
        """The best labels, int32 [B, W] or [B]."""
        return self.model.apply({"params": variables["params"]}, batch, method=TunedModel.best)
