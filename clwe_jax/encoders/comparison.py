"""A comparison is no model: its systems are."""

from __future__ import annotations

import glob
import os
from typing import Any, NoReturn


def load(workdir: str, step: int | None = None, open_run: Any = None) -> NoReturn:
    """Raises ValueError that names the folders of a comparison's systems, which `api.load` opens."""
    del step, open_run
    configs = sorted(
        glob.glob(os.path.join(glob.escape(workdir), "systems", "*", "seed*", "config.json"))
    )
    folders = ", ".join(map(os.path.dirname, configs)) or "none is trained yet"
    raise ValueError(f"{workdir} is a comparison of systems; load one of them: {folders}")
