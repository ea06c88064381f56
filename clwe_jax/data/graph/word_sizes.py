"""The number of distinct words in a biLM's batch, and a check that the text fills a window."""

from __future__ import annotations

import math
from typing import Mapping

import numpy as np
import seqio
import tensorflow as tf
from absl import logging

from clwe_jax.data.graph import chunks
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.sources import TextSource

_MULTIPLE = 128  # an estimate is a multiple of it
_MIN_WORDS = 8
_TRIALS = 3
_SPARE = 1.15
_HASHES = 2**63 - 1
_LINES = 64  # lines that are encoded together


def distinct_words(
    option: int,
    words: int,
    texts: Mapping[str, TextSource],
    rates: Mapping[str, float],
    encoder: TextEncoder,
    shards: int,
) -> int:
    """The number of distinct words that a batch has room for, a multiple of the number of shards.

    Args:
      option: `config.data.distinct_words`, which is rounded up; 0 estimates the number from
        batches drawn from a sample of the text, with some spare room.
      texts, rates: language -> its text and its share of the blocks.
      shards: number of the devices of this host that divide the rows.

    Raises:
      ValueError: `option` is too small.
    """
    if not option:
        expected = int(_SPARE * _largest_batch(words, texts, rates, encoder))
        return _round_up(min(words, expected), math.lcm(_MULTIPLE, shards))
    if option < _MIN_WORDS:
        raise ValueError(
            f"config.data.distinct_words={option}: must be at least {_MIN_WORDS}, or 0 for an "
            "estimate from the text"
        )
    return _round_up(option, shards)


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


def _largest_batch(words, texts, rates, encoder) -> float:
    """The largest number of distinct words among a few random batches."""
    hashed = {}
    lines = {}
    for language, text in texts.items():
        sample = text.sample()
        encoded = encoder.encode(
            tf.constant(sample.texts, tf.string), tf.constant(sample.languages, tf.int32)
        )
        hashed[language] = tf.strings.to_hash_bucket_fast(encoded.text, _HASHES).numpy()
        bounds = np.searchsorted(encoded.line.numpy(), np.arange(len(sample.texts) + 1))
        lines[language] = list(zip(bounds[:-1].tolist(), bounds[1:].tolist()))
    # A language's share of the words is its share of the lines times their mean length.
    weights = {x: rates[x] * len(hashed[x]) / max(1, len(lines[x])) for x in texts}
    total_weight = sum(weights.values()) or 1.0
    highest = 0.0
    for trial in range(_TRIALS):
        random = np.random.default_rng(trial)
        total = 0.0
        for language, hashes in hashed.items():
            word_count = words * weights[language] / total_weight
            parts = []
            count = 0
            for line in random.permutation(len(lines[language])):
                first, last = lines[language][line]
                parts.append(hashes[first:last])
                count += last - first
                if count >= word_count:
                    break
            if count:
                # A sample that is too small is extrapolated, with the same rate of new words.
                total += len(np.unique(np.concatenate(parts))) * max(1.0, word_count / count)
        highest = max(highest, total)
    return highest


def check_length(
    length: int,
    rows: int,
    texts: Mapping[str, TextSource],
    heldout_share: float,
    encoder: TextEncoder,
    shard: seqio.ShardInfo,
) -> None:
    """Checks that the training text fills a window; warns where it does not fill a batch.

    Args:
      texts: language -> its text.

    Raises:
      ValueError: a window is longer than the text, or a language has no text to train on.
    """
    total = 0
    for number, (language, text) in enumerate(texts.items()):
        count = 0
        for lines in text.lines(shuffle=False, seed=0, shard=shard).batch(_LINES):
            chunk = chunks.of_language(chunks.drop_heldout(lines, heldout_share), number)
            words = encoder.encode(*chunk).line.numpy()
            count += len(words) + 2 * len(np.unique(words))  # with <S> and </S>
            if count >= length * rows:
                break
        # One of several hosts may have no line of a small language.
        if not count and shard.num_shards == 1:
            raise ValueError(
                f"{language} has no text to train on: its lines are empty or all held out. "
                f"Add text, lower config.data.heldout_share ({heldout_share:g}), or take "
                f"{language} out of --config.data.languages"
            )
        total += count
    if total < length:
        raise ValueError(
            f"config.data.sequence_length={length}: a window is longer than the whole text, "
            f"{total} words with <S> and </S>. Add text, or lower config.data.sequence_length"
        )
    if total < length * rows:
        logging.warning(
            "A batch of %d windows of %d words is longer than the whole text (%d words): it holds "
            "sentences more than once. Lower --config.train.batch_size or data.sequence_length",
            rows,
            length,
            total,
        )
