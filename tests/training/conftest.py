"""The toy run, for every test of training."""

import pathlib
import runpy
import types

import pytest

PATH = pathlib.Path(__file__).parent / "toy_run.py"


@pytest.fixture(scope="session")
def toy():
    """The names of toy_run.py, as a namespace."""
    return types.SimpleNamespace(path=PATH, **runpy.run_path(str(PATH)))
