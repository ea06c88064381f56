"""Layers of which each language has its own parameters (E10; Lample et al. 2018, section 4.3.2)."""

from __future__ import annotations

from typing import Any, Sequence

from flax import linen as nn
import jax
import jax.numpy as jnp

from clwe_jax.types import Array


def private(layer: type[nn.Module], languages: int, methods: Sequence[str] = ("__call__",)):
    """The layer with an axis of languages before all axes of its parameters and of its results.

    Every language's layer runs on all rows, and `choose_own` keeps one result of each: with few
    languages this costs less than gathering the parameters of each row.

    Args:
      layer: a module class.
      languages: number of languages.
      methods: its methods that are called from outside.
    """
    return nn.vmap(
        layer,
        variable_axes={"params": 0},
        split_rngs={"params": True},
        in_axes=None,
        axis_size=languages,
        metadata_params={nn.PARTITION_NAME: "language"},
        methods=methods,
    )


def choose_own(by_language: Any, language: Array) -> Any:
    """The result of the own language of each row, or of each position.

    Args:
      by_language: tree of arrays [languages, B, ...], or [languages, B, L, ...].
      language: int32 [B], or [B, L].

    Returns:
      The tree with arrays [B, ...].
    """
    places = jnp.indices(language.shape, sparse=True)
    return jax.tree.map(lambda x: x[language, *places], by_language)
