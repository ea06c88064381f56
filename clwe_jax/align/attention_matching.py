"""Attention matching: a map between the words of parallel sentences whose alignment is unknown.

Language-independent Cross-lingual Contextual Representations (ICLR 2020 submission), section 3.1.
The map is T(r) = Linear(r) + Linear(ReLU(Linear(r))) (Eq. 1). The distance of a sentence pair is the
squared error between each target vector and the attention over the mapped source vectors with the
target vector as query (Eq. 2). The temperature of the attention is 1 / (1 + beta step) (Eq. 3): it
starts as a mean over the sentence and ends as a choice of one word. Eq. 2 maps the attended vector;
here the vectors are mapped first, because queries and keys of two models have no common space
before. For one-hot attention both are equal.

Plain arrays: sentences are rows of a table of vectors. The caller whitens them (`align.whitening`), so that
the squared error of the mean vector is 1 a dimension.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Annotated, Any, Mapping, NamedTuple, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.align import pivots, places, procrustes
from clwe_jax.align.pivots import Mapped
from clwe_jax.fields import Amount, Count, OneOf, Size
from clwe_jax.types import Array

_CHUNK = 50  # steps of one call of the compiled program
_ROWS = 65_536  # words that are mapped at once
_FAR = -1e30  # score of padding
STARTS = ("zero", "procrustes")
Params = Mapping[str, Array]


class Sentences(NamedTuple):
    """Sentences as rows of a table of word vectors.

    Attributes:
      vectors: float32 [M + 1, D]; row 0 is padding.
      rows: rows of the words of each sentence, int32 [N, W]; 0 after the last word.
    """

    vectors: np.ndarray
    rows: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of words of each sentence, int [N]."""
        return (self.rows > 0).sum(1)

    def of(self, place: int) -> np.ndarray:
        """The vectors of one sentence's words, float32 [words, D]."""
        rows = self.rows[place]
        return self.vectors[rows[rows > 0]]


def sentences(found: Sequence[np.ndarray]) -> Sentences:
    """Sentences of word vectors, float32 [words, D] each, as a table.

    Raises:
      ValueError: no sentence.
    """
    if not found:
        raise ValueError("attention matching needs at least one pair of sentences")
    ends = np.cumsum([1, *map(len, found)])
    rows = np.zeros((len(found), max(1, *map(len, found))), np.int32)
    for place, (start, end) in enumerate(zip(ends, ends[1:])):
        rows[place, : end - start] = np.arange(start, end)
    blank = np.zeros((1, found[0].shape[1]), np.float32)
    return Sentences(np.concatenate([blank, *found]).astype(np.float32), rows)


def transform(params: Params, x: Array) -> Array:
    """T(x) (Eq. 1), [..., D'] of [..., D]; without 'inner' in the parameters, its first term."""
    y = x @ params["linear"] + params["bias"]
    if "inner" in params:
        y = y + jax.nn.relu(x @ params["inner"] + params["inner_bias"]) @ params["outer"]
    return y


