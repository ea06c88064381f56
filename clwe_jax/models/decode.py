"""Generation with any decoder: greedy search and beam search, jitted and batched.

A decoder is a function `step(state, tokens) -> (scores, state)`. `tokens` are the preceding tokens,
int32 [N]; `scores` are logits or log-probabilities of the next token, [N, V]; the state is a tree of
arrays whose first axis is N: the cells of LSTMs, or the keys and values that a Transformer has
computed so far with the number of its tokens. N is the number of rows, times the width of the beam.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import jax
import jax.numpy as jnp

from clwe_jax.types import Array

State = Any
Step = Callable[[State, Array], tuple[Array, State]]
_IMPOSSIBLE = -1e30  # a score that no text has; -inf would make NaN of differences


class Marks(NamedTuple):
    """The special tokens of a decoder.

    Attributes:
      begin: the token before the first one.
      end: the last token of a text.
      pad: fills up the rows of shorter texts.
    """

    begin: int
    end: int
    pad: int


class Texts(NamedTuple):
    """Generated texts.

    Attributes:
      tokens: int32 [..., L], each text with its `end` unless L tokens were too few; then `pad`.
      scores: float32 [...], the sum of the tokens' log-probabilities; of `beam` after the length
        penalty.
    """

    tokens: Array
    scores: Array


def greedy(step: Step, state: State, rows: int, length: int, marks: Marks) -> Texts:
    """The most probable token at each position.

    Args:
      step, state: the decoder and its state before the first token.
      rows: number of texts.
      length: L, most tokens of a text, the end included.
      marks: special tokens.

    Returns:
      Texts of shape [rows].
    """

    def more(carry):
        place, *_, open_ = carry
        return (place < length) & open_.any()

    def extend(carry):
        place, state, tokens, last, total, open_ = carry
        logits, state = step(state, last)
        scores = jax.nn.log_softmax(logits.astype(jnp.float32))
        next_tokens = scores.argmax(-1).astype(jnp.int32)
        total += jnp.where(open_, jnp.take_along_axis(scores, next_tokens[:, None], 1)[:, 0], 0)
        next_tokens = jnp.where(open_, next_tokens, marks.pad)
        tokens = jax.lax.dynamic_update_index_in_dim(tokens, next_tokens, place, 1)
        return place + 1, state, tokens, next_tokens, total, open_ & (next_tokens != marks.end)

    tokens = jnp.full((rows, length), marks.pad, jnp.int32)
    begin = jnp.full(rows, marks.begin, jnp.int32)
    start = (0, state, tokens, begin, jnp.zeros(rows, jnp.float32), jnp.ones(rows, bool))
    _, _, tokens, _, total, _ = jax.lax.while_loop(more, extend, start)
    return Texts(tokens, total)


def beam(
    step: Step,
    state: State,
    rows: int,
    length: int,
    marks: Marks,
    width: int = 5,
    penalty: float = 1.0,
) -> Texts:
    """Beam search. A finished text stays in the beam while its score is among the best.

    The score of a text of n tokens is its log-probability / n ** penalty (fairseq's length penalty).
    With a width of 1 the search is greedy; with as many beams as texts it is exhaustive.

    Args:
      step, rows, length, marks: as of `greedy`.
      state: the decoder's state before the first token, with `rows` rows.
      width: K, number of beams.
      penalty: exponent of the length; 0: scores are log-probabilities.

    Returns:
      Texts of shape [rows, K], best first. Where there are fewer than K texts, the scores of the
      others are below -1e20.

    Raises:
      ValueError: no beams.
    """
    if width < 1:
        raise ValueError(f"width={width}: a beam has at least 1 text")
    first = jnp.arange(rows)[:, None] * width

    def normalise(total, count):
        return total / jnp.maximum(count, 1).astype(jnp.float32) ** penalty

    def more(carry):
        place, *_, open_ = carry
        return (place < length) & open_.any()

    def extend(carry):
        place, state, tokens, last, total, count, open_ = carry
        logits, state = step(state, last.reshape(-1))
        scores = jax.nn.log_softmax(logits.astype(jnp.float32)).reshape(rows, width, -1)
        words = scores.shape[-1]
        # A finished text has one continuation, padding, at no cost.
        closed_scores = jnp.full(words, _IMPOSSIBLE).at[marks.pad].set(0.0)
        # [rows, K, V]
        totals = total[..., None] + jnp.where(open_[..., None], scores, closed_scores)
        counts = count + open_
        # Texts compete by normalised scores, but the plain sums go on.
        ranking_scores = normalise(totals, counts[..., None]).reshape(rows, -1)
        _, best = jax.lax.top_k(ranking_scores, width)
        parent = best // words
        next_tokens = (best % words).astype(jnp.int32)
        total = jnp.take_along_axis(totals.reshape(rows, -1), best, 1)
        take = lambda x: jnp.take_along_axis(x, parent, 1)
        tokens = jnp.take_along_axis(tokens, parent[..., None], 1)
        tokens = jax.lax.dynamic_update_index_in_dim(tokens, next_tokens, place, 2)
        # Each text goes on from the state of its parent.
        places = (first + parent).reshape(-1)
        state = jax.tree.map(lambda x: x[places], state)
        open_ = take(open_) & (next_tokens != marks.end)
        return place + 1, state, tokens, next_tokens, total, take(counts), open_

    state = jax.tree.map(lambda x: jnp.repeat(x, width, axis=0), state)
    shape = (rows, width)
    tokens = jnp.full((*shape, length), marks.pad, jnp.int32)
    begin = jnp.full(shape, marks.begin, jnp.int32)
    # All beams begin equal: only the first one counts.
    total = jnp.full(shape, _IMPOSSIBLE).at[:, 0].set(0.0)
    start = (0, state, tokens, begin, total, jnp.zeros(shape, jnp.int32), jnp.ones(shape, bool))
    _, _, tokens, _, total, count, _ = jax.lax.while_loop(more, extend, start)
    return Texts(tokens, normalise(total, count))
