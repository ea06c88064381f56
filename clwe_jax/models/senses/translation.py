"""The sense of a translation that fits a word in context best.

Multi-sense cross-lingual alignment, section 3.2: of all senses of all translations of a word, the
best one has the center with the largest cosine with the word's representation, both projected.
"""

from __future__ import annotations

import jax.numpy as jnp

from clwe_jax.models.senses import selection
from clwe_jax.options.senses import SenseOptions
from clwe_jax.models.senses.state import SenseState
from clwe_jax.types import Array


def choose(
    state: SenseState, config: SenseOptions, translations: Array, into: Array, h: Array
) -> tuple[Array, Array, Array]:
    """The translation and its sense with the largest cosine, out of T translations with S senses.

    Args:
      state: the senses.
      config: the senses' configuration.
      translations: ids of the words' translations, int [N, T]; -1 pads a row.
      into: language ids of the translations, int [N] or [N, T].
      h: representations of the words themselves, [N, d]. Not differentiated.

    Returns:
      int32 [N], words; int32 [N], slots; bool [N], whether the word has a translation. Word and
      slot are 0 without a translation.
    """
    similarities = cosines(state, config, translations, into, h)
    count, _, slots = similarities.shape
    best = similarities.reshape(count, -1).argmax(-1).astype(jnp.int32)
    word = jnp.take_along_axis(jnp.maximum(translations, 0), best[:, None] // slots, axis=1)[:, 0]
    has = (translations >= 0).any(-1)
    zero = jnp.int32(0)
    return jnp.where(has, word, zero).astype(jnp.int32), jnp.where(has, best % slots, zero), has


def cosines(
    state: SenseState, config: SenseOptions, translations: Array, into: Array, h: Array
) -> Array:
    """The projected cosines of words in context with the senses of their translations.

    A sense with less than `config.translated_share` of its word's latest uses in the language
    `into` does not take part: the sense "bank of a river" of "bank" is no German word.

    Args: as `choose`.

    Returns:
      float32 [N, T, S], -inf for senses that do not take part.
    """
    present = translations >= 0
    candidates = jnp.maximum(translations, 0)
    enabled = state.enabled[candidates] & present[..., None]
    into = jnp.broadcast_to(into if into.ndim == 2 else into[:, None], translations.shape)
    uses = jnp.where(enabled, state.counts[candidates, :, into], 0)
    # A word without uses in the language keeps all its senses, as 0 >= 0.
    enabled &= uses >= config.translated_share * uses.sum(-1, keepdims=True)
    return selection.cosines(state, candidates, h, enabled)
