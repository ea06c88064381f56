"""Optimizers and learning-rate schedules, from the options of `config.optimizer`."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Collection, NamedTuple

import jax
import jax.numpy as jnp
import optax
from optax.contrib import MuonDimensionNumbers as MatrixAxes

from clwe_jax.options.section import values_of
from clwe_jax.options.training import DEFAULT, OptimizerOptions
from clwe_jax.training import paths
from clwe_jax.types import Array

# The kernels of Transformer layers by the ends of their paths: the axes of a matrix's inputs and of its outputs.
# Axes before and between these count matrices: queries, keys and values, the languages of a private layer.
_MATRICES = {
    "/(qkv|pair)_kernel": MatrixAxes((-4,), (-2, -1)),
    "/query_kernel": MatrixAxes((-3,), (-2, -1)),
    "/(attention|own|cross)/out_kernel": MatrixAxes((-3, -2), (-1,)),
    "/(mlp|feed_forward)/(in|out)_kernel": MatrixAxes((-2,), (-1,)),
}
Schedule = Callable[[Array | int], Array]


@dataclasses.dataclass(frozen=True)
class Optimizer(OptimizerOptions):
    """One optimizer with its schedule, clipping and groups of parameters."""

    @property
    def learning_groups(self) -> tuple[str, ...]:
        """`DEFAULT` and the groups that are not frozen."""
        free = (name for name, group in self.groups.items() if not group.frozen)
        return (DEFAULT, *free)

    def labels(self, params: Any) -> Any:
        """A tree like `params` with the name of each parameter's group.

        Raises:
          ValueError: a pattern matches no parameter, or two match the same one.
        """
        names = {path: [] for path in paths.flat(params)}
        for name, group in self.groups.items():
            for path in paths.match_paths(
                group.pattern, names, where=f"config.optimizer.groups.{name}.pattern"
            ):
                names[path].append(name)
        for path, matched in names.items():
            if len(matched) > 1:
                patterns = " and ".join(f"{self.groups[x].pattern!r} ({x})" for x in matched)
                raise ValueError(
                    f"config.optimizer.groups: {patterns} both match the parameter {path}; "
                    "change the patterns so that one matches."
                )
        return paths.map_paths(lambda path, _: (names[path] or [DEFAULT])[0], params)

    def trainable_mask(self, learn: Collection[str] | None = None) -> Callable[[Any], Any] | None:
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
        decay_steps = max(total_steps - warmup, 1)
        peak = self.learning_rate
        final = self.learning_rate * self.final_share

        def schedule(step: Array | int) -> Array:
            step = jnp.asarray(step, jnp.float32)
            if self.schedule == "linear":
                after = peak + (final - peak) * jnp.clip((step - warmup) / decay_steps, 0.0, 1.0)
            elif self.schedule == "inverse_sqrt":
                # It continues the warm-up, at whose end it is the peak.
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
                name: optax.chain(*self.for_group(name)._rule(total_steps))
                if name in learn
                else optax.set_to_zero()
                for name in (DEFAULT, *self.groups)
            }
            rule = [optax.partition(rules, self.labels)]
        # Outside of the groups, so that the norm is that of all learning parameters.
        first = [scale_and_clip(self.scale, self.clip)] if self.clip or self.scale != 1.0 else []
        return optax.chain(*first, *rule)

    def _rule(self, total_steps: int) -> list[optax.GradientTransformation]:
        # `map_param_trees` must know the state of each part that holds trees like the parameters.
        if self.name == "adagrad":
            parts = [optax.scale_by_rss(self.initial_accumulator, self.eps)]
        else:
            parts = [optax.scale_by_adam(self.b1, self.b2, self.eps)]
        if self.name == "muon":
            name_rule = lambda *parameter: "muon" if matrix_axes(*parameter) else "adam"
            rules = {"muon": scale_by_muon(), "adam": parts[0]}
            parts = [optax.partition(rules, lambda params: paths.map_paths(name_rule, params))]
        if self.decay_to_start:
            parts.append(optax.masked(pull_to_start(self.decay_to_start), is_matrix))
        elif self.name in ("adamw", "lamb", "muon") and self.weight_decay:
            parts.append(optax.add_decayed_weights(self.weight_decay, mask=is_matrix))
        # After the decay, which the ratio includes; optax's LAMB would scale biases, too.
        if self.name == "lamb":
            parts.append(optax.masked(scale_by_trust_ratio(), is_matrix))
        return [*parts, optax.scale_by_learning_rate(self.rate(total_steps))]


def scale_and_clip(scale: float, max_norm: float) -> optax.GradientTransformationExtraArgs:
    """Multiplies by `scale`, or by less so that the global norm is at most `max_norm` (0: any).

    The same as `optax.chain(optax.scale(scale), optax.clip_by_global_norm(max_norm))` in one product:
    two would write the gradient to memory in between. The extra argument of `update`, `norm`, is
    the global norm of the gradient, where it is already known.
    """

    def update(updates: Any, state: Any, _: Any = None, *, norm: Array | None = None, **__: Any):
        factor = jnp.float32(scale)
        if max_norm:
            norm = scale * (optax.tree.norm(updates) if norm is None else norm)
            # The maximum makes this 1 below the limit, and avoids 0 / 0 for a zero gradient.
            factor *= max_norm / jnp.maximum(norm, max_norm)
        return jax.tree.map(lambda x: x * factor.astype(x.dtype), updates), state

    return optax.GradientTransformationExtraArgs(lambda _: optax.EmptyState(), update)


class PullState(NamedTuple):
    """The values of the parameters from which `pull_to_start` measures the distance."""

    start: Any


def pull_to_start(strength: float) -> optax.GradientTransformation:
    """Adds `strength` times the distance from the start to the update."""

    def update(updates: Any, state: PullState, params: Any) -> tuple[Any, PullState]:
        pull = lambda u, p, s: u + strength * (p - s)
        return jax.tree.map(pull, updates, params, state.start), state

    # Copies, because the step gives the parameters' own buffers away.
    return optax.GradientTransformation(
        lambda params: PullState(jax.tree.map(jnp.copy, params)), update
    )


def scale_by_trust_ratio() -> optax.GradientTransformation:
    """Multiplies the update of each matrix by the norm of the matrix over that of the update.

    LAMB, Algorithm 2; the factor is 1 where a norm is 0. Queries, keys and values have one factor
    each, and so has each language's matrix of a private layer.
    """

    def scale_update(path: str, update: Array, param: Array) -> Array:
        axes = sum(matrix_axes(path, param) or (), ()) or None
        ours, theirs = (jnp.sqrt(jnp.square(x).sum(axes, keepdims=True)) for x in (param, update))
        return update * jnp.where((ours > 0) & (theirs > 0), ours / theirs, 1.0)

    return optax.GradientTransformation(
        lambda _: optax.EmptyState(),
        lambda updates, state, params: (paths.map_paths(scale_update, updates, params), state),
    )


def scale_by_muon() -> optax.GradientTransformation:
    """Muon's update of layers' matrices: orthogonalised momentum, times sqrt(max(1, outputs / inputs))."""
    axes = lambda params: paths.map_paths(matrix_axes, params)
    # The schedule multiplies by the rate and goes downhill.
    muon = optax.contrib.muon(1.0, muon_weight_dimension_numbers=axes)
    return optax.chain(muon, optax.scale(-1.0))


def matrix_axes(path: str, param: Array) -> MatrixAxes | None:
    """The axes of one matrix in a kernel of a Transformer's layers; None for any other parameter."""
    return next((x for end, x in _MATRICES.items() if re.search(f"{end}$", f"/{path}")), None)


