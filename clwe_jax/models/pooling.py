"""Vectors of sentences and of words, from those of their pieces and of several layers."""

from __future__ import annotations

from typing import Sequence

import jax
import jax.numpy as jnp

from clwe_jax.types import Array, Batch, Hidden

LAYERS = ("mix", "upper", "last", "top", "last4", "sum4", "mean")
_MIN_SQUARED = 1e-12  # squared length of a vector that is divided by its length


def last_layers(last: int) -> list[int]:
    """The numbers of the last four of the layers 1 ... `last`, or of all if there are fewer.

    Layer 0, the embedding output, is included only where it is the only layer.
    """
    return list(range(max(1, last - 3), last + 1)) or [0]


def sentences(
    hidden: Hidden, batch: Batch, weights: Array | None = None, layers: Sequence[int] | None = None
) -> tuple[Array, Array]:
    """The mean of layers over the pieces of each row, [CLS] and [SEP] left out.

    Args:
      hidden: of `batch`.
      batch: a batch of `types.piece_shapes`; a row holds one segment, or none.
      weights: positive weights of the positions in the mean, float32 [B, L]; None: all are 1.
      layers: numbers of the layers; None: those of `last_layers`.

    Returns:
      float32 [B, D], zeros for a row without pieces; float32 [B], 1 for a row with pieces, else 0.
    """
    filled = batch["segment_ids"] > 0
    ends = jnp.pad(filled[:, 1:], ((0, 0), (0, 1)))  # False at the last filled position: [SEP]
    pieces = (filled & ends & (batch["positions"] > 0)).astype(jnp.float32)  # position 0: [CLS]
    share = pieces if weights is None else pieces * weights
    total = share.sum(1, keepdims=True)
    share = share / jnp.where(total > 0, total, 1.0)
    chosen = last_layers(len(hidden.layers) - 1) if layers is None else layers
    mean = sum(hidden.layers[k].astype(jnp.float32) for k in chosen) / len(chosen)
    pooled = jnp.einsum("bl,bld->bd", share, mean, precision=jax.lax.Precision.HIGHEST)
    return pooled, pieces.max(1)


def select(vectors: Array, layers: str | int) -> Array:
    """The layers that a head reads.

    Args:
      vectors: [..., layers + 1, D], the embedding output first, of NumPy or of JAX.
      layers: 'mix': all; 'last'; 'top': of the last layer of a bidirectional model the larger one of
        both directions (LASER-top, C2; its factor gamma is a part of the head's first product);
        'upper': the same of every layer without the embeddings (LASER-elmo, C3); 'last4', the mean of
        the last four (of all layers where there are fewer); 'sum4', their sum (E9); 'mean', of all
        without the embeddings; or a number.

    Returns:
      [..., layers + 1, D] for 'mix', [..., layers, D / 2] for 'upper', [..., 1, D / 2] for 'top',
      else [..., 1, D].

    Raises:
      ValueError: an unknown name or number; the message lists the known ones.
    """
    top = vectors.shape[-2] - 1
    if layers == "mix":
        return vectors
    if layers == "last":
        return vectors[..., -1:, :]
    if layers in ("top", "upper"):
        # Layer 0 counts only where it is the only layer.
        states = vectors[..., -1 if layers == "top" else min(1, top) :, :]
        # The two halves of a vector are the two directions.
        return states.reshape(*states.shape[:-1], 2, -1).max(-2)
    if layers in ("last4", "sum4"):
        states = vectors[..., last_layers(top), :]
        return (states.mean if layers == "last4" else states.sum)(-2, keepdims=True)
    if layers == "mean":
        return vectors[..., min(1, top) :, :].mean(-2, keepdims=True)
    number = int(layers) if str(layers).isdigit() else -1
    if not 0 <= number <= top:
        raise ValueError(
            f"config.transfer.layers={layers!r}: one of {', '.join(LAYERS)}, each, or a layer's "
            f"number, 0 (the embeddings) to {top}"
        )
    return vectors[..., number : number + 1, :]


def words(x: Array, firsts: Array, is_piece: Array, how: str) -> Array:
    """The vectors of words, [B, W, ...], from those of the pieces of a row.

    Args:
      x: [B, L, ...].
      firsts: positions of the words' first pieces, int32 [B, W]; 0 is no word.
      is_piece: bool [B, L], True at pieces of words.
      how: 'first': a word is the vector of its first piece; 'mean', 'max': of all its pieces.
    """
    if how != "first":
        rows = jnp.arange(len(x))[:, None]
        # Padding of `firsts` marks [CLS], which is no piece of a word.
        begins = jnp.zeros(is_piece.shape, bool).at[rows, firsts].set(True)
        wide = lambda mask: mask.reshape(*mask.shape, *[1] * (x.ndim - 2))
        # The last piece of a word: the next one begins another word, or is none.
        is_last = wide(~jnp.pad((is_piece & ~begins)[:, 1:], ((0, 0), (0, 1))))
        merge = jnp.maximum if how == "max" else jnp.add

        # A segmented scan from the right: the first piece of a word gets the merge of its pieces.
        def join(later, now):
            return jnp.where(now[1], now[0], merge(later[0], now[0])), later[1] | now[1]

        ones = jnp.ones_like(is_last, x.dtype)
        merge_pieces = lambda values: jax.lax.associative_scan(
            join, (values, is_last), reverse=True, axis=1
        )[0]
        x = merge_pieces(x) if how == "max" else merge_pieces(x) / merge_pieces(ones)
    return jax.vmap(lambda row, places: row[places])(x, firsts)


def unit(x: Array) -> Array:
    """Vectors of length 1 along the last axis; zeros stay zeros, with a finite gradient."""
    # x: [..., D].
    # The bound stands inside the root, whose derivative at 0 is infinite.
    return x * jax.lax.rsqrt(jnp.maximum(jnp.square(x).sum(-1, keepdims=True), _MIN_SQUARED))
