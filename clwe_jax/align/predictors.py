"""Classifiers of word vectors: pivots (CLCR, section 3.2), places and orders (section 3.3)."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Mapping, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax.align import descent, places
from clwe_jax.options.clcr import PredictorOptions
from clwe_jax.types import Array

_CHUNK = 50  # steps of one call of the compiled program
_ROWS = 8_192  # rows whose probabilities are computed at once
_MIN_PROBABILITY = 1e-12  # least probability of a cost
_DISTANCES = 8  # a larger distance of two words counts as this one


class ClassifierRows(Protocol):
    """The rows that a classifier learns from: an array [N, D], or features made when they are read."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: Any) -> np.ndarray:
        """float32 [n, D] of n places."""


@dataclasses.dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """A trained classifier.

    Attributes:
      params: 'inner' [D, H], 'inner_bias' [H], 'outer' [H, K], 'outer_bias' [K].
    """

    params: Mapping[str, np.ndarray]

    @property
    def classes(self) -> int:
        """K."""
        return self.params["outer"].shape[1]

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """The probability of each class, float32 [N, K] of [N, D]."""
        parts = [np.zeros((0, self.classes), np.float32)]
        for start in range(0, len(x), _ROWS):
            part = x[start : start + _ROWS]
            size = min(_ROWS, 1 << max(0, len(part) - 1).bit_length())  # few shapes to compile
            rows = np.zeros((size, x.shape[1]), np.float32)
            rows[: len(part)] = part
            parts.append(np.asarray(_probabilities(dict(self.params), rows))[: len(part)])
        return np.concatenate(parts)


@dataclasses.dataclass(frozen=True)
class Classifier(PredictorOptions):
    """The training of a network of one hidden layer on weighted rows."""

    def fit(
        self,
        x: ClassifierRows,
        labels: np.ndarray,
        classes: int = 2,
        weights: np.ndarray | None = None,
        seed: int = 0,
    ) -> TrainedClassifier:
        """Minimises the weighted cross-entropy.

        Args:
          x: N rows of D numbers; those of some steps are in memory at once.
          labels: int [N], below `classes`.
          classes: K.
          weights: float [N], at least 0; None: 1.
          seed: of parameters, dropout and the order of the rows.

        Raises:
          ValueError: no row, or a training that diverges.
        """
        if not len(x):
            raise ValueError("a predictor needs at least one row with a label")
        draw = np.random.default_rng([seed, 21])
        width = x[:1].shape[1]
        inner = draw.normal(size=(width, self.hidden)) / np.sqrt(width)
        params = {
            "inner": inner.astype(np.float32),
            "inner_bias": np.zeros(self.hidden, np.float32),
            # Outer weights of 0 give all classes the same probability at first.
            "outer": np.zeros((self.hidden, classes), np.float32),
            "outer_bias": np.zeros(classes, np.float32),
        }
        opt_state = _optimizer(self).init(params)
        labels = np.asarray(labels, np.int32)
        weights = (
            np.ones(len(x), np.float32) if weights is None else np.asarray(weights, np.float32)
        )
        key = jax.random.key(seed)
        starts = range(0, self.steps, _CHUNK)
        sizes = [min(_CHUNK, self.steps - first) * self.batch_size for first in starts]
        for first, row_numbers in zip(starts, places.batches(len(x), draw, sizes)):
            rows = tuple(
                part[row_numbers].reshape(-1, self.batch_size, *shape)
                for part, shape in ((x, (width,)), (labels, ()), (weights, ()))
            )
            params, opt_state, losses = _steps(self, params, opt_state, rows, key, np.int32(first))
            if not np.isfinite(losses).all():
                raise ValueError(
                    f"a predictor diverged before step {first + len(losses)}: lower "
                    f"config.clcr.predictor.learning_rate={self.learning_rate:g}"
                )
        return TrainedClassifier({name: np.asarray(value) for name, value in params.items()})


def confident_weights(
    probabilities: np.ndarray, labels: np.ndarray, quantile: float = 0.01
) -> np.ndarray:
    """Weights by which a classifier of noisy labels learns the clean ones.

    Liu and Tao 2015, Classification with Noisy Labels by Importance Reweighting, Eq. 5 and Theorem 4:
    the rate at which label y is wrong is the least probability of y anywhere, and the weight of a
    row is (P(y|x) - rate(y)) / ((1 - rate(0) - rate(1)) P(y|x)).

    Args:
      probabilities: P(1|x) of a classifier of the noisy labels, [N].
      labels: noisy labels, 0 or 1, int [N].
      quantile: quantile that stands for the least probability.

    Returns:
      float64 [N], at least 0; a label that is surely wrong has the weight 0.
    """
    p = np.asarray(probabilities, np.float64)
    noise_rates = {1: float(np.quantile(p, quantile)), 0: float(np.quantile(1 - p, quantile))}
    of_label = np.where(labels == 1, p, 1 - p)
    rate = np.where(labels == 1, noise_rates[1], noise_rates[0])
    scale = max(1 - noise_rates[0] - noise_rates[1], 1e-6)
    return np.maximum(of_label - rate, 0) / (scale * np.maximum(of_label, 1e-12))


