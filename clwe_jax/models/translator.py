"""A Transformer that translates: an encoder for all languages, and a decoder (Vaswani et al. 2017; E10).

The decoder reads the embedding of the language that it writes at every place, and each language has
its own bias of the pieces. Encoder and decoder read and score pieces with one table, so that a text and
its translation begin and end in one space. The first layers of the encoder and the last ones of the
decoder may be a language's own (E10: one of four each); without such layers the encoder does not know
the language of a text.

Suffixes of names are shapes: B rows, L places of the translation, S places of the text, D width, H heads of
size K, T = 2 for keys and values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flax import linen as nn
import jax
import jax.numpy as jnp

from clwe_jax.models import attention, dropout, private
from clwe_jax.models.bias import add_bias
from clwe_jax.models.table_scores import table_scores
from clwe_jax.models.transformer import (
    FeedForward,
    LayerNorm,
    Transformer,
    compute_dtype,
    parameter,
)
from clwe_jax.options.models import TransformerOptions, TranslatorOptions
from clwe_jax.types import Array

_NO_PIECE = -1e9  # logit of the rows that only pad the table
_EPSILON = 1e-6  # addend to the variance of every layer normalisation
Pair = tuple[Array, Array]  # keys and values, each [B, L, H, K]


class Memory(NamedTuple):
    """The texts that the decoder reads.

    Attributes:
      hidden: the encoder's last layer, [B, S, D].
      mask: bool [B, S], True at pieces and at the mark of the end.
    """

    hidden: Array
    mask: Array


class DecoderState(NamedTuple):
    """The decoder between two pieces; the first axis of every array is the rows.

    Attributes:
      kept: for each layer the keys and values of the pieces so far, [B, L, H, K].
      read: for each layer the keys and values of the text, [B, S, H, K].
      language: the language to write, int32 [B].
      place: number of pieces so far, int32 [B], the same in all rows.
    """

    kept: tuple[Pair, ...]
    read: tuple[Pair, ...]
    mask: Array
    language: Array
    place: Array


class Attention(nn.Module):
    """Multi-head attention whose keys and values are computed apart, so that they can be kept."""

    width: int
    heads: int
    init_std: float

    def setup(self) -> None:
        size = self.width // self.heads
        init = nn.initializers.truncated_normal(self.init_std)
        zeros = nn.initializers.zeros
        axes = (None, "heads", "kv")
        self.query = parameter(
            self, "query_kernel", ("embed", "heads", "kv"), init, (self.width, self.heads, size)
        )
        self.query_bias = parameter(self, "query_bias", ("heads", "kv"), zeros, (self.heads, size))
        self.pair = parameter(
            self, "pair_kernel", ("embed", *axes), init, (self.width, 2, self.heads, size)
        )
        self.pair_bias = parameter(self, "pair_bias", axes, zeros, (2, self.heads, size))
        self.out = parameter(
            self, "out_kernel", ("heads", "kv", "embed"), init, (self.heads, size, self.width)
        )
        self.out_bias = parameter(self, "out_bias", ("norm",), zeros, (self.width,))

    def keys(self, x: Array) -> Pair:
        """Keys and values of x, [B, L, D]."""
        y_TBLHK = jnp.einsum("bld,dthk->tblhk", x, self.pair.astype(x.dtype))
        key_BLHK, value_BLHK = add_bias(y_TBLHK, self.pair_bias[:, None, None])
        return key_BLHK, value_BLHK

    def __call__(self, x: Array, pair: Pair, mask: Array) -> Array:
        """[B, L, D]: what x [B, L, D] reads of the keys and values within the mask [B, 1, L, S]."""
        q_BLHK = add_bias(
            jnp.einsum("bld,dhk->blhk", x, self.query.astype(x.dtype)), self.query_bias
        )
        y_BLHK = attention.attend(q_BLHK, *pair, mask, "xla")
        out_BLD = jnp.einsum("blhk,hkd->bld", y_BLHK, self.out.astype(x.dtype))
        return add_bias(out_BLD, self.out_bias)


class DecoderLayer(nn.Module):
    """Attention to the pieces so far and to the text, and feed-forward, with residual connections."""

    width: int
    heads: int
    mlp_dim: int
    dropout: float
    norm: str
    init_std: float
    salt: int

    def setup(self) -> None:
        self.own = Attention(self.width, self.heads, self.init_std)
        self.cross = Attention(self.width, self.heads, self.init_std)
        self.feed_forward = FeedForward(self.mlp_dim, self.init_std)
        self.norms = [LayerNorm(_EPSILON) for _ in range(3)]

    def read(self, hidden: Array) -> Pair:
        """Keys and values of the text, from the encoder's last layer."""
        # hidden: [B, S, D] -> two of [B, S, H, K].
        return self.cross.keys(hidden)

    def __call__(
        self,
        x: Array,
        read: Pair,
        before: Array,
        seen: Array,
        seed: Array | None = None,
        kept: Pair | None = None,
        place: Array | int = 0,
    ) -> tuple[Array, Pair]:
        """The layer's output, and keys and values of the pieces so far.

        Args:
          x: [B, n, D], n pieces.
          read: keys and values of the text.
          before: mask of the pieces so far, [1, 1, n, L].
          seen: mask of the text, [B, 1, 1, S].
          seed: of dropout; None: off.
          kept: keys and values of the pieces before x, [B, L, H, K]; None: x are all L pieces.
          place: the place of the first piece of x.
        """

        def pair(y: Array) -> Pair:
            # y: [B, n, D] -> two of [B, L, H, K].
            new = self.own.keys(y)
            if kept is None:
                return new
            at = (0, place, 0, 0)
            return tuple(jax.lax.dynamic_update_slice(a, b, at) for a, b in zip(kept, new))

        def drop(y: Array, number: int) -> Array:
            # y: [B, n, D].
            return dropout.dropout(y, self.dropout, seed, self.salt + number)

        a, b, c = self.norms
        if self.norm == "post":
            keys_values = pair(x)
            x = a(x + drop(self.own(x, keys_values, before), 0))
            x = b(x + drop(self.cross(x, read, seen), 1))
            return c(x + drop(self.feed_forward(x), 2)), keys_values
        y = a(x)
        keys_values = pair(y)
        x = x + drop(self.own(y, keys_values, before), 0)
        x = x + drop(self.cross(b(x), read, seen), 1)
        return x + drop(self.feed_forward(c(x)), 2), keys_values


