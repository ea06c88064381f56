"""Random numbers determined by a seed, a shard, a chunk and the order of the draws."""

from __future__ import annotations

import hashlib

import tensorflow as tf


def fold(*parts: object) -> int:
    """A seed in [0, 2^62) from a hash of any values; equal in every process and Python version."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 2


class Draws:
    """Independent streams of uniform numbers for one chunk of text.

    Every call draws from another stream; different chunks and seeds have different streams.
    """

    def __init__(self, seed: tf.Tensor, chunk: tf.Tensor):
        """Args:
        seed: scalar int64.
        chunk: scalar int64, number of the chunk.
        """
        self._seed = tf.cast(seed, tf.int64)
        # A chunk has room for 256 streams before those of the next one.
        self._chunk = tf.cast(chunk, tf.int64) * 256
        self._streams = 0

    def uniform(self, count: tf.Tensor) -> tf.Tensor:
        """[count] float32 in [0, 1)."""
        return _uniform(count, self._next())

    def bits(self, count: tf.Tensor) -> tf.Tensor:
        """[count] int64 in [0, 2^31)."""
        numbers = tf.random.stateless_uniform(
            [count], self._next(), maxval=tf.int32.max, dtype=tf.int32, alg="philox"
        )
        return tf.cast(numbers, tf.int64)

    def below(self, limits: tf.Tensor) -> tf.Tensor:
        """[N] int32 limits >= 1 -> [N] int32, uniform in [0, limit)."""
        numbers = self.uniform(tf.size(limits)) * tf.cast(limits, tf.float32)
        # The product of the limit and a number just below 1 may round to the limit.
        return tf.minimum(tf.cast(numbers, tf.int32), limits - 1)

    def _next(self) -> tf.Tensor:
        # Counts while the graph is traced: each draw in the code has its stream, in all chunks.
        self._streams += 1
        return tf.stack([self._seed, self._chunk + self._streams])


# Traced once in a process, not for each draw: the seed is scrambled by dozens of operations.
@tf.function(
    autograph=False, input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([2], tf.int64)]
)
def _uniform(count: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return tf.random.stateless_uniform([count], seed, alg="philox")
