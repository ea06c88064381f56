"""Labels of words and of texts: embedders of words, the loss of a head, and the best labels.

A batch holds 'words', row numbers in a table, int32 [B, W] (0: padding), for pairs of texts or spans
also 'words_b'. Its 'gold' are labels: int32 [B, W] where words have labels, [B, K] of 0 and 1 where a
row may have several labels, else [B]; -1 is no label. The table holds vectors that an encoder has
computed once, or the pieces of distinct words.
"""

from __future__ import annotations


from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.models import crf
from clwe_jax.models.heads import Texts
from clwe_jax.models.lstm import BiLstm
from clwe_jax.models.transformer import parameter
from clwe_jax.options.models import EmbedderOptions
from clwe_jax.types import Array, Batch, Sums

_ROWS = 16_384  # rows of a table that are read at once


def local(table: np.ndarray, batch: Batch) -> tuple[np.ndarray, Batch]:
    """A small table for one batch, of a size that depends only on the batch's shape.

    Args:
      table: vectors or pieces; it may be a mapped file, of which the batch's rows alone are read.
      batch: 'words' and perhaps 'words_b', rows of the table, int32 [..., W].

    Returns:
      The rows of the batch after a row of padding, and the batch with its words as rows there.
    """
    keys = [key for key in ("words", "words_b") if key in batch]
    flat = np.concatenate([batch[key].reshape(-1) for key in keys])
    # Repeated words stay repeated: distinct ones vary in number, and each new shape is compiled.
    values = table[np.concatenate([np.zeros(1, flat.dtype), flat])]
    renumbered = dict(batch)
    first = 1
    for key in keys:
        numbers = np.arange(first, first + batch[key].size, dtype=np.int32)
        renumbered[key] = np.where(batch[key] > 0, numbers.reshape(batch[key].shape), 0)
        first += batch[key].size
    return values, renumbered


def unit_scale(table: np.ndarray) -> np.ndarray:
    """The scale of `Mix` at which the mean of the layers has components of mean square 1, float32 [1].

    Unit vectors of many dimensions are too small for a tagger to start from.

    Args:
      table: float32 [N, layers, D] or [N, pieces, layers, D]; row 0 is padding.
    """
    total = 0.0
    count = 0
    for start in range(1, len(table), _ROWS):
        means = table[start : start + _ROWS].mean(-2, dtype=np.float64)
        total = total + np.square(means).sum()
        count = count + means.size
    return np.full(1, max(total / max(count, 1), 1e-12) ** -0.5, np.float32)


class Mix(nn.Module):
    """Vectors from a table; a learned mix of layers where it has several (Peters et al. 2018, Eq. 1)."""

    @nn.compact
    def __call__(self, table: Array, words: Array) -> Array:
        """The vectors of words, float32 [B, W, D].

        Args:
          table: float32 [N, layers, D], or of words whose pieces are mixed before their maximum
            [N, pieces, layers, D].
          words: rows of the table, int32 [B, W].
        """
        # [B, W, D], or [B, W, pieces, D]
        mixed = mix(self, table[words].astype(jnp.float32))
        return mixed.max(2) if table.ndim == 4 else mixed


def mix(module: nn.Module, x: Array) -> Array:
    """gamma times the softmax-weighted sum of layers, [..., layers, D] -> [..., D]."""
    scale = parameter(module, "mix_scale", (None,), nn.initializers.ones, (1,))
    if x.shape[-2] == 1:
        return scale * x[..., 0, :]
    shares = parameter(module, "mix", (None,), nn.initializers.zeros, (x.shape[-2],))
    return scale * jnp.einsum("...ld,l->...d", x, jax.nn.softmax(shares))


class WordsOfPieces(nn.Module):
    """Vectors of words from their pieces, learned with the head (C4).

    Attributes:
      options: sizes.
      kind: 'bow', the mean of the pieces' embeddings; 'gru', a GRU over a word's pieces with the
        maximum over time; 'lstm', LSTM layers over the pieces of the sentence, of which the larger
        one of both directions counts, a learned mix of layers, and the maximum over a word's pieces.
      vocab_size: number of pieces.
    """

    options: EmbedderOptions
    kind: str
    vocab_size: int

    @nn.compact
    def __call__(self, table: Array, words: Array) -> Array:
        """The vectors of words, float32 [B, W, D].

        Args:
          table: the pieces of distinct words, int32 [N, P], -1 after the last one; row 0 is empty.
          words: rows of the table, int32 [B, W].
        """
        ids = table[words]
        real = ids >= 0
        width = self.options.width
        init = nn.initializers.normal(width**-0.5)
        embedding = parameter(self, "embedding", ("vocab", "embed"), init, (self.vocab_size, width))
        if self.kind == "lstm":
            return self._sentence(embedding, ids, real)
        x = embedding[jnp.maximum(ids, 0)] * real[..., None]
        count = real.sum(-1)
        if self.kind == "bow":
            return x.sum(2) / jnp.maximum(count, 1)[..., None]
        flat = x.reshape(-1, *x.shape[2:])
        # Not flax's orthogonal start: jaxlib's QR of several members waits for threads of the pool that
        # it runs in, and a run hung for ever on two cores.
        cell = nn.GRUCell(width, recurrent_kernel_init=nn.initializers.lecun_normal())
        outputs = nn.RNN(cell, name="gru")(flat)
        return _max_over_pieces(outputs.reshape(*x.shape[:3], -1), real)

    def _sentence(self, embedding: Array, ids: Array, real: Array) -> Array:
        """LSTM layers over the pieces of whole rows."""
        rows, words, per_word = ids.shape
        flat = real.reshape(rows, -1)
        order = jnp.argsort(~flat, axis=1, stable=True)  # padding goes to the end
        is_piece = jnp.take_along_axis(flat, order, axis=1)
        pieces = jnp.take_along_axis(ids.reshape(rows, -1), order, axis=1)
        x = embedding[jnp.maximum(pieces, 0)] * is_piece[..., None]
        lstm = BiLstm(self.options.cells, self.options.layers, name="lstm")
        layers = [layer.max(2) for layer in lstm(x, is_piece)]  # [B, W * P, cells] each
        mixed = mix(self, jnp.stack(layers, axis=2))
        # The argsort of a permutation is its inverse.
        places = jnp.argsort(order, axis=1)[..., None]
        back = jnp.take_along_axis(mixed, places, axis=1)
        return _max_over_pieces(back.reshape(rows, words, per_word, -1), real)


