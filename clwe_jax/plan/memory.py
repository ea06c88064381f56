"""Memory of compiled programs, and of the evaluators' programs together with the training state."""

from __future__ import annotations

import math
import re
from typing import Any, Callable

import jax

from clwe_jax.training import partition, train_state
from clwe_jax.types import SHARED_KEYS, Batch, Encodes, Objective, Variables

_ENCODED = 64  # rows of a batch of sentences


def shard_bytes(tree: Any) -> int:
    """Bytes on each device of a tree of sharded shapes."""
    return sum(
        math.prod(leaf.sharding.shard_shape(leaf.shape)) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(tree)
    )


def program_bytes(sizes: Any) -> int:
    """Bytes that a program needs on each device, from `compiled.memory_analysis()`."""
    return (
        sizes.argument_size_in_bytes
        + sizes.output_size_in_bytes
        # Outputs in the memory of donated arguments
        - sizes.alias_size_in_bytes
        + sizes.temp_size_in_bytes
        + sizes.generated_code_size_in_bytes
    )


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def temporary_bytes(message: str, argument_bytes: int) -> int | None:
    """Bytes of temporaries in a TPU compiler's out-of-memory error; None for another error.

    Args:
      message: the text of the error, 'RESOURCE_EXHAUSTED: ...'.
      argument_bytes: bytes of the program's arguments; some messages name the sum of both.
    """
    size = r"([\d.]+)([KMGT]?)"
    for pattern, includes_arguments in (
        (rf"required for HLO temporaries \({size}\)", False),
        (rf"memory space hbm. Used {size} of", True),
    ):
        if match := re.search(pattern, message):
            total = int(float(match.group(1)) * _UNITS[match.group(2)])
            return max(total - argument_bytes, 0) if includes_arguments else total
    return None


def evaluation(
    objective: Objective, state: train_state.TrainState, mesh: jax.sharding.Mesh, batch: Batch
) -> dict[str, int]:
    """Compiles the evaluators' programs and measures their memory.

    Args:
      state: shapes and shardings of the training state, which stays in memory.
      batch: shapes of a global batch of training, and of a held-out batch.

    Returns:
      Bytes on each device, including the training state: 'held_out', for the loss of a batch;
      'encoding', for all layers of 64 sentences, where the objective encodes.
    """

    def loss(variables: Variables, batch: Batch) -> Any:
        sums, observed = objective.loss(variables, batch, step=0, train=False)
        return sums, observed.get("rows", {})

    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    programs: dict[str, tuple[Callable[..., Any], Batch]] = {"held_out": (loss, batch)}
    if isinstance(objective, Encodes):
        length = next(x.shape[1] for key, x in batch.items() if key not in SHARED_KEYS)
        shapes = objective.batch_shapes(_ENCODED, length)
        programs["encoding"] = (
            lambda variables, batch: objective.encode(variables, batch).layers,
            _shard_shapes(shapes, mesh, everywhere),
        )
    needed_bytes = {}
    for name, (function, rows) in programs.items():
        held_bytes = shard_bytes(state) + shard_bytes(rows)
        lowered = jax.jit(function, out_shardings=everywhere).lower(state.variables, rows)
        try:
            sizes = lowered.compile().memory_analysis()
        except jax.errors.JaxRuntimeError as error:
            arguments = shard_bytes(state.variables) + shard_bytes(rows)
            temporary = temporary_bytes(str(error), arguments)
            if temporary is None:
                raise
            needed_bytes[name] = held_bytes + temporary
        else:
            # The arguments are counted in `held_bytes`.
            needed_bytes[name] = held_bytes + program_bytes(sizes) - sizes.argument_size_in_bytes
    return needed_bytes


def _shard_shapes(
    shapes: Batch, mesh: jax.sharding.Mesh, everywhere: jax.sharding.Sharding
) -> Batch:
    """Shapes sharded by rows where these divide evenly, else replicated, as in evaluators."""
    shards = mesh.shape["data"] * mesh.shape["fsdp"]
    sharded = partition.abstract_batch(
        {k: x for k, x in shapes.items() if x.shape[0] % shards == 0}, mesh
    )
    return {
        key: sharded.get(key, jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=everywhere))
        for key, x in shapes.items()
    }
