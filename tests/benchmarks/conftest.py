"""Scripts of benchmarks/, imported as a command line finds them: with the modules beside them."""

import importlib
import pathlib

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def load_script():
    """A function from the name of a script to its module."""

    def load(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(BENCHMARKS))
            return importlib.import_module(name)

    return load


@pytest.fixture(scope="session")
def run_config(load_script):
    return load_script("run_config")
