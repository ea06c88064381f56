"""Sampled negatives for the cross-entropy over a large vocabulary.

Negatives are drawn once for the whole batch, from the log-uniform distribution, which is close to
the distribution of words whose ids are sorted by frequency:

  p(w) = (log(w + 2) - log(w + 1)) / log(V + 1)

The log of a word's expected count among the draws is subtracted from its score (Jean et al. 2015;
Jozefowicz et al. 2016): with more draws the sampled loss tends to the loss over all words.
"""

from __future__ import annotations

from typing import Sequence

from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.types import Array


def log_uniform_probability(ids: Array, vocab_size: int) -> Array:
    """The probability of every id in one draw, float32; the sum over the vocabulary is 1."""
    # ids: int [...] -> [...].
    # log((id + 2) / (id + 1)), which would cancel for rare words.
    return jnp.log1p(1.0 / (ids.astype(jnp.float32) + 1.0)) / jnp.log(jnp.float32(vocab_size + 1))


@struct.dataclass
class Samples:
    """Distinct words drawn for a batch.

    Attributes:
      ids: word ids, int32 [n].
      log_counts: log of the expected count of each word among the draws, float32 [n].
      draws: expected number of draws with replacement that give n distinct words, float32 [];
        infinite where all words are drawn.
      vocab_size, left_out: arguments of `log_uniform_sample`.
    """

    ids: Array
    log_counts: Array
    draws: Array
    vocab_size: int = struct.field(pytree_node=False)
    left_out: tuple[int, ...] = struct.field(pytree_node=False)

    def log_count(self, ids: Array) -> Array:
        """Log of the expected count of each word of `ids` among the draws, float32."""
        # ids: int [...] -> [...].
        for before, word in enumerate(sorted(self.left_out)):
            ids = ids - (ids > word - before)  # the rank among the words that can be drawn
        return _log_count(ids, self.vocab_size - len(self.left_out), self.draws)


def _log_count(ranks: Array, words: int, draws: Array) -> Array:
    # ranks: int [...]; draws: float32 [].
    # 1 - exp(-x) by expm1, as x is tiny for rare words.
    return jnp.log(-jnp.expm1(-log_uniform_probability(ranks, words) * draws))


def log_uniform_sample(
    rng: Array, count: int, vocab_size: int, left_out: Sequence[int] = ()
) -> Samples:
    """Draws distinct words from the log-uniform distribution.

    Word w arrives after an exponential time of rate p(w); the first `count` words are drawn. This
    is the distribution of drawing with replacement until `count` distinct words are found
    (TensorFlow's log_uniform_candidate_sampler). Given the arrival time T of the first word that is
    not drawn, w is drawn with probability 1 - exp(-p(w) T), and the sum over the drawn words of
    f(w) divided by that probability is an unbiased estimate of the sum over the vocabulary
    (Duffield et al. 2007).

    Args:
      rng: a PRNG key.
      count: number of words; V or more draws all words.
      vocab_size: number of ids, most frequent word first.
      left_out: ids that are not drawn; V is the number of the other ids.

    Returns:
      min(count, V) words.

    Raises:
      ValueError: count or V below 1.
    """
    words = vocab_size - len(left_out)
    if count < 1 or words < 1:
        raise ValueError(f"{count} negatives of {words} words: both must be at least 1")
    if count >= words:
        ranks = jnp.arange(words, dtype=jnp.int32)
        # All expected counts are then 1, and the loss is that over all words.
        draws = jnp.float32(jnp.inf)
    else:
        rate = log_uniform_probability(jnp.arange(words), words)
        arrival = jax.random.exponential(rng, (words,)) / rate
        # One more than is drawn: its arrival time is T.
        times, first = jax.lax.top_k(-arrival, count + 1)
        ranks = first[:count]
        draws = -times[count]
    ids = ranks
    # From ranks to ids, in rising order, because a shifted id may reach the next word left out.
    for word in sorted(left_out):
        ids = ids + (ids >= word)
    return Samples(ids, _log_count(ranks, words, draws), draws, vocab_size, tuple(left_out))


@jax.custom_vjp
def log_sum_exp(scores: Array) -> Array:
    """float32 [N]: log of the sum of exponentials along the last axis of float32 [N, n].

    At least one score of a row must be finite. The gradient is written out: it needs one pass over
    the scores and no other array of their size.
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
