"""Which sense of which translation a word in context means.

Multi-sense cross-lingual alignment, section 3.2: among all senses of all translations of a word the
one whose center has the largest cosine with the word's representation, both projected.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clwe_jax.models.sense_config import SenseConfig
from clwe_jax.models.senses import SenseState, project, similarity
from clwe_jax.types import Array

_TINY = 1e-12


def choose(
    state: SenseState, config: SenseConfig, translations: Array, into: Array, h: Array
) -> tuple[Array, Array, Array]:
    """The sense of a translation that fits best (section 3.2): the largest cosine among T x S.

    Of a translation's senses those are left out that its language has no use of: those below
    `config.translated_share`, as "bank" of a river where that is German.

    Args:
      state: the senses.
      config: see there.
      translations: int [N, T], translations of the words; -1 where there are fewer.
      into: int [N], the language of the translations.
      h: [N, d], the words' own representations.

    Returns:
      int32 [N] word, int32 [N] slot, bool [N] whether there is a translation; 0, 0 where not.
    """
    found = cosines(state, config, translations, into, h)
    count, _, slots = found.shape
    best = found.reshape(count, -1).argmax(-1).astype(jnp.int32)
    word = jnp.take_along_axis(jnp.maximum(translations, 0), best[:, None] // slots, axis=1)[:, 0]
    has = (translations >= 0).any(-1)
    none = jnp.int32(0)
    return jnp.where(has, word, none).astype(jnp.int32), jnp.where(has, best % slots, none), has


def cosines(
    state: SenseState, config: SenseConfig, translations: Array, into: Array, h: Array
) -> Array:
    """How well each sense of each translation fits: float32 [N, T, S], -inf where there is none.

    Args: as `choose`; of `into` there may be one for each translation, int [N, T].
    """
    h = project(jax.lax.stop_gradient(h).astype(jnp.float32), state.projection)
    present = translations >= 0
    candidates = jnp.maximum(translations, 0)
    slots = state.enabled.shape[1]
    count, most = translations.shape
    enabled = state.enabled[candidates] & present[..., None]
    # A form that is a word of several languages has senses of which this one has no use.
    into = jnp.broadcast_to(into if into.ndim == 2 else into[:, None], (count, most))
    uses = jnp.where(enabled, state.counts[candidates, :, into], 0)
    enabled &= uses >= config.translated_share * uses.sum(-1, keepdims=True)
    projected = state.projected[candidates].reshape(count, most * slots, -1)
    length = jnp.sqrt(jnp.square(h).sum(-1, keepdims=True))
    found = similarity(projected, enabled.reshape(count, -1), h) / jnp.maximum(length, _TINY)
    return found.reshape(count, most, slots)
