"""Training of heads on features that do not change, for all seeds at once.

The members of an ensemble differ in their initial parameters, their dropout and the order of their
rows. One program updates all of them. Each member keeps the parameters of its best epoch.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from typing import Any, Callable, Mapping, Sequence

from absl import logging
from flax import traverse_util
import jax
import jax.numpy as jnp
import numpy as np
import optax

from clwe_jax import atomic, terminal
from clwe_jax.models import labelling
from clwe_jax.models.labelling import Labeller
from clwe_jax.options.training import RecipeOptions
from clwe_jax.training import partition, paths
from clwe_jax.training.train_state import KEY_TYPE
from clwe_jax.types import Array, Batch, BatchSource

Measure = Callable[[Any], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Recipe(RecipeOptions):
    """The training of a head."""

    def build(self, steps: int) -> optax.GradientTransformation:
        """The transformation of a member's gradient, without the learning rate."""
        parts = [optax.clip_by_global_norm(self.clip)] if self.clip else []
        if self.l2 and self.name != "adamw":
            # A penalty is a part of the gradient that Adam scales; the decay of AdamW is not.
            parts.append(optax.add_decayed_weights(self.l2))
        if self.name != "sgd":
            parts.append(optax.scale_by_adam())
        elif self.schedule == "onecycle":
            highest = self.momentum or 0.95

            def momentum(step: Array) -> Array:
                return highest - 0.1 * onecycle(step, steps)

            parts.append(optax.inject_hyperparams(optax.trace)(decay=momentum))
        elif self.momentum:
            parts.append(optax.trace(self.momentum))
        if self.l2 and self.name == "adamw":
            parts.append(optax.add_decayed_weights(self.l2))
        return optax.chain(*parts) if parts else optax.identity()

    def factor(self, step: Array, steps: int) -> Array:
        """The learning rate of a step in units of the highest one; 'halve' is no part of it."""
        if self.schedule == "onecycle":
            return onecycle(step, steps)
        return 1.0 - step / steps if self.schedule == "linear" else jnp.ones(())


def onecycle(step: Array, steps: int) -> Array:
    """From .04 up to 1 over three tenths of the steps, then down to almost 0, along cosines."""
    top = 0.3 * steps
    up = 0.04 + 0.96 * 0.5 * (1 - jnp.cos(math.pi * step / top))
    down = 0.5 * (1 + jnp.cos(math.pi * (step - top) / (steps - top)))
    return jnp.where(step < top, up, jnp.maximum(down, 4e-6))


@dataclasses.dataclass(frozen=True)
class Fitted:
    """The trained members.

    Attributes:
      params: the parameters of each member's best epoch; the first axis is the members.
      history: development figures, float [epochs, members]; of a member that has stopped, its best.
      best: the best epoch of each member, from 0, int [members].
      losses: mean training loss, float [epochs, members].
      rows: number of training rows that all members together have seen in `seconds`.
      seconds: time of the epochs in which nothing was compiled, without development sets.
    """

    params: Any
    history: np.ndarray
    best: np.ndarray
    losses: np.ndarray
    rows: int
    seconds: float


def fit(
    labeller: Labeller,
    table: np.ndarray,
    sources: Sequence[BatchSource],
    seeds: Sequence[int],
    recipe: Recipe,
    steps_per_epoch: int,
    measure: Measure,
    initial: Mapping[str, np.ndarray] | None = None,
) -> Fitted:
    """Trains one member for each source.

    Args:
      table: vectors of words, of which a step reads the rows of its batches.
      sources: endless sources of the members' batches; the batches of a step have equal keys.
      seeds: the seed of each member's parameters and dropout.
      measure: function from the members' parameters to their development figures, [members].
      initial: path -> the start of a parameter, the same for all members.
    """
    steps = recipe.epochs * steps_per_epoch
    keys = jnp.stack([jax.random.key(seed, impl=KEY_TYPE) for seed in seeds])
    batches = map(stack_batches, zip(*sources))
    # The first batch makes the parameters, and is trained on like any other.
    first = next(batches)
    batches = itertools.chain([first], batches)
    params = start(labeller, *labelling.local(table, first), keys)
    flat = paths.flat(params)
    for path, array in (initial or {}).items():
        flat[path] = jnp.broadcast_to(jnp.asarray(array, flat[path].dtype), flat[path].shape)
    params = traverse_util.unflatten_dict(flat, sep="/")
    opt_state = jax.jit(jax.vmap(recipe.build(steps).init))(params)
    step_fn = step(labeller, recipe, steps)
    rates = np.full(len(seeds), recipe.learning_rate, np.float32)
    best = params
    best_at = np.full(len(seeds), -1)
    highest = np.full(len(seeds), -np.inf)
    worse = np.zeros(len(seeds), int)
    active = np.ones(len(seeds), bool)
    history = []
    losses = []
    seconds = 0.0
    rows = 0
    compiled = set()
    number = 0
    with terminal.task("epochs", recipe.epochs) as advance:
        for epoch in range(recipe.epochs):
            sums = []
            clock = time.perf_counter()
            shapes = set()
            for _ in range(steps_per_epoch):
                batch = next(batches)
                shapes.add(batch["words"].shape)
                params, opt_state, step_sums = step_fn(
                    params,
                    opt_state,
                    *labelling.local(table, batch),
                    keys,
                    jnp.asarray(rates),
                    np.int32(number),
                )
                sums.append(step_sums)
                number += 1
            # Fetched once an epoch: in every step the host would wait for the device.
            value, weight = np.sum([np.asarray(x) for x in sums], axis=0)
            if shapes <= compiled:  # nothing was compiled
                seconds += time.perf_counter() - clock
                rows += len(sources) * steps_per_epoch * recipe.batch_size
            compiled |= shapes
            losses.append(value / np.maximum(weight, 1e-9))
            # A member that has stopped still learns beside the others, and keeps what it had.
            history.append(np.where(active, np.asarray(measure(params), np.float64), highest))
            gain = history[-1] > highest
            shape = lambda new: (-1, *[1] * (new.ndim - 1))
            choose = lambda new, old: jnp.where(gain.reshape(shape(new)), new, old)
            best = jax.tree.map(choose, params, best)
            best_at[gain] = epoch
            highest[gain] = history[-1][gain]
            # A tagger finds no name at first: its F1 of 0 is no reason to stop.
            worse = np.where(gain | (highest <= 0), 0, worse + 1)
            if recipe.patience:
                late = worse >= recipe.patience
                if recipe.schedule == "halve":
                    rates = np.where(late, rates / 2, rates).astype(np.float32)
                    worse = np.where(late, 0, worse)
                    active &= rates >= recipe.least_rate
                else:
                    active &= ~late
            logging.info(
                "epoch %d: loss %s, development %s",
                epoch + 1,
                _as_lists(losses[-1]),
                _as_lists(history[-1]),
            )
            advance(1)
            if not np.isfinite(losses[-1]).all():
                raise ValueError(
                    f"The loss of a head is not finite in epoch {epoch + 1}: lower "
                    f"config.recipe.learning_rate={recipe.learning_rate:g}"
                )
            if not active.any():
                break
    return Fitted(best, np.array(history), best_at, np.array(losses), rows, seconds)


