"""A BERT-style encoder (Devlin et al. 2019) with language embeddings (DICT-MLM, section 2.2).

Differences from BERT: no next-sentence task, and token types (sentence A and B) only where
`types` is set; attention stays within packed segments; a language embedding is added at the input;
attention probabilities have no dropout, which fused attention kernels do not support.

Every parameter has logical axis names (`vocab`, `embed`, `heads`, `kv`, `mlp`, ...), which
`training/partition.py` maps to mesh axes.

Suffixes of names are shapes: B rows, L positions, N = B * L, D width, H heads of size K, T = 3 for queries,
keys and values, M units of the inner layer.
"""

from __future__ import annotations

from flax import linen as nn
import jax
import jax.numpy as jnp

from clwe_jax.models import attention, dropout, private
from clwe_jax.models.bias import add_bias
from clwe_jax.options.models import TransformerOptions
from clwe_jax.types import Array, Batch, Hidden

ACTIVATION = ("batch", "length", "activation")


def compute_dtype(name: str) -> jnp.dtype:
    """The type of activations: 'auto' is bfloat16 on accelerators and float32 on CPU."""
    if name == "auto":  # a CPU multiplies bfloat16 more slowly than float32
        return jnp.dtype(jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16)
    return jnp.dtype(name)


def parameter(module: nn.Module, name: str, axes: tuple[str | None, ...], init, shape) -> Array:
    """A float32 parameter with logical axis names."""
    return module.param(name, nn.with_logical_partitioning(init, axes), shape, jnp.float32)


class LayerNorm(nn.Module):
    """Layer normalisation over the last axis, in float32."""

    epsilon: float = 1e-12

    @nn.compact
    def __call__(self, x: Array) -> Array:
        # x: [..., D].
        scale = parameter(self, "scale", ("norm",), nn.initializers.ones, (x.shape[-1],))
        bias = parameter(self, "bias", ("norm",), nn.initializers.zeros, (x.shape[-1],))
        y = x.astype(jnp.float32)
        centered = y - y.mean(-1, keepdims=True)
        # A difference of mean squares would lose digits where the mean is large.
        variance = jnp.square(centered).mean(-1, keepdims=True)
        y = centered * (jax.lax.rsqrt(variance + self.epsilon) * scale) + bias
        return y.astype(x.dtype)


class SelfAttention(nn.Module):
    """Multi-head attention within segments, with one matrix for queries, keys and values."""

    heads: int
    implementation: str
    init_std: float

    @nn.compact
    def __call__(self, x: Array, mask: Array) -> Array:
        # x: [B, L, D]; mask: bool [B, 1, L, L].
        width = x.shape[-1]
        size = width // self.heads
        init = nn.initializers.truncated_normal(self.init_std)
        zeros = nn.initializers.zeros
        qkv_axes = (None, "heads", "kv")
        w_qkv = parameter(
            self, "qkv_kernel", ("embed",) + qkv_axes, init, (width, 3, self.heads, size)
        )
        b_qkv = parameter(self, "qkv_bias", qkv_axes, zeros, (3, self.heads, size))
        w_out = parameter(
            self, "out_kernel", ("heads", "kv", "embed"), init, (self.heads, size, width)
        )
        b_out = parameter(self, "out_bias", ("norm",), zeros, (width,))

        x_ND = x.reshape(-1, width)  # as in `FeedForward`
        qkv_NTHK = add_bias(jnp.einsum("nd,dthk->nthk", x_ND, w_qkv.astype(x.dtype)), b_qkv)
        shape_BLHK = (*x.shape[:2], self.heads, size)
        q_BLHK, k_BLHK, v_BLHK = (qkv_NTHK[:, i].reshape(shape_BLHK) for i in range(3))
        y_BLHK = attention.attend(q_BLHK, k_BLHK, v_BLHK, mask, self.implementation)
        y_NHK = y_BLHK.reshape(-1, self.heads, size)
        y_ND = add_bias(jnp.einsum("nhk,hkd->nd", y_NHK, w_out.astype(x.dtype)), b_out)
        return y_ND.reshape(x.shape)


