"""Heads of labelled tasks: vectors of words to scores of labels.

All heads have the same call, `(texts, train) -> scores`. `texts` is a sequence of (vectors
[B, W, D], mask bool [B, W], True at the first n words of a row): the sentence of a tagger, or the
one or two texts of a classifier, or the one or two spans of an edge probe. The scores are [B, W, K]
where `tags`, else [B, K]. The option `ending` says how labels are read from scores: 'crf'
(`models.crf`), 'softmax', one label, or 'sigmoid', every label alone.
"""

from __future__ import annotations

from typing import Sequence

from flax import linen as nn
import jax.numpy as jnp
import numpy as np

from clwe_jax.models import attention, dropout
from clwe_jax.models.bias import add_bias
from clwe_jax.models.lstm import BiLstm
from clwe_jax.models.transformer import EncoderLayer, parameter
from clwe_jax.options.models import (
    BiLstmCrfHead,
    BiLstmMaxHead,
    EdgeHead,
    EsimHead,
    HeadOptions,
    LinearHead,
    MeanMlpHead,
    TransformerCrfHead,
)
from clwe_jax.types import Array

Texts = Sequence[tuple[Array, Array]]


def mean(x: Array, mask: Array) -> Array:
    """The mean over the words of each row, [B, D]; zeros for a row without words."""
    real = mask.astype(x.dtype)[..., None]
    return (x * real).sum(1) / jnp.maximum(real.sum(1), 1)


def maximum(x: Array, mask: Array) -> Array:
    """The maximum over the words of each row, [B, D]; zeros for a row without words."""
    maxima = jnp.where(mask[..., None], x, -jnp.inf).max(1)
    return jnp.where(mask.any(1)[:, None], maxima, 0.0)


def together(vectors: Sequence[Array]) -> Array:
    """One vector of a row: its text's, or (u, v, |u - v|, u * v) of two (Conneau et al. 2017)."""
    if len(vectors) == 1:
        return vectors[0]
    u, v = vectors
    return jnp.concatenate([u, v, jnp.abs(u - v), u * v], axis=-1)


class _Head(nn.Module):
    """Dropout, and dense layers with zero biases.

    Attributes:
      options: sizes and rates.
      labels: K, number of labels.
      tags: whether each word has a label; else each row. Taggers alone (`BiLstmCrf`,
        `TransformerCrf`) and `Linear` have labels of words.
    """

    options: HeadOptions
    labels: int
    tags: bool

    def seed(self, train: bool) -> Array | None:
        """The seed of the dropout of this call; None without dropout."""
        return dropout.seed_of(self.make_rng("dropout")) if train else None

    def dense(self, x: Array, width: int, name: str) -> Array:
        """x W + b, with a Glorot-uniform W [D, width]."""
        init = nn.initializers.glorot_uniform()
        kernel = parameter(self, f"{name}_kernel", ("embed", "mlp"), init, (x.shape[-1], width))
        bias = parameter(self, f"{name}_bias", ("mlp",), nn.initializers.zeros, (width,))
        flat = add_bias(x.reshape(-1, x.shape[-1]) @ kernel.astype(x.dtype), bias)
        return flat.reshape(*x.shape[:-1], width)


def locked_dropout(x: Array, rate: float, seed: Array | None, salt: int) -> Array:
    """Dropout of the same dimensions at all words of a row (Gal, Ghahramani 2016), [B, W, D]."""
    if seed is None or rate == 0.0:
        return x
    mask = dropout.keep_mask(seed, salt, (x.shape[0], 1, x.shape[2]), rate)
    return jnp.where(mask, x / (1.0 - rate), 0).astype(x.dtype)


def drop_words(x: Array, rate: float, seed: Array | None, salt: int) -> Array:
    """Dropout of whole words, without scaling, [B, W, D]."""
    if seed is None or rate == 0.0:
        return x
    return x * dropout.keep_mask(seed, salt, (*x.shape[:2], 1), rate)


