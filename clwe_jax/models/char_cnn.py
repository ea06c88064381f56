"""Vectors of words from their characters: convolutions, max over time, highway layers (A1).

The character CNN of ELMo (Peters et al. 2018; Jozefowicz et al. 2016; Kim et al. 2016). A word is a
frame of T characters: begin, the word, end, padding. The padding after the word has an embedding, and its
windows take part in the maximum.

One matrix product computes all filters: windows of the widest filter's size times kernels padded
with zeros. A word of n characters has n + 1 distinct windows for any T, because all windows beyond
its end are equal. Words are therefore sorted by length, and a group of words has only as many
windows as its longest word needs.
"""

from __future__ import annotations

import functools
from typing import Sequence

from flax import linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models.bias import add_bias
from clwe_jax.models.transformer import compute_dtype, parameter
from clwe_jax.types import Array

CHARACTERS = 261
PADDING = 260
# Each of these is a compiled branch of its own.
_FEW_WINDOWS = (6, 8, 10, 12, 16, 24)  # possible numbers of windows for groups of short words
# words of a group, whose scores stay in the cache
_GROUP_CPU = 32
_GROUP = 1024


class CharCnn(nn.Module):
    """The vectors of words.

    Attributes:
      width: P, dimensions of a word's vector.
      dim: dimensions of a character's vector.
      filters: (characters, filters) of each filter size.
      highways: number of highway layers.
      dtype: type of the products; 'auto' is bfloat16 on accelerators and float32 on CPU.
    """

    width: int
    dim: int
    filters: Sequence[tuple[int, int]]
    highways: int = 2
    dtype: str = "auto"

    @nn.compact
    def __call__(self, characters: Array) -> Array:
        """Vectors [U, width], in the type of the products, of words [U, T] of characters 0 ... 260.

        Raises:
          ValueError: a filter wider than the frame.
        """
        dtype = compute_dtype(self.dtype)
        sizes = [size for size, _ in self.filters]
        if max(sizes) > characters.shape[1]:
            raise ValueError(
                f"config.model.filters has a filter of {max(sizes)} characters, but the frame of a "
                f"word has {characters.shape[1]}: raise config.task.max_characters"
            )
        embedding = parameter(
            self, "embedding", (None, None), _uniform(1.0), (CHARACTERS, self.dim)
        )
        kernels = [
            parameter(
                self, f"kernel_{size}", (None, None, "mlp"), _uniform(0.05), (size, self.dim, count)
            )
            for size, count in self.filters
        ]
        features = sum(count for _, count in self.filters)
        bias = parameter(self, "bias", ("mlp",), nn.initializers.zeros, (features,))
        kernel = jnp.concatenate(
            [jnp.pad(k, ((0, max(sizes) - k.shape[0]), (0, 0), (0, 0))) for k in kernels], axis=-1
        )
        spans = tuple((size, count) for size, count in self.filters)
        x = max_over_time(characters, embedding.astype(dtype), kernel.astype(dtype), spans)
        x = jax.nn.relu(add_bias(x, bias))
        for number in range(self.highways):
            x = _Highway(name=f"highway_{number}")(x)
        projection = parameter(
            self,
            "projection",
            ("mlp", "embed"),
            nn.initializers.normal(features**-0.5),
            (features, self.width),
        )
        shift = parameter(self, "projection_bias", ("norm",), nn.initializers.zeros, (self.width,))
        return add_bias(x @ projection.astype(dtype), shift)


class _Highway(nn.Module):
    """g relu(x W + b) + (1 - g) x with g = sigmoid(x V + c); c starts at -2 (Srivastava 2015)."""

    @nn.compact
    def __call__(self, x: Array) -> Array:
        # x: [n, d], n words.
        width = x.shape[-1]
        kernel = parameter(
            self,
            "kernel",
            ("embed", None, "mlp"),
            nn.initializers.normal(width**-0.5),
            (width, 2, width),
        )
        bias = parameter(self, "bias", (None, "mlp"), _highway_bias, (2, width))
        y = add_bias(jnp.einsum("nd,dgf->ngf", x, kernel.astype(x.dtype)), bias)
        gate = jax.nn.sigmoid(y[:, 0])
        return gate * jax.nn.relu(y[:, 1]) + (1 - gate) * x


def _highway_bias(key, shape, dtype):
    del key
    return jnp.zeros(shape, dtype).at[0].set(-2.0)


def _uniform(scale: float):
    def init(key, shape, dtype):
        return jax.random.uniform(key, shape, dtype, -scale, scale)

    return init


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def max_over_time(
    characters: Array, embedding: Array, kernel: Array, spans: tuple[tuple[int, int], ...]
) -> Array:
    """The highest score of each filter over all places of a word, [U, F].

    Args:
      characters: int [U, T].
      embedding: [261, d].
      kernel: [W, d, F]; a filter of fewer than W characters is padded with zeros.
      spans: (characters, filters) of each filter size, in the order of the F filters; W is the
        largest size.
    """
    return _max_forward(characters, embedding, kernel, spans)[0]


def _max_forward(characters, embedding, kernel, spans):
    groups, order, choices, indices = _group(characters, kernel.shape[0])

    def add(_, group):
        number, rows = group
        branches = [functools.partial(_best, windows=windows, spans=spans) for windows in choices]
        return None, jax.lax.switch(number, branches, rows, embedding, kernel)

    _, (group_maxima, best_windows) = jax.lax.scan(add, None, (indices, groups))
    # The inverse of `order`, without the words that fill the last group.
    place = jnp.argsort(order)[: len(characters)]
    maxima = jnp.take(group_maxima.reshape(-1, kernel.shape[-1]), place, axis=0)
    return maxima, (groups, order, indices, best_windows, embedding, kernel)


