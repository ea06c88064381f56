"""Noise of a denoising autoencoder: words change places, are left out or blanked (Lample et al. 2018).

Unsupervised Machine Translation Using Monolingual Corpora Only, section 2.3. The pieces of a word stay
together, and the mark of the end stays the last piece.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from clwe_jax.types import Array

# places of the end and of padding, after all words
_END = 1e6
_GONE = 2e6


class NoiseDraws(NamedTuple):
    """Numbers between 0 and 1 for each word of each text, float32 [B, L].

    Attributes:
      shift: of the word's new place.
      drop: the word is left out where it is below the rate.
      blank: the word is blanked where it is below the rate.
    """

    shift: Array
    drop: Array
    blank: Array


def draws(key: Array, shape: tuple[int, int]) -> NoiseDraws:
    """The draws for [B, L] pieces, which have at most L words."""
    return NoiseDraws(*jax.random.uniform(key, (3, *shape)))


def add_noise(
    ids: Array,
    words: Array,
    drawn: NoiseDraws,
    *,
    shuffle: float,
    drop: float,
    blank: float,
    blank_id: int,
    end: int,
    pad: int,
) -> Array:
    """The texts with noise, int32 [B, L].

    Args:
      ids: pieces, the end, padding, int32 [B, L].
      words: number of each piece's word in its text, int32 [B, L]; not read at the end and padding.
      shuffle: k; word i gets the place i + shift * (k + 1) before sorting, so that no word moves more
        than k places.
      drop, blank: rates. A text that would lose all words keeps the first one.
      blank_id: the piece in the place of each piece of a blanked word.
      end, pad: the special pieces of the texts.
    """
    real = (ids != end) & (ids != pad)
    shift, dropped, blanked = (jnp.take_along_axis(x, words, axis=1) for x in drawn)
    is_kept = real & (dropped >= drop)
    is_kept = is_kept | (real & ~is_kept.any(1, keepdims=True) & (words == 0))
    noisy = jnp.where(is_kept & (blanked < blank), blank_id, ids)
    noisy = jnp.where(is_kept | (ids == end), noisy, pad)
    place = words + shift * (shuffle + 1)
    place = jnp.where(is_kept, place, jnp.where(ids == end, _END, _GONE))
    # Stable, because the pieces of a word have one place and must keep their order.
    order = jnp.argsort(place, axis=1, stable=True)
    return jnp.take_along_axis(noisy, order, axis=1)
