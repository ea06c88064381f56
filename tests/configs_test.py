"""The resolved config of every file in configs/ at every scale is the recorded one.

The record names what differs from the defaults at `:laptop`, and what other scales change. After a
change that is meant, write it again:
  python tests/configs_test.py
"""

import functools
import pathlib
import subprocess
import sys

import pytest

from clwe_jax import options
from clwe_jax.options.systems import describe_options

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = pathlib.Path(__file__).with_name("configs_record.txt")
CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.py"))


@functools.cache
def run(name, scale="laptop"):
    return options.from_file(f"{ROOT / 'configs' / name}.py:{scale}")


def lines(name, scale):
    """Lines 'option = value' of a config, without those of its defaults or of its laptop scale."""
    base = type(run(name))() if scale == "laptop" else run(name)
    usual = {path: value for path, value, _ in describe_options(base)}
    found = {path: value for path, value, _ in describe_options(run(name, scale))}
    absent = [f"{path} absent" for path in usual if path not in found]
    return absent + [
        f"{path} = {value!r}"
        for path, value in found.items()
        if path not in usual or usual[path] != value
    ]


def record():
    """A paragraph a config and scale."""
    return "\n".join(
        "\n".join([f"{name}:{scale}", *(f"  {line}" for line in lines(name, scale))]) + "\n"
        for name in CONFIGS
        for scale in options.SCALES
    )


@functools.cache
def recorded():
    paragraphs = RECORD.read_text(encoding="utf-8").split("\n\n")
    return {x.splitlines()[0]: [y.strip() for y in x.splitlines()[1:]] for x in paragraphs}


@pytest.mark.parametrize("scale", options.SCALES)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_resolves_to_what_is_recorded(name, scale):
    message = f"if it is meant: python {__file__}"
    assert recorded().get(f"{name}:{scale}") == lines(name, scale), message


def test_all_that_is_recorded_is_there():
    assert set(recorded()) == {f"{name}:{scale}" for name in CONFIGS for scale in options.SCALES}


def test_a_config_file_works_from_any_folder(tmp_path):
    copy = tmp_path / "mine.py"
    copy.write_text((ROOT / "configs" / "joint_align.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "clwe_jax.main", f"--config={copy}:huge"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "laptop, small, base, paper" in done.stderr


if __name__ == "__main__":
    RECORD.write_text(record(), encoding="utf-8")
