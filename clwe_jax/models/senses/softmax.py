"""Sense-aware cross-entropy: the softmax runs over all senses of all words.

Multi-sense cross-lingual alignment, section 3.1, Eqs. 3-4: with a vector w of each of a word's S
senses,
  p(word, sense | context) = exp(h . w[word, sense]) / sum over v, s of exp(h . w[v, s]),
and section 3.2, Eqs. 5-7: the loss of a word with translations is the weighted mean of the losses
of its own sense and of the translations' senses. Sums run over enabled senses only. With one sense
a word the loss is plain cross-entropy.

Vectors are multiplied in the type of h; sums and losses are float32.
"""

from __future__ import annotations

import functools
from typing import Any

from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.models.sampled_softmax import Samples, log_sum_exp
from clwe_jax.models.senses import parts as cuts
from clwe_jax.models.table_scores import table_scores
from clwe_jax.types import Array

CHUNK = 8192


@struct.dataclass
class SenseLabels:
    """The senses to predict at N positions: the words' own, then those of K translations.

    Attributes:
      words, senses: word ids and slots, int [1 + K, N].
      weights: weights in the loss, float32 [1 + K, N]; 0 where there is no translation. Their sum
        is 1 at each position.
    """

    words: Array
    senses: Array
    weights: Array


@struct.dataclass
class SenseLosses:
    """Losses at N positions, float32 [N] each.

    Attributes:
      loss: the training loss, the weighted sum over all labels (Eq. 7).
      sense: negative log-likelihood of the word's own sense (Eq. 4).
      translation: the translations' part of the weighted sum (Eq. 6).
    """

    loss: Array
    sense: Array
    translation: Array


def sense_cross_entropy(
    hidden: Array,
    table: Array,
    bias: Array | None,
    labels: SenseLabels,
    enabled: Array,
    chunk: int = CHUNK,
) -> SenseLosses:
    """The losses over all senses of all words, about [N, chunk] scores at a time.

    Losses and gradients are exact; the backward pass recomputes the scores.

    Args:
      hidden: hidden states, [N, d].
      table: sense vectors, float32 [V, S, d].
      bias: float32 [V, S] or None.
      labels: the senses to predict; they must be enabled.
      enabled: bool [V, S]; False in all of a padding row.
      chunk: largest number of vectors processed at once.
    """
    log_z = log_partition(hidden, table, _offset(bias, enabled), chunk)
    vectors, shift = _rows(table, bias, hidden.dtype, labels.words, labels.senses)
    return _losses(log_z, _scores(hidden, vectors, shift), labels.weights)


def _losses(log_z: Array, scores: Array, weights: Array) -> SenseLosses:
    # log_z: [N]; scores, weights: [1 + K, N].
    losses = log_z - scores
    weighted = weights * losses
    return SenseLosses(weighted.sum(0), losses[0], weighted[1:].sum(0))


def _offset(bias: Array | None, enabled: Array) -> Array:
    """The bias of the scores, float32 [V, S]; -inf where disabled."""
    return jnp.where(enabled, 0.0 if bias is None else bias, -jnp.inf).astype(jnp.float32)


def _rows(
    table: Array, bias: Array | None, dtype: Any, words: Array, senses: Array
) -> tuple[Array, Array]:
    """The vectors [..., d] and biases [...] of senses."""
    shift = jnp.zeros(words.shape, jnp.float32) if bias is None else bias[words, senses]
    return table[words, senses].astype(dtype), shift


def _scores(hidden: Array, vectors: Array, shift: Array) -> Array:
    """float32 [1 + K, N]: the scores of each position's labels."""
    product = jnp.einsum("nd,knd->kn", hidden, vectors, preferred_element_type=jnp.float32)
    return product + shift


