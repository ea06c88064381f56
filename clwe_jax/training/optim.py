"""Optimizers and learning-rate schedules, from the options of `config.optimizer`."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Mapping

import jax
import jax.numpy as jnp
import optax

from clwe_jax import registry
from clwe_jax.training import rows
from clwe_jax.types import Array

NAMES = ("adam", "adamw", "lamb", "adagrad", "sgd")
SCHEDULES = ("linear", "cosine", "rsqrt", "constant")
Schedule = Callable[[Array | int], Array]
_DECAYS = 64  # of a moment that are made up for at once


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """One optimizer with its schedule and clipping.

    Attributes:
      name: 'adam', 'adamw', 'lamb' (You et al. 2020, Algorithm 2), 'adagrad' or 'sgd'.
      learning_rate: the peak.
      warmup_steps: of linear growth from 0 to the peak (at most the run's steps).
      schedule: after that: 'linear' or 'cosine' to `final_share` of the peak at the last step,
        'rsqrt' (peak * sqrt(warmup / step)) or 'constant'.
      final_share: see `schedule`.
      weight_decay: of adamw and lamb; decoupled. Never of biases and normalisation scales.
      b1, b2, eps: of adam, adamw and lamb; eps also of adagrad.
      momentum: of sgd; 0 for none.
      initial_accumulator: of adagrad.
      clip: largest global norm of the gradient; 0 for no clipping.
      scale: of the gradient, before clipping (ELMo's is that of the loss times the window's steps,
        which Adagrad, with its accumulator's first value, and clipping take note of).
    """

    name: str = "adamw"
    learning_rate: float = 1e-3
    warmup_steps: int = 0
    schedule: str = "linear"
    final_share: float = 0.0
    weight_decay: float = 0.01
    b1: float = 0.9
    b2: float = 0.999
    eps: float = 1e-6
    momentum: float = 0.9
    initial_accumulator: float = 0.1
    clip: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        for field, known in (("name", NAMES), ("schedule", SCHEDULES)):
            value = getattr(self, field)
            if value not in known:
                raise ValueError(
                    f"config.optimizer.{field}={value!r}: {registry.nearest(value, known)}"
                )
        for field in ("learning_rate", "warmup_steps", "weight_decay", "clip", "scale"):
            if getattr(self, field) < 0:
                raise ValueError(f"config.optimizer.{field}={getattr(self, field)}: is negative")

    def rate(self, total_steps: int) -> Schedule:
        """step -> learning rate, for a run of `total_steps`."""
        warmup = min(self.warmup_steps, total_steps)
        rest = max(total_steps - warmup, 1)
        peak, final = self.learning_rate, self.learning_rate * self.final_share

        def schedule(step: Array | int) -> Array:
            step = jnp.asarray(step, jnp.float32)
            done = jnp.clip((step - warmup) / rest, 0.0, 1.0)
            if self.schedule == "linear":
                after = peak + (final - peak) * done
            elif self.schedule == "cosine":
                after = final + (peak - final) * 0.5 * (1.0 + jnp.cos(jnp.pi * done))
            elif self.schedule == "rsqrt":
                start = max(warmup, 1)
                after = peak * jnp.sqrt(start / jnp.maximum(step, start))
            else:
                after = jnp.full_like(step, peak)
            # Step 0 gets the first rung, not a rate of 0, so that no step is spent on nothing.
            return jnp.where(step < warmup, peak * (step + 1) / max(warmup, 1), after)

        return schedule

    def build(self, total_steps: int) -> optax.GradientTransformation:
        """The optax transformation: clipping, the rule, decay, learning rate.

        Who calls `update` may give the `norm` of the gradient, and the `places` of tables whose
        gradient is of rows alone (`training.rows`); so is then their update, where no moment is.
        """
        parts: list[optax.GradientTransformation] = []
        if self.clip or self.scale != 1.0:
            parts.append(_scale_and_clip(self.scale, self.clip))
        if self.name in ("adam", "adamw", "lamb"):
            parts.append(_adam(self.b1, self.b2, self.eps))
        elif self.name == "adagrad":
            parts.append(_adagrad(self.initial_accumulator, self.eps))
        elif self.momentum:
            parts.append(_momentum(self.momentum))
        if self.name in ("adamw", "lamb") and self.weight_decay:
            parts.append(optax.add_decayed_weights(self.weight_decay, mask=is_matrix))
        if self.name == "lamb":
            parts.append(optax.masked(optax.scale_by_trust_ratio(), is_matrix))
        parts.append(optax.scale_by_learning_rate(self.rate(total_steps)))
        return optax.chain(*parts)


def _scale_and_clip(scale: float, most: float) -> optax.GradientTransformationExtraArgs:
    """Multiplies by `scale`, or by less for a global norm of at most `most` (0: any).

    By one factor for all: XLA would write what is divided, or scaled and summed, to memory. Who
    calls `update` may give the `norm` of the gradient.
    """

    def start(_: Any) -> Any:
        return optax.EmptyState()

    def update(updates: Any, state: Any, _: Any = None, *, norm: Array | None = None, **__: Any):
        factor = jnp.float32(scale)
        if most:
            norm = scale * (optax.tree.norm(updates) if norm is None else norm)
            factor *= most / jnp.maximum(norm, most)
        return jax.tree.map(lambda x: x * factor.astype(x.dtype), updates), state

    return optax.GradientTransformationExtraArgs(start, update)


def _written_first(
    start: Callable[[Any], Any],
    followed: Callable[[Any, Any, Any], Any],
    updates_of: Callable[[Any, Any, Any], Any],
) -> optax.GradientTransformationExtraArgs:
    """A rule, with its state written to memory before the updates are computed from it.

    XLA for CPUs would else compute the state a second time where the parameters are updated, from a
    copy of the old one, and read and write half as much again. Accelerators do all in one pass.

    Args:
      start: params -> the first state.
      followed: gradients, state, places -> the new state.
      updates_of: gradients, new state, places -> the rule's updates.
    """

    def update(
        gradients: Any, state: Any, _: Any = None, *, places: Any = None, **__: Any
    ) -> tuple[Any, Any]:
        state = jax.lax.platform_dependent(
            followed(gradients, state, places),
            cpu=jax.lax.optimization_barrier,
            default=lambda state: state,
        )
        return updates_of(gradients, state, places), state

    return optax.GradientTransformationExtraArgs(start, update)


class _Mean:
    """A moment: the decaying mean of a power of the gradient.

    Of a table whose gradient is of rows alone it is held without the decays of the latest steps,
    so that most steps write no other rows of it; they are made up for once in `every` steps.
    """

    def __init__(self, decay: float, power: int):
        self.decay, self.power = decay, power
        # Numbers are held larger by decay**-every at most.
        few = int(math.log(1e-4) / math.log(decay)) if 0 < decay < 1 else 1
        self.every = max(1, min(few, _DECAYS))

    def to_come(self, count: Array) -> Array:
        """What a table's moment is still to be multiplied by, after so many steps."""
        return self.decay ** (count % self.every)

    def followed(self, count: Array, places: Any, gradients: Any, held: Any) -> Any:
        """The moments after `count` steps, of those before the last one."""

        def change(places: rows.Places | None, gradient: Array, held: Array) -> Array:
            more = (1 - self.decay) * gradient**self.power
            if places is None:
                return more + self.decay * held
            due = (count % self.every == 0).astype(jnp.int32)
            # A loop, as a choice of two would have a second table.
            held = jax.lax.fori_loop(0, due, lambda _, x: self.decay**self.every * x, held)
            return rows.plus(places, more / self.to_come(count), held)

        return rows.each(change, places, gradients, held)

    def unbiased(self, count: Array, places: Any, gradients: Any, held: Any) -> Any:
        """The moments, and what their start at 0 left out."""
        whole = 1 - self.decay**count

        def change(places: rows.Places | None, _: Array, held: Array) -> Array:
            return held / whole if places is None else held * (self.to_come(count) / whole)

        return rows.each(change, places, gradients, held)


def _adam(b1: float, b2: float, eps: float) -> optax.GradientTransformation:
    means = _Mean(b1, 1), _Mean(b2, 2)

    def followed(gradients: Any, state: optax.ScaleByAdamState, places: Any) -> Any:
        count = optax.safe_increment(state.count)
        moments = zip(means, (state.mu, state.nu))
        found = (mean.followed(count, places, gradients, held) for mean, held in moments)
        return optax.ScaleByAdamState(count, *found)

    def updates_of(gradients: Any, state: optax.ScaleByAdamState, places: Any) -> Any:
        moments = zip(means, (state.mu, state.nu))
        found = (mean.unbiased(state.count, places, gradients, held) for mean, held in moments)
        return jax.tree.map(lambda m, v: m / (jnp.sqrt(v) + eps), *found)

    return _written_first(optax.scale_by_adam(b1, b2, eps).init, followed, updates_of)


def _adagrad(initial: float, eps: float) -> optax.GradientTransformation:
    def squared(places: rows.Places | None, gradient: Array, held: Array) -> Array:
        return rows.plus(places, gradient**2, held)

    def scaled(places: rows.Places | None, gradient: Array, total: Array) -> Array:
        if places is not None:
            total = total.at[places].get(mode="fill", fill_value=0)
        return gradient * jnp.where(total > 0, jax.lax.rsqrt(total + eps), 0.0)

    def followed(gradients: Any, state: optax.ScaleByRssState, places: Any) -> Any:
        return optax.ScaleByRssState(rows.each(squared, places, gradients, state.sum_of_squares))

    def updates_of(gradients: Any, state: optax.ScaleByRssState, places: Any) -> Any:
        return rows.each(scaled, places, gradients, state.sum_of_squares)

    return _written_first(optax.scale_by_rss(initial, eps).init, followed, updates_of)


def _momentum(decay: float) -> optax.GradientTransformation:
    def change(places: rows.Places | None, gradient: Array, held: Array) -> Array:
        return rows.plus(places, gradient, decay * held)

    def followed(gradients: Any, state: optax.TraceState, places: Any) -> Any:
        return optax.TraceState(rows.each(change, places, gradients, state.trace))

    return _written_first(optax.trace(decay).init, followed, lambda _, state, __: state.trace)


def is_matrix(params: Any) -> Any:
    """True for every kernel and table, False for every bias and normalisation scale.

    LAMB and AdamW leave the latter without decay, LAMB also without trust ratio.
    """

    def decide(path: tuple[Any, ...], _: Any) -> bool:
        # Boxed parameters have their name one step above the leaf.
        keys = [str(key.key) for key in path if isinstance(key, jax.tree_util.DictKey)]
        return not (keys[-1].endswith("bias") or keys[-1].endswith("scale"))

    return jax.tree_util.tree_map_with_path(decide, params)


def from_config(spec: Mapping[str, Any]) -> Optimizer:
    """The optimizer that `config.optimizer` describes.

    Raises:
      ValueError: an unknown name or key (the nearest known one is named), or a negative value.
    """
    registry.check_keys(Optimizer, spec, where="config.optimizer")
    return Optimizer(**spec)
