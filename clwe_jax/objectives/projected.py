"""Representations of some languages, mapped linearly into the space of another language (A10)."""

from __future__ import annotations

import dataclasses
import os
from typing import Callable, Mapping

from flax import traverse_util
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax import atomic
from clwe_jax.types import Array, Batch, Encodes, Hidden, Variables

FILE = "projection.npz"  # in the folder of a projected run


@dataclasses.dataclass(frozen=True, eq=False)
class Projected:
    """The `encode` of an objective, followed by a linear map for each layer of some languages.

    It is not an objective: it only encodes (`types.Encodes`).

    Attributes:
      base: the objective.
      maps: language id -> float32 [layers + 1, D, D], multiplied from the right.
    """

    base: Encodes
    maps: Mapping[int, Array]

    @property
    def max_length(self) -> int:
        return self.base.max_length

    def batch_shapes(self, rows: int, length: int) -> dict[str, jax.ShapeDtypeStruct]:
        return self.base.batch_shapes(rows, length)

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        hidden = self.base.encode(variables, batch)
        layers = list(hidden.layers)
        for language, matrices in self.maps.items():
            mask = (batch["language_ids"] == language)[..., None]
            for number, matrix in enumerate(jnp.asarray(matrices)):
                states = layers[number]
                # In float32, also on accelerators, which would round the states in this product.
                mapped = jnp.matmul(
                    states.astype(jnp.float32), matrix, precision=jax.lax.Precision.HIGHEST
                )
                layers[number] = jnp.where(mask, mapped.astype(states.dtype), states)
        return Hidden(tuple(layers))


def save(path: str, maps: Mapping[str, Mapping[str, np.ndarray]], applied: str) -> None:
    """Writes maps.

    Args:
      path: the file.
      maps: method -> language -> float32 [layers + 1, D, D].
      applied: the method whose maps `load` applies.
    """
    arrays = traverse_util.flatten_dict(maps, sep="/")
    with atomic.writing(path) as file:
        np.savez(file, applied=np.array(applied), **arrays)


def load(
    path: str | os.PathLike[str], objective: Encodes, language_id: Callable[[str], int]
) -> Projected:
    """The objective's `encode` with the maps of a file that `save` wrote.

    Raises:
      ValueError: the file is damaged.
    """
    maps, applied = read(path)
    return Projected(objective, {language_id(x): matrix for x, matrix in maps[applied].items()})


def read(path: str | os.PathLike[str]) -> tuple[dict[str, dict[str, np.ndarray]], str]:
    """The arguments `maps` and `applied` that `save` wrote.

    Raises:
      ValueError: the file is damaged.
    """
    maps: dict[str, dict[str, np.ndarray]] = {}
    with (
        atomic.naming_damage(path, "Write it again with --config.job=project"),
        np.load(path, allow_pickle=False) as file,
    ):
        applied = str(file["applied"])
        for name in file.files:
            if name != "applied":
                method, language = name.split("/")
                maps.setdefault(method, {})[language] = file[name]
        if maps and applied not in maps:
            raise ValueError(f"it has maps of {', '.join(maps)}, and none of {applied!r}")
    return maps or {applied: {}}, applied