def map_param_trees(function: Callable[[Any], Any], opt_state: Any) -> Any:
    """The optimizer's state with `function` of each tree like the parameters in it: moments, a start.

    A tree has the structure of the parameters, with an `optax.MaskedNode` in the place of each one
    that is frozen or belongs to another group.
    """
    tree_fields = {
        optax.ScaleByAdamState: ("mu", "nu"),
        optax.contrib.MuonState: ("mu",),
        optax.ScaleByRssState: ("sum_of_squares",),
        PullState: ("start",),
    }

    def map_state(state: Any) -> Any:
        names = tree_fields.get(type(state), ())
        return state._replace(**{x: function(getattr(state, x)) for x in names}) if names else state

    return jax.tree.map(map_state, opt_state, is_leaf=lambda x: type(x) in tree_fields)


def is_matrix(params: Any) -> Any:
    """A tree of bool: True for kernels and tables, False for biases and normalisation scales.

    LAMB and AdamW do not decay the latter, and LAMB gives them no trust ratio.
    """
    # By name, because some biases have several axes; those of a BiLstm's layers have numbers.
    return paths.map_paths(lambda path, _: not re.search(r"(bias|scale)(_\d+)?$", path), params)


def from_config(options: OptimizerOptions, window: int) -> Optimizer:
    """The optimizer of the given options; there a `scale` of 0 stands for the window.

    Args:
      window: length of a batch's rows, `config.data.sequence_length`.
    """
    return Optimizer(**{**values_of(options), "scale": options.scale or float(window)})