class PairRows(NamedTuple):
    """The input of relative order prediction: pairs of words and their distance (`ClassifierRows`).

    A row has 2 D + 8 numbers: both vectors, and a one-hot vector of the distance.

    Attributes:
      vectors: a table of words, [M, D].
      pairs: rows of the table, int [N, 2].
      apart: distances of the words of each pair, from 1, int [N].
    """

    vectors: np.ndarray
    pairs: np.ndarray
    apart: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, places: Any) -> np.ndarray:
        first, second = self.pairs[places].T
        distances = np.eye(_DISTANCES)[np.minimum(self.apart[places], _DISTANCES) - 1]
        parts = [self.vectors[first], self.vectors[second], distances]
        return np.concatenate(parts, axis=1).astype(np.float32)


def pairs_of(count: int) -> np.ndarray:
    """The pairs (i, j) with i < j of so many words, int [n (n - 1) / 2, 2]."""
    return np.argwhere(np.triu(np.ones((count, count), bool), 1))


def pair_features(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a sentence's words in the source's order, [n, D], and their `PairRows`."""
    pairs = pairs_of(len(vectors))
    return pairs, PairRows(vectors, pairs, pairs[:, 1] - pairs[:, 0])[:]


class PlaceRows(NamedTuple):
    """The input of absolute order prediction: words and their places (`ClassifierRows`), D + `max_places` numbers.

    Attributes:
      vectors: a table of words, [M, D].
      words: rows of the table, int [N].
      places: place of each word among those that are ordered, int [N].
      max_places: number of places; later ones count as the last one.
    """

    vectors: np.ndarray
    words: np.ndarray
    places: np.ndarray
    max_places: int

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, places: Any) -> np.ndarray:
        onehot = np.eye(self.max_places)[np.minimum(self.places[places], self.max_places - 1)]
        return np.concatenate([self.vectors[self.words[places]], onehot], axis=1).astype(np.float32)


def place_features(vectors: np.ndarray, max_places: int) -> np.ndarray:
    """The input of absolute order prediction: words and their places, float32 [n, D + max_places].

    Args:
      vectors: of the words in the source's order, [n, D].
      max_places: number of places; later words count as the last one.
    """
    places = np.arange(len(vectors))
    return PlaceRows(vectors, places, places, max_places)[:]


def pair_costs(pairs: np.ndarray, stays: np.ndarray, count: int) -> np.ndarray:
    """The costs that `reorder.by_pairs` reads, [n, n].

    Args:
      stays: probability that i stays before j, [pairs].
      count: n.
    """
    result = np.zeros((count, count))
    result[pairs[:, 0], pairs[:, 1]] = costs(stays)
    result[pairs[:, 1], pairs[:, 0]] = costs(1 - stays)
    return result


def place_costs(probabilities: np.ndarray) -> np.ndarray:
    """The costs that `reorder.by_positions` reads, [n, max(n, K)], of probabilities of places, [n, K].

    The last class stands for all later places too.
    """
    count, classes = probabilities.shape
    return np.pad(costs(probabilities), ((0, 0), (0, max(0, count - classes))), mode="edge")


def costs(probabilities: np.ndarray) -> np.ndarray:
    """-log of the probabilities of what is asserted, in float64."""
    return -np.log(np.maximum(np.asarray(probabilities, np.float64), _MIN_PROBABILITY))


def _scores(params: Mapping[str, Array], x: Array, kept: Array | float) -> Array:
    hidden = jax.nn.relu(x @ params["inner"] + params["inner_bias"]) * kept
    return hidden @ params["outer"] + params["outer_bias"]


def _optimizer(options: Classifier) -> optax.GradientTransformation:
    rate = optax.linear_schedule(options.learning_rate, 0.0, options.steps)
    return optax.adamw(rate, weight_decay=options.weight_decay)


@functools.partial(jax.jit, static_argnums=0)
def _steps(
    options: Classifier,
    params: Any,
    opt_state: Any,
    rows: tuple[Array, Array, Array],
    key: Array,
    first: Array,
) -> tuple[Any, Any, Array]:
    """Several steps on features [steps, B, D], labels and weights [steps, B]; also their losses."""
    keep = 1 - options.dropout

    def loss(params, x, labels, weights, step):
        mask = (
            jax.random.bernoulli(jax.random.fold_in(key, step), keep, (len(x), options.hidden))
            / keep
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(_scores(params, x, mask), labels)
        return (losses * weights).sum() / jnp.maximum(weights.sum(), 1e-6)

    return descent.several(loss, _optimizer(options), params, opt_state, rows, first)


@jax.jit
def _probabilities(params: Mapping[str, Array], x: Array) -> Array:
    return jax.nn.softmax(_scores(params, x, 1.0))
