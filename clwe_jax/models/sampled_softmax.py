"""Sampled negatives for the cross-entropy over a large vocabulary.

Negatives are words drawn once for the whole batch from the log-uniform distribution, which is close
to how often words occur when their ids are sorted by frequency:

  p(w) = (log(w + 2) - log(w + 1)) / log(V + 1)

Every score then loses the log of how often its word was expected among the draws (Jean et al. 2015;
Jozefowicz et al. 2016), so that the sampled loss tends to the loss over all words as draws grow.
"""

from __future__ import annotations

from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.types import Array


def log_uniform_probability(ids: Array, vocab_size: int) -> Array:
    """float32: the probability of every id in one draw; they add up to 1 over the vocabulary."""
    return jnp.log1p(1.0 / (ids.astype(jnp.float32) + 1.0)) / jnp.log(jnp.float32(vocab_size + 1))


@struct.dataclass
class Samples:
    """Words drawn for a batch.

    Attributes:
      ids: int32 [n].
      log_counts: float32 [n], the log of how often each was expected among the draws.
      draws: float32 []: of draws with replacement, their number; of distinct draws, how many with
        replacement bring about as many distinct ones (infinite when all words are drawn).
    """

    ids: Array
    log_counts: Array
    draws: Array


def log_uniform_sample(rng: Array, count: int, vocab_size: int, unique: bool = True) -> Samples:
    """Draws words from the log-uniform distribution.

    Distinct words are those that arrive first when word w arrives after an exponential time of
    rate p(w): the same distribution as drawing until `count` distinct ones are there, which
    TensorFlow's log_uniform_candidate_sampler does. Given the time T of the first word that came
    too late, w was drawn with probability 1 - exp(-p(w) T), and the sum of f(w) over the drawn,
    divided by that, has the sum over the vocabulary as its mean (Duffield et al. 2007).

    Args:
      rng: a PRNG key.
      count: n; no fewer than V distinct words are all words.
      vocab_size: V; ids are sorted by falling frequency.
      unique: distinct words, at a cost of V random numbers, or n draws with replacement.

    Returns:
      Samples, with min(n, V) ids if they are distinct.

    Raises:
      ValueError: count or vocab_size below 1.
    """
    if count < 1 or vocab_size < 1:
        raise ValueError(f"{count} negatives of {vocab_size} words: both must be at least 1")
    if not unique:
        ids = _draw(rng, count, vocab_size)
        draws = jnp.float32(count)
    elif count >= vocab_size:
        ids = jnp.arange(vocab_size, dtype=jnp.int32)
        draws = jnp.float32(jnp.inf)
    else:
        rate = log_uniform_probability(jnp.arange(vocab_size), vocab_size)
        arrival = jax.random.exponential(rng, (vocab_size,)) / rate
        times, first = jax.lax.top_k(-arrival, count + 1)
        ids, draws = first[:count], -times[count]
    return Samples(ids, _log_expected(ids, draws, vocab_size, unique), draws)


def _draw(rng: Array, count: int, vocab_size: int) -> Array:
    """int32 [count] by the inverse of the cumulative distribution, log(w + 1) / log(V + 1)."""
    scale = jnp.log(jnp.float32(vocab_size + 1))
    coarse, fine = jax.random.uniform(rng, (2, count))
    # A float32 has 2**23 steps in [0, 1), too few for each of a million words to be met: the
    # second number stands for what lies between two steps.
    value = jnp.exp(coarse * scale) * (1.0 + fine * scale * 2.0**-23)
    return jnp.clip(value.astype(jnp.int32) - 1, 0, vocab_size - 1)


def _log_expected(ids: Array, draws: Array, vocab_size: int, unique: bool) -> Array:
    probability = log_uniform_probability(ids, vocab_size)
    if unique:
        return jnp.log(-jnp.expm1(-probability * draws))
    return jnp.log(probability * draws)


@jax.custom_vjp
def log_sum_exp(scores: Array) -> Array:
    """float32 [N]: log of the sum of exponentials along the last axis of float32 [N, n].

    At least one score of a row must be finite. The gradient is written out: one pass over the
    scores, and nothing but them is kept.
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
