"""The folder in which the tests keep compiled programs."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def conftest():
    path = pathlib.Path(__file__).with_name("conftest.py")
    spec = importlib.util.spec_from_file_location("tests_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_trim_deletes_the_programs_that_were_used_least_recently(conftest, tmp_path):
    for age, name in enumerate(["new", "read", "old", "oldest"]):
        path = tmp_path / "host" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    os.utime(tmp_path / "host" / "read", (2e9, 1e9))  # written long ago, used since
    conftest.trim(tmp_path, 400)
    assert len(list((tmp_path / "host").iterdir())) == 4
    conftest.trim(tmp_path, 250)
    assert {path.name for path in (tmp_path / "host").iterdir()} == {"new", "read"}


def test_a_cache_that_cannot_be_made_is_an_error(conftest, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        conftest.compiled_folder(tmp_path / "file")


@pytest.mark.parametrize("writable", [True, False])
def test_programs_are_kept_in_the_users_cache_or_a_temporary_folder(conftest, tmp_path, writable):
    cache = tmp_path / "cache"
    if not writable:
        cache.write_text("a file where the folder should be")
    kept = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    code = "import conftest, os; print(os.environ['JAX_COMPILATION_CACHE_DIR'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=pathlib.Path(__file__).parent,
        env={**kept, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{cache}{os.sep}") == writable
