"""The backbone joined with the MLM head, and the choice of the positions that it scores."""

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
    """The scores of exactly P positions a row; slots beyond a row's masked pieces weigh 0.

    Attributes:
      logits: float32 [B, P, V].
      targets, languages, source_languages: int32 [B, P].
      weights: float32 [B, P].
      left_out: float32 []: weight of the masked positions beyond P in their row (0 if P suffices).
    """

    logits: Array
    targets: Array
    languages: Array
    source_languages: Array
    weights: Array
    left_out: Array


def choose_positions(weights: Array, count: int) -> Array:
    """The first `count` positions of each row that have a weight, as a 0/1 selection.

    Args:
      weights: [B, L].
      count: P.

    Returns:
      bool [B, P, L]: entry (b, p, l) says that l is row b's p-th weighted position; all False where
      the row has fewer than p + 1.
    """
    weighted = weights > 0
    rank = jnp.cumsum(weighted, axis=1, dtype=jnp.int32) - 1
    slots = jnp.arange(count, dtype=jnp.int32)[None, :, None]
    return weighted[:, None, :] & (rank[:, None, :] == slots)


def at_positions(chosen: Array, x: Array) -> Array:
    """Of x [B, L] the chosen positions', [B, P]; 0 where a row has fewer."""
    return jnp.where(chosen, x[:, None, :], 0).sum(-1)


def hidden_at_positions(chosen: Array, hidden: Array) -> Array:
    """Of hidden states [B, L, D] the chosen positions', [B, P, D]; 0 where a row has fewer."""
    # A matmul with a 0/1 matrix is a gather whose gradient needs no scatter.
    exact = jax.lax.Precision.HIGHEST if hidden.dtype == jnp.float32 else None
    return jnp.einsum("bpl,bld->bpd", chosen.astype(hidden.dtype), hidden, precision=exact)


class MlmModel(nn.Module):
    """Backbone and MLM head.

    Attributes:
      backbone: the encoder.
      vocab_size: pieces that exist (the backbone's table may be padded beyond).
    """

    backbone: Transformer
    vocab_size: int

    def setup(self) -> None:
        self.head = MlmHead(self.vocab_size, self.backbone.init_std)

    def __call__(self, batch: Batch, max_predictions: int, train: bool = False) -> Predictions:
        """Scores the masked positions; they are gathered before the projection to the vocabulary.

        Args:
          batch: see `types.piece_batch`; [B, L].
          max_predictions: P, positions scored in every row.
          train: whether to drop out.
        """
        hidden = self.backbone(batch, train=train).last
        weights = batch["loss_weights"]
        chosen = choose_positions(weights, max_predictions)
        languages = at_positions(chosen, batch["language_ids"])
        kept = at_positions(chosen, weights)
        return Predictions(
            logits=self._score(hidden_at_positions(chosen, hidden), languages),
            targets=at_positions(chosen, batch["targets"]),
            languages=languages,
            source_languages=at_positions(chosen, batch["source_language_ids"]),
            weights=kept,
            left_out=weights.sum() - kept.sum(),
        )

    def encode(self, batch: Batch, train: bool = False) -> Hidden:
        """The backbone alone."""
        return self.backbone(batch, train=train)

    def score(self, hidden: Array, languages: Array) -> Array:
        """Logits [..., V] of hidden states [..., D] as pieces of the languages, int [...]."""
        return self._score(hidden, languages)

    def _score(self, hidden: Array, languages: Array) -> Array:
        language = None
        if self.backbone.condition_on_language:
            language = jnp.take(self.backbone.language_table, languages, axis=0)
        return self.head(hidden, self.backbone.token_table, language)
