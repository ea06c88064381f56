"""The initial centers and vectors of senses at the end of the warm-up.

Centers are a word's mean plus noise, or the means of clusters of its latest representations:
k-means++ (Arthur & Vassilvitskii 2007) and a few rounds of Lloyd's algorithm for all words at once,
after the projection.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from clwe_jax.models.senses.parts import Cut
from clwe_jax.types import Array

_TINY = 1e-12
_APART = 1e-6  # squared distance below which two directions count as equal
_ROUNDS = 4


def remember(sample: Array, seen: Array, words: Array, h: Array, kept: Array) -> Array:
    """Adds a batch's representations to the sample, a ring for each word.

    Args:
      sample: float32 [V, R, d].
      seen: number of each word's representations before this batch, int [V].
      words: word ids, int [N].
      h: representations, [N, d].
      kept: bool [N], the rows to add; of more than R rows of a word the last R are kept.
    """
    beyond, size, _ = sample.shape
    words = jnp.where(kept, words, beyond)
    order = jnp.argsort(words, stable=True)
    words = words[order]
    row = jnp.arange(len(words))
    first = jnp.searchsorted(words, words, side="left")
    after = jnp.searchsorted(words, words, side="right")
    # After sorting, row - first counts the rows of the same word before this one in the batch.
    place = (seen.at[words].get(mode="fill", fill_value=0) + row - first) % size
    # The others get a place beyond the ring, where writes are dropped.
    place = jnp.where((words < beyond) & (row >= after - size), place, size)
    return sample.at[words, place].set(h[order].astype(sample.dtype), mode="drop")


def clusters(sample: Array, seen: Array, projection: Array, count: int, key: Array) -> Array:
    """Clusters every word's sample by its directions after the projection.

    Args:
      sample: [V, R, d].
      seen: number of each word's representations, int [V]; min(R, seen) rows are filled.
      projection: float32 [d, d'].
      count: number of clusters of a word.
      key: a PRNG key.

    Returns:
      Weights of the sample's rows in the mean of each cluster, float32 [V, count, R]; all 0 for a
      cluster that does not exist because the word has too few different rows.
    """
    words, size, _ = sample.shape
    # [V, R, d']
    points = jnp.einsum("vrd,dp->vrp", sample, projection)
    points /= jnp.maximum(jnp.linalg.norm(points, axis=-1, keepdims=True), _TINY)
    is_filled = jnp.arange(size) < seen[:, None]

    def distance(centers: Array) -> Array:
        return jnp.square(points[:, None] - centers[:, :, None]).sum(-1)  # [V, k, R]

    # Equal odds: the first center is a uniform draw.
    nearest = jnp.where(is_filled, 1.0, 0.0)
    centers, fits = [], []
    for cluster in range(count):
        draws = jax.random.gumbel(jax.random.fold_in(key, cluster), (words, size))
        odds = jnp.where(nearest > _APART, jnp.log(jnp.maximum(nearest, _APART)), -jnp.inf)
        # With Gumbel noise the argmax is a draw: k-means++, by the squared distance to the nearest.
        pick = (odds + draws).argmax(-1)
        fits.append((nearest > _APART).any(-1))
        centers.append(jnp.take_along_axis(points, pick[:, None, None], axis=1))
        new_distances = jnp.where(is_filled, distance(centers[-1])[:, 0], 0.0)
        nearest = new_distances if cluster == 0 else jnp.minimum(nearest, new_distances)
    fits = jnp.stack(fits, axis=1)

    def weights(centers: Array) -> Array:
        distances = jnp.where(fits[..., None], distance(centers), jnp.inf)
        assignment = jnp.arange(count)[:, None] == distances.argmin(1)[:, None]
        assignment = (assignment & is_filled[:, None] & fits[..., None]).astype(jnp.float32)
        return assignment / jnp.maximum(assignment.sum(-1, keepdims=True), 1.0)

    def lloyd(_: int, centers: Array) -> Array:
        # centers: [V, count, d'].
        means = jnp.einsum("vkr,vrp->vkp", weights(centers), points)
        norm = jnp.linalg.norm(means, axis=-1, keepdims=True)
        # A cluster without rows keeps its center.
        return jnp.where(norm > _TINY, means / jnp.maximum(norm, _TINY), centers)

    return weights(jax.lax.fori_loop(0, _ROUNDS, lloyd, jnp.concatenate(centers, axis=1)))


def inherit(table: Array, axis: int, now: Array | bool) -> Array:
    """Copies the entry of each word's first slot to all its slots, in place.

    Senses start with the warm-up's output vector, its bias and the optimizer's moments of both
    (A6); without the moments the first updates of a copied vector would be far too large.

    Args:
      table: array whose axes `axis` and `axis` + 1 are words and slots.
      axis: axis of the words.
      now: bool []; False leaves the table as it is.
    """

    def one_part(_: Array, part: Array) -> Array:
        # part: [..., V / K, S, ...].
        first = jax.lax.slice_in_dim(part, 0, 1, axis=axis + 1)
        return jnp.broadcast_to(first, part.shape)

    return Cut(table.shape[axis]).rewrite(table, one_part, axis, now)


def seed_slots(
    centers: Array,
    seen: Array,
    mean: Array,
    deviation: Array,
    senses: int,
    key: Array,
    sample: Array | None,
    projection: Array,
) -> Array:
    """Sets the last `senses` slots to the means of clusters, or to the word's mean plus noise.

    Args:
      centers: float32 [V, S, d]; slot 0 is the word's mean.
      seen: number of each word's representations, int [V].
      mean: float32 [d], the mean for words without representations.
      deviation: standard deviation of the noise, float32 [d].
      senses: number of slots to set.
      key: a PRNG key.
      sample: latest representations of each word, [V, R, d]; None: noise for all words.
      projection: float32 [d, d'].
    """
    words, slots, width = centers.shape
    cut = Cut(words)

    def one_part(index: Array, part: Array) -> Array:
        # index: int32 []; part: [V / K, S, d].
        noise_key, cluster_key = jax.random.split(jax.random.fold_in(key, index))
        count = cut.of(seen, index)
        base = jnp.where(count[:, None] > 0, part[:, 0], mean)[:, None]
        noise = jax.random.normal(noise_key, (len(part), senses, width), jnp.float32)
        seeds = base + deviation * noise
        if sample is not None:
            rows = cut.of(sample, index)
            weights = clusters(rows, count, projection, senses, cluster_key)
            means = jnp.einsum("vsr,vrd->vsd", weights, rows)
            seeds = jnp.where(weights.sum(-1, keepdims=True) > 0, means, seeds)
        return jnp.concatenate([part[:, : slots - senses], seeds], axis=1)

    return cut.rewrite(centers, one_part)
