"""What senses start from: a word's latest representations, their clusters, noise around their mean.

k-means++ (Arthur & Vassilvitskii 2007) and a few of Lloyd's rounds for every word at once, in the
few dimensions that senses are told apart in (multi-sense cross-lingual alignment, section 3.1).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clwe_jax.models import parts as cuts
from clwe_jax.types import Array

_TINY = 1e-12
_APART = 1e-6  # squared distance of two directions below which they are one
_ROUNDS = 4


def remember(sample: Array, seen: Array, words: Array, h: Array, kept: Array) -> Array:
    """The sample with a batch's representations, each word's in a ring of its own.

    Args:
      sample: float32 [V, R, d].
      seen: int [V], representations of every word before this batch.
      words: int [N]; h: [N, d].
      kept: bool [N], which rows count; of more than R rows of a word the last R are kept.
    """
    beyond, size, _ = sample.shape
    words = jnp.where(kept, words, beyond)
    order = jnp.argsort(words, stable=True)
    words = words[order]
    row = jnp.arange(len(words))
    first = jnp.searchsorted(words, words, side="left")
    after = jnp.searchsorted(words, words, side="right")
    place = (seen.at[words].get(mode="fill", fill_value=0) + row - first) % size
    place = jnp.where((words < beyond) & (row >= after - size), place, size)
    return sample.at[words, place].set(h[order].astype(sample.dtype), mode="drop")


def clusters(sample: Array, seen: Array, projection: Array, count: int, key: Array) -> Array:
    """The clusters of every word's sample, by direction after the projection.

    Args:
      sample: [V, R, d].
      seen: int [V], representations of every word; its first min(R, seen) rows are there.
      projection: float32 [d, d'].
      count: clusters of a word.
      key: PRNG key.

    Returns:
      float32 [V, count, R]: the weights of the sample's rows in the mean of each cluster; a word
      whose sample has fewer different rows has clusters of weight 0.
    """
    words, size, _ = sample.shape
    points = jnp.einsum("vrd,dp->vrp", sample, projection)
    points /= jnp.maximum(jnp.linalg.norm(points, axis=-1, keepdims=True), _TINY)
    there = jnp.arange(size) < seen[:, None]

    def distance(centers: Array) -> Array:
        return jnp.square(points[:, None] - centers[:, :, None]).sum(-1)  # [V, k, R]

    nearest = jnp.where(there, 1.0, 0.0)
    centers, fits = [], []
    for cluster in range(count):
        draws = jax.random.gumbel(jax.random.fold_in(key, cluster), (words, size))
        odds = jnp.where(nearest > _APART, jnp.log(jnp.maximum(nearest, _APART)), -jnp.inf)
        pick = (odds + draws).argmax(-1)
        fits.append((nearest > _APART).any(-1))
        centers.append(jnp.take_along_axis(points, pick[:, None, None], axis=1))
        apart = jnp.where(there, distance(centers[-1])[:, 0], 0.0)
        nearest = apart if cluster == 0 else jnp.minimum(nearest, apart)
    fits = jnp.stack(fits, axis=1)

    def weights(centers: Array) -> Array:
        distances = jnp.where(fits[..., None], distance(centers), jnp.inf)
        own = jnp.arange(count)[:, None] == distances.argmin(1)[:, None]
        own = (own & there[:, None] & fits[..., None]).astype(jnp.float32)
        return own / jnp.maximum(own.sum(-1, keepdims=True), 1.0)

    def lloyd(_: int, centers: Array) -> Array:
        means = jnp.einsum("vkr,vrp->vkp", weights(centers), points)
        norm = jnp.linalg.norm(means, axis=-1, keepdims=True)
        return jnp.where(norm > _TINY, means / jnp.maximum(norm, _TINY), centers)

    return weights(jax.lax.fori_loop(0, _ROUNDS, lloyd, jnp.concatenate(centers, axis=1)))


def inherit(table: Array, axis: int, now: Array | bool) -> Array:
    """A table in which all slots of a word have the entry of its first, written in place.

    A sense that takes over the warm-up's output vector takes over its bias and what the optimizer
    knows of both (A6): with an optimizer's empty moments it would leap away from what it was given.

    Args:
      table: its axes `axis` and `axis` + 1 are the words and their slots.
      axis: see there.
      now: bool [], else the table stays as it is.
    """

    def one_part(_: Array, own: Array) -> Array:
        first = jax.lax.slice_in_dim(own, 0, 1, axis=axis + 1)
        return jnp.broadcast_to(first, own.shape)

    return cuts.Cut(table.shape[axis]).rewritten(table, one_part, axis, now)


def seeded(
    centers: Array,
    seen: Array,
    mean: Array,
    deviation: Array,
    senses: int,
    key: Array,
    sample: Array | None,
    projection: Array,
) -> Array:
    """Centers whose last `senses` slots are the means of clusters, or the word's own plus noise.

    Args:
      centers: float32 [V, S, d]; slot 0 is the word's mean.
      seen: int [V], how many representations that is of.
      mean: float32 [d], in place of it for words that were not seen.
      deviation: float32 [d], standard deviation of the noise.
      senses: slots to fill, the last ones.
      key: PRNG key.
      sample: [V, R, d], or None for noise alone.
      projection: float32 [d, d'].
    """
    words, slots, width = centers.shape
    cut = cuts.Cut(words)

    def one_part(index: Array, own: Array) -> Array:
        noise_key, cluster_key = jax.random.split(jax.random.fold_in(key, index))
        count = cut.of(seen, index)
        base = jnp.where(count[:, None] > 0, own[:, 0], mean)[:, None]
        noise = jax.random.normal(noise_key, (len(own), senses, width), jnp.float32)
        new = base + deviation * noise
        if sample is not None:
            rows = cut.of(sample, index)
            weights = clusters(rows, count, projection, senses, cluster_key)
            means = jnp.einsum("vsr,vrd->vsd", weights, rows)
            new = jnp.where(weights.sum(-1, keepdims=True) > 0, means, new)
        return jnp.concatenate([own[:, : slots - senses], new], axis=1)

    return cut.rewritten(centers, one_part)
