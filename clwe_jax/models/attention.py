"""Self-attention within segments, by jax.nn.dot_product_attention on the fastest kernel."""

from __future__ import annotations

import functools

from absl import logging
import jax
import jax.numpy as jnp

from clwe_jax.types import Array

IMPLEMENTATIONS = ("auto", "xla", "cudnn")


def segment_mask(segment_ids: Array) -> Array:
    """Boolean [B, 1, L, L]: whether query and key share a segment (padding is one too)."""
    return (segment_ids[:, :, None] == segment_ids[:, None, :])[:, None]


def attend(q: Array, k: Array, v: Array, mask: Array, implementation: str) -> Array:
    """softmax(q k^T / sqrt(K)) v within the mask; the softmax is taken in float32.

    Args:
      q, k, v: [B, L, H, K].
      mask: boolean [B, 1, L, L].
      implementation: 'xla', 'cudnn', or 'auto' for cuDNN where it compiles for these shapes.

    Returns:
      [B, L, H, K].
    """
    if implementation == "auto":
        implementation = _fastest(jax.default_backend(), q.dtype, q.shape)
    return jax.nn.dot_product_attention(q, k, v, mask=mask, implementation=implementation)


@functools.lru_cache(maxsize=None)
def _fastest(backend: str, dtype: jnp.dtype, shape: tuple[int, ...]) -> str:
    """'cudnn' where its flash attention, forward and backward, compiles with a mask; else 'xla'."""
    if backend != "gpu" or dtype not in (jnp.bfloat16, jnp.float16):
        return "xla"
    array = jax.ShapeDtypeStruct((1,) + shape[1:], dtype)
    mask = jax.ShapeDtypeStruct((1, 1, shape[1], shape[1]), jnp.bool_)

    def probe(q, k, v, mask):
        out = jax.nn.dot_product_attention(q, k, v, mask=mask, implementation="cudnn")
        return out.astype(jnp.float32).sum()

    try:
        jax.jit(jax.grad(probe, argnums=(0, 1, 2))).lower(array, array, array, mask).compile()
    except Exception as error:  # cuDNN's refusals are of many types; XLA's kernel always works
        logging.info("attention by XLA: cuDNN does not take %s %s (%s)", dtype, shape, error)
        return "xla"
    return "cudnn"


def rotary(x: Array, positions: Array, base: float = 10_000.0) -> Array:
    """Rotates pairs (i, i + K/2) of each head by angles that grow with the position.

    RoFormer (Su et al. 2021), Eq. 34, in the half-split layout.

    Args:
      x: [B, L, H, K], K even.
      positions: int [B, L].
    """
    half = x.shape[-1] // 2
    frequency = base ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = positions[..., None, None].astype(jnp.float32) * frequency
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1).astype(x.dtype)
