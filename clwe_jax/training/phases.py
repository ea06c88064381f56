"""Phases of a run: which groups of parameters learn at which steps."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import jax
from jax.sharding import Mesh
import optax

from clwe_jax.options import section
from clwe_jax.options.training import TrainOptions
from clwe_jax.training import partition
from clwe_jax.training.optim import Optimizer
from clwe_jax.training.train_state import TrainState


@dataclasses.dataclass(frozen=True)
class Phases:
    """The phases of a run.

    Attributes:
      stops: steps of the run at which the phases end; None: the last phase has no end.
      repeat: whether the first phase follows the last one.
    """

    stops: tuple[int | None, ...]
    groups: tuple[tuple[str, ...], ...]
    repeat: bool = False

    def at(self, step: int) -> tuple[str, ...]:
        """The groups that learn in the step after the first `step` steps."""
        if self.repeat:
            step %= self.stops[-1]
        return next(
            groups for stop, groups in zip(self.stops, self.groups) if stop is None or step < stop
        )

    def saved_at(self, step: int) -> tuple[str, ...]:
        """The groups that have optimizer state in a checkpoint of `step`.

        At the end of a phase these are its own groups: the next phase begins with its first step.
        """
        return self.at(max(step - 1, 0))


def from_config(train: TrainOptions, optimizer: Optimizer) -> Phases:
    """The phases that `config.train` describes; without phases all groups learn all the time.

    Args:
      train: `config.train`; a phase is a dict of `steps` and `learn`, names of groups with commas
        between them, or 'all'.

    Raises:
      ValueError: an unknown key or group, a frozen group, or phases shorter than the run.
    """
    free = optimizer.learning_groups
    repeat = train.repeat_phases
    if not train.phases:
        return Phases((None,), (free,))
    lengths, groups = [], []
    for number, phase in enumerate(train.phases):
        path = f"config.train.phases[{number}]"
        section.check_keys(("steps", "learn"), phase, path)
        names = tuple(name.strip() for name in phase.get("learn", "all").split(","))
        for name in () if names == ("all",) else names:
            if name not in free:
                frozen = f"The group {name!r} is frozen. " if name in optimizer.groups else ""
                raise ValueError(
                    f"{path}.learn={phase['learn']!r}: {frozen}{section.nearest(name, free)}"
                )
        lengths.append(phase.get("steps", 0))
        groups.append(free if names == ("all",) else tuple(x for x in free if x in names))
    endless = not lengths[-1] and not repeat
    if any(steps <= 0 for steps in lengths[: -1 if endless else None]):
        raise ValueError(
            f"config.train.phases has the steps {lengths}: each phase needs at least one, except the "
            "last (0: to the end) without config.train.repeat_phases"
        )
    stops: list[int | None] = list(itertools.accumulate(lengths))
    if endless:
        stops[-1] = None
    elif not repeat and stops[-1] < train.steps:
        raise ValueError(
            f"config.train.phases ends at step {stops[-1]} of {train.steps}: give the last phase "
            "steps=0, or set config.train.repeat_phases=True."
        )
    return Phases(tuple(stops), tuple(groups), repeat)


def enter(
    state: TrainState, tx: optax.GradientTransformation, target: TrainState, mesh: Mesh
) -> TrainState:
    """The state for a phase in which other groups learn.

    A group that goes on learning keeps its optimizer state; a group that begins to learn gets a
    new one, whose schedules are at the current step.

    Args:
      state: the state after the last step of the previous phase.
      target: shapes and shardings of the phase's state.
      mesh: the run's mesh.
    """

    def fresh(params: Any, applied: jax.Array) -> Any:
        # Schedules count the applied steps; a skipped step does not move them.
        is_schedule = lambda x: isinstance(x, optax.ScaleByScheduleState)
        return jax.tree.map(
            lambda x: x._replace(count=applied) if is_schedule(x) else x,
            tx.init(params),
            is_leaf=is_schedule,
        )

    with partition.use(mesh):
        shardings = jax.tree.map(lambda x: x.sharding, target.opt_state)
        new = jax.jit(fresh, out_shardings=shardings)(state.params, state.step - state.skipped)
    old = dict(jax.tree_util.tree_flatten_with_path(state.opt_state)[0])
    # A group that learns in both phases has the same paths in both states.
    opt_state = jax.tree_util.tree_map_with_path(lambda path, leaf: old.get(path, leaf), new)
    return state.replace(opt_state=opt_state)
