"""Sense selection (multi-sense cross-lingual alignment, Algorithm 1).

An occurrence has the enabled sense whose center has the largest cosine with its representation,
both projected to a few principal components.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clwe_jax.models.senses.projection import project
from clwe_jax.models.senses.state import SenseState
from clwe_jax.types import Array

_TINY = 1e-12


def assign(state: SenseState, words: Array, h: Array) -> Array:
    """Slots of the occurrences' senses, int32 [N]; the first slot of equal cosines.

    Args:
      state: the senses.
      words: word ids, int [N].
      h: representations of the words themselves, [N, d]. Not differentiated.
    """
    # The length of a representation is a common factor of its cosines, and changes no argmax.
    scores, _ = _scores(state, words[:, None], h, None)
    return scores[:, 0].argmax(-1).astype(jnp.int32)


def cosines(state: SenseState, words: Array, h: Array, enabled: Array | None = None) -> Array:
    """The projected cosines of representations with all centers of some words.

    Args:
      state: the senses.
      words: ids of K words for each representation, int [N, K].
      h: representations, [N, d]. Not differentiated.
      enabled: bool [N, K, S], the senses to compare with; None: all enabled senses.

    Returns:
      float32 [N, K, S], -inf for senses that are not compared.
    """
    scores, length = _scores(state, words, h, enabled)
    return scores / jnp.maximum(length, _TINY)[:, None, None]


def _scores(
    state: SenseState, words: Array, h: Array, enabled: Array | None
) -> tuple[Array, Array]:
    """Cosines [N, K, S] times the length of the projected representation, and that length [N]."""
    h = project(jax.lax.stop_gradient(h).astype(jnp.float32), state.projection)
    centers = state.projected[words]
    shape = centers.shape[:-1]
    centers = centers.reshape(shape[0], -1, centers.shape[-1])
    products = jnp.einsum("nkp,np->nk", centers, h, precision=jax.lax.Precision.HIGHEST)
    norms = jnp.maximum(jnp.sqrt(jnp.square(centers).sum(-1)), _TINY)
    enabled = state.enabled[words] if enabled is None else enabled
    scores = jnp.where(enabled, (products / norms).reshape(shape), -jnp.inf)
    return scores, jnp.sqrt(jnp.square(h).sum(-1))
