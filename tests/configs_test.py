"""The resolved config of every file in configs/ at every scale is the recorded one.

The record holds a hash of every section. After a change that is meant, write it again:
  python tests/configs_test.py
"""

import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

from clwe_jax import config as options

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = pathlib.Path(__file__).with_name("configs_record.txt")
CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.py"))


def load(name, scale):
    path = ROOT / "configs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"configs_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.get_config(scale)


def hashes(name, scale):
    """Section -> hash of its values; a section is a key of the config."""
    values = json.loads(load(name, scale).to_json_best_effort())
    return {
        section: hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
        for section, value in sorted(values.items())
    }


def record():
    """One line a config and scale: its name, and section=hash."""
    return "".join(
        " ".join([f"{name}:{scale}", *(f"{k}={v}" for k, v in hashes(name, scale).items())]) + "\n"
        for name in CONFIGS
        for scale in options.SCALES
    )


def recorded():
    lines = [line.split() for line in RECORD.read_text(encoding="utf-8").splitlines()]
    return {name: dict(part.split("=") for part in parts) for name, *parts in lines}


@pytest.mark.parametrize("scale", options.SCALES)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_resolves_to_what_is_recorded(name, scale):
    expected, found = recorded().get(f"{name}:{scale}", {}), hashes(name, scale)
    differ = [k for k in sorted({*expected, *found}) if expected.get(k) != found.get(k)]
    assert not differ, f"sections that changed: {differ}; if it is meant: python {__file__}"


def test_all_that_is_recorded_is_there():
    assert set(recorded()) == {f"{name}:{scale}" for name in CONFIGS for scale in options.SCALES}


def test_a_config_file_works_from_any_folder(tmp_path):
    copy = tmp_path / "mine.py"
    copy.write_text((ROOT / "configs" / "joint_align.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "clwe_jax.main", f"--config={copy}:huge"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert "laptop, small, base, paper" in done.stderr


if __name__ == "__main__":
    RECORD.write_text(record(), encoding="utf-8")
