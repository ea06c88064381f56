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
def quick_compilation(tmp_path_factory):
    """Programs here run for milliseconds; optimising them takes seconds, and many are the same."""
    cache = tmp_path_factory.getbasetemp() / "compiled"
    quick = {
        "jax_disable_most_optimizations": True,
        "jax_compilation_cache_dir": str(cache),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {key: jax.config.values[key] for key in quick}
    for key, value in quick.items():
        jax.config.update(key, value)
    yield
    for key, value in before.items():
        jax.config.update(key, value)
