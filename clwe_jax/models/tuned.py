"""A backbone under a head, which learn together (D8; Devlin et al. 2019, section 4)."""

from __future__ import annotations

from flax import linen as nn
import jax.numpy as jnp

from clwe_jax.models.heads import Texts
from clwe_jax.models.labelling import Labelling, mix
from clwe_jax.models.laser import Backbone
from clwe_jax.models.pooling import select, words
from clwe_jax.models.transformer import Transformer
from clwe_jax.types import Array, Batch, Sums


class TunedModel(nn.Module):
    """The backbone of a pretrained model under a head.

    A batch has the keys of `types.piece_shapes` and 'gold', the labels. For words with
    labels it also has 'words', int32 [B, W]: the positions of the words' first pieces, 0 for padding;
    and 'starts', int32 [B, W]: 1 at the first word of a sentence, which may go on in the next row.

    Attributes:
      backbone: the encoder; its parameters have the paths that they have in the pretrained model.
      labelling: the head.
      pool: the vector of a row that has one label: 'cls', at its first position; 'mean', of all
        pieces between the first and the last position.
      layers: the layers that the head reads, by a name of `pooling.select`; of several it learns a mix.
      words: the vector of a word, of its pieces: 'first', 'mean' or 'max'.
    """

    backbone: Transformer | Backbone
    labelling: Labelling
    pool: str = "mean"
    layers: str = "last"
    words: str = "first"

    def loss(self, batch: Batch, train: bool = False) -> dict[str, Sums]:
        starts = batch.get("starts")
        return self.labelling.loss(self._texts(batch, train), batch["gold"], train, starts)

    def best(self, batch: Batch) -> Array:
        return self.labelling.best(self._texts(batch, False), batch.get("starts"))

    @nn.compact
    def _texts(self, batch: Batch, train: bool) -> Texts:
        hidden = self.backbone(batch, train=train)
        # x: [B, L, layers, D]
        if self.layers == "last":
            x = hidden.last[:, :, None].astype(jnp.float32)
        else:
            x = select(jnp.stack(hidden.layers, axis=2).astype(jnp.float32), self.layers)
        filled = batch["segment_ids"] > 0
        ends = jnp.pad(filled[:, 1:], ((0, 0), (0, 1)))  # False at the last filled position: [SEP]
        pieces = filled & ends & (batch["positions"] > 0)
        x = x[:, :, 0] if x.shape[2] == 1 else mix(self, x)
        if "words" in batch:
            # After the mix, as in the LASER paper: the maximum over pieces is not linear.
            x = words(x, batch["words"], pieces, self.words)
            return [(x, batch["words"] > 0)]
        if self.pool == "cls":
            return [(x[:, :1], filled[:, :1])]
        return [(x, pieces)]
