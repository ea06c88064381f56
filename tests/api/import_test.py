"""The package as a program that depends on it sees it: what an import costs, names, types."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import clwe_jax
from clwe_jax import api

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A program of a user; `load` returns an object whose methods are known to the type checker.
PROGRAM = """
import clwe_jax
import numpy as np
from clwe_jax import api

model = api.load("runs/dict_mlm_50")
vectors: np.ndarray = model.encode(["Die Bank ist zu."], lang="de")
pieces: list[np.ndarray] = model.encode(["Die Bank ist zu."], lang="de", pool=None)
for word, score in model.translate("Haus", lang="de", to="en", k=5):
    print(word.upper(), score + 1.0)
near: list[str] = [found.word for found in model.neighbours("bank", lang="en")]
size: int = model.dim
print(model.similarity("a", "b", lang="en", to="de"), model.languages)
tags: list[list[tuple[str, str]]] = clwe_jax.load("runs/ner").tag(["Anna"], lang="de")
"""


def test_the_import_waits_for_no_heavy_library():
    code = (
        "import sys, clwe_jax; from clwe_jax import api; api.load; clwe_jax.load\n"
        "print(*{m.partition('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"jax", "flax", "numpy", "scipy", "pyarrow", "matplotlib", "gensim", "tensorflow"}
    assert not heavy & set(done.stdout.split())


def test_names_are_offered():
    assert {"api", "load", "Model"} <= set(dir(clwe_jax))
    assert clwe_jax.load is api.load and clwe_jax.api is api
    assert set(dir(api)) == set(api.__all__)
    for name in api.__all__:
        assert getattr(api, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        clwe_jax.lod  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        api.lod  # noqa: B018


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_types_of_a_program_are_checked(tmp_path):
    path = tmp_path / "program.py"
    for program, right in ((PROGRAM, True), (PROGRAM.replace("model.dim", "model.name"), False)):
        path.write_text(program)
        command = [sys.executable, "-m", "mypy", f"--cache-dir={tmp_path}/cache", str(path)]
        # From another folder: the package is a library, whose own modules mypy does not judge.
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) is right, done.stdout + done.stderr
