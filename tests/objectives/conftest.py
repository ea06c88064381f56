"""Quick compilation for tiny programs."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Programs here run for milliseconds; optimising them takes seconds."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
