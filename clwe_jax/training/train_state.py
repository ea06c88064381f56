"""The state of training as one tree."""

from __future__ import annotations

from typing import Any

from flax import struct
import jax
from jax.sharding import Mesh
import jax.numpy as jnp
import optax

from clwe_jax.training import partition
from clwe_jax.types import Array, Batch, Objective, Variables

KEY_TYPE = "threefry2x32"  # not jax's default, which may change: checkpoints hold its two words


@struct.dataclass
class TrainState:
    """The state of a run.

    Attributes:
      step: int32 [], number of steps so far, applied or skipped.
      params: the parameters, float32.
      opt_state: the optimizer's state.
      collections: further variable collections, e.g. 'senses'; never differentiated.
      seed: uint32 [2], key data; the randomness of step k depends only on it and k.
      skipped: int32 [], number of steps that were skipped because loss or gradient was not finite.
      skipped_in_row: int32 [], number of skipped steps since the last applied one.
    """

    step: Array
    params: Any
    opt_state: Any
    collections: dict[str, Any]
    seed: Array
    skipped: Array
    skipped_in_row: Array

    @property
    def variables(self) -> Variables:
        """Variables for linen's `apply`."""
        return {"params": self.params, **self.collections}


def create(
    objective: Objective, tx: optax.GradientTransformation, batch: Batch, seed: int
) -> TrainState:
    """The state before the first step; its arrays are boxed with their logical axis names."""
    # Two keys, so that training draws the same numbers whatever the parameters start from.
    init_key, train_key = jax.random.split(jax.random.key(seed, impl=KEY_TYPE))
    variables = dict(objective.init(init_key, batch))
    params = variables.pop("params")
    return TrainState(
        step=jnp.zeros((), jnp.int32),
        params=params,
        opt_state=tx.init(params),
        collections=variables,
        seed=jax.random.key_data(train_key),
        skipped=jnp.zeros((), jnp.int32),
        skipped_in_row=jnp.zeros((), jnp.int32),
    )


def plan(
    objective: Objective, tx: optax.GradientTransformation, batch: Batch, mesh: Mesh, seed: int = 0
) -> TrainState:
    """Shapes, types and shardings of the state; nothing is computed.

    Args:
      batch: a batch, or ShapeDtypeStructs like one.
    """
    boxed = jax.eval_shape(lambda batch: create(objective, tx, batch, seed), batch)
    shardings = partition.shardings_of(boxed, mesh)
    return jax.tree.map(
        lambda x, sharding: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding),
        partition.unbox(boxed),
        shardings,
    )


def start(
    objective: Objective, tx: optax.GradientTransformation, batch: Batch, mesh: Mesh, seed: int
) -> TrainState:
    """The state before the first step, created in shards.

    Its values are the same on every mesh: random bits do not depend on the sharding.
    """
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), batch)
    shardings = jax.tree.map(lambda x: x.sharding, plan(objective, tx, shapes, mesh, seed))

    def initialise() -> TrainState:
        # Initialisers read the shapes of a batch and not its values.
        zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        return partition.unbox(create(objective, tx, zeros, seed))

    # It runs once: on CPU full optimization would take longer than it saves.
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    options = {"xla_backend_optimization_level": 1} if on_cpu else None
    with partition.use(mesh):
        return jax.jit(initialise, out_shardings=shardings, compiler_options=options)()


def with_params(
    state: TrainState, params: Any, tx: optax.GradientTransformation, mesh: Mesh
) -> TrainState:
    """The state before the first step with other parameters.

    The optimizer's state is made again, because it may hold the parameters that a run starts from.

    Args:
      state: from `start`.
      params: parameters, placed as the state's.
    """
    shardings = jax.tree.map(lambda x: x.sharding, state.opt_state)
    with partition.use(mesh):
        opt_state = jax.jit(tx.init, out_shardings=shardings)(params)
    return state.replace(params=params, opt_state=opt_state)


def count_parameters(params: Any) -> int:
    """The total size of a tree of arrays."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))
