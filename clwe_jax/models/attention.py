"""Attention within segments, by jax.nn.dot_product_attention with its fastest kernel."""

from __future__ import annotations

import functools

from absl import logging
import jax
import jax.numpy as jnp

from clwe_jax.types import Array


def segment_mask(segment_ids: Array) -> Array:
    """bool [B, 1, L, L]: whether query and key share a segment; padding is a segment too."""
    return (segment_ids[:, :, None] == segment_ids[:, None, :])[:, None]


def attend(q: Array, k: Array, v: Array, mask: Array, implementation: str) -> Array:
    """softmax(q k^T / sqrt(K)) v within the mask; the softmax is computed in float32.

    Args:
      q, k, v: [B, L, H, K].
      mask: boolean [B, 1, L, L].
      implementation: 'xla', 'cudnn', or 'auto': cuDNN where it compiles for these shapes.

    Returns:
      [B, L, H, K].
    """
    if implementation == "auto":
        implementation = _fastest(jax.default_backend(), q.dtype, q.shape)
    return jax.nn.dot_product_attention(q, k, v, mask=mask, implementation=implementation)


@functools.lru_cache(maxsize=None)
def _fastest(backend: str, dtype: jnp.dtype, shape: tuple[int, ...]) -> str:
    """'cudnn' where its flash attention, forward and backward, compiles with a mask; else 'xla'."""
    # The flash attention of cuDNN takes no float32.
    if backend != "gpu" or dtype not in (jnp.bfloat16, jnp.float16):
        return "xla"
    array = jax.ShapeDtypeStruct((1,) + shape[1:], dtype)
    mask = jax.ShapeDtypeStruct((1, 1, shape[1], shape[1]), jnp.bool_)

    def probe(q, k, v, mask):
        out = jax.nn.dot_product_attention(q, k, v, mask=mask, implementation="cudnn")
        return out.astype(jnp.float32).sum()

    try:
        jax.jit(jax.grad(probe, argnums=(0, 1, 2))).lower(array, array, array, mask).compile()
    except Exception as error:  # cuDNN raises many types of error
        logging.info("attention by XLA: cuDNN does not support %s %s (%s)", dtype, shape, error)
        return "xla"
    return "cudnn"