def start(labeller: Labeller, table: Array, batch: Batch, keys: Array) -> Any:
    """The initial parameters of all members.

    Args:
      batch: a batch of each member, along the first axis.
    """
    member_batch = jax.tree.map(lambda x: x[0], batch)

    def init(key: Array, table: Array, member_batch: Batch) -> Any:
        variables = labeller.init({"params": key}, table, member_batch, method=Labeller.loss)
        return partition.unbox(variables["params"])

    return jax.jit(jax.vmap(init, in_axes=(0, None, None)))(keys, table, member_batch)


def save(params: Any, path: str) -> None:
    """Writes parameters to an .npz file, by their paths."""
    arrays = {name: np.asarray(x) for name, x in paths.flat(params).items()}
    with atomic.writing(path) as file:
        np.savez(file, **arrays)


def load(path: str) -> Any:
    """The parameters that `save` wrote.

    Raises:
      ValueError: the file is damaged.
    """
    with atomic.naming_damage(path), np.load(path, allow_pickle=False) as file:
        return traverse_util.unflatten_dict({name: file[name] for name in file.files}, sep="/")


def stack_batches(batches: Sequence[Batch]) -> Batch:
    """The batches of all members as one, padded to the widest: [members, B, ...]."""
    joined = {}
    for key in batches[0]:
        parts = [batch[key] for batch in batches]
        if parts[0].ndim > 1:
            width = max(x.shape[1] for x in parts)
            fill = -1 if key == "gold" else 0
            parts = [
                np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=fill) for x in parts
            ]
        joined[key] = np.stack(parts)
    return joined


def step(labeller: Labeller, recipe: Recipe, steps: int) -> Callable[..., tuple[Any, Any, Array]]:
    """The compiled step of all members. Arguments as of `fit`.

    Returns:
      A function from parameters and optimizer states of all members, the table, a batch, keys and
      learning rates of all members, and the step's number, to parameters, states, and the sum and
      the weight of the loss, [2, members].
    """
    tx = recipe.build(steps)

    def one(params, opt_state, table, batch, key, rate, number):
        def loss(params):
            rngs = {"dropout": jax.random.fold_in(key, number)}
            sums = labeller.apply(
                {"params": params}, table, batch, True, rngs=rngs, method=Labeller.loss
            )["loss"]
            return sums.value / jnp.maximum(sums.weight, 1e-9), sums

        grads, sums = jax.grad(loss, has_aux=True)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        rate = rate * recipe.factor(number, steps)
        params = jax.tree.map(lambda p, u: p - rate * u, params, updates)
        return params, opt_state, jnp.stack([sums.value, sums.weight])

    def members(params, opt_state, table, batch, keys, rates, number):
        arguments = params, opt_state, batch, keys, rates
        member_step = lambda p, o, b, k, r: one(p, o, table, b, k, r, number)
        # On CPU products with an axis of members are slower than one product after the other.
        if jax.default_backend() == "cpu":
            params, opt_state, sums = jax.lax.map(lambda x: member_step(*x), arguments)
        else:
            params, opt_state, sums = jax.vmap(member_step)(*arguments)
        return params, opt_state, sums.T

    # The parameters are not donated, because `best` may be the same arrays.
    return jax.jit(members, donate_argnums=(1,))


def _as_lists(values: np.ndarray) -> str:
    return " ".join(f"{value:.3f}" for value in values)
