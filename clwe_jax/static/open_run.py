"""Opens a finished run for the commands that write a page of it."""

from __future__ import annotations

import os

from clwe_jax import options
from clwe_jax.encoders import spaces
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.static import StaticRun


def open_run(run: str) -> tuple[StaticRun, StaticSpaces]:
    """The options and the vectors of a run.

    Raises:
      FileNotFoundError: `run` holds no run, or one that has not written its vectors.
      ValueError: the run has no static vectors.
    """
    config = options.read_config(run)
    if not isinstance(config, StaticRun):
        raise ValueError(f"{run} has no static vectors: train them, --config=bible:small")
    # Whole, because a command may change its folder while the vectors are read.
    return config, spaces.load(os.path.abspath(run))
