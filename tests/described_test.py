"""The options of a config with their descriptions, and the option that was probably meant."""

import pathlib

from ml_collections import ConfigDict
import pytest

from clwe_jax import described

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.py"))


def load(name):
    return described.load(str(ROOT / "configs" / f"{name}.py"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_option_is_described(path):
    bare = [
        option.path
        for option in described.options(described.load(str(path)))
        if not option.help or option.help.startswith("see `")
    ]
    assert not bare, f"without a comment or an entry in their class's docstring: {bare}"


def test_descriptions_come_from_comments_and_docstrings():
    found = {option.path: option for option in described.options(load("saelmo"))}
    assert found["train.batch_size"].help == "rows, over all hosts"
    assert found["model.cells"].help == "C, LSTM cells of a layer and direction."
    assert found["objective.senses.alpha"].help.startswith("step of a center towards")
    assert found["objective.switch_share"].help.startswith("share of the words that 'switch'")
    assert found["model.name"].help == "one of transformer, bilm, laser, translator"
    assert found["model.width"].value == 128


def test_help_has_one_line_an_option():
    config = load("mbert")
    lines = described.text(config, "configs/mbert.py").splitlines()
    assert all(len(line) <= 100 for line in lines)
    options = [line for line in lines if line.startswith("  ")]
    assert len(options) == len(described.options(config))


@pytest.mark.parametrize(
    "name, path, meant",
    [
        ("mbert", "steps", "--config.train.steps?"),
        ("mbert", "data.langauges", "--config.data.languages?"),
        ("joint_align", "train.steps", "--config.embeddings.epochs?"),
        ("mbert", "embeddings.epochs", "--config.train.steps?"),
        ("mbert", "qqqqqq", "--help lists them"),
    ],
)
def test_the_option_that_was_probably_meant(name, path, meant):
    said = described.unknown(load(name), path)
    assert said.startswith(f"config.{path}: the config has no such option.") and meant in said


def test_an_option_without_description_is_shown():
    config = ConfigDict(dict(evals={}, mine=3))
    assert described.options(config) == [described.Option("mine", 3, "")]