class FeedForward(nn.Module):
    """Two dense layers with an exact GELU between them."""

    mlp_dim: int
    init_std: float

    @nn.compact
    def __call__(self, x: Array) -> Array:
        # x: [B, L, D].
        width = x.shape[-1]
        init = nn.initializers.truncated_normal(self.init_std)
        zeros = nn.initializers.zeros
        w_in = parameter(self, "in_kernel", ("embed", "mlp"), init, (width, self.mlp_dim))
        b_in = parameter(self, "in_bias", ("mlp",), zeros, (self.mlp_dim,))
        w_out = parameter(self, "out_kernel", ("mlp", "embed"), init, (self.mlp_dim, width))
        b_out = parameter(self, "out_bias", ("norm",), zeros, (width,))
        # On CPU the gradient of a product of [B, L, D] transposes the array; that of [B * L, D] does not.
        x_ND = x.reshape(-1, width)
        inner_NM = gelu(add_bias(x_ND @ w_in.astype(x.dtype), b_in))
        y_ND = add_bias(inner_NM @ w_out.astype(x.dtype), b_out)
        return y_ND.reshape(x.shape)


def gelu(x: Array) -> Array:
    """x times the normal distribution function of x, computed by erf as in BERT."""
    # x: of any shape.
    return x * (0.5 * (1.0 + jax.lax.erf(x * jnp.asarray(0.5**0.5, x.dtype))))


class EncoderLayer(nn.Module):
    """Attention and feed-forward with residual connections; norm='post' (BERT) or 'pre'."""

    heads: int
    mlp_dim: int
    dropout: float
    norm: str
    implementation: str
    init_std: float
    salt: int
    epsilon: float

    @nn.compact
    def __call__(self, x: Array, mask: Array, seed: Array | None) -> Array:
        # x: [B, L, D]; mask: bool [B, 1, L, L]; seed: uint32 [2].
        attend = SelfAttention(self.heads, self.implementation, self.init_std, name="attention")
        feed_forward = FeedForward(self.mlp_dim, self.init_std, name="mlp")
        norm_1 = LayerNorm(self.epsilon, name="attention_norm")
        norm_2 = LayerNorm(self.epsilon, name="mlp_norm")

        def drop(y: Array, place: int) -> Array:
            # y: [B, L, D].
            return dropout.dropout(y, self.dropout, seed, self.salt + place)

        # Plain MLM on a million words leaves the unigram plateau within 1,000 steps with pre-norm, and
        # stays there for 6,000 with post-norm.
        if self.norm == "post":
            x = norm_1(x + drop(attend(x, mask), 0))
            x = norm_2(x + drop(feed_forward(x), 1))
        else:
            x = x + drop(attend(norm_1(x), mask), 0)
            x = x + drop(feed_forward(norm_2(x)), 1)
        return nn.with_logical_constraint(x, ACTIVATION)