def _parts(words: int, chunk: int) -> tuple[int, int]:
    """The number of parts of the words, and the padding words that make all parts equal."""
    min_parts = -(-words // chunk)
    parts = cuts.first_divisor(words, range(min_parts, 2 * min_parts + 1))
    if parts is not None:
        return parts, 0
    return min_parts, -words % min_parts


def log_partition(hidden: Array, table: Array, offset: Array, chunk: int = CHUNK) -> Array:
    """float32 [N]: log of the sum over v, s of exp(h . table[v, s] + offset[v, s]).

    A block is one slot of the words k, k + K, k + 2 K, ...: devices hold consecutive words, so that
    all of them work on each block, and no vector is sent.

    Args:
      hidden: [N, d].
      table: float32 [V, S, d].
      offset: float32 [V, S], at least one entry finite; -inf leaves a sense out.
      chunk: largest number of vectors processed at once.
    """
    words, slots, width = table.shape
    if words * slots <= chunk:
        flat = table.reshape(-1, width).astype(hidden.dtype)
        return log_sum_exp(table_scores(hidden, flat) + offset.reshape(-1))
    parts, padding = _parts(words, chunk)
    if padding:
        table = jnp.pad(table, ((0, padding), (0, 0), (0, 0)))
        offset = jnp.pad(offset, ((0, padding), (0, 0)), constant_values=-jnp.inf)
    size = (words + padding) // parts
    return _log_partition(
        hidden, table.reshape(size, parts * slots, width), offset.reshape(size, parts * slots)
    )


@jax.custom_vjp
def _log_partition(hidden: Array, blocks: Array, offset: Array) -> Array:
    """As `log_partition`, for vectors [m, blocks, d] and an offset [m, blocks]."""
    # hidden: [n, d].
    return _log_partition_forward(hidden, blocks, offset)[0]


def _block(array: Array, index: Array) -> Array:
    # array: [m, blocks, ...]; index: int32 [] -> [m, ...].
    return jax.lax.dynamic_index_in_dim(array, index, 1, keepdims=False)


def _block_scores(hidden, blocks, offset, index):
    vectors = _block(blocks, index).astype(hidden.dtype)
    return table_scores(hidden, vectors) + _block(offset, index), vectors


def _log_partition_forward(hidden, blocks, offset):
    def add(index, so_far):
        top, total = so_far
        scores, _ = _block_scores(hidden, blocks, offset, index)
        # `top` starts finite, because a block of disabled senses has no finite score.
        new = jnp.maximum(top, scores.max(-1))
        # The sum so far is rescaled to the new maximum, so that no exponential overflows.
        total = total * jnp.exp(top - new) + jnp.exp(scores - new[:, None]).sum(-1)
        return new, total

    count = hidden.shape[0]
    start = jnp.full(count, -1e30, jnp.float32), jnp.zeros(count, jnp.float32)
    top, total = jax.lax.fori_loop(0, blocks.shape[1], add, start)
    log_z = top + jnp.log(total)
    return log_z, (hidden, blocks, offset, log_z)


def _log_partition_backward(residuals, gradient):
    hidden, blocks, offset, log_z = residuals

    def add(index, so_far):
        to_hidden, to_blocks, to_offset = so_far
        scores, vectors = _block_scores(hidden, blocks, offset, index)
        # [n, m]: the gradient of log Z with respect to the scores is the softmax
        share = jnp.exp(scores - log_z[:, None]) * gradient[:, None]
        to_offset = jax.lax.dynamic_update_index_in_dim(to_offset, share.sum(0), index, 1)
        share = share.astype(hidden.dtype)
        product = functools.partial(jnp.einsum, preferred_element_type=jnp.float32)
        to_hidden += product("nm,md->nd", share, vectors)
        to_blocks = jax.lax.dynamic_update_index_in_dim(
            to_blocks, product("nm,nd->md", share, hidden).astype(blocks.dtype), index, 1
        )
        return to_hidden, to_blocks, to_offset

    start = (jnp.zeros(hidden.shape, jnp.float32), jnp.zeros_like(blocks), jnp.zeros_like(offset))
    to_hidden, to_blocks, to_offset = jax.lax.fori_loop(0, blocks.shape[1], add, start)
    return to_hidden.astype(hidden.dtype), to_blocks, to_offset


_log_partition.defvjp(_log_partition_forward, _log_partition_backward)


def sampled_sense_cross_entropy(
    hidden: Array,
    table: Array,
    bias: Array | None,
    labels: SenseLabels,
    enabled: Array,
    samples: Samples,
    rng: Array,
) -> SenseLosses:
    """The losses against sampled senses, with scores minus the log of their expected counts (A2).

    One enabled sense of each drawn word is drawn uniformly, so that the number of scores is as
    without senses. A negative that is a label of a position is left out at that position. The
    scores of the labels are corrected too (`tf.nn.sampled_softmax_loss` with `subtract_log_q`; Jean
    et al. 2015), so that the expected loss is least at the true probabilities for any number of
    draws. With one sense for each word the losses tend to the losses over all words as draws grow.

    Args:
      hidden, table, bias, labels, enabled: as of `sense_cross_entropy`.
      samples: negative words, the same for all positions.
      rng: a PRNG key for the senses of these words.
    """
    slots = table.shape[1]
    words = samples.ids
    choice = enabled[words]
    draws = jax.random.uniform(rng, choice.shape)
    # The argmax of uniform draws is a uniform choice among the enabled senses.
    senses = jnp.where(choice, draws, -1.0).argmax(-1)
    has_sense = choice.any(-1)
    count = len(words)
    # One gather, whose gradient is one table instead of one for samples and one for labels.
    vectors, shift = _rows(
        table,
        bias,
        hidden.dtype,
        jnp.concatenate([words, labels.words.reshape(-1)]),
        jnp.concatenate([senses, labels.senses.reshape(-1)]),
    )
    sample_scores = table_scores(hidden, vectors[:count])
    sample_scores += shift[:count] - _log_counts(samples, words, enabled)
    shape = labels.words.shape
    scores = _scores(hidden, vectors[count:].reshape(*shape, -1), shift[count:].reshape(shape))
    scores -= _log_counts(samples, labels.words, enabled)
    sample_ids = words * slots + senses
    # A missing translation is no label: its score, which means nothing, is in no sum.
    is_label = (labels.weights > 0).at[0].set(True)
    ids = jnp.where(is_label, labels.words * slots + labels.senses, -1)
    negative = has_sense & (sample_ids != ids[..., None]).all(0)
    # Equal labels, as of words spelled alike in several languages, count once.
    is_first = (ids[:, None] == ids).argmax(0) == jnp.arange(len(ids))[:, None]
    labelled = jax.nn.logsumexp(jnp.where(is_label & is_first, scores, -1e30), axis=0)
    return _losses(_against(labelled, sample_scores, negative), scores, labels.weights)


def _log_counts(samples: Samples, words: Array, enabled: Array) -> Array:
    """Log of the expected count of one sense of each word among the draws."""
    # words: int [n]; enabled: bool [V, S].
    # A sense has an equal share of its word's expected count.
    senses = jnp.maximum(enabled[words].sum(-1), 1).astype(jnp.float32)
    return samples.log_count(words) - jnp.log(senses)


def _against(labelled: Array, scores: Array, negative: Array) -> Array:
    """Log of the sum of exponentials of the labels' and the negatives' scores."""
    # labelled: [N]; scores, negative: [N, n].
    # With -1e30 the gradient at a position without negatives is 0; with -inf it would be nan.
    return jnp.logaddexp(labelled, log_sum_exp(jnp.where(negative, scores, -1e30)))


def word_log_likelihood(
    hidden: Array,
    table: Array,
    bias: Array | None,
    words: Array,
    enabled: Array,
    chunk: int = CHUNK,
) -> Array:
    """Log-probabilities of words, float32 [N]; a word's probability is the sum over its senses.

    Args:
      hidden, table, bias, enabled, chunk: as `sense_cross_entropy`.
      words: word ids, int [N]; -inf for a word without an enabled sense.
    """
    offset = _offset(bias, enabled)
    vectors = table[words].astype(hidden.dtype)
    scores = jnp.einsum("nd,nsd->ns", hidden, vectors, preferred_element_type=jnp.float32)
    log_z = log_partition(hidden, table, offset, chunk)
    return jax.nn.logsumexp(scores + offset[words], axis=-1) - log_z


def best_words(
    hidden: Array, table: Array, bias: Array | None, enabled: Array, chunk: int = CHUNK
) -> Array:
    """The most probable words, int32 [N]; a word's probability is the sum over its senses.

    Args:
      hidden, table, bias, enabled, chunk: as `sense_cross_entropy`.
    """
    words, slots, width = table.shape
    offset = _offset(bias, enabled)
    # A block has all slots of its words, because the probabilities of a word are added.
    parts, padding = _parts(words, max(1, chunk // slots))
    size = (words + padding) // parts
    table = jnp.pad(table, ((0, padding), (0, 0), (0, 0))).reshape(size, parts, slots, width)
    offset = jnp.pad(offset, ((0, padding), (0, 0)), constant_values=-jnp.inf)
    offset = offset.reshape(size, parts, slots)

    def compare(index, so_far):
        vectors = _block(table, index).astype(hidden.dtype)
        scores = jnp.einsum("nd,msd->nms", hidden, vectors, preferred_element_type=jnp.float32)
        scores = jax.nn.logsumexp(scores + _block(offset, index), axis=-1)
        highest, ids = so_far
        new = scores.max(-1)
        # Block k has the words k, k + K, k + 2 K, ...
        best = (scores.argmax(-1) * parts + index).astype(jnp.int32)
        return jnp.maximum(highest, new), jnp.where(new > highest, best, ids)

    count = hidden.shape[0]
    start = jnp.full(count, -jnp.inf, jnp.float32), jnp.zeros(count, jnp.int32)
    return jax.lax.fori_loop(0, parts, compare, start)[1]
