"""A linear-chain conditional random field in log space (Lafferty et al. 2001).

The score of a sequence of tags y of n words is

  start[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_t, y_{t+1}] + end[y_n]

and its probability is exp(score) over the sum for all sequences. Rows have different lengths: the
mask is True at the first n positions of a row, n >= 1.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.types import Array

# Added to the score of a forbidden step; finite: over -inf alone the gradient of logsumexp is NaN.
FORBIDDEN = -1e4


class Weights(NamedTuple):
    """The scores of steps.

    Attributes:
      transitions: [K, K], from the first tag to the second.
      start, end: [K], of the first and of the last tag of a sequence.
    """

    transitions: Array
    start: Array
    end: Array


def log_partition(emissions: Array, weights: Weights, mask: Array) -> Array:
    """The logarithm of the sum over all sequences, by the forward algorithm.

    Its gradient with respect to the emissions is the marginal probabilities.

    Args:
      emissions: float32 [B, L, K].
      weights: scores of steps.
      mask: bool [B, L].

    Returns:
      float32 [B].
    """

    def step(before: Array, now: tuple[Array, Array]) -> tuple[Array, None]:
        scores, real = now
        # [B, K, K]: from each tag to each tag
        paths = before[:, :, None] + weights.transitions
        after = jax.nn.logsumexp(paths, axis=1) + scores
        # Beyond its end a row keeps the scores of its last word.
        return jnp.where(real[:, None], after, before), None

    first = weights.start + emissions[:, 0]
    last, _ = jax.lax.scan(step, first, (jnp.swapaxes(emissions, 0, 1)[1:], mask.T[1:]))
    return jax.nn.logsumexp(last + weights.end, axis=1)


def score(emissions: Array, weights: Weights, tags: Array, mask: Array) -> Array:
    """The scores of sequences of tags, float32 [B].

    Args:
      tags: int32 [B, L], in [0, K) also beyond the mask.
    """
    real = mask.astype(emissions.dtype)
    tag_scores = jnp.take_along_axis(emissions, tags[..., None], axis=-1)[..., 0]
    moves = weights.transitions[tags[:, :-1], tags[:, 1:]]
    last = jnp.take_along_axis(tags, jnp.maximum(mask.sum(1) - 1, 0)[:, None], axis=1)[:, 0]
    ends = weights.start[tags[:, 0]] + weights.end[last]
    return ends + (tag_scores * real).sum(1) + (moves * real[:, 1:]).sum(1)


def log_likelihood(emissions: Array, weights: Weights, tags: Array, mask: Array) -> Array:
    """The log-probabilities of sequences of tags, float32 [B]; arguments as of `score`."""
    return score(emissions, weights, tags, mask) - log_partition(emissions, weights, mask)


def viterbi(emissions: Array, weights: Weights, mask: Array) -> tuple[Array, Array]:
    """The best sequence of each row. Arguments as of `log_partition`.

    Returns:
      int32 [B, L], the last tag repeated beyond the mask; float32 [B], the scores.
    """

    def step(before: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        scores, real = now
        paths = before[:, :, None] + weights.transitions
        after = paths.max(1) + scores
        came = paths.argmax(1)
        # Beyond the mask each tag comes from itself, so that the way back starts at the last word.
        stay = jnp.arange(paths.shape[-1])
        real = real[:, None]
        return jnp.where(real, after, before), jnp.where(real, came, stay)

    def back(tag: Array, came: Array) -> tuple[Array, Array]:
        earlier = jnp.take_along_axis(came, tag[:, None], axis=1)[:, 0]
        return earlier, earlier

    first = weights.start + emissions[:, 0]
    scores, came = jax.lax.scan(step, first, (jnp.swapaxes(emissions, 0, 1)[1:], mask.T[1:]))
    scores = scores + weights.end
    last = scores.argmax(1)
    # [L - 1, B]: a reverse scan writes its outputs at the places of its inputs
    _, tags = jax.lax.scan(back, last, came, reverse=True)
    tags = jnp.concatenate([tags, last[None]]).astype(jnp.int32)
    return tags.T, scores.max(1)


def bio_steps(tags: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The scores that forbid an I- tag which continues no name of its own type (IOB2).

    Args:
      tags: the K tags, such as 'O', 'B-PER', 'I-PER'.

    Returns:
      float32 [K, K] for transitions and [K] for the start: 0 or `FORBIDDEN`.
    """
    is_inside = [tag.startswith("I-") for tag in tags]
    kinds = [tag[2:] if tag[:2] in ("B-", "I-") else "" for tag in tags]
    # Rows: the first tag; columns: the second.
    is_forbidden = [
        [is_inside[b] and kinds[a] != kinds[b] for b in range(len(tags))] for a in range(len(tags))
    ]
    return np.where(is_forbidden, FORBIDDEN, 0.0).astype(np.float32), np.where(
        is_inside, FORBIDDEN, 0.0
    ).astype(np.float32)