def attention(
    keys: Array, mask: Array, queries: Array, temperature: Array | float
) -> Array:
    """The weights of the source words for each target word (Eq. 3), [B, N, M]; they sum to 1.

    Args:
      keys: mapped source vectors, [B, M, D].
      mask: whether a source word is real, bool [B, M].
      queries: target vectors, [B, N, D].
      temperature: divides the scores, which are inner products over sqrt(D).
    """
    scores = jnp.einsum("bnd,bmd->bnm", queries, keys) / np.sqrt(keys.shape[-1])
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
      temperature: see `attention`.
    """
    keys = transform(params, source)
    return attention(keys, mask, target, temperature) @ keys - target


def distance(
    params: Params,
    source: Array,
    target: Array,
    masks: tuple[Array, Array],
    temperature: Array | float,
) -> Array:
    """D(T(source) || target): the squared error a dimension, mean over all target words (Eq. 2).

    Args:
      params, source, target, temperature: see `errors`.
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

    def apply(self, x: np.ndarray) -> np.ndarray:
        """T(x), float32 [N, D'] of [N, D]."""
        params, wanted = dict(self.params), self.params["bias"].shape[0]
        found = np.zeros((len(x), wanted), np.float32)
        for start in range(0, len(x), _ROWS):  # the inner layer of all words would not fit
            part = slice(start, start + _ROWS)
            found[part] = _transform(params, x[part])
        return found

    def distances(self, source: Sentences, target: Sentences) -> tuple[float, float]:
        """The squared error a dimension and the cosine distance of parallel sentences (Table 1)."""
        total, cosine, words = 0.0, 0.0, 0
        for start in range(0, len(source.rows), 256):
            part = slice(start, start + 256)
            x, y = (side.vectors[side.rows[part]] for side in (source, target))
            real = target.rows[part] > 0
            found = np.asarray(
                _errors(dict(self.params), x, source.rows[part] > 0, y, self.temperature)
            )
            total += float(np.square(found).mean(-1)[real].sum())
            near = found + y
            norms = np.linalg.norm(near, axis=-1) * np.linalg.norm(y, axis=-1)
            cosine += float((1 - (near * y).sum(-1) / np.maximum(norms, 1e-12))[real].sum())
            words += int(real.sum())
        return total / max(words, 1), cosine / max(words, 1)


@dataclasses.dataclass(frozen=True)
class AttentionMatching:
    """The training of a map by attention matching.

    Attributes:
      beta: the temperature is 1 / (1 + beta step); 0: it stays 1.
      hidden: units of the inner layer; 0: a linear map.
      steps: optimizer steps (Adam; the rate falls linearly to 0).
      batch_size: sentence pairs of a step.
      learning_rate: highest learning rate.
      weight_decay: decoupled weight decay.
      start: 'zero', a map to 0, whose attention is uniform; 'procrustes' (beyond the paper), the
        orthogonal map of the pivots that linear regression finds.
    """

    beta: Amount = 0.01
    hidden: Count = 256
    steps: Size = 2_000
    batch_size: Size = 64
    learning_rate: Amount = 2e-3
    weight_decay: Amount = 0.0
    start: Annotated[str, OneOf(*STARTS)] = "zero"

    def temperature(self, step: Array | int) -> Array | float:
        """The temperature of a step, from 0 (Eq. 3)."""
        return 1.0 / (1.0 + self.beta * step)

    def initial(self, width: int, wanted: int, seed: int) -> dict[str, np.ndarray]:
        """Parameters of a map from `width` to `wanted` dimensions that is 0: attention is uniform."""
        draw = np.random.default_rng([seed, 11])
        params = {
            "linear": np.zeros((width, wanted), np.float32), "bias": np.zeros(wanted, np.float32)
        }  # fmt: skip
        if self.hidden:
            inner = draw.normal(size=(width, self.hidden)) / np.sqrt(width)
            params |= {
                "inner": inner.astype(np.float32),
                "inner_bias": np.zeros(self.hidden, np.float32),
                "outer": np.zeros((self.hidden, wanted), np.float32),
            }
        return params

    def fit(self, source: Sentences, target: Sentences, seed: int = 0) -> Match:
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
        tables = tuple(jnp.asarray(side.vectors) for side in (source, target))
        widths = source.vectors.shape[1], target.vectors.shape[1]
        params = self.initial(*widths, seed)
        if self.start == "procrustes":
            params["linear"] = pivot_map(source, target)
        opt_state = _optimizer(self).init(params)
        draw, history = np.random.default_rng([seed, 12]), []
        starts = range(0, self.steps, _CHUNK)
        sizes = [min(_CHUNK, self.steps - first) * self.batch_size for first in starts]
        for first, chosen in zip(starts, places.batches(len(source.rows), draw, sizes)):
            chosen = chosen.reshape(-1, self.batch_size)
            params, opt_state, losses = _steps(
                self, params, opt_state, tables, source.rows[chosen], target.rows[chosen],
                np.int32(first),
            )  # fmt: skip
            mean = float(np.mean(np.asarray(losses)))
            if not np.isfinite(mean):
                raise ValueError(
                    f"attention matching diverged before step {first + _CHUNK}: lower the learning "
                    f"rate {self.learning_rate:g}"
                )
            history.append((first + len(chosen), mean))
        found = {name: np.asarray(x) for name, x in params.items()}
        return Match(found, float(self.temperature(self.steps)), history)


    def traced(
        self, words: int, widths: tuple[int, int], length: int, sharding: Any
    ) -> tuple[jax.stages.Traced, int]:
        """The program of training as shapes, for a plan of its memory and time.

        Args:
          words: number of words of a side.
          widths: dimensions of the source's and of the target's vectors.
          length: words of the longest sentence.
          sharding: of all arrays.

        Returns:
          The program, and its number of steps.
        """
        shape = lambda *sizes: jax.ShapeDtypeStruct(sizes, jnp.float32, sharding=sharding)
        params = {name: shape(*x.shape) for name, x in self.initial(*widths, 0).items()}
        opt_state = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding),
            jax.eval_shape(_optimizer(self).init, params),
        )
        tables = tuple(shape(words + 1, width) for width in widths)
        rows = jax.ShapeDtypeStruct((_CHUNK, self.batch_size, length), jnp.int32, sharding=sharding)
        first = jax.ShapeDtypeStruct((), jnp.int32, sharding=sharding)
        return _steps.trace(self, params, opt_state, tables, rows, rows, first), _CHUNK


