"""Compiled programs that are kept between runs: where, how many, and that they change no figure."""

import os
import pathlib
import subprocess
import sys

import pytest

from clwe_jax import compiled

# A program of a second of its own, whose result is printed in full.
PROGRAM = """
from clwe_jax import compiled
print(compiled.keep())
import jax, jax.numpy as jnp
x = jax.random.normal(jax.random.key(0), (50, 40))
print(jnp.linalg.norm(jnp.tanh(x @ x.T) @ x, axis=1).sum().item().hex())
"""


@pytest.fixture
def run(run_python):
    def result(cache, **environment):
        environment |= dict(XDG_CACHE_HOME=str(cache), JAX_COMPILATION_CACHE_DIR="")
        done = run_python("-c", PROGRAM, **environment)
        return done.stdout.split(), done.stderr

    return result


@pytest.fixture
def unset(monkeypatch):
    """No variables of compiled programs, as in a user's process; the test's own are forgotten."""
    for name in list(os.environ):
        if name.startswith(("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE")):
            monkeypatch.delenv(name)
    # monkeypatch restores what it has set itself.
    for name in ("JAX_COMPILATION_CACHE_DIR", *compiled._ALL_PROGRAMS):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def files(folder):
    return [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]


def test_a_second_process_has_the_same_result_from_kept_programs(run, tmp_path):
    first, _ = run(tmp_path)
    kept = {path: path.read_bytes() for path in files(tmp_path)}
    assert first[0] == "True" and kept
    assert {path.parts[-4:-2] for path in kept} == {("clwe_jax", "compiled")}
    assert run(tmp_path)[0] == first
    assert {path: path.read_bytes() for path in files(tmp_path)} == kept  # none was compiled again
    without, _ = run(tmp_path / "other", JAX_ENABLE_COMPILATION_CACHE="false")
    assert without == first and not files(tmp_path / "other")


def test_a_torn_program_is_compiled_again(run, tmp_path):
    first, _ = run(tmp_path)
    for path in files(tmp_path):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again, said = run(tmp_path)
    assert again == first and "Error reading persistent compilation cache" in said


def test_the_users_own_folder_stays(monkeypatch, tmp_path, unset):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    assert compiled.keep() and os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path)


def test_a_cache_that_cannot_be_written_keeps_nothing(monkeypatch, tmp_path, unset):
    (tmp_path / "file").write_text("where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not compiled.keep() and "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_without_a_home_nothing_is_kept(monkeypatch, tmp_path, unset):
    monkeypatch.setattr(compiled.atomic, "user_cache", lambda *names: "~/.cache")
    monkeypatch.chdir(tmp_path)
    assert not compiled.keep() and not list(tmp_path.iterdir())


def test_trim_deletes_the_programs_that_were_used_least_recently(tmp_path):
    for age, name in enumerate(["new", "read", "old", "oldest"]):
        path = tmp_path / "host" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    os.utime(tmp_path / "host" / "read", (2e9, 1e9))  # written long ago, used since
    compiled.trim(tmp_path, 400)
    assert len(list((tmp_path / "host").iterdir())) == 4
    compiled.trim(tmp_path, 250)
    assert {path.name for path in (tmp_path / "host").iterdir()} == {"new", "read"}
    compiled.trim(tmp_path, 250, most_files=1)
    assert {path.name for path in (tmp_path / "host").iterdir()} == {"read"}


@pytest.mark.parametrize("writable", [True, False])
def test_tests_keep_programs_in_the_users_cache_or_a_temporary_folder(tmp_path, writable):
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