class Linear(_Head):
    """Dropout and one dense layer, on words or on the mean of a text (D8, BERT)."""

    options: LinearHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        x = texts[0][0] if self.tags else together([mean(*text) for text in texts])
        x = dropout.dropout(x, self.options.dropout, self.seed(train), 0)
        return self.dense(x, self.labels, "output")


class BiLstmCrf(_Head):
    """A tagger of LSTMs in both directions (Huang et al. 2015; A14, E8, E9)."""

    options: BiLstmCrfHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        [(x, mask)] = texts
        options = self.options
        seed = self.seed(train)
        x = locked_dropout(drop_words(x, options.word_dropout, seed, 0), options.dropout, seed, 1)
        x = BiLstm(options.cells, options.layers, name="lstm")(x, mask)[-1]
        x = locked_dropout(x.reshape(*mask.shape, -1), options.dropout, seed, 2)
        return self.dense(x, self.labels, "output")


class TransformerCrf(_Head):
    """A tagger of Transformer layers (C5): a projection, sinusoids, layers, scores."""

    options: TransformerCrfHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        [(x, mask)] = texts
        options = self.options
        seed = self.seed(train)
        x = self.dense(dropout.dropout(x, options.input_dropout, seed, 0), options.width, "input")
        x = x + sinusoids(x.shape[1], options.width).astype(x.dtype)
        # Words are segment 1, padding is segment 0.
        attention_mask = attention.segment_mask(mask.astype(jnp.int32))
        for k in range(options.layers):
            x = EncoderLayer(
                heads=options.heads,
                mlp_dim=options.mlp_dim,
                dropout=options.dropout,
                norm="post",
                implementation="xla",
                init_std=options.width**-0.5,
                salt=2 * k + 1,
                epsilon=1e-12,
                name=f"layer_{k}",
            )(x, attention_mask, seed)
        return self.dense(x, self.labels, "output")


class MeanMlp(_Head):
    """The mean of a text's words and two dense layers (A14, sentiment)."""

    options: MeanMlpHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        options = self.options
        seed = self.seed(train)
        x = dropout.dropout(together([mean(*text) for text in texts]), options.dropout, seed, 0)
        x = nn.relu(self.dense(x, options.hidden, "hidden"))
        x = dropout.dropout(x, options.dropout, seed, 1)
        return self.dense(x, self.labels, "output")


class BiLstmMax(_Head):
    """LSTMs in both directions, pooled over the words of each text (Conneau et al. 2017; A14)."""

    options: BiLstmMaxHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        options = self.options
        seed = self.seed(train)
        pooled = []
        lstm = BiLstm(options.cells, name="lstm")  # the same for both texts
        pool = maximum if options.pool == "max" else mean
        for salt, (x, mask) in enumerate(texts):
            x = drop_words(x, options.word_dropout, seed, 10 + salt)
            x = dropout.dropout(x, options.dropout, seed, 20 + salt)
            pooled.append(pool(lstm(x, mask)[-1].reshape(*mask.shape, -1), mask))
        x = nn.relu(self.dense(together(pooled), options.hidden, "hidden"))
        x = dropout.dropout(x, options.dropout, seed, 30)
        return self.dense(x, self.labels, "output")