def regression(source: Sentences, target: Sentences, ridge: float = 1e-2) -> Match:
    """The baseline of Table 1: least squares between the mean vectors of parallel sentences.

    Args:
      source, target: parallel sentences.
      ridge: weight of the squared norm of the map, in units of the number of sentences.

    Returns:
      A linear map, which is measured with the nearest word (temperature 0).
    """
    x, y = (
        side.vectors[side.rows].sum(1) / np.maximum(side.lengths, 1)[:, None]
        for side in (source, target)
    )
    matrix = procrustes.least_squares(x, y, ridge * len(x) * float(np.square(x).mean()))
    linear = matrix.astype(np.float32)
    return Match({"linear": linear, "bias": np.zeros(linear.shape[1], np.float32)}, 1e-6)


def in_both_spaces(
    there: Match, back: Match, source: Sentences, target: Sentences
) -> tuple[list[Mapped], list[Mapped]]:
    """The words of each sentence of both sides in both spaces; see `pivots`.

    Args:
      there, back: the maps of the source's words and of the target's.
      source, target: parallel sentences.
    """
    found = []
    for side, match in ((source, there), (target, back)):
        mapped = side._replace(vectors=match.apply(side.vectors))
        found.append([Mapped(side.of(k), mapped.of(k)) for k in range(len(side.rows))])
    return found[0], found[1]


def pivot_map(source: Sentences, target: Sentences) -> np.ndarray:
    """The Procrustes map of pivots: the mutually nearest words by the maps of linear regression.

    Args:
      source, target: parallel sentences.

    Returns:
      float32 [D, D'], with orthonormal rows or columns.
    """
    maps = regression(source, target), regression(target, source)
    pairs = []
    for number, sides in enumerate(zip(*in_both_spaces(*maps, source, target))):
        here, there = np.nonzero(pivots.links(pivots.symmetric_distances(*sides)))
        pairs.append((source.of(number)[here], target.of(number)[there]))
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
    tables: tuple[Array, Array],
    source: Array,
    target: Array,
    first: Array,
) -> tuple[Any, Any, Array]:
    """Several steps; `source` and `target` are rows of sentences, int32 [steps, B, W]."""
    tx = _optimizer(options)

    def one(carry, given):
        params, opt_state = carry
        rows, step = given
        vectors = tuple(table[x] for table, x in zip(tables, rows))
        loss, grads = jax.value_and_grad(distance)(
            params, *vectors, tuple(x > 0 for x in rows), options.temperature(step)
        )
        updates, opt_state = tx.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), loss

    numbers = first + jnp.arange(source.shape[0], dtype=jnp.int32)
    (params, opt_state), losses = jax.lax.scan(
        one, (params, opt_state), ((source, target), numbers)
    )
    return params, opt_state, losses


_transform = jax.jit(transform)
_errors = jax.jit(errors)
