"""The projection P: principal components of the latest representations.

Multi-sense cross-lingual alignment, Algorithm 2. The first-in-first-out queue is a ring here.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clwe_jax.types import Array


def project(vectors: Array, projection: Array) -> Array:
    """Vectors [..., d] times P [d, d']."""
    # Full precision, because the accelerators' default loses the digits that decide near ties.
    return jnp.matmul(vectors, projection, precision=jax.lax.Precision.HIGHEST)


def push(
    queue: Array, position: Array, filled: Array, rows: Array, counted: Array
) -> tuple[Array, Array, Array]:
    """Adds rows to the ring in their order; the oldest rows leave.

    Args:
      queue: float32 [Q, d].
      position: place of the next row, int32 [].
      filled: number of rows in the ring, int32 [].
      rows: new rows, [N, d].
      counted: bool [N], the rows to add.

    Returns:
      queue, position, filled.
    """
    size = queue.shape[0]
    rank = jnp.cumsum(counted, dtype=jnp.int32) - 1
    count = rank[-1] + 1
    # Of more rows than places only the last rows stay.
    stays = counted & (rank >= count - size)
    place = jnp.where(stays, (position + rank) % size, size)
    queue = queue.at[place].set(rows.astype(queue.dtype), mode="drop")
    return queue, (position + count) % size, jnp.minimum(filled + count, size)


def moments(queue: Array, filled: Array) -> tuple[Array, Array, Array]:
    """Mean [d] of the ring, its centered rows [Q, d] (0 where empty), and their number."""
    is_filled = (jnp.arange(queue.shape[0]) < filled)[:, None]
    count = jnp.maximum(filled, 1).astype(jnp.float32)
    mean = jnp.where(is_filled, queue, 0.0).sum(0) / count
    return mean, jnp.where(is_filled, queue - mean, 0.0), count


def principal_components(queue: Array, filled: Array, components: int) -> Array:
    """float32 [d, components]: unit eigenvectors of the covariance, largest variance first.

    The largest entry of each is positive.
    """
    _, rows, count = moments(queue, filled)
    covariance = jnp.matmul(rows.T, rows, precision=jax.lax.Precision.HIGHEST) / count
    _, vectors = jnp.linalg.eigh(covariance)
    # `eigh` sorts by rising variance, and leaves the sign open.
    vectors = vectors[:, ::-1][:, :components]
    largest = jnp.take_along_axis(vectors, jnp.abs(vectors).argmax(0)[None], axis=0)
    return vectors * jnp.where(largest < 0, -1.0, 1.0)
