"""LASER: one encoder of sentences and one decoder for all languages (Artetxe and Schwenk 2019; C1).

The encoder does not know the language of a text. Its sentence vector is the maximum over time of
the last layer; the decoder reads it at every step, and gets its first state from it. The decoder knows
nothing else of the text, so that the vector must hold its meaning, and no word order but its own.
"""

from __future__ import annotations

from flax import linen as nn
import jax
import jax.numpy as jnp

from clwe_jax.models import dropout
from clwe_jax.models.bias import add_bias
from clwe_jax.models.lstm import BiLstm, forget_one, glorot, steps
from clwe_jax.models.table_scores import table_scores
from clwe_jax.models.transformer import compute_dtype, parameter
from clwe_jax.options.models import LaserOptions
from clwe_jax.types import Array, Batch, Hidden

_NO_PIECE = -1e9  # logit of the rows that only pad the table
Cells = tuple[Array, Array]
State = tuple[Array, Array, Cells]  # sentence vectors, languages to write, the decoder's cells


def _uniform(limit: float):
    """Uniform between -limit and limit."""
    return lambda key, shape, dtype: jax.random.uniform(key, shape, dtype, -limit, limit)


# Fairseq's embeddings are as small as its output table. The sentence vector is then so near to zero
# that the decoder learns for thousands of steps before it reads it.
wide = _uniform(1.0)
small = _uniform(0.1)


class LaserEncoder(nn.Module):
    """The encoder; the sizes' defaults are the paper's.

    Attributes:
      options: sizes; those of the decoder are not read.
      vocab_size: rows of a table of pieces.
      max_length: pieces of the longest text, with the mark of its end.
    """

    options: LaserOptions
    vocab_size: int
    max_length: int

    def setup(self) -> None:
        options = self.options
        shape = (self.vocab_size, options.width)
        self.source_pieces = parameter(self, "source_pieces", ("vocab", "embed"), wide, shape)
        self.encoder = BiLstm(options.cells, options.layers, options.dropout, name="encoder")

    def encode(
        self, ids: Array, mask: Array, source: Array | None = None, train: bool = False
    ) -> tuple[Array, ...]:
        """The embeddings and the output of each layer, [B, L, width] and [B, L, 2 C].

        Args:
          ids: pieces of a text and the mark of its end, int32 [B, L].
          mask: bool [B, L], True at these.
          source: the texts' languages, which this encoder does not read.
          train: whether dropout is on (needs an rng named 'dropout').
        """
        del source
        seed = self._seed(train)
        x = self._embed_ids(self.source_pieces, ids, seed, 0)
        layers = self.encoder(x, mask, seed)
        return x, *(layer.reshape(*ids.shape, -1) for layer in layers)

    def sentence(self, layers: tuple[Array, ...], mask: Array) -> Array:
        """The vectors of texts, [B, 2 C]: the last layer's maximum over time; 0 without pieces."""
        last = jnp.where(mask[..., None], layers[-1], -jnp.inf).max(1)
        return jnp.where(mask.any(1)[:, None], last, 0)

    def _embed_ids(self, table: Array, ids: Array, seed: Array | None, salt: int) -> Array:
        # table: [V, E]; ids: int32 [B, L]; seed: uint32 [2] -> [B, L, E].
        x = jnp.take(table, ids, axis=0).astype(compute_dtype(self.options.dtype))
        return dropout.dropout(x, self.options.dropout, seed, salt)

    def _seed(self, train: bool) -> Array | None:
        on = train and self.options.dropout > 0
        return dropout.seed_of(self.make_rng("dropout")) if on else None


class Backbone(LaserEncoder):
    """The encoder under a head, with which it learns; the fields are `LaserEncoder`'s."""

    def __call__(self, batch: Batch, train: bool = False) -> Hidden:
        """The layers at each piece of a batch of `piece_shapes`; embeddings have zeros after their own dimensions.

        The begin of a row is not read, and has zeros.
        """
        ids = batch["inputs"][:, 1:]
        mask = batch["segment_ids"][:, 1:] > 0
        layers = self.encode(ids, mask, train=train)
        size = 2 * self.options.cells
        layers = tuple(jnp.pad(x, ((0, 0), (1, 0), (0, size - x.shape[-1]))) for x in layers)
        return Hidden(layers)


