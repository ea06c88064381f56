"""MUSE: adversarial training of a map without a dictionary, then Procrustes refinement."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from absl import logging

from clwe_jax.align import alignment, induce, procrustes
from clwe_jax.options.aligners import AdversarialOptions
from clwe_jax.types import Array

_SLOPE = 0.2  # slope of the discriminator's leaky ReLU for negative input
_CHUNK = 500  # steps between two checks of the losses
_MIN_RATE = 1e-6  # learning rate below which training ends


class Discriminator(NamedTuple):
    """Parameters of the discriminator: two hidden layers of H units over vectors of width D."""

    first: Array  # [D, H]
    first_bias: Array  # [H]
    second: Array  # [H, H]
    second_bias: Array  # [H]
    last: Array  # [H]
    last_bias: Array  # []


class AdversarialState(NamedTuple):
    """State of the training."""

    matrix: Array  # [D, D], applied to rows: x @ matrix
    weights: Discriminator


@dataclasses.dataclass(frozen=True)
class Adversarial(AdversarialOptions):
    """Adversarial training of an almost orthogonal map, then Procrustes refinement.

    Conneau et al. 2018, Word Translation Without Parallel Data, sections 2.1, 2.2 and 3.3. Details
    that the paper leaves open follow their program MUSE. The discriminator takes
    `discriminator_steps` steps for every step of the map. The map's learning rate is multiplied by
    `decay` after every epoch. When an epoch's unsupervised criterion is below its best value, the
    rate is also multiplied by `shrink`, except for the first time. The result is the map with the
    best criterion of all epochs and refinement rounds.
    """

    seed: int = 0

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the map without a dictionary: `pairs` is ignored.

        The [D, D] map is orthogonal if a refinement round was kept, else almost orthogonal. `info`
        describes the kept training: 'criterion', 'discriminator_loss', 'map_loss' (over the
        source's words) and 'rate' of each epoch, 'refined_criterion' and 'refined_pairs' of each
        refinement round, 'kept' (the epoch or round of the result) and 'best_criterion'.
        'restart_criteria' has the best criterion of every training.

        Raises:
          FloatingPointError: a loss is not finite.
        """
        if not self.smoothing < 0.5:
            raise ValueError(f"smoothing must be in [0, 0.5); got {self.smoothing}")
        x, y, _, steps = alignment.prepare(
            "adversarial", source, target, pairs, self.preprocess, dictionary=False
        )
        best: tuple[np.ndarray, dict[str, Any]] | None = None
        criteria = []
        for key in jax.random.split(jax.random.key(self.seed), self.restarts):
            refined = self._refine_map(x, y, *self._train_map(x, y, key))
            criteria.append(refined[1]["best_criterion"])
            if best is None or criteria[-1] > best[1]["best_criterion"]:
                best = refined
        assert best is not None
        info = {"aligner": "adversarial", **best[1], "restart_criteria": criteria}
        return alignment.Alignment(best[0], None, *steps, info)

    def _train_map(
        self, x: np.ndarray, y: np.ndarray, key: Array
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The map of the epoch with the best criterion, float32 [D, D], and its `info`."""
        start, key = jax.random.split(key)
        width = x.shape[1]
        state = AdversarialState(jnp.eye(width), initial_weights(start, width, self.hidden))
        pools = jnp.asarray(x[: self.most_frequent]), jnp.asarray(y[: self.most_frequent])
        names = ("criterion", "discriminator_loss", "map_loss", "rate")
        info: dict[str, Any] = {name: [] for name in names}
        best = np.asarray(state.matrix)
        rate = self.map_rate
        worse = False
        steps = -(-self.epoch_size // self.batch_size)
        for epoch in range(self.epochs):
            losses = np.zeros(2)
            for steps_done in range(0, steps, _CHUNK):
                count = min(_CHUNK, steps - steps_done)
                # The number of steps so far gives each chunk random numbers of its own.
                chunk_key = jax.random.fold_in(key, epoch * steps + steps_done)
                state, sums = _train(state, *pools, chunk_key, count, rate, self)
                losses += np.asarray(sums, np.float64)
                if not np.isfinite(losses).all():
                    raise FloatingPointError(
                        f"adversarial: a loss is not finite after {steps_done + count} steps of "
                        f"epoch {epoch + 1}. Lower map_rate or discriminator_rate, or scale the "
                        "vectors: preprocess=('unit',)"
                    )
            matrix = np.asarray(state.matrix)
            value = self._criterion(x, y, matrix)
            improved = not info["criterion"] or value > max(info["criterion"])
            per_step = losses / steps
            row = (value, per_step[0] / self.discriminator_steps, per_step[1], rate)
            for name, number in zip(names, row, strict=True):
                info[name].append(float(number))
            logging.info("adversarial: epoch %d, criterion %.4f", epoch + 1, value)
            rate *= self.decay
            if improved:
                best = matrix
            elif value < max(info["criterion"]):
                rate = rate * (self.shrink if worse else 1.0)
                worse = True
            if rate < _MIN_RATE:
                break
        info["best_criterion"] = max(info["criterion"])
        info["kept"] = f"epoch {int(np.argmax(info['criterion'])) + 1}"
        return best, info

    def _refine_map(
        self, x: np.ndarray, y: np.ndarray, matrix: np.ndarray, info: dict[str, Any]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The map with the best criterion among the given one and the refinement rounds."""
        info["refined_criterion"] = []
        info["refined_pairs"] = []
        if not self.refinements:
            return matrix, info
        size = {"max_words": self.max_words, "neighbourhood": self.neighbourhood}
        pairs = induce.induce_dictionary(x @ matrix, y, **size)
        if not len(pairs):
            logging.warning("adversarial: no word pair is mutual; the map is not refined")
            return matrix, info
        # The fit to the induced pairs is the first refinement round.
        rounds = procrustes.Procrustes(refinements=self.refinements - 1, preprocess=(), **size)
        refined = rounds.fit(x, y, pairs)
        info["refined_pairs"] = refined.info["pairs"]
        # Procrustes has no criterion of a single round.
        info["refined_criterion"] = refined.info.get("criterion") or [
            self._criterion(x, y, refined.source_map)
        ]
        top = max(info["refined_criterion"])
        if top <= info["best_criterion"]:
            return matrix, info
        info["best_criterion"] = top
        info["kept"] = f"refinement {int(np.argmax(info['refined_criterion'])) + 1}"
        return refined.source_map, info

    def _criterion(self, x: np.ndarray, y: np.ndarray, matrix: np.ndarray) -> float:
        return induce.unsupervised_criterion(x @ matrix, y, neighbourhood=self.neighbourhood)


def initial_weights(key: Array, width: int, hidden: int) -> Discriminator:
    """Weights and biases uniform in +-1 / sqrt(inputs), as in MUSE."""

    def draw(key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0) / np.sqrt(inputs)

    keys = jax.random.split(key, 6)
    shapes = ((width, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden,), ())
    inputs = (width, width, hidden, hidden, hidden, hidden)
    return Discriminator(*map(draw, keys, shapes, inputs))


def logits(weights: Discriminator, x: Array) -> Array:
    """The discriminator's log odds, [B], that each row of x [B, D] is a source vector."""
    h = jax.nn.leaky_relu(x @ weights.first + weights.first_bias, _SLOPE)
    h = jax.nn.leaky_relu(h @ weights.second + weights.second_bias, _SLOPE)
    return h @ weights.last + weights.last_bias


def loss(weights: Discriminator, x: Array, source: float) -> Array:
    """The mean cross-entropy of a batch (Conneau et al. 2018, Eqs. 1 and 2).

    Args:
      weights: parameters of the discriminator.
      x: B mapped source vectors, then B target vectors, [2 B, D].
      source: label of the first half; the second half has 1 - source. It is 1 - smoothing in the
        discriminator's training and smoothing in the map's.
    """
    odds = logits(weights, x)
    labels = jnp.where(jnp.arange(len(x)) < len(x) // 2, source, 1 - source)
    # The cross-entropy from log odds is finite where a probability would round to 0 or 1.
    return (jax.nn.softplus(odds) - labels * odds).mean()


def step_towards_orthogonal(matrix: Array, beta: float) -> Array:
    """(1 + beta) W - beta W W^T W, a step towards an orthogonal matrix (Eq. 7)."""
    multiply = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    return (1 + beta) * matrix - beta * multiply(matrix, multiply(matrix.T, matrix))


def discriminator_step(weights: Discriminator, x: Array, rate: float, smoothing: float):
    """One step of gradient descent: returns the new weights and the loss before the step."""
    value, slope = jax.value_and_grad(loss)(weights, x, 1 - smoothing)
    return jax.tree.map(lambda w, g: w - rate * g, weights, slope), value


def map_step(
    matrix: Array, weights: Discriminator, x: Array, rate: Array, smoothing: float, beta: float
) -> tuple[Array, Array]:
    """One step of the map against the discriminator.

    The objective (Eq. 2) is the mean over B source words and B target words. The target's half
    does not depend on the map, so it is neither computed nor part of the returned loss.

    Args:
      matrix: map, [D, D].
      weights: parameters of the discriminator.
      x: source vectors before the map, [B, D].
      beta: strength of the orthogonalisation.

    Returns:
      The new map [D, D], and the mean loss of the source words before the step.
    """

    def measure_fooling(matrix: Array) -> Array:
        odds = logits(weights, x @ matrix)
        return (jax.nn.softplus(odds) - smoothing * odds).mean()

    value, slope = jax.value_and_grad(measure_fooling)(matrix)
    # The mean of the objective is over twice as many words: half of them do not depend on the map.
    return step_towards_orthogonal(matrix - rate / 2 * slope, beta), value


@functools.partial(jax.jit, static_argnames="options", donate_argnames="state")
def _train(
    state: AdversarialState,
    x: Array,
    y: Array,
    key: Array,
    count: int,
    rate: float,
    options: Adversarial,
) -> tuple[AdversarialState, Array]:
    """Takes `count` steps of the map; returns the state and the sums of both losses, [2]."""
    batch = options.batch_size
    turns = options.discriminator_steps
    keep_probability = 1 - options.input_dropout

    def step(
        number: Array, carry: tuple[AdversarialState, Array]
    ) -> tuple[AdversarialState, Array]:
        (matrix, weights), sums = carry
        keys = jax.random.split(jax.random.fold_in(key, number), 3)
        words = (turns + 1, batch)
        # [turns + 1, B, D]: the last batch is the map's, the others are the discriminator's.
        of_x = x[jax.random.randint(keys[0], words, 0, len(x))]
        of_y = y[jax.random.randint(keys[1], words, 0, len(y))]
        mixed = jnp.concatenate([of_x[:turns] @ matrix, of_y[:turns]], 1)  # [turns, 2 B, D]
        # Dropout is for the discriminator alone: the map's step below has whole vectors.
        mixed *= jax.random.bernoulli(keys[2], keep_probability, mixed.shape) / keep_probability
        weights, losses = jax.lax.scan(
            lambda weights, mixed: discriminator_step(
                weights, mixed, options.discriminator_rate, options.smoothing
            ),
            weights,
            mixed,
        )
        matrix, fooled = map_step(
            matrix, weights, of_x[turns], rate, options.smoothing, options.beta
        )
        return AdversarialState(matrix, weights), sums + jnp.stack([losses.sum(), fooled])

    # `count` is no static argument, so that the shorter last chunk needs no second compilation.
    return jax.lax.fori_loop(0, count, step, (state, jnp.zeros(2)))
