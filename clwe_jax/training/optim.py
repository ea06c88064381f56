"""Optimizers and learning-rate schedules, from the options of `config.optimizer`."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping

import jax
import jax.numpy as jnp
import optax

from clwe_jax import registry
from clwe_jax.types import Array

NAMES = ("adam", "adamw", "lamb", "adagrad", "sgd")
SCHEDULES = ("linear", "cosine", "rsqrt", "constant")
Schedule = Callable[[Array | int], Array]


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
        """The optax transformation: scale, clipping, the rule, decay, learning rate."""
        parts: list[optax.GradientTransformation] = []
        if self.scale != 1.0:
            parts.append(optax.scale(self.scale))
        if self.clip:
            parts.append(optax.clip_by_global_norm(self.clip))
        if self.name in ("adam", "adamw", "lamb"):
            parts.append(optax.scale_by_adam(self.b1, self.b2, self.eps))
        elif self.name == "adagrad":
            parts.append(optax.scale_by_rss(self.initial_accumulator, self.eps))
        elif self.momentum:
            parts.append(optax.trace(self.momentum))
        if self.name in ("adamw", "lamb") and self.weight_decay:
            parts.append(optax.add_decayed_weights(self.weight_decay, mask=is_matrix))
        if self.name == "lamb":
            parts.append(optax.masked(optax.scale_by_trust_ratio(), is_matrix))
        parts.append(optax.scale_by_learning_rate(self.rate(total_steps)))
        return optax.chain(*parts)


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
    spec = {key: value for key, value in spec.items() if key != "groups"}
    registry.check_keys(Optimizer, spec, where="config.optimizer")
    return Optimizer(**spec)