class Transformer(nn.Module):
    """The encoder; `(batch, train) -> Hidden`.

    Attributes:
      options: sizes and choices.
      vocab_size: rows of the token table, including padding for sharding.
      languages: rows of the language table.
      max_length: rows of the position table, and the longest segment.
    """

    options: TransformerOptions
    vocab_size: int
    languages: int
    max_length: int = 512
    layer_class = EncoderLayer

    def layer_fields(self, number: int, implementation: str) -> dict[str, object]:
        """The fields of a layer, numbered from 0."""
        options = self.options
        return dict(
            heads=options.heads,
            mlp_dim=options.mlp_dim,
            dropout=options.dropout,
            norm=options.norm,
            implementation=implementation,
            init_std=options.init_std,
            salt=2 * number + 1,  # 0 is the embeddings'; a layer drops twice
            epsilon=options.epsilon,
        )

    def norm(self) -> nn.Module:
        """A normalisation of the embeddings, or after the last layer."""
        return LayerNorm(self.options.epsilon)

    def make_mask(self, batch: Batch) -> Array:
        """bool [B, 1, L, L]: whether a query reads a key."""
        return attention.segment_mask(batch["segment_ids"])

    def setup(self) -> None:
        options = self.options
        width = self.options.width
        init = nn.initializers.truncated_normal(options.init_std)
        self.token_table = parameter(
            self, "token_embedding", ("vocab", "embed"), init, (self.vocab_size, width)
        )
        if options.position_table:
            self.position_table = parameter(
                self, "position_embedding", ("position", "embed"), init, (self.max_length, width)
            )
        if options.language_embeddings or options.condition_on_language:
            self.language_table = parameter(
                self, "language_embedding", ("language", "embed"), init, (self.languages, width)
            )
        if options.types:
            self.type_table = parameter(
                self, "type_embedding", ("type", "embed"), init, (options.types, width)
            )
        if options.pooler:
            self.pooler_kernel = parameter(
                self, "pooler_kernel", ("embed", None), init, (width, width)
            )
            self.pooler_bias = parameter(
                self, "pooler_bias", ("norm",), nn.initializers.zeros, (width,)
            )
        if options.input_norm:
            self.embedding_norm = self.norm()
        shared_layer = nn.remat(self.layer_class) if options.remat else self.layer_class
        private_layer = private.private(shared_layer, self.languages)
        self.encoder_layers = [
            (private_layer if k < options.private_layers else shared_layer)(
                # JAX's cuDNN attention fails under the vmap of a language's own layers.
                **self.layer_fields(k, "xla" if k < options.private_layers else options.attention),
                name=f"layer_{k}",
            )
            for k in range(options.layers)
        ]
        if options.norm == "pre":
            self.final_norm = self.norm()

    def __call__(self, batch: Batch, train: bool = False) -> Hidden:
        """Encodes a batch.

        Args:
          batch: `inputs`, `positions`, `segment_ids`, `language_ids`, each int [B, L], and, for a
            model with token types, optionally `type_ids`, int [B, L]; without it all types are 0.
            A pair of texts shares one number in `segment_ids`, so that each text attends to the
            other: [CLS] a [SEP] b [SEP], with type 1 for b and the last [SEP].
          train: whether dropout is on (needs an rng named 'dropout').

        Returns:
          `layers[0]`, the embedding output; `layers[k]`, the output of layer k; `last`, what the heads
          read (normalised once more where norm='pre').
        """
        seed = None
        if train and self.options.dropout > 0:
            seed = dropout.seed_of(self.make_rng("dropout"))
        x_BLD = jnp.take(self.token_table, batch["inputs"], axis=0)
        if self.options.position_table:
            x_BLD += jnp.take(self.position_table, batch["positions"], axis=0)
        # The term shifts all vectors of a language alike, which harms a start from aligned vectors.
        if self.options.language_embeddings:
            x_BLD += jnp.take(self.language_table, batch["language_ids"], axis=0)
        if self.options.types:
            ids = batch.get("type_ids")
            x_BLD += self.type_table[0] if ids is None else jnp.take(self.type_table, ids, axis=0)
        # Tables, their sum and its norm are float32; the layers compute in `dtype`.
        x_BLD = self.embedding_norm(x_BLD) if self.options.input_norm else x_BLD
        x_BLD = x_BLD.astype(compute_dtype(self.options.dtype))
        x_BLD = dropout.dropout(x_BLD, self.options.dropout, seed, 0)
        x_BLD = nn.with_logical_constraint(x_BLD, ACTIVATION)

        mask_B1LL = self.make_mask(batch)
        rotary = () if self.options.position_table else (batch["positions"],)
        outputs = [x_BLD]
        for k, layer in enumerate(self.encoder_layers):
            x_BLD = layer(outputs[-1], mask_B1LL, seed, *rotary)
            if k < self.options.private_layers:
                # The layer ran for every language; a row packs texts of several, with labels of others.
                languages = batch.get("source_language_ids", batch["language_ids"])
                x_BLD = private.choose_own(x_BLD, languages)
            outputs.append(x_BLD)
        if self.options.norm == "post":
            return Hidden(tuple(outputs))
        # A mean over positions reads the sums in `outputs`: their lengths weigh the words of a sentence,
        # and the normalisation makes them equal, which costs one to three points of retrieval.
        return Hidden(tuple(outputs), self.final_norm(outputs[-1]))

    def pool(self, last: Array) -> Array:
        """tanh of a dense layer on the first position of `Hidden.last` (BERT's pooler), [B, D]."""
        first_BD = last[:, 0]
        kernel = self.pooler_kernel.astype(first_BD.dtype)
        return jnp.tanh(add_bias(first_BD @ kernel, self.pooler_bias))
