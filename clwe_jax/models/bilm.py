"""The bidirectional language model of ELMo (Peters et al. 2018, section 3.1; A1, A9).

Words are read as characters, each distinct word of a batch once. The forward and the backward
language model share these word vectors and nothing else. Each has layers of projected LSTM cells,
with residual connections from the second layer on, and carries its state from window to window.

The backward model reads a stream of its own, the reversed texts, from left to right like the
forward model: at the end of a window both have read exactly the text before the next window. Their
parameters are stacked, and both networks run together.

Suffixes of names are shapes: 2 networks, B rows, L words of a window, U distinct words of a batch, P width, C
cells, K layers.
"""

from __future__ import annotations

from flax import linen as nn
from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.models import dropout
from clwe_jax.models.char_cnn import CharCnn
from clwe_jax.models.lstm import Lstm
from clwe_jax.options.models import BiLmOptions
from clwe_jax.types import Array, Batch, Hidden


@struct.dataclass
class Carry:
    """The state of each row between windows, float32.

    Attributes:
      cell: [B, layers, 2, C], forward and backward.
      output: [B, layers, 2, P], the output of each layer before the residual connection.
    """

    cell: Array
    output: Array


def initial_carry(options: BiLmOptions, batch: int) -> Carry:
    """The state before the first window of `batch` rows: zeros."""
    shape = (batch, options.layers, 2)
    return Carry(
        jnp.zeros((*shape, options.cells), jnp.float32),
        jnp.zeros((*shape, options.width), jnp.float32),
    )


@struct.dataclass
class BiLmOutput:
    """The output of the model.

    Attributes:
      forward: the last layer's output at each word of the window, [B, L, P], with dropout in
        training; it predicts the next word.
      backward: the same at each word of the backward model's stream, or of the window where the
        batch has no such stream; it predicts the preceding word of the text.
      layers: word vectors and the output of each layer, each [2, B, L, P], forward and backward,
        without the last dropout.
      carry: state after the window, the initial state of the next one, without gradient.
    """

    forward: Array
    backward: Array
    layers: tuple[Array, ...]
    carry: Carry


