"""The backbone with the MLM head, which scores only the predicted positions.

Suffixes of names are shapes: B rows, L positions, P predicted positions of a row, D width, V pieces (or those
that are asked for), N positions of any shape.
"""

from __future__ import annotations

from flax import linen as nn
from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.models.bias import add_bias
from clwe_jax.models.pooling import unit
from clwe_jax.models.table_scores import table_scores
from clwe_jax.models.transformer import LayerNorm, Transformer, gelu, parameter
from clwe_jax.types import Array, Batch, Hidden, Sums


@struct.dataclass
class Predictions:
    """P positions of each row that are predicted; unused positions have weight 0.

    Attributes:
      hidden: hidden states, [B, P, D].
      targets, languages, source_languages: int32 [B, P].
      weights: float32 [B, P].
      left_out: weight of predicted positions beyond the first P of their row, float32 [].
      drift: of the positions that are read but not predicted, how far the layers move them.
      entries: 1 + the dictionary's entry, int32 [B, P]; None for a batch without entries.
      logits: float32 [B, P, V]; None before they are scored.
    """

    hidden: Array
    targets: Array
    languages: Array
    source_languages: Array
    weights: Array
    left_out: Array
    drift: Sums
    entries: Array | None = None
    logits: Array | None = None


def drift(hidden: Hidden, held: Array) -> Sums:
    """How far the layers move positions away from the embedding output.

    Args:
      hidden: hidden states of a batch.
      held: bool [B, L], the positions that count.

    Returns:
      The sum over these positions of 1 - cosine of a layer's output and the embedding output, which
      has no gradient here, mean over the layers; the number of positions.
    """
    first_BLD, *layers = (unit(x.astype(jnp.float32)) for x in hidden.layers)
    # The layers are drawn to the embeddings, not the embeddings to the layers.
    start_BLD = jax.lax.stop_gradient(first_BLD)
    moved_BL = sum(1.0 - (start_BLD * x_BLD).sum(-1) for x_BLD in layers) / max(1, len(layers))
    return Sums(jnp.where(held, moved_BL, 0).sum(), held.sum(dtype=jnp.float32))


def choose_positions(weights: Array, count: int) -> Array:
    """Selects the first `count` positions with a weight in each row.

    Args:
      weights: [B, L].
      count: P.

    Returns:
      bool [B, P, L]: whether l is the p-th weighted position of row b.
    """
    weighted_BL = weights > 0
    rank_BL = jnp.cumsum(weighted_BL, axis=1, dtype=jnp.int32) - 1  # its number among the weighted
    slots_1P1 = jnp.arange(count, dtype=jnp.int32)[None, :, None]
    return weighted_BL[:, None, :] & (rank_BL[:, None, :] == slots_1P1)


def at_positions(chosen: Array, x: Array) -> Array:
    """The entries of x [B, L] at the chosen positions, [B, P]; 0 where a row has fewer."""
    return jnp.where(chosen, x[:, None, :], 0).sum(-1)


def hidden_at_positions(chosen: Array, hidden: Array) -> Array:
    """Hidden states [B, L, D] at the chosen positions, [B, P, D]; 0 where a row has fewer."""
    # A matmul with a 0/1 matrix is a gather whose gradient needs no scatter.
    # By default an accelerator would round float32 states in this product.
    exact = jax.lax.Precision.HIGHEST if hidden.dtype == jnp.float32 else None
    return jnp.einsum("bpl,bld->bpd", chosen.astype(hidden.dtype), hidden, precision=exact)


