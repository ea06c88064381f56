"""Sampled negatives for the cross-entropy over a large vocabulary.

Negatives are words drawn once for the whole batch from the log-uniform distribution, which is close
to the distribution of words whose ids are sorted by frequency:

  p(w) = (log(w + 2) - log(w + 1)) / log(V + 1)

The log of its word's expected count among the draws is subtracted from every score (Jean et al.
2015; Jozefowicz et al. 2016): the sampled loss tends to the loss over all words as draws grow.
"""

from __future__ import annotations

from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.types import Array


def log_uniform_probability(ids: Array, vocab_size: int) -> Array:
    """The probability of every id in one draw, float32; the sum over the vocabulary is 1."""
    return jnp.log1p(1.0 / (ids.astype(jnp.float32) + 1.0)) / jnp.log(jnp.float32(vocab_size + 1))


@struct.dataclass
class Samples:
    """Distinct words drawn for a batch.

    Attributes:
      ids: word ids, int32 [n].
      log_counts: log of the expected count of each word among the draws, float32 [n].
      draws: expected number of draws with replacement that give n distinct words, float32 [];
        infinite where all words are drawn.
    """

    ids: Array
    log_counts: Array
    draws: Array


def log_uniform_sample(rng: Array, count: int, vocab_size: int) -> Samples:
    """Draws distinct words from the log-uniform distribution.

    Word w arrives after an exponential time of rate p(w); the first `count` words are drawn. This
    is the distribution of drawing with replacement until `count` distinct words are found, as
    TensorFlow's log_uniform_candidate_sampler does. Given the arrival time T of the first word that
    is not drawn, w is drawn with probability 1 - exp(-p(w) T), and the sum over the drawn words of
    f(w) divided by that probability is an unbiased estimate of the sum over the vocabulary
    (Duffield et al. 2007).

    Args:
      rng: a PRNG key.
      count: number of words; all words where it is V or more.
      vocab_size: V; ids are sorted by falling frequency.

    Returns:
      min(count, V) words.

    Raises:
      ValueError: count or vocab_size below 1.
    """
    if count < 1 or vocab_size < 1:
        raise ValueError(f"{count} negatives of {vocab_size} words: both must be at least 1")
    if count >= vocab_size:
        ids = jnp.arange(vocab_size, dtype=jnp.int32)
        draws = jnp.float32(jnp.inf)
    else:
        rate = log_uniform_probability(jnp.arange(vocab_size), vocab_size)
        arrival = jax.random.exponential(rng, (vocab_size,)) / rate
        times, first = jax.lax.top_k(-arrival, count + 1)
        ids, draws = first[:count], -times[count]
    log_counts = jnp.log(-jnp.expm1(-log_uniform_probability(ids, vocab_size) * draws))
    return Samples(ids, log_counts, draws)


@jax.custom_vjp
def log_sum_exp(scores: Array) -> Array:
    """float32 [N]: log of the sum of exponentials along the last axis of float32 [N, n].

    At least one score of a row must be finite. The gradient is written out: it takes one pass over
    the scores and keeps no other array.
    """
    return _log_sum_exp_forward(scores)[0]


def _log_sum_exp_forward(scores):
    top = scores.max(-1)
    log_z = jnp.log(jnp.exp(scores - top[..., None]).sum(-1)) + top
    return log_z, (scores, log_z)


def _log_sum_exp_backward(residuals, gradient):
    scores, log_z = residuals
    return (jnp.exp(scores - log_z[..., None]) * gradient[..., None],)


log_sum_exp.defvjp(_log_sum_exp_forward, _log_sum_exp_backward)
