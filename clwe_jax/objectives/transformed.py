"""One layer of a language model, whitened and mapped by a network (CLCR, section 3.1)."""

from __future__ import annotations

import dataclasses
from typing import Sequence

import jax
import jax.numpy as jnp

from clwe_jax.align import attention_matching
from clwe_jax.align.attention_matching import Params
from clwe_jax.align.whitening import Whitening
from clwe_jax.types import Batch, Encodes, Hidden, Variables


@dataclasses.dataclass(frozen=True, eq=False)
class Transformed:
    """The `encode` of an objective with one layer of output: T of the whitened vectors.

    It is not an objective: it only encodes (`types.Encodes`).

    Attributes:
      base: the objective.
      layers: numbers of the layers whose mean is whitened; 0 is the embedding output.
      whitening: of the language's vectors.
      params: of T, the map of attention matching; None: the identity.
    """

    base: Encodes
    layers: Sequence[int]
    whitening: Whitening
    params: Params | None = None

    @property
    def max_length(self) -> int:
        return self.base.max_length

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        return self.base.batch_shapes(rows, length)

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        hidden = self.base.encode(variables, batch)
        chosen = [hidden.layers[layer].astype(jnp.float32) for layer in self.layers]
        # Without whitening F1 is 51 to 60 instead of 81 (docs/lessons.md).
        x = self.whitening.apply(sum(chosen) / len(chosen))
        if self.params is not None:
            x = attention_matching.transform(self.params, x)
        return Hidden((x,))
