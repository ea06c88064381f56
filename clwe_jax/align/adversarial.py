"""MUSE: a map that a discriminator cannot tell from the target, then refinement; no dictionary."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from absl import logging

from clwe_jax.align import alignment, induce, preprocess, procrustes
from clwe_jax.types import Array

_SLOPE = 0.2  # of the discriminator's leaky ReLU where its input is negative
_CHUNK = 500  # steps between two looks at the losses
_LEAST_RATE = 1e-6


class Weights(NamedTuple):
    """The discriminator: two hidden layers of width H over vectors of width D."""

    first: Array  # [D, H]
    first_bias: Array  # [H]
    second: Array  # [H, H]
    second_bias: Array  # [H]
    last: Array  # [H]
    last_bias: Array  # []


class State(NamedTuple):
    """What training changes."""

    matrix: Array  # [D, D], applied to rows: x @ matrix
    weights: Weights


@dataclasses.dataclass(frozen=True)
class Adversarial:
    """Adversarial training of an almost orthogonal map, then Procrustes refinement.

    Conneau et al. 2018, Word Translation Without Parallel Data, sections 2.1, 2.2 and 3.3, with
    what their program MUSE does and the paper leaves open: the discriminator learns
    `discriminator_steps` times for every step of the map; the map's rate is multiplied by `decay`
    every epoch and by `shrink` when the unsupervised criterion is worse than the best one so far,
    from the second time on; of all epochs and refinement rounds the map with the best criterion
    is the result.
    """

    epochs: int = 5
    epoch_size: int = 1_000_000  # an epoch has epoch_size / batch_size steps of the map
    batch_size: int = 32  # words of each side
    discriminator_steps: int = 5
    hidden: int = 2048  # units in each of the discriminator's two hidden layers
    input_dropout: float = 0.1
    smoothing: float = 0.1  # of the labels
    discriminator_rate: float = 0.1
    map_rate: float = 0.1
    decay: float = 0.98
    shrink: float = 0.5
    beta: float = 0.001  # of orthogonalisation
    most_frequent: int = 75_000  # words of each side that training draws from
    refinements: int = 5
    max_words: int = induce.MAX_WORDS  # most frequent words of each side in the refinement
    neighbourhood: int = 10  # of CSLS
    restarts: int = 1  # trainings with other random numbers, the best of which is kept
    seed: int = 0
    preprocess: tuple[str, ...] = ()

    def fit(self, source: Array, target: Array, pairs: Array | None = None) -> alignment.Alignment:
        """Learns the map.

        Args:
          source: [N, D] and
          target: [M, D], most frequent words first.
          pairs: not looked at.

        Returns:
          An Alignment with a [D, D] map, orthogonal when a refinement round was kept and nearly so
          otherwise. `info` has, of the training that was kept, 'criterion', 'discriminator_loss',
          'map_loss' (of the source's words) and 'rate' of each epoch, 'refined_criterion' and
          'refined_pairs' of each refinement round, 'kept' (what the result is from) and
          'best_criterion'; and 'restart_criteria', the best of each training.

        Raises:
          ValueError: options out of range; see also `alignment.check_vectors`.
          FloatingPointError: the losses are not finite any more.
        """
        self._check()
        alignment.check_vectors(source, target)
        del pairs
        x, source_steps = preprocess.fit(source, self.preprocess)
        y, target_steps = preprocess.fit(target, self.preprocess)
        best: tuple[np.ndarray, dict[str, Any]] | None = None
        criteria = []
        for key in jax.random.split(jax.random.key(self.seed), self.restarts):
            found = self._refined(x, y, *self._trained(x, y, key))
            criteria.append(found[1]["best_criterion"])
            if best is None or criteria[-1] > best[1]["best_criterion"]:
                best = found
        assert best is not None
        info = {"aligner": "adversarial", **best[1], "restart_criteria": criteria}
        return alignment.Alignment(best[0], None, source_steps, target_steps, info)

    def _check(self) -> None:
        counts = (
            "epochs",
            "epoch_size",
            "batch_size",
            "hidden",
            "most_frequent",
            "restarts",
        )
        for name in counts + ("max_words", "neighbourhood"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")
        if not 0 <= self.input_dropout < 1 or not 0 <= self.smoothing < 0.5:
            raise ValueError(
                "input_dropout must be in [0, 1) and smoothing in [0, 0.5); got "
                f"{self.input_dropout} and {self.smoothing}"
            )

    def _trained(
        self, x: np.ndarray, y: np.ndarray, key: Array
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The map of the epoch with the best criterion, float32 [D, D], and what happened."""
        start, key = jax.random.split(key)
        width = x.shape[1]
        state = State(jnp.eye(width), initial_weights(start, width, self.hidden))
        # The same program for every pair of vocabularies that fill the pool.
        pools = (
            jnp.asarray(x[: self.most_frequent]),
            jnp.asarray(y[: self.most_frequent]),
        )
        names = ("criterion", "discriminator_loss", "map_loss", "rate")
        info: dict[str, Any] = {name: [] for name in names}
        best, rate, worse = np.asarray(state.matrix), self.map_rate, False
        steps = -(-self.epoch_size // self.batch_size)
        for epoch in range(self.epochs):
            losses = np.zeros(2)
            for done in range(0, steps, _CHUNK):
                count = min(_CHUNK, steps - done)
                state, sums = _train(
                    state,
                    *pools,
                    jax.random.fold_in(key, epoch * steps + done),
                    count,
                    rate,
                    self,
                )
                losses += np.asarray(sums, np.float64)
                if not np.isfinite(losses).all():
                    raise FloatingPointError(
                        f"adversarial: the losses are not finite after {done + count} steps of "
                        f"epoch {epoch + 1}. Lower map_rate or discriminator_rate, or scale the "
                        "vectors: preprocess=('unit',)"
                    )
            matrix = np.asarray(state.matrix)
            value = self._criterion(x, y, matrix)
            improved = not info["criterion"] or value > max(info["criterion"])
            row = (
                value,
                losses[0] / (steps * self.discriminator_steps),
                losses[1] / steps,
                rate,
            )
            for name, number in zip(names, row, strict=True):
                info[name].append(float(number))
            logging.info("adversarial: epoch %d, criterion %.4f", epoch + 1, value)
            rate *= self.decay
            if improved:
                best = matrix
            elif value < max(info["criterion"]):
                rate, worse = rate * (self.shrink if worse else 1.0), True
            if rate < _LEAST_RATE:
                break
        info["best_criterion"] = max(info["criterion"])
        info["kept"] = f"epoch {int(np.argmax(info['criterion'])) + 1}"
        return best, info

    def _refined(
        self, x: np.ndarray, y: np.ndarray, matrix: np.ndarray, info: dict[str, Any]
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The best map of the refinement rounds, or the given one where that is better."""
        info["refined_criterion"], info["refined_pairs"] = [], []
        if not self.refinements:
            return matrix, info
        size = {"max_words": self.max_words, "neighbourhood": self.neighbourhood}
        pairs = induce.induce(x[: self.max_words] @ matrix, y, **size)
        if not len(pairs):
            logging.warning("adversarial: no pair of words is mutual; there is no refinement")
            return matrix, info
        rounds = procrustes.Procrustes(refinements=self.refinements - 1, preprocess=(), **size)
        found = rounds.fit(x, y, pairs)
        info["refined_pairs"] = found.info["pairs"]
        info["refined_criterion"] = found.info.get("criterion") or [
            self._criterion(x, y, found.source_map)
        ]
        top = max(info["refined_criterion"])
        if top <= info["best_criterion"]:
            return matrix, info
        info["best_criterion"] = top
        info["kept"] = f"refinement {int(np.argmax(info['refined_criterion'])) + 1}"
        return found.source_map, info

    def _criterion(self, x: np.ndarray, y: np.ndarray, matrix: np.ndarray) -> float:
        return induce.criterion(
            x[: induce.CRITERION_WORDS] @ matrix, y, neighbourhood=self.neighbourhood
        )


def initial_weights(key: Array, width: int, hidden: int) -> Weights:
    """Uniform in +-1 / sqrt(inputs), biases too, as MUSE's layers start."""

    def draw(key: Array, shape: tuple[int, ...], inputs: int) -> Array:
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0) / np.sqrt(inputs)

    keys = jax.random.split(key, 6)
    shapes = ((width, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden,), ())
    inputs = (width, width, hidden, hidden, hidden, hidden)
    return Weights(*map(draw, keys, shapes, inputs))


def logits(weights: Weights, x: Array) -> Array:
    """The discriminator's log odds that each row of x [B, D] comes from the source: [B]."""
    h = jax.nn.leaky_relu(x @ weights.first + weights.first_bias, _SLOPE)
    h = jax.nn.leaky_relu(h @ weights.second + weights.second_bias, _SLOPE)
    return h @ weights.last + weights.last_bias


def loss(weights: Weights, x: Array, source: float) -> Array:
    """The mean cross-entropy of a batch (Conneau et al. 2018, Eqs. 1 and 2).

    Args:
      weights: of the discriminator.
      x: [2 B, D], B mapped source vectors, then B target vectors.
      source: how likely the first half is to be labelled as source, and the second half not:
        1 - smoothing for the discriminator, smoothing for the map that fools it.

    Returns:
      A number.
    """
    odds = logits(weights, x)
    labels = jnp.where(jnp.arange(len(x)) < len(x) // 2, source, 1 - source)
    return (jax.nn.softplus(odds) - labels * odds).mean()


def orthogonalised(matrix: Array, beta: float) -> Array:
    """(1 + beta) W - beta W W^T W, which is closer to an orthogonal matrix (Eq. 7)."""
    multiply = functools.partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    return (1 + beta) * matrix - beta * multiply(matrix, multiply(matrix.T, matrix))


def discriminator_step(weights: Weights, x: Array, rate: float, smoothing: float):
    """One step of gradient descent: the new weights, and the loss before."""
    value, slope = jax.value_and_grad(loss)(weights, x, 1 - smoothing)
    return jax.tree.map(lambda w, g: w - rate * g, weights, slope), value


def map_step(
    matrix: Array, weights: Weights, x: Array, rate: Array, smoothing: float, beta: float
) -> tuple[Array, Array]:
    """One step of the map against the discriminator: the new [D, D] map, and the loss before.

    The target's words are in the objective too (Eq. 2), but no map changes their part: it is
    neither computed nor in the loss that is returned.

    Args:
      matrix: [D, D].
      weights: of the discriminator.
      x: [B, D], source vectors as they came.
      rate: of gradient descent on the mean over both sides' words, B of either.
      smoothing: of the labels.
      beta: of orthogonalisation.
    """

    def fooled(matrix: Array) -> Array:
        odds = logits(weights, x @ matrix)
        return (jax.nn.softplus(odds) - smoothing * odds).mean()

    value, slope = jax.value_and_grad(fooled)(matrix)
    return orthogonalised(matrix - rate / 2 * slope, beta), value


@functools.partial(jax.jit, static_argnames="options", donate_argnames="state")
def _train(
    state: State,
    x: Array,
    y: Array,
    key: Array,
    count: int,
    rate: float,
    options: Adversarial,
) -> tuple[State, Array]:
    """`count` steps of the map; the sums of the discriminator's and of the map's losses, [2]."""
    batch, turns = options.batch_size, options.discriminator_steps
    kept = 1 - options.input_dropout

    def step(number: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        (matrix, weights), sums = carry
        keys = jax.random.split(jax.random.fold_in(key, number), 3)
        words = (turns + 1, batch)
        of_x = x[jax.random.randint(keys[0], words, 0, len(x))]
        of_y = y[jax.random.randint(keys[1], words, 0, len(y))]
        mixed = jnp.concatenate([of_x[:turns] @ matrix, of_y[:turns]], 1)
        mixed *= jax.random.bernoulli(keys[2], kept, mixed.shape) / kept
        weights, losses = jax.lax.scan(
            lambda weights, mixed: discriminator_step(
                weights, mixed, options.discriminator_rate, options.smoothing
            ),
            weights,
            mixed,
        )
        matrix, fooled = map_step(
            matrix,
            weights,
            of_x[turns],
            rate,
            options.smoothing,
            options.beta,
        )
        return State(matrix, weights), sums + jnp.stack([losses.sum(), fooled])

    return jax.lax.fori_loop(0, count, step, (state, jnp.zeros(2)))
