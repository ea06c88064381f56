"""Heads of labelled tasks: vectors of words to scores of labels.

All heads have the same call, `(texts, train) -> scores`. `texts` is a sequence of (vectors
[B, W, D], mask bool [B, W], True at the first n words of a row): the sentence of a tagger, or the
one or two texts of a classifier, or the one or two spans of an edge probe. The scores are [B, W, K]
where `tags`, else [B, K]. `ending` says how labels are read from scores: 'crf' (`models.crf`), 'softmax',
one label, or 'sigmoid', every label alone.
"""

from __future__ import annotations

from typing import Annotated, Sequence

from flax import linen as nn
import jax.numpy as jnp
import numpy as np

from clwe_jax.fields import Divides, OneOf, Rate, Size
from clwe_jax.models import attention, dropout
from clwe_jax.models.lstm import BiLstm
from clwe_jax.models.transformer import EncoderLayer, parameter
from clwe_jax.types import Array

Texts = Sequence[tuple[Array, Array]]
ENDINGS = ("crf", "softmax")


def mean(x: Array, mask: Array) -> Array:
    """The mean over the words of each row, [B, D]; zeros for a row without words."""
    real = mask.astype(x.dtype)[..., None]
    return (x * real).sum(1) / jnp.maximum(real.sum(1), 1)


def maximum(x: Array, mask: Array) -> Array:
    """The maximum over the words of each row, [B, D]; zeros for a row without words."""
    most = jnp.where(mask[..., None], x, -jnp.inf).max(1)
    return jnp.where(mask.any(1)[:, None], most, 0.0)


def together(vectors: Sequence[Array]) -> Array:
    """One vector of a row: its text's, or (u, v, |u - v|, u * v) of two (Conneau et al. 2017)."""
    if len(vectors) == 1:
        return vectors[0]
    u, v = vectors
    return jnp.concatenate([u, v, jnp.abs(u - v), u * v], axis=-1)


class _Head(nn.Module):
    """Dropout, and dense layers with zero biases."""

    ending = "softmax"

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
        flat = x.reshape(-1, x.shape[-1]) @ kernel.astype(x.dtype) + bias.astype(x.dtype)
        return flat.reshape(*x.shape[:-1], width)


def locked(x: Array, rate: float, seed: Array | None, salt: int) -> Array:
    """Dropout of the same dimensions at all words of a row (Gal, Ghahramani 2016), [B, W, D]."""
    if seed is None or rate == 0.0:
        return x
    kept = dropout.keep_mask(seed, salt, (x.shape[0], 1, x.shape[2]), rate)
    return jnp.where(kept, x / (1.0 - rate), 0).astype(x.dtype)


def drop_words(x: Array, rate: float, seed: Array | None, salt: int) -> Array:
    """Dropout of whole words, without scaling, [B, W, D]."""
    if seed is None or rate == 0.0:
        return x
    return x * dropout.keep_mask(seed, salt, (*x.shape[:2], 1), rate)


class Linear(_Head):
    """Dropout and one dense layer, on words or on the mean of a text (D8, BERT).

    Attributes:
      labels: K, number of labels.
      tags: whether each word has a label; else each row.
      dropout: dropout rate of the input.
      ending: 'softmax', a label for each word alone; 'crf', the best sequence.
    """

    dropout: Rate = 0.1
    ending: Annotated[str, OneOf(*ENDINGS)] = "softmax"

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        x = texts[0][0] if self.tags else together([mean(*text) for text in texts])
        x = dropout.dropout(x, self.dropout, self.seed(train), 0)
        return self.dense(x, self.labels, "output")


class BiLstmCrf(_Head):
    """A tagger of LSTMs in both directions (Huang et al. 2015; A14, E8, E9).

    Attributes:
      labels, tags: see `Linear`; `tags` must be True.
      cells: LSTM cells of a layer and direction.
      layers: number of layers.
      dropout: rate of locked dropout, before and after the LSTMs.
      word_dropout: share of words whose vectors are zeros in training.
      ending: 'crf', the best sequence; 'softmax', a label for each word alone.
    """

    cells: Size = 256
    layers: Size = 1
    dropout: Rate = 0.5
    word_dropout: Rate = 0.05
    ending: Annotated[str, OneOf(*ENDINGS)] = "crf"

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        [(x, mask)] = texts
        seed = self.seed(train)
        x = locked(drop_words(x, self.word_dropout, seed, 0), self.dropout, seed, 1)
        x = BiLstm(self.cells, self.layers, name="lstm")(x, mask)[-1]
        x = locked(x.reshape(*mask.shape, -1), self.dropout, seed, 2)
        return self.dense(x, self.labels, "output")


