"""Optimizers and learning-rate schedules, from the options of `config.optimizer`."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Collection, Mapping

import jax
import jax.numpy as jnp
import optax

from clwe_jax import registry
from clwe_jax.training import paths
from clwe_jax.types import Array

NAMES = ("adam", "adamw", "lamb", "adagrad")
SCHEDULES = ("linear", "constant")
DEFAULT = "default"  # the group of the parameters that no pattern matches
# Name of a parameter that holds several of BERT's matrices -> the axis that counts them.
_FUSED = {"qkv_kernel": 1}
Schedule = Callable[[Array | int], Array]


@dataclasses.dataclass(frozen=True)
class Group:
    """Parameters with their own settings. None: the optimizer's own value.

    Attributes:
      pattern: regular expression that the whole path of a parameter matches ('model/embed/.*').
      learning_rate, warmup_steps, schedule, final_share, weight_decay: see `Optimizer`.
      frozen: whether these parameters never change; the optimizer keeps no state of them.
    """

    pattern: str
    learning_rate: float | None = None
    warmup_steps: int | None = None
    schedule: str | None = None
    final_share: float | None = None
    weight_decay: float | None = None
    frozen: bool = False


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """One optimizer with its schedule, clipping and groups of parameters.

    Attributes:
      name: 'adam', 'adamw', 'lamb' (You et al. 2020, Algorithm 2) or 'adagrad'.
      learning_rate: the peak.
      warmup_steps: steps of linear growth from 0 to the peak (at most the run's steps).
      schedule: after the warm-up, 'linear' to `final_share` of the peak at the last step, or
        'constant'.
      final_share: see `schedule`.
      weight_decay: decoupled, of adamw and lamb; never of biases and normalisation scales.
      b1, b2, eps: of adam, adamw and lamb; eps also of adagrad.
      initial_accumulator: of adagrad.
      clip: largest global norm of the gradient of all learning parameters; 0 for no clipping.
      scale: factor of the gradient, before clipping; `from_config` takes 0 for the window's length.
        (ELMo's loss is a sum over the window's steps; Adagrad's first accumulator and clipping
        depend on that.)
      groups: name -> options of `Group`.
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
    initial_accumulator: float = 0.1
    clip: float = 1.0
    scale: float = 1.0
    groups: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

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
        for name in self.groups:
            self.of_group(name)

    def of_group(self, name: str) -> Optimizer:
        """The optimizer with the settings of a group, as if all parameters were in it.

        Raises:
          ValueError: an option of the group that is unknown or has a value that cannot work.
        """
        if name == DEFAULT:
            return dataclasses.replace(self, groups={})
        where = f"config.optimizer.groups.{name}"
        options = dict(self.groups[name])
        registry.check_keys(Group, options, where=where)
        if "pattern" not in options:
            raise ValueError(f"{where}.pattern is missing: a regular expression of parameter paths")
        del options["pattern"]
        options.pop("frozen", None)
        given = {key: value for key, value in options.items() if value is not None}
        try:
            return dataclasses.replace(self, groups={}, **given)
        except ValueError as error:
            raise ValueError(str(error).replace("config.optimizer", where)) from None

    @property
    def learning_groups(self) -> tuple[str, ...]:
        """The groups that are not frozen, `DEFAULT` among them."""
        free = (name for name, group in self.groups.items() if not group.get("frozen"))
        return (DEFAULT, *free)

    def labels(self, params: Any) -> Any:
        """A tree like `params` of the names of the parameters' groups.

        Raises:
          ValueError: a pattern matches no parameter, or two match the same one.
        """
        names = {path: [] for path in paths.flat(params)}
        for name, group in self.groups.items():
            for path in paths.matching(
                group["pattern"], names, where=f"config.optimizer.groups.{name}.pattern"
            ):
                names[path].append(name)
        for path, found in names.items():
            if len(found) > 1:
                patterns = " and ".join(f"{self.groups[x]['pattern']!r} ({x})" for x in found)
                raise ValueError(
                    f"config.optimizer.groups: {patterns} both match the parameter {path}; "
                    "a parameter is in one group."
                )
        return paths.mapped(lambda path, _: (names[path] or [DEFAULT])[0], params)

    def learns(self, learn: Collection[str] | None = None) -> Callable[[Any], Any] | None:
        """The function parameters -> tree of bool, True for those that learn; None: all do.

        Args:
          learn: groups that learn; None: all that are not frozen.
        """
        learn = self.learning_groups if learn is None else learn
        if set(learn) == {DEFAULT, *self.groups}:
            return None
        return lambda params: jax.tree.map(lambda name: name in learn, self.labels(params))

    def rate(self, total_steps: int) -> Schedule:
        """step -> learning rate, for a run of `total_steps`."""
        warmup = min(self.warmup_steps, total_steps)
        rest = max(total_steps - warmup, 1)
        peak, final = self.learning_rate, self.learning_rate * self.final_share

        def schedule(step: Array | int) -> Array:
            step = jnp.asarray(step, jnp.float32)
            if self.schedule == "linear":
                after = peak + (final - peak) * jnp.clip((step - warmup) / rest, 0.0, 1.0)
            else:
                after = jnp.full_like(step, peak)
            # The first step has the first rung of the warm-up: a rate of 0 would waste it.
            return jnp.where(step < warmup, peak * (step + 1) / max(warmup, 1), after)

        return schedule

    def build(
        self, total_steps: int, learn: Collection[str] | None = None
    ) -> optax.GradientTransformation:
        """The optax transformation: scale, clipping, the rule, decay, learning rate.

        Args:
          total_steps: steps of the run, over which the schedules of all groups extend.
          learn: groups that learn; None: all that are not frozen. There is no state of the others.
        """
        rule = self._rule(total_steps)
        if self.groups:
            learn = self.learning_groups if learn is None else learn
            rules = {
                name: optax.chain(*self.of_group(name)._rule(total_steps))
                if name in learn
                else optax.set_to_zero()
                for name in (DEFAULT, *self.groups)
            }
            rule = [optax.partition(rules, self.labels)]
        first = [scale_and_clip(self.scale, self.clip)] if self.clip or self.scale != 1.0 else []
        return optax.chain(*first, *rule)

    def _rule(self, total_steps: int) -> list[optax.GradientTransformation]:
        if self.name == "adagrad":
            parts = [optax.scale_by_rss(self.initial_accumulator, self.eps)]
        else:
            parts = [optax.scale_by_adam(self.b1, self.b2, self.eps)]
        if self.name in ("adamw", "lamb") and self.weight_decay:
            parts.append(optax.add_decayed_weights(self.weight_decay, mask=is_matrix))
        if self.name == "lamb":
            parts.append(optax.masked(scale_by_trust_ratio(), is_matrix))
        return [*parts, optax.scale_by_learning_rate(self.rate(total_steps))]


def scale_and_clip(scale: float, most: float) -> optax.GradientTransformationExtraArgs:
    """Multiplies by `scale`, or by less for a global norm of at most `most` (0: any).

    As `optax.chain(optax.scale(scale), optax.clip_by_global_norm(most))`, with one factor for all:
    two steps would write the gradient to memory in between. The extra argument `norm`, the global
    norm of the gradient, saves its computation.
    """

    def update(updates: Any, state: Any, _: Any = None, *, norm: Array | None = None, **__: Any):
        factor = jnp.float32(scale)
        if most:
            norm = scale * (optax.tree.norm(updates) if norm is None else norm)
            factor *= most / jnp.maximum(norm, most)
        return jax.tree.map(lambda x: x * factor.astype(x.dtype), updates), state

    return optax.GradientTransformationExtraArgs(lambda _: optax.EmptyState(), update)


def scale_by_trust_ratio() -> optax.GradientTransformation:
    """Multiplies the update of each matrix by the norm of the matrix over that of the update.

    LAMB, Algorithm 2; the factor is 1 where a norm is 0. Queries, keys and values are three matrices.
    """

    def scaled(path: str, update: Array, param: Array) -> Array:
        fused = _FUSED.get(path.split("/")[-1])
        axes = tuple(axis for axis in range(update.ndim) if axis != fused)
        ours, theirs = (jnp.sqrt(jnp.square(x).sum(axes, keepdims=True)) for x in (param, update))
        return update * jnp.where((ours > 0) & (theirs > 0), ours / theirs, 1.0)

    return optax.GradientTransformation(
        lambda _: optax.EmptyState(),
        lambda updates, state, params: (paths.mapped(scaled, updates, params), state),
    )


def is_matrix(params: Any) -> Any:
    """True for every kernel and table, False for every bias and normalisation scale.

    LAMB and AdamW leave the latter without decay, LAMB also without trust ratio.
    """
    return paths.mapped(lambda path, _: not path.endswith(("bias", "scale")), params)


def from_config(spec: Mapping[str, Any], window: int) -> Optimizer:
    """The optimizer that `config.optimizer` describes; there `scale` 0 stands for the window.

    Args:
      spec: `config.optimizer`.
      window: steps that a batch's rows are unrolled over, `config.data.sequence_length`.

    Raises:
      ValueError: an unknown name or key (the nearest known one is named), or a negative value.
    """
    registry.check_keys(Optimizer, spec, where="config.optimizer")
    groups = {name: dict(group) for name, group in dict(spec.get("groups") or {}).items()}
    if DEFAULT in groups:
        raise ValueError(
            f"config.optimizer.groups: {DEFAULT!r} is the group of all parameters that no pattern "
            "matches; choose another name."
        )
    scale = spec.get("scale", 1.0) or float(window)
    return Optimizer(**{**spec, "scale": scale, "groups": groups})
