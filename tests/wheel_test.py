"""The wheel and the sdist hold what a user needs, and work in an empty folder."""

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
_PARTS = ("clwe_jax", "configs", "docs", "tests", "benchmarks", "launch", ".ci")
_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "mkdocs.yml", "LICENSE", "*.md", "*.cff")


def run(command, cwd, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of a copy of the project, and the wheel that is made of it."""
    if int(importlib.metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("setuptools is too old: pip install -e '.[test]'")
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    for part in _PARTS:
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (path for pattern in _FILES for path in ROOT.glob(pattern)):
        shutil.copy(path, source)
    build = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
    run(["-c", build, "build_sdist", str(folder)], source)
    [sdist] = folder.glob("*.tar.gz")
    shutil.unpack_archive(sdist, folder / "unpacked")
    [unpacked] = (folder / "unpacked").iterdir()
    run(["-c", build, "build_wheel", str(folder)], unpacked)
    [wheel] = folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A folder with the wheel's files alone, as pip unpacks them."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(built[1]) as file:
        file.extractall(folder)
    return folder


def test_the_sdist_has_configs_tests_and_guides(built):
    with tarfile.open(built[0]) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    expected = [
        "configs/mbert.py",
        "tests/wheel_test.py",
        "tests/configs_record.txt",
        "docs/use.md",
        "launch/local.sh",
        ".ci/core",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "mkdocs.yml",
    ]
    assert not set(expected) - names


def test_the_wheel_has_configs_guides_and_types(installed):
    package = installed / "clwe_jax"
    for folder, pattern in (("configs", "*.py"), ("docs", "*.md")):
        names = {path.name for path in (ROOT / folder).glob(pattern)}
        assert {path.name for path in (package / folder).glob(pattern)} == names
    data = (
        "py.typed",
        "__init__.pyi",
        "report/templates/page.html",
        "text/tatoeba.sha256",
        "configs/minutes.json",
    )
    assert not [name for name in data if not (package / name).exists()]
    assert {path.suffix for path in package.glob("pocket/**/*") if path.is_file()} == {
        path.suffix
        for path in (ROOT / "clwe_jax" / "pocket").glob("**/*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    [about] = installed.glob("*.dist-info")
    assert "clwe-jax = clwe_jax.__main__:entry" in (about / "entry_points.txt").read_text()
    assert not {path.name for path in installed.iterdir()} - {"clwe_jax", about.name}


def test_the_wheel_works_in_an_empty_folder(installed, tmp_path):
    where = {"cwd": tmp_path, "PYTHONPATH": str(installed)}
    shown = run(["-c", "import clwe_jax; print(clwe_jax.__file__)"], **where)
    assert shown.startswith(str(installed))
    assert "dict_mlm_50" in run(["-m", "clwe_jax", "list"], **where)
    assert "# " not in run(["-m", "clwe_jax", "guide"], **where)
    shown = run(["-m", "clwe_jax.main", "--config=configs/dict_mlm_50.py", "--help"], **where)
    assert "task.cross_lingual_share=0.5" in shown
    shown = run(["-m", "clwe_jax", "--config=dictionary_vectors", "--dry_run"], **where)
    assert "writes nothing there" in shown and not list(tmp_path.iterdir())