class Esim(_Head):
    """Two texts, word against word: ESIM (Chen et al. 2017, sections 3.1-3.3; CLCR, section 4.2).

    LSTMs read each text; every word a attends to the words of the other text, with the mean b; a
    dense layer reduces (a, b, a - b, a * b); LSTMs compose the reduced words; their mean and maximum
    of both texts are the input of a hidden layer.
    """

    options: EsimHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        if len(texts) != 2:
            raise ValueError(
                "config.transfer.head.name='esim' compares two texts, and a row of this task has "
                "one: --config.transfer.head.name=bilstm_max"
            )
        options = self.options
        seed = self.seed(train)
        masks = [mask for _, mask in texts]
        encode = BiLstm(options.cells, name="encode")
        states = []
        for salt, (x, mask) in enumerate(texts):
            x = dropout.dropout(x, options.dropout, seed, salt)
            states.append(encode(x, mask)[-1].reshape(*mask.shape, -1))
        scores = jnp.einsum("bmd,bnd->bmn", *states)
        attended = [
            attend(scores, states[1], masks[1]),
            attend(scores.swapaxes(1, 2), states[0], masks[0]),
        ]
        parts = [jnp.concatenate([a, b, a - b, a * b], axis=-1) for a, b in zip(states, attended)]
        # One product for both texts: [B, M + N, cells]
        reduced = nn.relu(self.dense(jnp.concatenate(parts, axis=1), options.cells, "reduce"))
        reduced = dropout.dropout(reduced, options.dropout, seed, 10)
        compose = BiLstm(options.cells, name="compose")
        pooled = []
        for x, mask in zip(jnp.split(reduced, [masks[0].shape[1]], axis=1), masks):
            x = compose(x, mask)[-1].reshape(*mask.shape, -1)
            pooled += [mean(x, mask), maximum(x, mask)]
        x = dropout.dropout(jnp.concatenate(pooled, axis=-1), options.dropout, seed, 20)
        x = jnp.tanh(self.dense(x, options.hidden, "hidden"))
        return self.dense(x, self.labels, "output")


class Edge(_Head):
    """One span or two: an edge probe (Tenney et al. 2019, section 3.1 and Fig. 1; CLCR, section 4.3).

    Each span has its own projection of words and its own self-attentive pooling (`pool_by_attention`); a hidden
    layer that ends in tanh and layer normalisation reads the pooled spans. The order of the words of
    a span does not count. A row with an empty span has no label.
    """

    options: EdgeHead

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        options = self.options
        spans = []
        for number, (x, mask) in enumerate(texts, 1):
            x = self.dense(x, options.width, f"project_{number}")
            spans.append(pool_by_attention(x, self.dense(x, 1, f"attend_{number}")[..., 0], mask))
        x = jnp.tanh(self.dense(jnp.concatenate(spans, axis=-1), options.hidden, "hidden"))
        x = nn.LayerNorm(epsilon=1e-5, name="norm")(x)
        x = dropout.dropout(x, options.dropout, self.seed(train), 0)
        return self.dense(x, self.labels, "output")


def pool_by_attention(x: Array, scores: Array, mask: Array) -> Array:
    """The mean of the words of each row, weighted by softmax of scores, [B, D]; zeros without words.

    Args:
      x: the words, [B, W, D].
      scores: [B, W].
      mask: whether a word is real, bool [B, W].
    """
    # -1e9 and not -inf, which would make NaN of a row without words.
    weights = nn.softmax(jnp.where(mask, scores, -1e9), axis=-1) * mask
    return jnp.einsum("bw,bwd->bd", weights, x)


def attend(scores: Array, x: Array, mask: Array) -> Array:
    """The mean of one text's words for each word of the other, weighted by softmax, [B, M, D].

    Args:
      scores: [B, M, N].
      x: the words, [B, N, D].
      mask: whether a word is real, bool [B, N]; rows without words have the mean of the padding.
    """
    return nn.softmax(jnp.where(mask[:, None], scores, -1e9), axis=-1) @ x


def sinusoids(length: int, width: int) -> np.ndarray:
    """Vectors of positions, float32 [length, width] (Vaswani et al. 2017, section 3.5)."""
    rates = 10_000.0 ** (-np.arange(0, width, 2) / width)
    angles = np.arange(length)[:, None] * rates
    # Sine and cosine alternate; an odd width has one sine more.
    return (
        np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        .reshape(length, -1)[:, :width]
        .astype(np.float32)
    )
