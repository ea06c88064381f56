"""The elements of vectors that a mask selects."""

from __future__ import annotations

import tensorflow as tf


def places(mask: tf.Tensor) -> tf.Tensor:
    """[N] bool -> [n] int32, the indices of True."""
    return tf.cast(tf.squeeze(tf.where(mask), 1), tf.int32)


def select(vector: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """[N], [N] bool -> [n], the elements where the mask is True.

    `tf.boolean_mask` does the same for any number of axes, with four times as many nodes: a quarter
    of the time in which a run's graph is traced.
    """
    return tf.gather(vector, tf.squeeze(tf.where(mask), 1))
