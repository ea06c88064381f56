"""Cross-entropy over a large vocabulary: by sampled negatives in training, in chunks in evaluation.

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

# A score so low that it has no share. Finite: where there is none but these, gradients are 0.
_NEVER = jnp.float32(-1e30)


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
      vocab_size: V.
      unique: whether the ids are distinct.
    """

    ids: Array
    log_counts: Array
    draws: Array
    vocab_size: int = struct.field(pytree_node=False)
    unique: bool = struct.field(pytree_node=False)

    def log_expected(self, ids: Array) -> Array:
        """float32: the log of how often each of the ids was expected among the draws."""
        return _log_expected(ids, self.draws, self.vocab_size, self.unique)


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
    return Samples(ids, _log_expected(ids, draws, vocab_size, unique), draws, vocab_size, unique)


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


def sampled_cross_entropy(
    hidden: Array,
    table: Array,
    bias: Array | None,
    targets: Array,
    samples: Samples,
    correct_target: bool = False,
) -> Array:
    """Negative log-likelihood of the targets against sampled negatives.

    A negative that is the target of a position ("accidental hit") is left out there.

    Args:
      hidden: [N, d].
      table: float32 [V or more, d], the output vectors.
      bias: float32 [V or more] or None.
      targets: int32 [N].
      samples: the negatives, one draw for all positions.
      correct_target: whether the target's own score loses the log of its expected count too, as in
        tf.nn.sampled_softmax_loss. Without, the loss estimates that over all words: the negatives
        stand for all words but the target, which stands for itself. With draws that are not
        distinct only that converges.

    Returns:
      float32 [N].
    """
    count = samples.ids.shape[0]
    rows = jnp.take(table, jnp.concatenate([samples.ids, targets]), axis=0).astype(hidden.dtype)
    negative, positive = rows[:count], rows[count:]
    scores = jnp.einsum("nd,md->nm", hidden, negative, preferred_element_type=jnp.float32)
    score = jnp.einsum("nd,nd->n", hidden, positive, preferred_element_type=jnp.float32)
    offset = -samples.log_counts
    if bias is not None:
        offset += jnp.take(bias, samples.ids)
        score += jnp.take(bias, targets)
    if correct_target:
        score -= samples.log_expected(targets)
    is_target = samples.ids[None, :] == targets[:, None]
    scores = jnp.where(is_target, _NEVER, scores + offset)
    return jnp.logaddexp(score, log_sum_exp(scores)) - score


def full_cross_entropy(
    hidden: Array,
    table: Array,
    bias: Array | None,
    targets: Array,
    vocab_size: int | None = None,
    chunk: int = 8192,
) -> tuple[Array, Array]:
    """Negative log-likelihood of the targets over all words, [N, chunk] scores at a time.

    Chunk k holds the rows k, k + K, k + 2 K, ...: a table whose rows are dealt out to devices in
    blocks is read by all of them at once, and none of it is sent. Differentiable; the backward pass
    computes the scores anew.

    Args:
      hidden: [N, d].
      table: float32 [R, d], R >= V.
      bias: float32 [R] or None.
      targets: int32 [N].
      vocab_size: V; rows from there on are padding. Default: R.
      chunk: at most about so many rows at once.

    Returns:
      float32 [N], and bool [N]: whether no word scores higher than the target.
    """
    rows, width = table.shape
    vocab_size = rows if vocab_size is None else vocab_size
    parts = -(-rows // chunk)
    size = -(-rows // parts)
    padding = size * parts - rows
    if bias is None:
        bias = jnp.zeros(rows, jnp.float32)
    offset = jnp.where(jnp.arange(rows) < vocab_size, bias, _NEVER)
    offset = jnp.pad(offset, (0, padding), constant_values=_NEVER).reshape(size, parts)
    blocks = jnp.pad(table, ((0, padding), (0, 0))).reshape(size, parts, width)

    @jax.checkpoint
    def add(so_far: tuple[Array, Array], block: tuple[Array, Array, Array]):
        log_z, score = so_far
        number, vectors, shift = block
        scores = jnp.einsum(
            "nd,md->nm", hidden, vectors.astype(hidden.dtype), preferred_element_type=jnp.float32
        )
        scores += shift
        # The target's score is one of these, to the last bit: so it can be the highest.
        is_target = jnp.arange(size) * parts + number == targets[:, None]
        score += jnp.where(is_target, scores, 0).sum(-1)
        log_z = jnp.logaddexp(log_z, jax.nn.logsumexp(scores, axis=-1))
        return (log_z, score), scores.max(-1)

    start = jnp.full(hidden.shape[:1], _NEVER), jnp.zeros(hidden.shape[:1])
    blocks = jnp.arange(parts), blocks.swapaxes(0, 1), offset.T
    (log_z, score), highest = jax.lax.scan(add, start, blocks)
    return log_z - score, score >= jax.lax.stop_gradient(highest.max(0))