class TransformerCrf(_Head):
    """A tagger of Transformer layers (C5): a projection, sinusoids, layers, scores.

    Attributes:
      labels, tags: see `Linear`; `tags` must be True.
      layers, width, heads, mlp_dim: sizes; heads divides width.
      input_dropout: dropout rate of the vectors of words.
      dropout: dropout rate inside the layers.
      ending: 'crf', the best sequence; 'softmax', a label for each word alone.
    """

    layers: Size = 2
    width: Size = 300
    heads: Annotated[Size, Divides("width")] = 2
    mlp_dim: Size = 300
    input_dropout: Rate = 0.25
    dropout: Rate = 0.15
    ending: Annotated[str, OneOf(*ENDINGS)] = "crf"

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        [(x, mask)] = texts
        seed = self.seed(train)
        x = self.dense(dropout.dropout(x, self.input_dropout, seed, 0), self.width, "input")
        x = x + sinusoids(x.shape[1], self.width).astype(x.dtype)
        same = attention.segment_mask(mask.astype(jnp.int32))
        for k in range(self.layers):
            x = EncoderLayer(
                heads=self.heads, mlp_dim=self.mlp_dim, dropout=self.dropout, norm="post",
                implementation="xla", init_std=self.width**-0.5, salt=2 * k + 1, epsilon=1e-12,
                name=f"layer_{k}",
            )(x, same, seed)  # fmt: skip
        return self.dense(x, self.labels, "output")


class MeanMlp(_Head):
    """The mean of a text's words and two dense layers (A14, sentiment).

    Attributes:
      labels, tags: see `Linear`; `tags` must be False.
      hidden: width of the first layer, which ends in a ReLU.
      dropout: dropout rate of the input of both layers.
    """

    hidden: Size = 256
    dropout: Rate = 0.1

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        seed = self.seed(train)
        x = dropout.dropout(together([mean(*text) for text in texts]), self.dropout, seed, 0)
        x = nn.relu(self.dense(x, self.hidden, "hidden"))
        x = dropout.dropout(x, self.dropout, seed, 1)
        return self.dense(x, self.labels, "output")


class BiLstmMax(_Head):
    """LSTMs in both directions, pooled over the words of each text (Conneau et al. 2017; A14).

    Attributes:
      labels, tags: see `Linear`; `tags` must be False.
      cells: LSTM cells of a direction.
      hidden: width of the layer above the pooled vectors, which ends in a ReLU.
      pool: 'max', or 'mean' as in the BiLSTM of MultiNLI (Williams et al. 2018).
      dropout: dropout rate of the words' vectors and of the hidden layer.
      word_dropout: share of words whose vectors are zeros in training.
    """

    cells: Size = 300
    hidden: Size = 300
    pool: Annotated[str, OneOf("max", "mean")] = "max"
    dropout: Rate = 0.5
    word_dropout: Rate = 0.0

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        seed, pooled = self.seed(train), []
        lstm = BiLstm(self.cells, name="lstm")  # the same for both texts
        pool = maximum if self.pool == "max" else mean
        for salt, (x, mask) in enumerate(texts):
            x = drop_words(x, self.word_dropout, seed, 10 + salt)
            x = dropout.dropout(x, self.dropout, seed, 20 + salt)
            pooled.append(pool(lstm(x, mask)[-1].reshape(*mask.shape, -1), mask))
        x = nn.relu(self.dense(together(pooled), self.hidden, "hidden"))
        x = dropout.dropout(x, self.dropout, seed, 30)
        return self.dense(x, self.labels, "output")