class BiLmModel(nn.Module):
    """Both language models; `(batch, carry, train) -> BiLmOutput`."""

    options: BiLmOptions

    def setup(self) -> None:
        options = self.options
        self.words = CharCnn(
            options.width, options.character_dim, options.filters, options.highways, options.dtype
        )
        self.lstms = [
            Lstm(
                2,
                options.cells,
                options.width,
                options.cell_clip or None,
                options.projection_clip or None,
                name=f"layer_{number + 1}",
            )
            for number in range(options.layers)
        ]

    def __call__(self, batch: Batch, carry: Carry | None = None, train: bool = False) -> BiLmOutput:
        """Runs over a window.

        Args:
          batch: `characters`, int [U, T], and `spelling`, int [B, L], their rows. Optional:
            `reset` [B, L], not 0 where the state is zeroed before the word; `loss_weights` [B, L],
            0 at padding; `spelling_reverse` [B, L], the backward model's own stream, to which
            `reset` and `loss_weights` apply unchanged. Without it the backward model reads the
            window from its end and starts from zeros, because a carried state would have read the
            words to predict.
          carry: state before the window; None: zeros.
          train: whether dropout is on (needs an rng named 'dropout').
        """
        spelling = batch["spelling"]
        if carry is None:
            carry = initial_carry(self.options, spelling.shape[0])
        reset = batch.get("reset")
        own_stream = "spelling_reverse" in batch
        if own_stream:
            streams = jnp.stack([spelling, batch["spelling_reverse"]])
            resets = None if reset is None else jnp.stack([reset, reset])
        else:
            streams = jnp.stack([spelling, spelling[:, ::-1]])
            resets = _window_resets(reset, batch.get("loss_weights"))
            carry = jax.tree.map(lambda x: x.at[:, :, 1].set(0.0), carry)
        layers, carry = self._run(streams, batch["characters"], resets, carry, train)
        last = layers[-1]
        if train and self.options.dropout > 0:
            seed = dropout.seed_of(self.make_rng("dropout"))
            last = dropout.dropout(last, self.options.dropout, seed, self.options.layers)

        def rows_first(x: Array) -> Array:
            # [2, L, B, P] -> [2, B, L, P].
            x = x.swapaxes(1, 2)
            return x if own_stream else jnp.stack([x[0], x[1, :, ::-1]])

        last = rows_first(last)
        return BiLmOutput(last[0], last[1], tuple(map(rows_first, layers)), carry)

    def encode(self, batch: Batch) -> Hidden:
        """Representations of the words of independent sentences, one sentence a row.

        Args:
          batch: `spelling` int [B, L] (`<S>`, the words, `</S>`, then padding), `characters`
            int [U, T], `loss_weights` [B, L], 0 at padding and positive elsewhere.

        Returns:
          `layers[0]`, the word vectors (twice), `layers[k]`, the output of layer k, and `last`, the
          last layer: [B, L, 2 P], forward and backward concatenated, as in ELMo.
        """
        spelling = batch["spelling"]
        sizes_B1 = (batch["loss_weights"] > 0).sum(1, keepdims=True)
        places_1L = jnp.arange(spelling.shape[1])[None]
        # Its own inverse, as in `lstm.BiLstm`.
        mirrored_BL = jnp.where(places_1L < sizes_B1, sizes_B1 - 1 - places_1L, places_1L)
        streams_2BL = jnp.stack([spelling, jnp.take_along_axis(spelling, mirrored_BL, 1)])
        carry = initial_carry(self.options, spelling.shape[0])
        layers, _ = self._run(streams_2BL, batch["characters"], None, carry, False)

        def side_by_side(x_2LBP: Array) -> Array:
            forward_BLP, backward_BLP = x_2LBP.swapaxes(1, 2)
            backward_BLP = jnp.take_along_axis(backward_BLP, mirrored_BL[..., None], 1)
            return jnp.concatenate([forward_BLP, backward_BLP], -1)

        layers = tuple(map(side_by_side, layers))
        return Hidden(layers)

    def _run(
        self, streams: Array, characters: Array, resets: Array | None, carry: Carry, train: bool
    ) -> tuple[tuple[Array, ...], Carry]:
        """The outputs of all layers, [2, L, B, P], for spellings [2, B, L]; the final state."""
        options = self.options
        seed = None
        if train and options.dropout > 0:
            seed = dropout.seed_of(self.make_rng("dropout"))
        # float32, for the gradient: a frequent word's row is a sum of hundreds, which stops growing in
        # bfloat16, and which a GPU makes there by a loop of compare and swap.
        words_UP = self.words(characters)
        streams_2LB = streams.swapaxes(1, 2)  # the LSTM takes time before rows
        x_2LBP = jnp.take(words_UP.astype(jnp.float32), streams_2LB, axis=0).astype(words_UP.dtype)
        keep_2LB = None
        if resets is not None:
            keep_2LB = 1.0 - (resets != 0).astype(jnp.float32).swapaxes(1, 2)
        # The LSTM takes networks before rows.
        cells_K2BC = jnp.moveaxis(carry.cell, 0, 2)
        outputs_K2BP = jnp.moveaxis(carry.output, 0, 2)
        layers = [x_2LBP]
        ends = []
        for number, lstm in enumerate(self.lstms):
            x_2LBP = dropout.dropout(x_2LBP, options.dropout, seed, number)
            x_2LBP = nn.with_logical_constraint(x_2LBP, (None, "length", "batch", "activation"))
            y_2LBP, *end = lstm(x_2LBP, keep_2LB, cells_K2BC[number], outputs_K2BP[number])
            x_2LBP = x_2LBP + y_2LBP if number else y_2LBP
            layers.append(x_2LBP)
            ends.append(end)
        # [B, layers, 2, ...]: rows first, as the collection 'rows' needs
        after = Carry(*(jnp.moveaxis(jnp.stack(x), 2, 0) for x in zip(*ends)))
        return tuple(layers), jax.lax.stop_gradient(after)


def _window_resets(reset: Array | None, weights: Array | None) -> Array | None:
    """Resets [2, B, L] for a window that the backward model reads from its end.

    The backward model's state is zeroed after it has read the beginning of a text, or padding.
    """
    # reset, weights: [B, L].
    if reset is None and weights is None:
        return None
    shape = (reset if weights is None else weights).shape
    forward = jnp.zeros(shape, jnp.float32) if reset is None else reset
    new = forward != 0
    if weights is not None:
        new |= weights == 0
    # This model reads word l after word l + 1, and begins anew where l + 1 begins a text.
    backward = jnp.pad(new[:, 1:], ((0, 0), (0, 1)))[:, ::-1]
    return jnp.stack([forward, backward.astype(forward.dtype)])
