"""Cross-lingual word and contextual representations in JAX: pretraining, alignment, evaluation.

`clwe_jax.load(DIR)` loads a trained model. A letter with a number in a comment, such as
D4, is a part of one of the five papers; the last table of docs/index.md names each.
"""

from __future__ import annotations

import importlib
from typing import Any

from clwe_jax import allocator

# First of all: later, numpy's, jax's and TensorFlow's threads have arenas of their own.
allocator.share_one_arena()

__version__ = "0.2.0"
__all__ = ["Model", "api", "load", "mteb"]


def __getattr__(name: str) -> Any:
    # Here, so that `import clwe_jax` costs nothing; __init__.pyi has the types.
    if name not in __all__:
        raise AttributeError(f"module 'clwe_jax' has no attribute {name!r}")
    api = importlib.import_module("clwe_jax.api")
    return api if name == "api" else getattr(api, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
