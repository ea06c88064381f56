"""The mesh, the shardings of arrays by their logical axes, and global batches from host batches."""

from __future__ import annotations

import contextlib
import math
from typing import Any, Iterator, Mapping

from flax import linen as nn
from flax.core import meta
import jax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
import numpy as np
import optax

from clwe_jax.options.training import MeshOptions
from clwe_jax.training import paths
from clwe_jax.types import Batch

AXES = ("data", "fsdp", "tensor")

# Logical axis -> mesh axes. Parameters are sharded along `embed` over fsdp and along their other
# large axis over tensor; rows of a batch over data and fsdp together.
RULES = (
    ("batch", ("data", "fsdp")),
    ("vocab", "tensor"),
    ("embed", "fsdp"),
    ("heads", "tensor"),
    ("mlp", "tensor"),
    ("kv", None),
    ("norm", None),
    ("position", None),
    ("language", None),
    ("type", None),
    ("length", None),
    ("activation", None),
)
BATCH_SPEC = PartitionSpec(("data", "fsdp"))


def make_mesh(sizes: MeshOptions, devices: list[Any] | None = None) -> Mesh:
    """The mesh with the axes data, fsdp and tensor over all devices (or the given ones).

    Args:
      sizes: size of each axis; at most one may be -1 (all remaining devices).
      devices: default: all devices of all hosts.

    Raises:
      ValueError: sizes whose product is not the number of devices.
    """
    devices = list(jax.devices() if devices is None else devices)
    shape = [getattr(sizes, axis) for axis in AXES]
    fixed = math.prod(size for size in shape if size != -1)
    layout = ", ".join(f"{axis}={size}" for axis, size in zip(AXES, shape))
    if shape.count(-1) > 1 or any(size < 1 and size != -1 for size in shape):
        raise ValueError(f"config.mesh ({layout}): sizes are positive, and one of them may be -1")
    if -1 in shape and len(devices) % fixed == 0:
        shape[shape.index(-1)] = len(devices) // fixed
    if math.prod(shape) != len(devices):
        raise ValueError(
            f"config.mesh ({layout}) does not cover {len(devices)} devices: the product of the "
            f"sizes must be {len(devices)}; --config.mesh.data=-1 takes all remaining devices."
        )
    # linen's logical partitioning needs axes of type Auto, which is not make_mesh's default.
    return jax.make_mesh(shape, AXES, axis_types=(AxisType.Auto,) * len(AXES), devices=devices)


@contextlib.contextmanager
def use(mesh: Mesh) -> Iterator[None]:
    """The context for tracing programs: the mesh and the rules of logical axes."""
    with jax.set_mesh(mesh), nn.logical_axis_rules(RULES):
        yield


def shardings_of(boxed: Any, mesh: Mesh) -> Any:
    """NamedShardings for a tree of (abstract) arrays boxed with logical axis names.

    Arrays without a box are replicated; an axis that its mesh axes do not divide is not sharded.
    """

    def one(leaf: Any) -> NamedSharding | optax.MaskedNode:
        if not _is_box(leaf):
            return NamedSharding(mesh, PartitionSpec())
        value = leaf.unbox(apply_constraint=False)
        if isinstance(value, optax.MaskedNode):  # the optimizer keeps the state in another group
            return value
        names = nn.logical_to_mesh_axes(leaf.get_partition_spec(), RULES)
        return NamedSharding(
            mesh,
            PartitionSpec(
                *(
                    axes if axes is not None and size % _size(mesh, axes) == 0 else None
                    for axes, size in zip(names, value.shape)
                )
            ),
        )

    return jax.tree.map(one, boxed, is_leaf=_is_box)


def axes_of(boxed: Any) -> dict[str, tuple[str | None, ...]]:
    """Path -> logical names of the axes of every array, () where it has none."""
    leaves = paths.flat(boxed, meta.AxisMetadata)
    return {path: tuple(leaf.names) if _is_box(leaf) else () for path, leaf in leaves.items()}


def unbox(boxed: Any) -> Any:
    """The tree without the boxes of logical axis names."""
    return jax.tree.map(
        lambda x: x.unbox(apply_constraint=False) if _is_box(x) else x, boxed, is_leaf=_is_box
    )


