"""A backbone under a head, which learn together (D8; Devlin et al. 2019, section 4)."""

from __future__ import annotations

from typing import Annotated

from flax import linen as nn
import jax.numpy as jnp

from clwe_jax.fields import OneOf
from clwe_jax.models.heads import Texts
from clwe_jax.models.labelling import Labelling
from clwe_jax.models.transformer import Transformer
from clwe_jax.types import Array, Batch, Sums

POOLS = ("cls", "mean")


class TunedModel(nn.Module):
    """The backbone of a masked language model under a head.

    A batch has the backbone's keys and 'gold', see `models.labelling`. For words with labels it also
    has 'words', int32 [B, W]: the positions of the words' first pieces, 0 for padding.

    Attributes:
      backbone: the encoder; its parameters have the paths that they have in `MlmModel`.
      labelling: the head.
      pool: the vector of a row that has one label: 'cls', at its first position; 'mean', of all
        pieces between the first and the last position.
    """

    backbone: Transformer
    labelling: Labelling
    pool: Annotated[str, OneOf(*POOLS)] = "mean"

    def loss(self, batch: Batch, train: bool = False) -> dict[str, Sums]:
        """See `Labelling.loss`."""
        return self.labelling.loss(self._texts(batch, train), batch["gold"], train)

    def best(self, batch: Batch) -> Array:
        """See `Labelling.best`."""
        return self.labelling.best(self._texts(batch, False))

    def _texts(self, batch: Batch, train: bool) -> Texts:
        last = self.backbone(batch, train=train).last.astype(jnp.float32)
        if "words" in batch:
            words = batch["words"]
            return [(jnp.take_along_axis(last, words[..., None], axis=1), words > 0)]
        filled = batch["segment_ids"] > 0
        if self.pool == "cls":
            return [(last[:, :1], filled[:, :1])]
        ends = jnp.pad(filled[:, 1:], ((0, 0), (0, 1)))  # False at the last filled position: [SEP]
        return [(last, filled & ends & (batch["positions"] > 0))]
