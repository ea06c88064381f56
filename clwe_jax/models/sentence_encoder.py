"""The encoder of a translation model as an encoder of text: vectors of pieces and of sentences."""

from __future__ import annotations

import dataclasses
from typing import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import decode
from clwe_jax.models.laser import LaserEncoder
from clwe_jax.models.translator import Translator
from clwe_jax.types import Array, Batch, Hidden, Variables

# of `text.vocab.base_vocab`
PAD = "[PAD]"
SEP = "[SEP]"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SentenceEncoder:
    """Vectors of pieces and of sentences by LASER's or another encoder (`types.Encodes`).

    Attributes:
      model: the encoder, with the methods `encode` and `sentence` of LASER's.
      vocab_size: number of pieces; ids from there on are never predicted.
      specials: name of each special piece, such as '[CLS]' -> its id.
    """

    model: LaserEncoder | Translator
    vocab_size: int
    specials: Mapping[str, int]

    @property
    def max_length(self) -> int:
        """The longest row of `encode`, which has a begin beside the end."""
        return self.model.max_length

    @property
    def marks(self) -> decode.Marks:
        """The special pieces of a translation."""
        # As in fairseq, the mark of the end also stands before the first piece.
        return decode.Marks(self.specials[SEP], self.specials[SEP], self.specials[PAD])

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Keys, shapes and types of a batch: inputs, int32 [rows, length]."""
        return {"inputs": jax.ShapeDtypeStruct((rows, length), np.int32)}

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """The encoder's layers at each piece; embeddings have zeros after their own dimensions.

        Args:
          variables: 'params'.
          batch: `inputs`, int32 [B, L]: a begin, which the encoder does not read and whose vectors
            are zeros, the pieces, the end, padding. `language_ids`, int32 [B] or [B, L], where
            layers of the encoder are a language's own.
        """
        layers, _ = self._layers(variables, batch)
        size = layers[-1].shape[-1]
        layers = tuple(
            jnp.pad(x, ((0, 0), (1, 0), (0, size - x.shape[-1]))).astype(jnp.float32)
            for x in layers
        )
        return Hidden(layers)

    def sentence_vectors(self, variables: Variables, batch: Batch) -> Array:
        """The vectors of sentences, float32 [B, D], from a batch of `encode`."""
        layers, mask = self._layers(variables, batch)
        vectors = self.model.apply(variables, layers, mask, method="sentence")
        return vectors.astype(jnp.float32)

    def _layers(self, variables: Variables, batch: Batch) -> tuple[tuple[Array, ...], Array]:
        ids = batch["inputs"][:, 1:]
        mask = ids != self.marks.pad
        params = {"params": variables["params"]}
        source = batch.get("language_ids")
        if source is not None:
            source = source.reshape(len(ids), -1)[:, 0]  # a row has one language
        return self.model.apply(params, ids, mask, source, method="encode"), mask
