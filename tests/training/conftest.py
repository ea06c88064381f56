"""The toy run, for every test of training, and quick compilation."""

import pathlib
import runpy
import types

import jax
import pytest

PATH = pathlib.Path(__file__).parent / "toy_run.py"


@pytest.fixture(scope="session")
def toy():
    """The names of toy_run.py, as a namespace."""
    return types.SimpleNamespace(path=PATH, **runpy.run_path(str(PATH)))


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Programs here run for milliseconds; optimising them takes seconds."""
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
