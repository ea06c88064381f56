"""Where a run of a system keeps its files in the comparison's folder."""

from __future__ import annotations

import dataclasses
import os

from clwe_jax.compare import systems
from clwe_jax.compare.systems import System


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
