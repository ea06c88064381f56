"""Attention matching: a map between the words of parallel sentences whose alignment is unknown.

Language-independent Cross-lingual Contextual Representations (ICLR 2020 submission), section 3.1.
The map is T(r) = Linear(r) + Linear(ReLU(Linear(r))) (Eq. 1). The distance of a sentence pair is the
squared error between each target vector and the attention over the mapped source vectors with the
target vector as query (Eq. 2). The temperature of the attention is 1 / (1 + beta step) (Eq. 3): it
starts as a mean over the sentence and ends as a choice of one word. Eq. 2 maps the attended vector;
here the vectors are mapped first, because queries and keys of two models have no common space
before. For one-hot attention both are equal.

The vectors are those of pieces of words, as in the paper, or of words. TableSentences are rows of a table
(`align.sentences`), which may be a mapped file: only the sentences of some steps are in memory.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.align import descent, pivots, places, procrustes
from clwe_jax.align.pivots import Mapped
from clwe_jax.align.sentences import Allocate, TableSentences, in_memory
from clwe_jax.options.clcr import TransformOptions
from clwe_jax.types import Array

_CHUNK = 50  # steps of one call of the compiled program, where their vectors take
_CHUNK_BYTES = 1 << 28  # at most so many bytes
_ROWS = 65_536  # words that are mapped at once
_FAR = -1e30  # score of padding
Params = Mapping[str, Array]


def transform(params: Params, x: Array) -> Array:
    """T(x) (Eq. 1), [..., D'] of [..., D]; without 'inner' in the parameters, its first term."""
    y = x @ params["linear"] + params["bias"]
    if "inner" in params:
        y = y + jax.nn.relu(x @ params["inner"] + params["inner_bias"]) @ params["outer"]
    return y


def attention(keys: Array, mask: Array, queries: Array, temperature: Array | float) -> Array:
    """The weights of the source words for each target word (Eq. 3), [B, N, M]; they sum to 1.

    Args:
      keys: mapped source vectors, [B, M, D].
      mask: whether a source word is real, bool [B, M].
      queries: target vectors, [B, N, D].
      temperature: divides the scores, which are inner products over sqrt(D).
    """
    scores = jnp.einsum("bnd,bmd->bnm", queries, keys) / np.sqrt(keys.shape[-1])
    # `_FAR` is finite: a sentence without words gets equal weights, where -inf would give NaN.
    return jax.nn.softmax(jnp.where(mask[:, None], scores / temperature, _FAR), axis=-1)


def errors(
    params: Params, source: Array, mask: Array, target: Array, temperature: Array | float
) -> Array:
    """The difference of each target vector and the attended source vector (Eq. 2), [B, N, D'].

    Args:
      params: the map.
      source: source vectors, [B, M, D].
      mask: whether a source word is real, bool [B, M].
      target: target vectors, [B, N, D'].
      temperature: divides the scores of attention.
    """
    keys = transform(params, source)
    return attention(keys, mask, target, temperature) @ keys - target  # [B, N, D']


def distance(
    params: Params,
    source: Array,
    target: Array,
    masks: tuple[Array, Array],
    temperature: Array | float,
) -> Array:
    """D(T(source) || target): the squared error a dimension, mean over all target words (Eq. 2).

    Args:
      params, source, target, temperature: as of `errors`.
      masks: whether a word is real, of the source bool [B, M], of the target bool [B, N].
    """
    squares = jnp.square(errors(params, source, masks[0], target, temperature)).mean(-1)
    return (squares * masks[1]).sum() / jnp.maximum(masks[1].sum(), 1)


@dataclasses.dataclass(frozen=True, eq=False)
class Match:
    """A trained map.

    Attributes:
      params: 'linear' [D, D'], 'bias' [D'], and 'inner' [D, H], 'inner_bias' [H], 'outer' [H, D'].
      temperature: of the attention at the end of training.
      history: (step, distance on training sentences), in the order of training.
    """

    params: Params
    temperature: float
    history: Sequence[tuple[int, float]] = ()

    @property
    def width(self) -> int:
        """D', dimensions of the mapped vectors."""
        return self.params["bias"].shape[0]

    def apply(self, x: np.ndarray, allocate: Allocate = in_memory) -> np.ndarray:
        """T(x), float32 [N, D'] of [N, D]."""
        params = dict(self.params)
        mapped = allocate((len(x), self.width))
        for start in range(0, len(x), _ROWS):  # the inner layer of all words would not fit
            part = slice(start, start + _ROWS)
            mapped[part] = _transform(params, x[part])
        return mapped

    def distances(self, source: TableSentences, target: TableSentences) -> tuple[float, float]:
        """The squared error a dimension and the cosine distance of parallel sentences (Table 1)."""
        total = 0.0
        cosine = 0.0
        words = 0
        for start in range(0, len(source.rows), 256):
            part = slice(start, start + 256)
            x, y = (side.vectors[side.rows[part]] for side in (source, target))
            real = target.rows[part] > 0
            differences = np.asarray(
                _errors(dict(self.params), x, source.rows[part] > 0, y, self.temperature)
            )
            total += float(np.square(differences).mean(-1)[real].sum())
            # The attended vectors: `errors` has subtracted y from them.
            attended = differences + y
            norms = np.linalg.norm(attended, axis=-1) * np.linalg.norm(y, axis=-1)
            cosine += float((1 - (attended * y).sum(-1) / np.maximum(norms, 1e-12))[real].sum())
            words += int(real.sum())
        return total / max(words, 1), cosine / max(words, 1)


@dataclasses.dataclass(frozen=True)
class AttentionMatching(TransformOptions):
    """The training of a map by attention matching."""

    def temperature(self, step: Array | int) -> Array | float:
        """The temperature of a step, from 0 (Eq. 3)."""
        return 1.0 / (1.0 + self.beta * step)

    def initial(self, width: int, wanted: int, seed: int) -> dict[str, np.ndarray]:
        """Parameters of a map from `width` to `wanted` dimensions that is 0: attention is uniform."""
        # The second number gives the parameters and the order of `fit` streams of their own.
        draw = np.random.default_rng([seed, 11])
        params = {
            "linear": np.zeros((width, wanted), np.float32),
            "bias": np.zeros(wanted, np.float32),
        }
        if self.hidden:
            # With 0 on both sides of the ReLU neither side would get a gradient.
            inner = draw.normal(size=(width, self.hidden)) / np.sqrt(width)
            params |= {
                "inner": inner.astype(np.float32),
                "inner_bias": np.zeros(self.hidden, np.float32),
                "outer": np.zeros((self.hidden, wanted), np.float32),
            }
        return params

    def fit(self, source: TableSentences, target: TableSentences, seed: int = 0) -> Match:
        """Trains the map that brings the source's words to the target's.

        Args:
          source, target: parallel sentences; their vectors may differ in width.
          seed: of the parameters and of the order of the sentences.

        Raises:
          ValueError: sides of different length, or a training that diverges.
        """
        if len(source.rows) != len(target.rows):
            raise ValueError(
                f"the source has {len(source.rows):,} sentences and the target "
                f"{len(target.rows):,}: sentence n of one must translate sentence n of the other"
            )
        widths = source.vectors.shape[1], target.vectors.shape[1]
        params = self.initial(*widths, seed)
        if self.start == "procrustes":
            params["linear"] = pivot_map(source, target)
        opt_state = _optimizer(self).init(params)
        draw = np.random.default_rng([seed, 12])
        history = []
        longest = max(side.rows.shape[1] for side in (source, target))
        size = self.chunk(longest, widths)
        starts = range(0, self.steps, size)
        sizes = [min(size, self.steps - first) * self.batch_size for first in starts]
        for first, sentence_numbers in zip(starts, places.batches(len(source.rows), draw, sizes)):
            sentence_numbers = sentence_numbers.reshape(-1, self.batch_size)
            rows = [side.rows[sentence_numbers] for side in (source, target)]
            vectors = tuple(side.vectors[x] for side, x in zip((source, target), rows))
            params, opt_state, losses = _steps(
                self, params, opt_state, vectors, tuple(x > 0 for x in rows), np.int32(first)
            )
            mean = float(np.mean(np.asarray(losses)))
            if not np.isfinite(mean):
                raise ValueError(
                    f"attention matching diverged before step {first + size}: lower the learning "
                    f"rate {self.learning_rate:g}"
                )
            history.append((first + len(sentence_numbers), mean))
        trained = {name: np.asarray(x) for name, x in params.items()}
        return Match(trained, float(self.temperature(self.steps)), history)

    def chunk(self, length: int, widths: tuple[int, int]) -> int:
        """Steps of one call of the compiled program.

        Args:
          length: words of the longest sentence.
          widths: dimensions of the source's and of the target's vectors.
        """
        step = 4 * self.batch_size * length * sum(widths)  # bytes of a step's vectors
        return max(1, min(_CHUNK, _CHUNK_BYTES // step))


def regression(source: TableSentences, target: TableSentences, ridge: float = 1e-2) -> Match:
    """The baseline of Table 1: least squares between the mean vectors of parallel sentences.

    Args:
      source, target: parallel sentences.
      ridge: weight of the squared norm of the map, in units of the number of sentences.

    Returns:
      A linear map, which is measured with the nearest word (temperature 0).
    """
    x = source.means()
    y = target.means()
    squares = procrustes.transposed_product(x, x)
    # In units of the mean square, so that the ridge does not depend on the vectors' scale.
    squares += ridge * np.trace(squares) / len(squares) * np.eye(len(squares))
    linear = np.linalg.solve(squares, procrustes.transposed_product(x, y)).astype(np.float32)
    # 1e-6 stands for the temperature 0, by which the scores could not be divided.
    return Match({"linear": linear, "bias": np.zeros(linear.shape[1], np.float32)}, 1e-6)


def in_both_spaces(sentences: TableSentences, mapped: TableSentences) -> Sequence[Mapped]:
    """The words of each sentence of a side in both spaces."""
    return _BothSpaces(sentences, mapped)


@dataclasses.dataclass(frozen=True)
class _BothSpaces(Sequence[Mapped]):
    """Reads a sentence from both tables when it is asked for."""

    unmapped: TableSentences
    mapped: TableSentences

    def __len__(self) -> int:
        return len(self.unmapped.rows)

    def __getitem__(self, place: int) -> Mapped:
        if not 0 <= place < len(self):
            raise IndexError(place)
        return Mapped(self.unmapped.of(place), self.mapped.of(place))


def pivot_map(source: TableSentences, target: TableSentences) -> np.ndarray:
    """The Procrustes map of the pivots of parallel sentences: float32 [D, D'], orthonormal rows or columns.

    Pivots are here the words that are mutually nearest by the maps of linear regression.
    """
    views = []
    for sentences, other in ((source, target), (target, source)):
        mapped = sentences._replace(vectors=regression(sentences, other).apply(sentences.vectors))
        views.append(in_both_spaces(sentences, mapped))
    pairs = []
    for number, sides in enumerate(zip(*views)):
        source_places, target_places = np.nonzero(pivots.links(pivots.symmetric_distances(*sides)))
        pairs.append((source.of(number)[source_places], target.of(number)[target_places]))
    x, y = (np.concatenate(side) for side in zip(*pairs))
    return procrustes.orthogonal(x, y).astype(np.float32)


def _optimizer(options: AttentionMatching) -> optax.GradientTransformation:
    rate = optax.linear_schedule(options.learning_rate, 0.0, options.steps)
    return optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=options.weight_decay)
    )


@functools.partial(jax.jit, static_argnums=0)
def _steps(
    options: AttentionMatching,
    params: Any,
    opt_state: Any,
    vectors: tuple[Array, Array],
    masks: tuple[Array, Array],
    first: Array,
) -> tuple[Any, Any, Array]:
    """Several steps on vectors of both sides, [steps, B, W, D]; `masks`: whether a word is real."""

    def loss(params, vectors, masks, step):
        return distance(params, *vectors, masks, options.temperature(step))

    return descent.several(loss, _optimizer(options), params, opt_state, (vectors, masks), first)


_transform = jax.jit(transform)
_errors = jax.jit(errors)
