"""The options of a config with their descriptions, and the option that was probably meant."""

import functools
import pathlib

import pytest

from clwe_jax import options
from clwe_jax.options import help as options_help
from clwe_jax.options.systems import describe_options

CONFIGS = sorted((pathlib.Path(__file__).resolve().parents[2] / "configs").glob("*.py"))


@functools.cache
def load(name):
    return options.from_file(str(CONFIGS[0].parent / f"{name}.py"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_option_is_described(path):
    found = [
        x for x, _, help in describe_options(load(path.stem)) if not help or help.startswith("see ")
    ]
    assert not found, f"without a sentence of help: {found}"


@pytest.mark.parametrize(
    "name, path, sentence",
    [
        ("mbert", "seed", "seed of parameters, masks, dropout and the embedded world's text"),
        ("laser", "data.languages", "codes of the languages, separated by commas"),
        ("elmo", "data.source", "the text: pocket | text:DIR | tfds:NAME | batches:DIR"),
        (
            "joint_align",
            "data.source",
            "the text: pocket (the embedded world) | text:DIR | pairs, only for static vectors: the "
            "sentences of config.data.pairs",
        ),
        (
            "nli_esim",
            "seed",
            "seed of the first head; the next ones have seed + 1, seed + 2 and so on",
        ),
        ("clcr", "data.languages", "the source, which is mapped and reordered, and the target"),
        ("saelmo", "train.batch_size", "rows, over all hosts"),
        ("saelmo", "model.cells", "C, LSTM cells of a layer and direction"),
        ("saelmo", "model.name", "one of transformer, rotary, bilm, laser, translator"),
        (
            "clcr",
            "clcr.contrast",
            "number of other sentences to which a word's distances are compared; the unit is then the "
            "distance to the nearest word there | 0: the plain symmetric distances",
        ),
    ],
)
def test_the_sentence_of_an_option(name, path, sentence):
    assert {x: help for x, _, help in describe_options(load(name))}[path] == sentence


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_help_shows_every_description_whole(path):
    lines = options_help.text(load(path.stem), "x").splitlines()
    assert all(len(line) <= 100 and not line.endswith("...") for line in lines)
    said = " ".join(" ".join(lines).split())
    for option, _, help in describe_options(load(path.stem)):
        assert " ".join(help.split()) in said, option


@pytest.mark.parametrize(
    "name, path, meant",
    [
        ("mbert", "steps", "--config.train.steps or --config.finish.steps?"),
        ("mbert", "data.langauges", "--config.data.languages?"),
        ("joint_align", "train.steps", "--config.embeddings.epochs?"),
        ("mbert", "embeddings.epochs", "--config.train.steps?"),
        ("mbert", "qqqqqq", "--help lists them"),
    ],
)
def test_the_option_that_was_probably_meant(name, path, meant):
    said = options_help.explain_unknown(load(name), path)
    assert said.startswith(f"config.{path}: the config has no such option.") and meant in said
