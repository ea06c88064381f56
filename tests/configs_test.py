"""The resolved config of every file in configs/ at every scale is the recorded one.

The record of a config names what differs from the config that it starts from; without one, what differs
from the defaults at `:laptop`, and what other scales change. After a change that is meant, write it again:
  python tests/configs_test.py
"""

import dataclasses
import functools
import pathlib
import re
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


def begun_with(name):
    """The config that a config starts from; '' for none."""
    called = re.search(r'start_from\("(\w+)"', (ROOT / "configs" / f"{name}.py").read_text())
    return called[1] if called else ""


def with_sections_of(base, found):
    """A run's options with the defaults of the sections that another run has in their place."""
    own = {}
    for field in dataclasses.fields(found):
        before = getattr(base, field.name)
        after = getattr(found, field.name)
        if field.name == "evals":
            kept = {
                name: before[name] for name in after if type(before.get(name)) is type(after[name])
            }
            own["evals"] = {name: kept.get(name, type(after[name])()) for name in after}
        elif dataclasses.is_dataclass(after) and type(before) is not type(after):
            own[field.name] = type(after)()
    return dataclasses.replace(base, **own)


def sections(run):
    """Name -> class of each section and evaluation of a run."""
    found = {x.name: getattr(run, x.name) for x in dataclasses.fields(run)}
    evals = {f"evals.{name}": value for name, value in found.pop("evals", {}).items()}
    return {name: type(value).__name__ for name, value in {**found, **evals}.items()}


def lines(name, scale):
    """Lines 'option = value' of a config: what differs from the config that it starts from, else
    from its laptop scale, else from the defaults."""
    found = run(name, scale)
    if begun_with(name):
        base = run(begun_with(name), scale)
    else:
        base = type(found)() if scale == "laptop" else run(name)
    before = sections(base)
    after = sections(found)
    usual = {path: x for path, x, _ in describe_options(with_sections_of(base, found))}
    own = {path: x for path, x, _ in describe_options(found)}
    return [
        *(f"{path} absent" for path in before if path not in after),
        *(f"{path}: {x}" for path, x in after.items() if before.get(path) != x),
        *(f"{path} = {x!r}" for path, x in own.items() if path not in usual or usual[path] != x),
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
