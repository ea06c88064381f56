"""Heads: hidden states to scores."""

from __future__ import annotations

from flax import linen as nn
import jax.numpy as jnp

from clwe_jax.models.transformer import LayerNorm, gelu, parameter
from clwe_jax.types import Array


class MlmHead(nn.Module):
    """Dense layer, GELU, layer norm, the token table as tied output matrix, and a bias.

    DICT-MLM, section 2.2: the dense layer ([2D] -> [D]) reads the hidden state concatenated with
    the embedding of the target word's language, from the table that the input uses.

    Attributes:
      vocab_size: number of pieces; the table's rows beyond it score -1e9.
      init_std: standard deviation that the dense layer's kernel starts from.
    """

    vocab_size: int
    init_std: float = 0.02

    @nn.compact
    def __call__(self, hidden: Array, table: Array, language: Array | None) -> Array:
        """Scores every piece at every given position.

        Args:
          hidden: hidden states, [..., D].
          table: token embeddings, float32 [V, D].
          language: language embeddings of the targets, [..., D]; None without conditioning.

        Returns:
          Logits, float32 [..., V].
        """
        leading, width = hidden.shape[:-1], hidden.shape[-1]
        init = nn.initializers.truncated_normal(self.init_std)
        x = hidden
        if language is not None:
            x = jnp.concatenate([x, language.astype(x.dtype)], axis=-1)
        x = x.reshape(-1, x.shape[-1])
        kernel = parameter(self, "kernel", ("embed", None), init, (x.shape[-1], width))
        bias = parameter(self, "bias", ("norm",), nn.initializers.zeros, (width,))
        output_bias = parameter(
            self, "output_bias", ("vocab",), nn.initializers.zeros, (table.shape[0],)
        )
        x = gelu(x @ kernel.astype(x.dtype) + bias.astype(x.dtype))
        x = LayerNorm(name="norm")(x)
        logits = jnp.einsum(
            "nd,vd->nv", x, table.astype(x.dtype), preferred_element_type=jnp.float32
        )
        exists = jnp.arange(table.shape[0]) < self.vocab_size
        logits += jnp.where(exists, output_bias, -1e9)
        return logits.reshape(*leading, -1)