class MlmHead(nn.Module):
    """Dense layer, GELU, layer norm, a table of tokens as output matrix, and a bias.

    DICT-MLM, section 2.2: the dense layer ([2D] -> [D]) reads the hidden state concatenated with
    the embedding of the target word's language, from the table that the input uses.

    Attributes:
      vocab_size: number of pieces; the other rows of the table score -1e9.
      init_std: standard deviation of the dense layer's initial kernel.
      epsilon: of the layer norm.
      dense: whether the head has the dense layer, GELU and layer norm; XLM's head scores the hidden
        state itself.
    """

    vocab_size: int
    init_std: float = 0.02
    epsilon: float = 1e-12
    dense: bool = True

    @nn.compact
    def __call__(
        self, hidden: Array, table: Array, language: Array | None, pieces: Array | None = None
    ) -> Array:
        """Logits, float32 [..., V], or of some pieces.

        Args:
          hidden: hidden states, [..., D].
          table: token embeddings, float32 [V, D].
          language: language embeddings of the targets, [..., D]; None without conditioning.
          pieces: ids of the pieces to score, int32 [n]; None: all.
        """
        leading = hidden.shape[:-1]
        width = hidden.shape[-1]
        init = nn.initializers.truncated_normal(self.init_std)
        x = hidden
        if language is not None:
            x = jnp.concatenate([x, language.astype(x.dtype)], axis=-1)
        x_ND = x.reshape(-1, x.shape[-1])  # 2 D before the dense layer, where a language is given
        if self.dense:
            kernel = parameter(self, "kernel", ("embed", None), init, (x_ND.shape[-1], width))
            bias = parameter(self, "bias", ("norm",), nn.initializers.zeros, (width,))
            x_ND = gelu(add_bias(x_ND @ kernel.astype(x.dtype), bias))
            x_ND = LayerNorm(self.epsilon, name="norm")(x_ND)
        output_bias = parameter(
            self, "output_bias", ("vocab",), nn.initializers.zeros, (table.shape[0],)
        )
        # The other rows of the table fill it up, so that devices divide it evenly.
        exists_V = jnp.arange(table.shape[0]) < self.vocab_size
        biases_V = jnp.where(exists_V, output_bias, -1e9)
        if pieces is not None:
            table = table[pieces]
            biases_V = biases_V[pieces]
        logits_NV = table_scores(x_ND, table.astype(x.dtype)) + biases_V
        return logits_NV.reshape(*leading, -1)


class MlmModel(nn.Module):
    """Backbone and MLM head.

    Attributes:
      backbone: the encoder.
      vocab_size: number of pieces; the backbone's table may have more rows, for padding.
      tied: whether the head scores with the backbone's table; otherwise it has a table of its own.
    """

    backbone: Transformer
    vocab_size: int
    tied: bool = True
    dense: bool = True

    def setup(self) -> None:
        options = self.backbone.options
        self.head = MlmHead(self.vocab_size, options.init_std, options.epsilon, self.dense)
        if not self.tied:
            self.output_table = parameter(
                self,
                "output_embedding",
                ("vocab", "embed"),
                nn.initializers.truncated_normal(options.init_std),
                (self.backbone.vocab_size, options.width),
            )

    def __call__(self, batch: Batch, max_predictions: int, train: bool = False) -> Predictions:
        """As `encode_predicted`, with the scores for the targets' languages."""
        predicted = self.encode_predicted(batch, max_predictions, train)
        return predicted.replace(logits=self.score(predicted.hidden, predicted.languages))

    def encode_predicted(
        self, batch: Batch, max_predictions: int, train: bool = False
    ) -> Predictions:
        """The hidden states of the predicted positions alone, not yet scored over the vocabulary.

        Args:
          batch: a batch of `types.piece_shapes`, [B, L].
          max_predictions: P, maximum number of predicted positions of a row.
          train: whether dropout is on.
        """
        hidden = self.backbone(batch, train=train)
        weights_BL = batch["loss_weights"]
        chosen_BPL = choose_positions(weights_BL, max_predictions)
        kept_BP = at_positions(chosen_BPL, weights_BL)
        return Predictions(
            hidden=hidden_at_positions(chosen_BPL, hidden.last),
            targets=at_positions(chosen_BPL, batch["targets"]),
            # At a predicted position the batch holds the language of the target, not of the text.
            languages=at_positions(chosen_BPL, batch["language_ids"]),
            source_languages=at_positions(chosen_BPL, batch["source_language_ids"]),
            weights=kept_BP,
            left_out=weights_BL.sum() - kept_BP.sum(),
            drift=drift(hidden, (batch["segment_ids"] > 0) & (weights_BL == 0)),
            entries=at_positions(chosen_BPL, batch["entries"]) if "entries" in batch else None,
        )

    def encode(self, batch: Batch) -> Hidden:
        """The backbone's hidden states, without dropout."""
        return self.backbone(batch)

    def score(self, hidden: Array, languages: Array, pieces: Array | None = None) -> Array:
        """Logits of hidden states [..., D] for target languages, int [...].

        Args:
          pieces: ids of the pieces to score, int32 [n]; None: all, [V].
        """
        language = None
        if self.backbone.options.condition_on_language:
            language = jnp.take(self.backbone.language_table, languages, axis=0)
        table = self.backbone.token_table if self.tied else self.output_table
        return self.head(hidden, table, language, pieces)