def _is_box(x: Any) -> bool:
    return isinstance(x, meta.AxisMetadata)


def _size(mesh: Mesh, axes: str | tuple[str, ...]) -> int:
    return math.prod(mesh.shape[axis] for axis in ((axes,) if isinstance(axes, str) else axes))


def check_batch_size(
    batch_size: int, microbatches: int, mesh: Mesh, section: str = "config.train"
) -> None:
    """Raises ValueError, with the nearest valid sizes, where the rows do not divide evenly.

    Args:
      batch_size, microbatches: the options of those names.
      mesh: the run's.
      section: section of the config that holds the two options.
    """
    rows = _size(mesh, BATCH_SPEC[0])
    unit = rows * microbatches
    if batch_size % unit:
        below = batch_size // unit * unit
        near = f"{below} or {below + unit}" if below else f"{unit}"
        raise ValueError(
            f"{section}.batch_size={batch_size} must be a multiple of {unit} (mesh data x fsdp "
            f"= {rows} times {section}.microbatches = {microbatches}). "
            f"Try --{section}.batch_size={near}."
        )


def row_share(mesh: Mesh) -> tuple[int, int]:
    """The number of the share of every batch that this host reads, and the number of shares.

    Hosts whose devices hold the same rows (where the tensor axis crosses hosts) read one share.

    Raises:
      ValueError: hosts whose rows overlap only in part.
    """
    if jax.process_count() == 1:
        return 0, 1
    shares = shares_of(_owners(mesh))
    return shares[jax.process_index()], 1 + max(shares.values())


def row_shards(mesh: Mesh) -> tuple[int, ...]:
    """The numbers of this host's shards among those of a batch's rows, ascending.

    They hold this host's rows in this order; on a TPU they are often no neighbours.
    """
    return tuple(np.flatnonzero((_owners(mesh) == jax.process_index()).any(axis=1)).tolist())


def _owners(mesh: Mesh) -> np.ndarray:
    """The host of every device, int [shards of rows, devices of a shard]."""
    owners = np.vectorize(lambda device: device.process_index)(mesh.devices)
    return owners.reshape(_size(mesh, BATCH_SPEC[0]), -1)


def shares_of(owners: np.ndarray) -> dict[int, int]:
    """Host -> number of its share of every batch.

    Args:
      owners: the host of every device, int [shards of rows, devices of a shard].
    """
    shards = {int(host): frozenset(np.flatnonzero((owners == host).any(1))) for host in owners.flat}
    distinct = set(shards.values())
    if len(distinct) == len(shards):
        # A host with rows of its own keeps its number.
        order = [shards[host] for host in sorted(shards)]
    else:
        order = sorted(distinct, key=min)
    if sum(map(len, order)) != len(owners):
        raise ValueError(
            "config.mesh: the devices of some hosts share a part of their rows. "
            "config.mesh.tensor must divide the number of a host's devices, or be its multiple."
        )
    return {host: order.index(rows) for host, rows in shards.items()}


def host_rows(batch_size: int, count: int) -> int:
    """Rows of each of the `count` shares of a batch of `batch_size` rows."""
    if batch_size % count:
        below = batch_size // count * count
        raise ValueError(
            f"config.train.batch_size={batch_size} must be a multiple of {count} (hosts). "
            f"Try --config.train.batch_size={below or count}."
        )
    return batch_size // count


def global_batch(batch: Batch, mesh: Mesh) -> Batch:
    """Global arrays, sharded by rows over data and fsdp, from this host's rows of a batch."""
    sharding = NamedSharding(mesh, BATCH_SPEC)
    return {
        key: jax.make_array_from_process_local_data(sharding, np.asarray(value))
        for key, value in batch.items()
    }


def abstract_batch(shapes: Mapping[str, Any], mesh: Mesh) -> Batch:
    """Shapes with the shardings of `global_batch`, to compile with."""
    sharding = NamedSharding(mesh, BATCH_SPEC)
    return {
        key: jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=sharding)
        for key, value in shapes.items()
    }
