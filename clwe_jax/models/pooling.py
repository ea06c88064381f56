"""The vector of a sentence: the mean over its pieces, and over the last four layers."""

from __future__ import annotations

from typing import Sequence

import jax
import jax.numpy as jnp

from clwe_jax.types import Array, Batch, Hidden


def last_layers(layers: int) -> list[int]:
    """The numbers of the last four of the layers 1 ... `layers`, or of all if there are fewer.

    Layer 0, the embedding output, is included only where it is the only layer.
    """
    return list(range(max(1, layers - 3), layers + 1)) or [0]


def sentences(
    hidden: Hidden,
    batch: Batch,
    weights: Array | None = None,
    layers: Sequence[int] | None = None,
) -> tuple[Array, Array]:
    """The mean of layers over the pieces of each row, [CLS] and [SEP] left out.

    Args:
      hidden: of `batch`.
      batch: see `types.piece_batch`; a row holds one segment, or none.
      weights: positive weights of the positions in the mean, float32 [B, L]; None: all are 1.
      layers: numbers of the layers; None: those of `last_layers`.

    Returns:
      float32 [B, D], zeros for a row without pieces; float32 [B], 1 for a row with pieces, else 0.
    """
    filled = batch["segment_ids"] > 0
    ends = jnp.pad(filled[:, 1:], ((0, 0), (0, 1)))  # False at the last filled position: [SEP]
    pieces = (filled & ends & (batch["positions"] > 0)).astype(jnp.float32)
    share = pieces if weights is None else pieces * weights
    total = share.sum(1, keepdims=True)
    share = share / jnp.where(total > 0, total, 1.0)
    chosen = last_layers(len(hidden.layers) - 1) if layers is None else layers
    mean = sum(hidden.layers[k].astype(jnp.float32) for k in chosen) / len(chosen)
    pooled = jnp.einsum("bl,bld->bd", share, mean, precision=jax.lax.Precision.HIGHEST)
    return pooled, pieces.max(1)
