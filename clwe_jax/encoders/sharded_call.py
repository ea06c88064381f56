"""A function called on the devices that hold the parameters, rows sharded over them."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import numpy as np

from clwe_jax import allocator
from clwe_jax.types import Batch, Variables

_ROW_AXES = ("data", "fsdp")  # mesh axes over which rows are sharded, as in training


def mesh_of(variables: Variables) -> Mesh | None:
    """The mesh of the devices that hold the arrays; None: a single device."""
    return next((mesh for mesh in _meshes(variables) if mesh.size > 1), None)


def _meshes(variables: Variables) -> Iterator[Mesh]:
    for leaf in jax.tree.leaves(variables):
        sharding = getattr(leaf, "sharding", None)
        if isinstance(sharding, NamedSharding):
            yield sharding.mesh


def replicate(arrays: Any, variables: Variables) -> Any:
    """Replicates arrays on all devices of the variables, as a `ShardedCall` returns them.

    A state that a function reads and returns thus has the same type in every call, and the function
    is compiled once.
    """
    mesh = next(_meshes(variables), None)  # even of one device: a mesh is part of an array's type
    if mesh is None:
        return arrays
    return jax.tree.map(lambda x: _put(x, mesh, PartitionSpec()), arrays)


def _put(x: np.ndarray, mesh: Mesh, spec: PartitionSpec) -> jax.Array:
    # Every host has the whole array, and copies the parts of its own devices.
    return jax.make_array_from_callback(x.shape, NamedSharding(mesh, spec), lambda i: x[i])


def place(batch: Batch, mesh: Mesh | None, own_rows: bool = False) -> Batch:
    """Puts a batch on a mesh: sharded by rows if they divide evenly, else replicated.

    Args:
      batch: NumPy arrays [rows, ...].
      mesh: mesh of the devices; None: the batch is returned unchanged.
      own_rows: whether the batch consists of all hosts' rows, as in training; else every host has
        the same batch.
    """
    if mesh is None:
        return batch
    axes = tuple(axis for axis in _ROW_AXES if axis in mesh.shape)
    # A single host has all rows: the general way below places them.
    if own_rows and mesh.is_multi_process:
        rows = NamedSharding(mesh, PartitionSpec(axes))
        return {
            key: jax.make_array_from_process_local_data(rows, np.asarray(value))
            for key, value in batch.items()
        }
    shards = int(np.prod([mesh.shape[axis] for axis in axes]))

    def one(x: np.ndarray) -> jax.Array:
        spec = PartitionSpec(axes) if axes and len(x) % shards == 0 else PartitionSpec()
        return _put(x, mesh, spec)

    return {key: one(np.asarray(value)) for key, value in batch.items()}


class ShardedCall:
    """A function compiled for the mesh of its first argument; every host gets the whole result."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: tuple[str, ...] = (),
        own_rows: bool = False,
    ):
        """Args:
        function: function of variables, a batch and static keyword arguments.
        static_argnames: names of the static arguments.
        own_rows: whether a batch consists of all hosts' rows, as in training.
        """
        self._function = function
        self._static = static_argnames
        self._own_rows = own_rows
        # A program names the mesh of its outputs, so that each mesh has its own.
        self._compiled: dict[Mesh | None, Callable[..., Any]] = {}

    def __call__(self, variables: Variables, batch: Batch, **static: Any) -> Any:
        mesh = mesh_of(variables)
        if mesh not in self._compiled:
            if jax.default_backend() == "cpu":
                # Else glibc returns each batch's memory to the system: a sixth of an encoder's time.
                allocator.keep_freed_memory()
            everywhere = None if mesh is None else NamedSharding(mesh, PartitionSpec())
            self._compiled[mesh] = jax.jit(
                self._function, static_argnames=self._static, out_shardings=everywhere
            )
        batch = place(batch, mesh, self._own_rows)
        return self._compiled[mesh](variables, batch, **static)
