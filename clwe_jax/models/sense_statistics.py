"""What a sense state says of itself: dead senses are counted, not hidden."""

from __future__ import annotations

import jax.numpy as jnp

from clwe_jax.models.senses import SenseState
from clwe_jax.types import Array

_TINY = 1e-12


def statistics(state: SenseState) -> dict[str, Array]:
    """Figures of the words that were used at least as often as they have slots, by `counts`.

    Returns:
      'senses_in_use': share of their enabled senses that were used at all.
      'sense_entropy': of the senses of a word's uses, in nats, words weighted by their uses; the
        warm-up's slot counts for nothing.
      'enabled_senses': of a word, on average.
      'words_in_use': how many.
    """
    counts = jnp.where(state.enabled, state.counts.sum(2), 0)
    uses = counts.sum(1)
    word = uses >= state.enabled.shape[1]
    enabled = jnp.where(word[:, None], state.enabled, False).sum()
    used = ((counts > 0) & word[:, None]).sum()
    share = counts / jnp.maximum(uses, 1)[:, None]
    entropy = -jnp.where(share > 0, share * jnp.log(jnp.maximum(share, _TINY)), 0.0).sum(1)
    weight = jnp.where(word, uses, 0).astype(jnp.float32)
    words = word.sum()
    return {
        "senses_in_use": used / jnp.maximum(enabled, 1),
        "sense_entropy": (entropy * weight).sum() / jnp.maximum(weight.sum(), 1.0),
        "enabled_senses": enabled / jnp.maximum(words, 1),
        "words_in_use": words.astype(jnp.float32),
    }