def _max_backward(spans, residuals, gradient):
    del spans
    groups, order, indices, best_windows, embedding, kernel = residuals
    count, size, length = groups.shape
    choices = _choices(length, kernel.shape[0])
    # `order` counts the words that fill the last group; they have no gradient.
    sorted_gradient = jnp.take(gradient, order, axis=0, mode="fill", fill_value=0)
    parts = sorted_gradient.reshape(count, size, -1)

    def add(sums, group):
        number, *arrays = group
        branches = [functools.partial(_gradient, windows=windows) for windows in choices]
        group_sums = jax.lax.switch(number, branches, *arrays, embedding, kernel)
        return jax.tree.map(jnp.add, sums, group_sums), None

    zeros = jnp.zeros(embedding.shape, jnp.float32), jnp.zeros(kernel.shape, jnp.float32)
    (of_embedding, of_kernel), _ = jax.lax.scan(add, zeros, (indices, groups, best_windows, parts))
    return None, of_embedding.astype(embedding.dtype), of_kernel.astype(kernel.dtype)


max_over_time.defvjp(_max_forward, _max_backward)


def _choices(length: int, widest: int) -> tuple[int, ...]:
    """The possible numbers of windows of a group of words; the last number is all windows."""
    return (*(few for few in _FEW_WINDOWS if few + widest - 1 <= length), length)


def _group(characters, widest):
    """Words sorted by length, in groups, and the index of each group's windows in `_choices`."""
    count, length = characters.shape
    # The devices of a plan's mesh are those to compile for, and the process has a CPU.
    device = jax.sharding.get_abstract_mesh().abstract_device
    platform = device.platform if device else jax.default_backend()
    size = min(_GROUP_CPU if platform == "cpu" else _GROUP, count)
    choices = _choices(length, widest)
    padding = -count % size
    characters = jnp.pad(characters, ((0, padding), (0, 0)), constant_values=PADDING)
    ends = jnp.where(characters != PADDING, jnp.arange(1, length + 1), 0).max(-1)
    order = jnp.argsort(ends)
    groups = jnp.take(characters, order, axis=0).reshape(-1, size, length)
    groups = nn.with_logical_constraint(groups, (None, "batch", None))
    longest = jnp.take(ends, order).reshape(-1, size)[:, -1]
    # The fewest windows that hold the n + 1 distinct ones of the longest word.
    indices = jnp.searchsorted(np.array(choices[:-1], np.int32), longest + 1, side="left")
    return groups, order, choices, indices


def _windows(rows, embedding, windows, widest):
    """The characters' vectors in each window, [windows, u, widest * d]; zeros after the frame."""
    characters = rows.T[: windows + widest - 1]
    vectors = jnp.take(embedding, characters, axis=0)
    missing = windows + widest - 1 - len(characters)
    vectors = jnp.pad(vectors, ((0, missing), (0, 0), (0, 0)))
    return jnp.concatenate([vectors[k : k + windows] for k in range(widest)], axis=-1)


def _best(rows, embedding, kernel, *, windows, spans):
    """The highest score [u, F] and the first window that has it, uint8 [u, F]."""
    widest, dim, features = kernel.shape
    x = _windows(rows, embedding, windows, widest)
    scores = jnp.dot(x.reshape(-1, widest * dim), kernel.reshape(-1, features))
    scores = scores.reshape(windows, -1, features)
    if windows + widest - 1 > rows.shape[1]:
        # A filter whose window ends outside the frame has no score there.
        sizes = np.repeat([size for size, _ in spans], [count for _, count in spans])
        outside = np.arange(windows)[:, None] + sizes > rows.shape[1]
        scores = jnp.where(outside[:, None, :], -jnp.inf, scores)
    best = scores[0]
    best_windows = jnp.zeros(scores.shape[1:], jnp.uint8)
    for number in range(1, windows):
        # Of equal windows the first one gets the gradient.
        best_windows = jnp.where(scores[number] > best, jnp.uint8(number), best_windows)
        best = jnp.maximum(best, scores[number])
    return best, best_windows


def _gradient(rows, where, gradient, embedding, kernel, *, windows):
    """float32 gradients of the embedding and the kernel."""
    widest, dim, features = kernel.shape
    x = _windows(rows, embedding, windows, widest).reshape(-1, widest * dim)
    # [windows, u, F]: the gradient goes to the best window of each filter alone
    chosen = where == jnp.arange(windows, dtype=jnp.uint8)[:, None, None]
    of_scores = jnp.where(chosen, gradient, 0).reshape(-1, features)
    of_kernel = jnp.dot(x.T, of_scores, preferred_element_type=jnp.float32)
    of_windows = jnp.dot(of_scores, kernel.reshape(-1, features).T)
    of_windows = of_windows.reshape(windows, -1, widest, dim)
    length = min(windows + widest - 1, rows.shape[1])
    of_vectors = sum(
        jnp.pad(of_windows[:, :, k], ((k, widest - 1 - k), (0, 0), (0, 0))) for k in range(widest)
    )[:length]
    of_embedding = jnp.zeros(embedding.shape, jnp.float32)
    of_embedding = of_embedding.at[rows.T[:length]].add(of_vectors.astype(jnp.float32))
    return of_embedding, of_kernel.reshape(kernel.shape)
