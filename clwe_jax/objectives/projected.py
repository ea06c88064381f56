"""A model whose representations of one language are mapped into the space of another (A10)."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable, Mapping
import zipfile

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.types import Array, Batch, Hidden, Objective, Variables


FILE = "projection.npz"  # of a run that was projected


@dataclasses.dataclass(frozen=True, eq=False)
class Projected:
    """An objective's `encode` with a linear map a layer for each of some languages.

    Attributes:
      base: the objective; everything but `encode` is its own.
      maps: language's number: float32 [layers + 1, D, D], applied from the right.
    """

    base: Objective
    maps: dict[int, Array]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def encode(self, variables: Variables, batch: Batch) -> Hidden:
        """Hidden states; those of rows in a mapped language are in the common space."""
        hidden = self.base.encode(variables, batch)
        layers = list(hidden.layers)
        for language, matrices in self.maps.items():
            own = (batch["language_ids"] == language)[..., None]
            for number, matrix in enumerate(jnp.asarray(matrices)):
                mapped = jnp.matmul(
                    layers[number].astype(jnp.float32), matrix,
                    precision=jax.lax.Precision.HIGHEST,
                )  # fmt: skip
                layers[number] = jnp.where(own, mapped.astype(layers[number].dtype), layers[number])
        return Hidden(last=layers[-1], layers=tuple(layers))


def save(path: str, maps: Mapping[str, Mapping[str, np.ndarray]], applied: str) -> None:
    """Writes maps: method: language: float32 [layers + 1, D, D], and the method to apply."""
    arrays = {f"{name}/{x}": matrix for name, found in maps.items() for x, matrix in found.items()}
    with open(path + ".tmp", "wb") as file:
        np.savez(file, applied=np.array(applied), **arrays)
    os.replace(path + ".tmp", path)


def load(path: str, objective: Objective, language_id: Callable[[str], int]) -> Projected:
    """The objective with the maps that `save` wrote to be applied.

    Raises:
      ValueError: the file is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            applied = str(file["applied"])
            names = [name for name in file.files if name.startswith(f"{applied}/")]
            maps = {language_id(name.split("/")[1]): file[name] for name in names}
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is damaged ({error}): write it anew with --config.job=project"
        ) from error
    return Projected(objective, maps)
