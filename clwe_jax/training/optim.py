"""Optimizers and learning-rate schedules, from the options of `config.optimizer`."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Callable, Collection, Mapping

import jax
import jax.numpy as jnp
import optax

from clwe_jax import registry
from clwe_jax.fields import Amount, Count, OneOf, Rate, Share
from clwe_jax.training import paths
from clwe_jax.types import Array

NAMES = ("adam", "adamw", "lamb", "adagrad")
SCHEDULES = ("linear", "constant", "inverse_sqrt")
DEFAULT = "default"  # the group of the parameters that no pattern matches
# Name of a parameter that holds several of BERT's matrices -> the axis that indexes them.
_FUSED = {"qkv_kernel": 1}
_OF_GROUP = (
    "learning_rate", "warmup_steps", "schedule", "final_share", "weight_decay", "pull",
)  # fmt: skip
Schedule = Callable[[Array | int], Array]


@dataclasses.dataclass(frozen=True)
class Optimizer:
    """One optimizer with its schedule, clipping and groups of parameters.

    Attributes:
      name: 'adam', 'adamw', 'lamb' (You et al. 2020, Algorithm 2) or 'adagrad'.
      learning_rate: the highest learning rate.
      warmup_steps: steps of linear growth from 0 to `learning_rate` (at most the run's steps).
      schedule: learning rate after the warm-up: 'linear' decrease to `final_share` of its highest
        value at the last step, 'constant', or 'inverse_sqrt' of the step, as in fairseq.
      final_share: see `schedule`.
      weight_decay: decoupled decay of adamw and lamb, without biases and normalisation scales.
      pull: decoupled decay, in the place of `weight_decay`, towards the values from which the
        parameters began to learn (Li et al. 2018, L2-SP, decoupled as in AdamW).
      b1, b2, eps: hyperparameters of adam, adamw and lamb; adagrad reads eps too.
      initial_accumulator: initial sum of squares of adagrad.
      clip: largest global norm of the gradient of all learning parameters; 0 for no clipping.
      scale: factor of the gradient, before clipping; in `from_config` 0 is the window's length.
        (ELMo's loss is a sum over the window's steps; Adagrad's first accumulator and clipping
        depend on that.)
      groups: name -> options of a group of parameters: 'pattern', a regular expression that matches
        the whole paths of its parameters ('model/embed/.*'); 'frozen', whether these never change
        and have no optimizer state; its own learning_rate, warmup_steps, schedule, final_share,
        weight_decay and pull (absent or None: the optimizer's).
    """

    name: Annotated[str, OneOf(*NAMES)] = "adamw"
    learning_rate: Amount = 1e-3
    warmup_steps: Count = 0
    schedule: Annotated[str, OneOf(*SCHEDULES)] = "linear"
    final_share: Share = 0.0
    weight_decay: Amount = 0.01
    pull: Amount = 0.0
    b1: Rate = 0.9
    b2: Rate = 0.999
    eps: Amount = 1e-6
    initial_accumulator: Amount = 0.1
    clip: Amount = 1.0
    scale: Amount = 1.0
    groups: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for field, known in (("name", NAMES), ("schedule", SCHEDULES)):
            value = getattr(self, field)
            if value not in known:
                raise ValueError(
                    f"config.optimizer.{field}={value!r}: {registry.nearest(value, known)}"
                )
        for field in ("learning_rate", "warmup_steps", "weight_decay", "pull", "clip", "scale"):
            if getattr(self, field) < 0:
                raise ValueError(
                    f"config.optimizer.{field}={getattr(self, field)}: must be at least 0"
                )
        for name in self.groups:
            self.of_group(name)

    def of_group(self, name: str) -> Optimizer:
        """The optimizer with the settings of a group, as if all parameters were in it.

        Raises:
          ValueError: an unknown option of the group, or a value that cannot work.
        """
        if name == DEFAULT:
            return dataclasses.replace(self, groups={})
        where = f"config.optimizer.groups.{name}"
        options = self.groups[name]
        registry.check_keys(("pattern", "frozen", *_OF_GROUP), options, where=where)
        if "pattern" not in options:
            raise ValueError(f"{where}.pattern is missing: a regular expression of parameter paths")
        given = {key: options[key] for key in _OF_GROUP if options.get(key) is not None}
        try:
            return dataclasses.replace(self, groups={}, **given)
        except ValueError as error:
            raise ValueError(str(error).replace("config.optimizer", where)) from None

    @property
    def learning_groups(self) -> tuple[str, ...]:
        """`DEFAULT` and the groups that are not frozen."""
        free = (name for name, group in self.groups.items() if not group.get("frozen"))
        return (DEFAULT, *free)

    def labels(self, params: Any) -> Any:
        """A tree like `params` with the name of each parameter's group.

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
                    "change the patterns so that one matches."
                )
        return paths.mapped(lambda path, _: (names[path] or [DEFAULT])[0], params)

    def learns(self, learn: Collection[str] | None = None) -> Callable[[Any], Any] | None:
        """The function parameters -> tree of bool, True where they learn; None where all learn.

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
            elif self.schedule == "inverse_sqrt":
                after = peak * jnp.sqrt(max(warmup, 1) / jnp.maximum(step + 1, 1.0))
            else:
                after = jnp.full_like(step, peak)
            # The warm-up starts above 0: a first step with rate 0 would have no effect.
            return jnp.where(step < warmup, peak * (step + 1) / max(warmup, 1), after)

        return schedule

    def build(
        self, total_steps: int, learn: Collection[str] | None = None
    ) -> optax.GradientTransformation:
        """The optax transformation: scale, clipping, the rule, decay, learning rate.

        Args:
          total_steps: steps of the run, over which the schedules of all groups extend.
          learn: groups that learn; None: all that are not frozen. The others have no state.
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
        if self.pull:
            parts.append(optax.masked(pull_to_start(self.pull), is_matrix))
        elif self.name in ("adamw", "lamb") and self.weight_decay:
            parts.append(optax.add_decayed_weights(self.weight_decay, mask=is_matrix))
        if self.name == "lamb":
            parts.append(optax.masked(scale_by_trust_ratio(), is_matrix))
        return [*parts, optax.scale_by_learning_rate(self.rate(total_steps))]


def scale_and_clip(scale: float, most: float) -> optax.GradientTransformationExtraArgs:
    """Multiplies by `scale`, or by less so that the global norm is at most `most` (0: any norm).

    The same as `optax.chain(optax.scale(scale), optax.clip_by_global_norm(most))`, in one product:
    two would write the gradient to memory in between. The extra argument of `update`, `norm`, is
    the global norm of the gradient, where it is already known.
    """

    def update(updates: Any, state: Any, _: Any = None, *, norm: Array | None = None, **__: Any):
        factor = jnp.float32(scale)
        if most:
            norm = scale * (optax.tree.norm(updates) if norm is None else norm)
            factor *= most / jnp.maximum(norm, most)
        return jax.tree.map(lambda x: x * factor.astype(x.dtype), updates), state

    return optax.GradientTransformationExtraArgs(lambda _: optax.EmptyState(), update)


def pull_to_start(strength: float) -> optax.GradientTransformation:
    """Adds `strength` times the distance from the start to the update; the state is the start."""

    def update(updates: Any, start: Any, params: Any) -> tuple[Any, Any]:
        return jax.tree.map(lambda u, p, s: u + strength * (p - s), updates, params, start), start

    # Copies, because the step gives the parameters' own buffers away.
    return optax.GradientTransformation(lambda params: jax.tree.map(jnp.copy, params), update)


def scale_by_trust_ratio() -> optax.GradientTransformation:
    """Multiplies the update of each matrix by the norm of the matrix over that of the update.

    LAMB, Algorithm 2; the factor is 1 where a norm is 0. Queries, keys and values have one factor
    each.
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
    """A tree of bool: True for kernels and tables, False for biases and normalisation scales.

    LAMB and AdamW do not decay the latter, and LAMB gives them no trust ratio.
    """
    return paths.mapped(lambda path, _: not path.endswith(("bias", "scale")), params)


def from_config(spec: Mapping[str, Any], window: int) -> Optimizer:
    """The optimizer that `config.optimizer` describes; there a `scale` of 0 stands for the window.

    Args:
      spec: `config.optimizer`.
      window: length of a batch's rows, `config.data.sequence_length`.

    Raises:
      ValueError: an unknown name or key (the nearest known one is named), or a negative value.
    """
    registry.check_keys(Optimizer, spec, where="config.optimizer")
    groups = {name: dict(group) for name, group in dict(spec.get("groups") or {}).items()}
    if DEFAULT in groups:
        raise ValueError(
            f"config.optimizer.groups: {DEFAULT!r} is the name of the group of all parameters that "
            "no pattern matches; choose another name."
        )
    scale = spec.get("scale", 1.0) or float(window)
    return Optimizer(**{**spec, "scale": scale, "groups": groups})
