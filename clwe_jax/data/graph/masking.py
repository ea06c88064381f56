"""Chooses the words to predict, and cuts texts into segments that fit into a row."""

from __future__ import annotations

import tensorflow as tf

from clwe_jax.data.graph import draws, packing
from clwe_jax.data.graph.selection import select


def choose(eligible: tf.Tensor, text: tf.Tensor, rate: float, random: draws.Draws) -> tf.Tensor:
    """Chooses words to mask: the share `rate` of each text's words, from the eligible words.

    A text of n words gets floor(rate * n + u) masked words, u uniform in [0, 1), so that the
    expected number is exactly rate * n, but never more than its eligible words. They are drawn
    uniformly without replacement.

    Args:
      eligible: [W] bool.
      text: [W] int32, the text of each word, in any order.
      rate: share of masked words.

    Returns:
      [W] bool.
    """
    count = tf.size(text)
    texts = tf.reduce_max(tf.concat([text, [-1]], 0)) + 1
    words = tf.math.bincount(text, minlength=texts, dtype=tf.int32)[:texts]
    quota = tf.cast(rate * tf.cast(words, tf.float32) + random.uniform(texts), tf.int32)
    # Sort by text, the eligible words first, equals in random order.
    key = tf.bitwise.left_shift(tf.cast(text, tf.int64), tf.constant(32, tf.int64))
    late = tf.where(eligible, tf.constant(0, tf.int64), tf.constant(1 << 31, tf.int64))
    order = tf.argsort(key + late + random.bits(count))
    in_order = tf.gather(text, order)
    rank = tf.range(count) - tf.gather(tf.cumsum(words, exclusive=True), in_order)
    # Where a text has fewer eligible words than its quota, others are among the chosen ones.
    word_places = select(order, rank < tf.gather(quota, in_order))
    mask = tf.tensor_scatter_nd_update(
        tf.zeros([count], tf.bool), word_places[:, None], tf.ones_like(word_places, tf.bool)
    )
    return tf.logical_and(mask, eligible)


def segments(
    line: tf.Tensor,
    ends_sentence: tf.Tensor,
    pieces: tf.Tensor,
    predictions: tf.Tensor,
    length: int,
    max_predictions: int,
) -> tf.Tensor:
    """Cuts documents into segments at sentence ends, and inside sentences that are too long.

    Args:
      line: [W] int32, the document of each word, ascending.
      ends_sentence: [W] bool.
      pieces, predictions: [W] int32, numbers of pieces and of masked pieces of each word; each word
        fits into a segment.
      length, max_predictions: maximum numbers of pieces and of masked pieces of a segment.

    Returns:
      [W] int32, the segment of each word, ascending from 0 without gaps.
    """
    count = tf.size(line)
    is_first = tf.concat([[True], line[1:] != line[:-1]], 0)[:count]
    after_end = tf.concat([[True], ends_sentence[:-1]], 0)[:count]
    capacities = ((pieces, length), (predictions, max_predictions))
    # Sentences that are longer than a segment become several parts.
    begins = packing.next_fit(tf.logical_or(is_first, after_end), capacities)
    part = tf.cumsum(tf.cast(begins, tf.int32)) - 1
    # A segment takes as many whole sentences of a document as fit.
    begins = packing.next_fit(
        select(is_first, begins),
        (
            (tf.math.segment_sum(pieces, part), length),
            (tf.math.segment_sum(predictions, part), max_predictions),
        ),
    )
    return tf.gather(tf.cumsum(tf.cast(begins, tf.int32)) - 1, part)