def _max_over_pieces(x: Array, real: Array) -> Array:
    """The maximum over the pieces of each word, [B, W, D]; zeros without pieces."""
    maxima = jnp.where(real[..., None], x, -jnp.inf).max(2)
    return jnp.where(real.any(-1)[..., None], maxima, 0.0)


class Labelling(nn.Module):
    """A head, and the loss and the best labels of its scores.

    Attributes:
      head: one of `models.heads`.
      forbidden: scores that are added to transitions of a CRF and to labels of a sentence's first word
        where BIO forbids them, as tuples; () for none.
    """

    head: nn.Module
    forbidden: tuple = ()

    def setup(self) -> None:
        if self.head.options.ending == "crf":
            k = self.head.labels
            small = nn.initializers.uniform(0.1)
            self.transitions = parameter(self, "transitions", (None, None), small, (k, k))
            self.start = parameter(self, "start", (None,), small, (k,))
            self.end = parameter(self, "end", (None,), small, (k,))

    def _of_crf(self, scores: Array, starts: Array | None) -> tuple[Array, crf.Weights]:
        """The scores of words and of steps, with `forbidden`."""
        transitions = self.transitions
        if self.forbidden:
            between, first = map(jnp.array, self.forbidden)
            transitions = transitions + between
            if starts is None:
                starts = jnp.arange(scores.shape[1]) == 0
            scores = scores + starts[..., None] * first
        return scores, crf.Weights(transitions, self.start, self.end)

    def loss(
        self, texts: Texts, gold: Array, train: bool, starts: Array | None = None
    ) -> dict[str, Sums]:
        """The negative log-likelihood.

        Args:
          gold: labels, int32 [B, W], [B] or [B, K]; -1 is no label.
          train: whether dropout is on (needs an rng named 'dropout').
          starts: 1 at the first word of a sentence, of which a row may be a later part, int32 [B, W];
            None: at the first word of every row.

        Returns:
          'loss': a sentence of a CRF, else a label, in nats; 'accuracy': share of the labels whose
          own score is the highest, a CRF's steps left out, or with 'sigmoid' of the right decisions.
        """
        scores = self.head(texts, train).astype(jnp.float32)
        labelled = gold >= 0
        if self.head.options.ending == "sigmoid":
            weights = (labelled & _has_words(texts)).astype(jnp.float32)
            losses = optax.sigmoid_binary_cross_entropy(scores, jnp.maximum(gold, 0)) * weights
            right = ((scores > 0) == (gold == 1)) * weights
            total = weights.sum()
            return {"loss": Sums(losses.sum(), total), "accuracy": Sums(right.sum(), total)}
        # An index of -1 would read the last label; such places have weight 0.
        weights = labelled.astype(jnp.float32)
        targets = jnp.maximum(gold, 0)
        right = (scores.argmax(-1) == gold) * weights
        if self.head.options.ending == "crf":
            likely = crf.log_likelihood(*self._of_crf(scores, starts), targets, labelled)
            # The CRF scores the first place of a row even where the row has no label.
            rows = labelled.any(1).astype(jnp.float32)
            loss = Sums(-(likely * rows).sum(), rows.sum())
        else:
            losses = optax.softmax_cross_entropy_with_integer_labels(scores, targets)
            loss = Sums((losses * weights).sum(), weights.sum())
        return {"loss": loss, "accuracy": Sums(right.sum(), weights.sum())}

    def best(self, texts: Texts, starts: Array | None = None) -> Array:
        """The best labels, int32 [B, W] or [B]; with 'sigmoid' 1 at every label that holds, [B, K]."""
        scores = self.head(texts, False).astype(jnp.float32)
        if self.head.options.ending == "sigmoid":
            return ((scores > 0) & _has_words(texts)).astype(jnp.int32)
        if self.head.options.ending == "crf":
            return crf.viterbi(*self._of_crf(scores, starts), texts[0][1])[0]
        return scores.argmax(-1).astype(jnp.int32)


def _has_words(texts: Texts) -> Array:
    """Whether every span of a row has a word, bool [B, 1]."""
    return jnp.stack([mask.any(1) for _, mask in texts]).all(0)[:, None]


class Labeller(nn.Module):
    """An embedder of words under a head; `(table, batch, train)` of this module's batches."""

    embedder: nn.Module  # `Mix` or `WordsOfPieces`
    labelling: Labelling

    def loss(self, table: Array, batch: Batch, train: bool = False) -> dict[str, Sums]:
        # table: [N, ...], as of the embedder.
        return self.labelling.loss(self._texts(table, batch), batch["gold"], train)

    def best(self, table: Array, batch: Batch) -> Array:
        # table: [N, ...], as of the embedder.
        return self.labelling.best(self._texts(table, batch))

    def _texts(self, table: Array, batch: Batch) -> Texts:
        # table: [N, ...]; words: int32 [B, W] -> vectors [B, W, D].
        keys = [key for key in ("words", "words_b") if key in batch]
        return [(self.embedder(table, batch[key]), batch[key] > 0) for key in keys]
