"""The backbone with the MLM head, which scores the masked positions only."""

from __future__ import annotations

from flax import linen as nn
from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.models.heads import MlmHead
from clwe_jax.models.transformer import Transformer
from clwe_jax.types import Array, Batch, Hidden


@struct.dataclass
class Predictions:
    """The scores of exactly P positions a row; unused ones have weight 0.

    Attributes:
      logits: float32 [B, P, V].
      targets, languages, source_languages: int32 [B, P].
      weights: float32 [B, P].
      left_out: weight of masked positions beyond the first P of their row, float32 [].
    """

    logits: Array
    targets: Array
    languages: Array
    source_languages: Array
    weights: Array
    left_out: Array


def choose_positions(weights: Array, count: int) -> Array:
    """Selects the first `count` positions of each row that have a weight.

    Args:
      weights: [B, L].
      count: P.

    Returns:
      bool [B, P, L]; entry (b, p, l): whether l is the p-th weighted position of row b.
    """
    weighted = weights > 0
    rank = jnp.cumsum(weighted, axis=1, dtype=jnp.int32) - 1
    slots = jnp.arange(count, dtype=jnp.int32)[None, :, None]
    return weighted[:, None, :] & (rank[:, None, :] == slots)


def at_positions(chosen: Array, x: Array) -> Array:
    """The entries of x [B, L] at the chosen positions, [B, P]; 0 where a row has fewer."""
    return jnp.where(chosen, x[:, None, :], 0).sum(-1)


def hidden_at_positions(chosen: Array, hidden: Array) -> Array:
    """Hidden states [B, L, D] at the chosen positions, [B, P, D]; 0 where a row has fewer."""
    # A matmul with a 0/1 matrix is a gather whose gradient needs no scatter.
    exact = jax.lax.Precision.HIGHEST if hidden.dtype == jnp.float32 else None
    return jnp.einsum("bpl,bld->bpd", chosen.astype(hidden.dtype), hidden, precision=exact)


class MlmModel(nn.Module):
    """Backbone and MLM head.

    Attributes:
      backbone: the encoder.
      vocab_size: number of pieces; the backbone's table may have padding rows beyond.
    """

    backbone: Transformer
    vocab_size: int

    def setup(self) -> None:
        self.head = MlmHead(self.vocab_size, self.backbone.init_std)

    def __call__(self, batch: Batch, max_predictions: int, train: bool = False) -> Predictions:
        """Scores the masked positions, gathered before the projection to the vocabulary.

        Args:
          batch: see `types.piece_batch`; [B, L].
          max_predictions: P, scored positions a row.
          train: whether dropout is on.
        """
        hidden = self.backbone(batch, train=train).last
        weights = batch["loss_weights"]
        chosen = choose_positions(weights, max_predictions)
        languages = at_positions(chosen, batch["language_ids"])
        kept = at_positions(chosen, weights)
        return Predictions(
            logits=self.score(hidden_at_positions(chosen, hidden), languages),
            targets=at_positions(chosen, batch["targets"]),
            languages=languages,
            source_languages=at_positions(chosen, batch["source_language_ids"]),
            weights=kept,
            left_out=weights.sum() - kept.sum(),
        )

    def encode(self, batch: Batch) -> Hidden:
        """The backbone's hidden states, without dropout."""
        return self.backbone(batch)

    def score(self, hidden: Array, languages: Array) -> Array:
        """Logits [..., V] of hidden states [..., D] for target languages, int [...]."""
        language = None
        if self.backbone.condition_on_language:
            language = jnp.take(self.backbone.language_table, languages, axis=0)
        return self.head(hidden, self.backbone.token_table, language)