class Translator(nn.Module):
    """Encoder and decoder.

    Attributes:
      options: sizes and choices.
      vocab_size: rows of the table of pieces.
      languages: number of languages.
      max_length: pieces of the longest text, with the mark of its end.
    """

    options: TranslatorOptions
    vocab_size: int
    languages: int
    max_length: int

    def setup(self) -> None:
        options = self.options
        sizes = dict(
            width=options.width,
            heads=options.heads,
            mlp_dim=options.mlp_dim,
            dropout=options.dropout,
            norm=options.norm,
            init_std=options.init_std,
        )
        # The language table is the decoder's.
        self.backbone = Transformer(
            TransformerOptions(
                layers=options.layers,
                language_embeddings=False,
                condition_on_language=True,
                dtype=options.dtype,
                epsilon=_EPSILON,
                private_layers=options.layers - options.shared_layers,
                **sizes,
            ),
            self.vocab_size,
            self.languages,
            self.max_length,
        )
        self.target_norm = LayerNorm(_EPSILON)
        private_layer = private.private(DecoderLayer, self.languages, ("__call__", "read"))
        self.decoder = [
            # Salt 0 is that of the embeddings; a layer drops three times.
            (DecoderLayer if k < options.shared_layers else private_layer)(**sizes, salt=3 * k + 1)
            for k in range(options.decoder_layers)
        ]
        if options.norm == "pre":
            self.final_norm = LayerNorm(_EPSILON)
        self.output_bias = parameter(
            self,
            "output_bias",
            ("language", "vocab"),
            nn.initializers.zeros,
            (self.languages, self.vocab_size),
        )

    def __call__(
        self, ids: Array, mask: Array, source: Array, before: Array, language: Array
    ) -> Array:
        """Scores of the next pieces without dropout."""
        # ids: int32 [B, S]; mask: bool [B, S]; before: int32 [B, L]; source, language: int32 [B].
        return self.scores(self.read(ids, mask, source), before, language, self.vocab_size)

    def encode(
        self, ids: Array, mask: Array, source: Array | None = None, train: bool = False
    ) -> tuple[Array, ...]:
        """The embeddings and the output of each layer, [B, L, D].

        Args:
          ids: pieces of a text and the mark of its end, int32 [B, L].
          mask: bool [B, L], True at these.
          source: the texts' languages, int32 [B]; needed where layers are a language's own.
          train: whether dropout is on (needs an rng named 'dropout').
        """
        places = jnp.broadcast_to(jnp.arange(ids.shape[1]), ids.shape)
        batch = dict(inputs=ids, positions=places, segment_ids=mask.astype(jnp.int32))
        if source is not None:
            batch["language_ids"] = jnp.broadcast_to(source[:, None], ids.shape)
        hidden = self.backbone(batch, train)
        return hidden.states

    def sentence(self, layers: tuple[Array, ...], mask: Array) -> Array:
        """The vectors of texts, [B, D]: the last layer's mean over the pieces; 0 without pieces."""
        count_B1 = jnp.maximum(mask.sum(1), 1)[:, None].astype(layers[-1].dtype)
        return jnp.where(mask[..., None], layers[-1], 0).sum(1) / count_B1

    def read(
        self, ids: Array, mask: Array, source: Array | None = None, train: bool = False
    ) -> Memory:
        """The texts as the decoder reads them."""
        # ids: int32 [B, S]; mask: bool [B, S]; source: int32 [B].
        return Memory(self.encode(ids, mask, source, train)[-1], mask)

    def scores(
        self, memory: Memory, before: Array, language: Array, pieces: int, train: bool = False
    ) -> Array:
        """Scores of the pieces at each place, float32 [B, L, V], with the right pieces before it.

        Args:
          memory: of `read`.
          before: the preceding piece of each place, int32 [B, L].
          language: the language to write, int32 [B].
          pieces: number of pieces; larger ids cannot be chosen.
        """
        seed = None
        if train and self.options.dropout > 0:
            seed = dropout.seed_of(self.make_rng("dropout"))
        length = before.shape[1]
        x_BLD = self._embed_ids(before, language, jnp.arange(length), seed)
        earlier_11LL = jnp.tril(jnp.ones((length, length), bool))[None, None]
        seen_B11S = memory.mask[:, None, None]
        for k, layer in enumerate(self.decoder):
            read = self._of(k, layer.read(memory.hidden), language)
            x_BLD, _ = self._of(k, layer(x_BLD, read, earlier_11LL, seen_B11S, seed), language)
        return self._logits(x_BLD, language, pieces)

    def first(self, memory: Memory, language: Array, length: int) -> DecoderState:
        """The state before the first of at most `length` pieces."""
        # language: int32 [B].
        options = self.options
        shape = (len(language), length, options.heads, options.width // options.heads)
        empty = jnp.zeros(shape, memory.hidden.dtype)
        return DecoderState(
            kept=tuple((empty, empty) for _ in self.decoder),
            read=tuple(
                self._of(k, layer.read(memory.hidden), language)
                for k, layer in enumerate(self.decoder)
            ),
            mask=memory.mask,
            language=language,
            # One for each row, because `decode` reorders the rows of all arrays of a state.
            place=jnp.zeros(len(language), jnp.int32),
        )

    def next(self, state: DecoderState, before: Array, pieces: int) -> tuple[Array, DecoderState]:
        """Scores of the next piece, float32 [B, V], and the state after the piece `before`, [B]."""
        place = state.place[0]
        x = self._embed_ids(before[:, None], state.language, place[None], None)
        earlier = (jnp.arange(state.kept[0][0].shape[1]) <= place)[None, None, None]
        mask = state.mask[:, None, None]
        caches = []
        for k, (layer, read, old) in enumerate(zip(self.decoder, state.read, state.kept)):
            x, cache = self._of(k, layer(x, read, earlier, mask, None, old, place), state.language)
            caches.append(cache)
        logits = self._logits(x, state.language, pieces)[:, 0]
        return logits, state._replace(kept=tuple(caches), place=state.place + 1)

    def _of(self, layer: int, results: Any, language: Array) -> Any:
        """The results of a decoder layer; of one that each language has, its own language's."""
        # language: int32 [B].
        if layer < self.options.shared_layers:
            return results
        return private.choose_own(results, language)

    def _embed_ids(self, ids: Array, language: Array, places: Array, seed: Array | None) -> Array:
        # ids: int32 [B, n]; language: int32 [B]; places: int32 [n]; seed: uint32 [2].
        x = jnp.take(self.backbone.token_table, ids, axis=0)
        x += jnp.take(self.backbone.position_table, places, axis=0)
        x += jnp.take(self.backbone.language_table, language, axis=0)[:, None]
        x = self.target_norm(x).astype(compute_dtype(self.options.dtype))
        return dropout.dropout(x, self.options.dropout, seed, 0)

    def _logits(self, x: Array, language: Array, pieces: int) -> Array:
        # x: [B, n, D]; language: int32 [B] -> float32 [B, n, V].
        if self.options.norm == "pre":
            x = self.final_norm(x)
        logits = table_scores(x, self.backbone.token_table.astype(x.dtype))
        logits = add_bias(logits, jnp.take(self.output_bias, language, axis=0)[:, None])
        return jnp.where(jnp.arange(self.vocab_size) < pieces, logits, _NO_PIECE)
