"""The labels of masked words in every language at once, and their cross-entropy.

DICT-MLM draws one label of a masked word. Here each label counts with its probability in that draw, and one
product with the table of tokens scores the labels of all languages. The loss is the expectation of the drawn
label's loss with two differences: the softmax of a label is over the pieces of its language's words alone
(`members`), as over all pieces the languages of one position would compete, and a label of several pieces is a
bag of them. So a label's piece must be a member of its language, or it would be scored as another piece.
"""

from __future__ import annotations

from typing import Callable, Mapping

from flax import struct
import jax
import jax.numpy as jnp

from clwe_jax.models.pooling import unit
from clwe_jax.types import Array, Sums

_NO_PIECE = -1e9  # score of a place without a piece
# Of a language's sum of exponentials, which all underflow far below the top score.
_SMALLEST = 1e-30


@struct.dataclass
class ExpectedLabels:
    """K labels of each of N words; labels that a word lacks have weight 0.

    Attributes:
      pieces, languages: int32 [..., K].
      weights: float32 [..., K].
    """

    pieces: Array
    languages: Array
    weights: Array


def look_up(
    table: Mapping[str, Array], entries: Array, max_labels: int, targets: Array, languages: Array
) -> ExpectedLabels:
    """The labels of words. A word without an entry has one, its own piece, as in plain MLM.

    Args:
      table: the arrays of a `text.dictionary.label_table.LabelTable`.
      entries: 1 + each word's entry, int32 [...]; 0: the word has no entry.
      max_labels: K, the largest number of labels of an entry, at least 1.
      targets, languages: the label of a word without an entry, int32 [...].
    """
    entry = jnp.maximum(entries - 1, 0)
    first, last = (jnp.take(table["splits"], x, axis=0)[..., None] for x in (entry, entry + 1))
    has_entry = (entries > 0)[..., None]
    places = first + jnp.arange(max_labels, dtype=jnp.int32)
    exists = (places < last) & has_entry
    is_own = (places == first) & ~has_entry
    columns = (table[name] for name in ("pieces", "languages", "weights"))
    pieces, label_languages, weights = (
        jnp.take(column, jnp.where(exists, places, 0), axis=0) for column in columns
    )
    return ExpectedLabels(
        jnp.where(is_own, targets[..., None], pieces),
        jnp.where(is_own, languages[..., None], label_languages),
        jnp.where(exists, weights, is_own.astype(jnp.float32)),
    )


def sum_by_language(labels: ExpectedLabels, values: Array, languages: int) -> Array:
    """float32 [..., languages]: the sums of the labels' values [..., K] in each language."""
    is_in_language = labels.languages[..., None] == jnp.arange(languages)
    return jnp.where(is_in_language, values[..., None], 0.0).sum(-2)


def distance(table: Array, pieces: Array, labels: ExpectedLabels) -> Sums:
    """How far the labels of words are from the words in the table of tokens.

    ALIGN-MLM (Tang et al. 2022) brings the vectors of a dictionary's pairs together so.

    Args:
      table: [V, D].
      pieces: each word's own piece, int32 [...].

    Returns:
      The sum over the labels of 1 - cosine of the vectors of word and label, times the label's weight;
      the sum of the weights.
    """
    units = unit(table)
    words = jnp.take(units, pieces, axis=0)
    cosines = jnp.einsum("...d,...kd->...k", words, jnp.take(units, labels.pieces, axis=0))
    return Sums((labels.weights * (1.0 - cosines)).sum(), labels.weights.sum())


def cross_entropy_language_by_language(
    score: Callable[[Array, Array, Array], Array],
    hidden: Array,
    labels: ExpectedLabels,
    members: Array,
    max_pieces: int,
) -> tuple[Array, Array]:
    """As `cross_entropy`, for a head that reads the language of its target: its logits differ by language.

    Args:
      score: (hidden states, languages int [...], pieces int32 [n]) -> logits [..., n].
      hidden: hidden states, [..., D].
      members: bool [V, languages].
      max_pieces: the largest number of pieces of a language.
    """

    @jax.checkpoint  # else the scores of all languages are in memory at once
    def score_language(language: Array) -> tuple[Array, Array]:
        member = members[:, language]
        [pieces] = jnp.nonzero(member, size=max_pieces, fill_value=members.shape[0] - 1)
        exists = jnp.arange(max_pieces) < member.sum()
        logits = score(hidden, jnp.full(hidden.shape[:-1], language), pieces)
        place = jnp.where(member, jnp.cumsum(member) - 1, 0)  # of each piece among the scored ones
        language_labels = ExpectedLabels(
            jnp.take(place, labels.pieces, axis=0),
            jnp.zeros_like(labels.languages),
            jnp.where(labels.languages == language, labels.weights, 0.0),
        )
        logits = jnp.where(exists, logits, _NO_PIECE)
        losses, correct = cross_entropy(logits, language_labels, jnp.ones((max_pieces, 1)))
        return losses[..., 0], correct

    losses, correct = jax.lax.map(score_language, jnp.arange(members.shape[1]))
    return jnp.moveaxis(losses, 0, -1), correct.any(0)


@jax.custom_vjp
def cross_entropy(logits: Array, labels: ExpectedLabels, members: Array) -> tuple[Array, Array]:
    """The weighted cross-entropy of each word's labels, by language.

    The gradient is written out: it needs one pass over the logits, and reuses the exponentials.

    Args:
      logits: float32 [..., V].
      members: float32 [V, languages], whether a piece is one of the language's.

    Returns:
      float32 [..., languages]; bool [...], whether a label has the highest of all scores.
    """
    return _forward(logits, labels, members)[0]


def _forward(logits, labels, members):
    languages = members.shape[-1]
    top = logits.max(-1, keepdims=True)
    exponentials = jnp.exp(logits - top)
    sums = jnp.maximum(jnp.einsum("...v,vl->...l", exponentials, members), _SMALLEST)
    scores = jnp.take_along_axis(logits, labels.pieces, axis=-1)
    weights = sum_by_language(labels, labels.weights, languages)
    label_scores = sum_by_language(labels, labels.weights * scores, languages)
    losses = weights * (jnp.log(sums) + top) - label_scores
    correct = ((scores >= top) & (labels.weights > 0)).any(-1)
    return (losses, correct), (exponentials, weights / sums, labels, members)


def _backward(residuals, gradients):
    exponentials, shares, labels, members = residuals
    gradient = gradients[0]  # the second output is a bool and has no gradient
    of_sums = jnp.einsum("...l,vl->...v", shares * gradient, members)
    of_scores = labels.weights * jnp.take_along_axis(gradient, labels.languages, axis=-1)
    leading = jnp.indices(labels.pieces.shape, sparse=True)[:-1]
    of_logits = (exponentials * of_sums).at[(*leading, labels.pieces)].add(-of_scores)
    return of_logits, None, None


cross_entropy.defvjp(_forward, _backward)
