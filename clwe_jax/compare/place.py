"""Where a run of a system keeps its files in the comparison's folder."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib

from clwe_jax import options
from clwe_jax.compare import systems
from clwe_jax.compare.systems import System
from clwe_jax.options.transfer import encoder_folder, encoder_parts


@dataclasses.dataclass(frozen=True)
class RunPlace:
    """The places of one run of a system.

    Attributes:
      workdir: the comparison's folder.
      seed: the run's seed.
    """

    workdir: str
    system: System
    seed: int

    def _path(self, *names: str) -> str:
        return os.path.join(self.workdir, *names)

    @property
    def folder(self) -> str:
        """The folder of the run."""
        return self._path("systems", self.system.folder, f"seed{self.seed}")

    @property
    def steps(self) -> str:
        """The file of the steps that fit the budget, of all seeds."""
        return self._path("systems", self.system.folder, "steps.json")

    @property
    def log(self) -> str:
        """The output of the process."""
        return f"{self.folder}.log"

    @property
    def measurements_path(self) -> str:
        """The file of the measurements."""
        return self._path("measured", self.system.folder, f"seed{self.seed}.npz")

    def task(self, name: str) -> str:
        """The folder of a task's run."""
        return self._path("tasks", name, self.system.folder, f"seed{self.seed}")

    @property
    def encoder(self) -> str:
        """The trained model, for `config.encoder`; '' for the floor, which is no model."""
        if self.system.name == systems.FLOOR:
            return ""
        return self.system.model or f"run:{self.folder}"


def encoder_files(encoder: str) -> list[str]:
    """The files of a model as `config.encoder` names it; [] for ''."""
    parts = [part.partition(":") for part in encoder_parts(encoder)[0]]
    names = (x if kind == "vec" else encoder_folder(x) for kind, _, x in parts)
    return list(itertools.chain.from_iterable(map(named_files, names)))


def named_files(names: str) -> list[str]:
    """The files that an option names: those of a folder, or FILE,...; [] for 'pocket'."""
    if os.path.isdir(names):
        paths = sorted(map(str, pathlib.Path(names).rglob("*")))
    else:
        paths = [path for _, path in options.named_files(names)]
    return list(filter(os.path.isfile, paths))