class Esim(_Head):
    """Two texts, word against word: ESIM (Chen et al. 2017, sections 3.1-3.3; CLCR, section 4.2).

    LSTMs read each text; every word a attends to the words of the other text, with the mean b; a
    dense layer reduces (a, b, a - b, a * b); LSTMs compose the reduced words; their mean and maximum
    of both texts are the input of a hidden layer.

    Attributes:
      labels, tags: see `Linear`; `tags` must be False.
      cells: LSTM cells of a direction, and the width of the reduction.
      hidden: width of the hidden layer, which ends in a tanh.
      dropout: dropout rate of the words' vectors, of the reduced words and of the pooled vectors.
    """

    cells: Size = 300
    hidden: Size = 300
    dropout: Rate = 0.5

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        if len(texts) != 2:
            raise ValueError(
                "config.transfer.head.name='esim' compares two texts, and a row of this task has "
                "one: --config.transfer.head.name=bilstm_max"
            )
        seed, masks = self.seed(train), [mask for _, mask in texts]
        encode = BiLstm(self.cells, name="encode")
        read = []
        for salt, (x, mask) in enumerate(texts):
            x = dropout.dropout(x, self.dropout, seed, salt)
            read.append(encode(x, mask)[-1].reshape(*mask.shape, -1))
        scores = jnp.einsum("bmd,bnd->bmn", *read)
        found = [
            attended(scores, read[1], masks[1]),
            attended(scores.swapaxes(1, 2), read[0], masks[0]),
        ]
        parts = [jnp.concatenate([a, b, a - b, a * b], axis=-1) for a, b in zip(read, found)]
        reduced = nn.relu(self.dense(jnp.concatenate(parts, axis=1), self.cells, "reduce"))
        reduced = dropout.dropout(reduced, self.dropout, seed, 10)
        compose, pooled = BiLstm(self.cells, name="compose"), []
        for x, mask in zip(jnp.split(reduced, [masks[0].shape[1]], axis=1), masks):
            x = compose(x, mask)[-1].reshape(*mask.shape, -1)
            pooled += [mean(x, mask), maximum(x, mask)]
        x = dropout.dropout(jnp.concatenate(pooled, axis=-1), self.dropout, seed, 20)
        x = jnp.tanh(self.dense(x, self.hidden, "hidden"))
        return self.dense(x, self.labels, "output")


class Edge(_Head):
    """One span or two: an edge probe (Tenney et al. 2019, section 3.1 and Fig. 1; CLCR, section 4.3).

    Each span has its own projection of words and its own self-attentive pooling (`pooled`); a hidden
    layer that ends in tanh and layer normalisation reads the pooled spans. The order of the words of
    a span does not count. A row with an empty span has no label.

    Attributes:
      labels, tags: see `Linear`; `tags` must be False.
      width: width of the projection.
      hidden: width of the hidden layer.
      dropout: dropout rate of the hidden layer's output.
    """

    ending = "sigmoid"

    width: Size = 256
    hidden: Size = 256
    dropout: Rate = 0.2

    @nn.compact
    def __call__(self, texts: Texts, train: bool = False) -> Array:
        spans = []
        for number, (x, mask) in enumerate(texts, 1):
            x = self.dense(x, self.width, f"project_{number}")
            spans.append(pooled(x, self.dense(x, 1, f"attend_{number}")[..., 0], mask))
        x = jnp.tanh(self.dense(jnp.concatenate(spans, axis=-1), self.hidden, "hidden"))
        x = nn.LayerNorm(epsilon=1e-5, name="norm")(x)
        x = dropout.dropout(x, self.dropout, self.seed(train), 0)
        return self.dense(x, self.labels, "output")


def pooled(x: Array, scores: Array, mask: Array) -> Array:
    """The mean of the words of each row, weighted by softmax of scores, [B, D]; zeros without words.

    Args:
      x: the words, [B, W, D].
      scores: [B, W].
      mask: whether a word is real, bool [B, W].
    """
    weights = nn.softmax(jnp.where(mask, scores, -1e9), axis=-1) * mask
    return jnp.einsum("bw,bwd->bd", weights, x)


def attended(scores: Array, x: Array, mask: Array) -> Array:
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
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, -1)[
        :, :width
    ].astype(np.float32)