class Laser(LaserEncoder):
    """Encoder and decoder."""

    languages: int  # number of languages

    def setup(self) -> None:
        options = self.options
        super().setup()
        axes = ("vocab", "embed")
        shape = (self.vocab_size, options.width)
        self.target_pieces = parameter(self, "target_pieces", axes, wide, shape)
        self.language = parameter(
            self, "language", (None, "embed"), wide, (self.languages, options.language_width)
        )
        size = options.width + 2 * options.cells + options.language_width
        cells = options.decoder_cells
        gates = (None, "embed", None, "mlp")
        init = glorot(size + cells)
        self.kernel = parameter(self, "kernel", gates, init, (1, size, 4, cells))
        self.recurrent = parameter(self, "recurrent", gates, init, (1, cells, 4, cells))
        self.bias = parameter(self, "bias", (None, None, "mlp"), forget_one, (1, 4, cells))
        # Uniform within 1 / sqrt(fan-in), as in PyTorch; drawn as a matrix, because the initialiser
        # would count another fan-in for three axes.
        uniform = nn.initializers.variance_scaling(1 / 3, "fan_in", "uniform")
        self.start = parameter(
            self,
            "start",
            ("embed", None, "mlp"),
            lambda key, shape, dtype: uniform(key, (shape[0], 2 * cells), dtype).reshape(shape),
            (2 * options.cells, 2, cells),
        )
        self.start_bias = parameter(
            self, "start_bias", (None, "mlp"), nn.initializers.zeros, (2, cells)
        )
        self.output = parameter(self, "output", ("vocab", "mlp"), small, (self.vocab_size, cells))
        self.output_bias = parameter(
            self, "output_bias", ("vocab",), nn.initializers.zeros, (self.vocab_size,)
        )

    def __call__(
        self, ids: Array, mask: Array, source: Array, before: Array, language: Array
    ) -> Array:
        """Outputs of the decoder without dropout."""
        # ids, before: int32 [B, L]; mask: bool [B, L]; source, language: int32 [B].
        return self.states(self.read(ids, mask, source), before, language)

    def read(
        self, ids: Array, mask: Array, source: Array | None = None, train: bool = False
    ) -> Array:
        """The sentence vectors that the decoder reads, [B, 2 C]."""
        return self.sentence(self.encode(ids, mask, source, train), mask)

    def scores(
        self, sentence: Array, before: Array, language: Array, pieces: int, train: bool = False
    ) -> Array:
        """`logits` of `states`, float32 [B, L, V]."""
        return self.logits(self.states(sentence, before, language, train), pieces)

    def states(self, sentence: Array, before: Array, language: Array, train: bool = False) -> Array:
        """The decoder's outputs, [B, L, decoder_cells], with the right pieces before each place.

        Args:
          sentence: [B, 2 C].
          before: the preceding piece of each place, int32 [B, L].
          language: the language to write, int32 [B].
        """
        seed = self._seed(train)
        x = self._embed_ids(self.target_pieces, before, seed, 100)
        outputs, _ = self._run(x, sentence, language, self._start(sentence))
        return dropout.dropout(outputs, self.options.dropout, seed, 101)

    def first(self, sentence: Array, language: Array, length: int = 0) -> State:
        """The state before the first piece, for any length of the translations."""
        # sentence: [B, 2 C]; language: int32 [B].
        return sentence, language, self._start(sentence)

    def _start(self, sentence: Array) -> Cells:
        """The decoder's cells and output before the first piece, float32 [B, decoder_cells]."""
        start = jnp.einsum("bs,skc->kbc", sentence, self.start.astype(sentence.dtype))
        cell, output = start.astype(jnp.float32) + self.start_bias[:, None]
        return cell, output

    def next(self, state: State, before: Array, pieces: int) -> tuple[Array, State]:
        """Scores of the next piece (`logits`), and the state after the piece `before`, int32 [B]."""
        sentence, language, cells = state
        x = self._embed_ids(self.target_pieces, before[:, None], None, 0)
        outputs, cells = self._run(x, sentence, language, cells)
        return self.logits(outputs[:, 0], pieces), (sentence, language, cells)

    def logits(self, outputs: Array, pieces: int) -> Array:
        """Scores of the pieces, float32 [..., V]; those of `pieces` and above cannot be chosen."""
        logits = table_scores(outputs, self.output.astype(outputs.dtype)) + self.output_bias
        return jnp.where(jnp.arange(self.vocab_size) < pieces, logits, _NO_PIECE)

    def _run(self, x: Array, sentence: Array, language: Array, cells: Cells) -> tuple[Array, Cells]:
        # x: [B, L, E]; sentence: [B, 2 C]; language: int32 [B] -> [B, L, decoder_cells].
        kernel = self.kernel.astype(x.dtype)
        recurrent = self.recurrent.astype(x.dtype)
        language_vectors = jnp.take(self.language, language, axis=0).astype(x.dtype)
        # The same at every step: its product with the weights is computed once.
        context = jnp.concatenate([sentence, language_vectors], -1)
        # Rows of the kernel: embedding of a piece, sentence vector, embedding of a language.
        width = self.options.width
        # [1, B, 4, cells]
        of_context = jnp.einsum("bi,dikc->dbkc", context, kernel[:, width:])
        bias = add_bias(of_context, self.bias[:, None])
        weights = kernel[:, :width], recurrent, bias, None
        cells = tuple(c[None] for c in cells)
        # x: [1, L, B, E]; cells: [1, B, decoder_cells]
        outputs, *cells = steps(x.swapaxes(0, 1)[None], weights, None, cells, (None, None))
        return outputs[0].swapaxes(0, 1), tuple(c[0] for c in cells)
