"""The options of a config with their descriptions, and the option that was probably meant."""

import functools
import io
import pathlib
import re
import sys
import tokenize

from ml_collections import ConfigDict
import pytest

from clwe_jax import config as options
from clwe_jax import described, presets

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


@functools.cache
def whole_comments(path):
    """The comments of a file: each one behind code, and the lines of each block as one text."""
    with open(path, encoding="utf-8") as file:
        found, last = [], None
        for token in tokenize.generate_tokens(io.StringIO(file.read()).readline):
            if token.type == tokenize.COMMENT:
                alone = not token.line[: token.start[1]].strip()
                if alone and last == token.start[0] - 1:
                    found[-1] += f" {token.string.lstrip('# ')}"
                else:
                    found.append(token.string.lstrip("# "))
                last = token.start[0] if alone else None
    return set(found)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_description_is_a_whole_comment_of_the_preset_that_builds_the_config(path, monkeypatch):
    maker, *_ = re.findall(r"presets\.(\w+)\(", path.read_text(encoding="utf-8"))
    own = sys.modules[getattr(presets, maker).__module__].__file__
    known = whole_comments(own) | whole_comments(options.__file__)
    config = described.load(str(path))
    said = {option.path: option.help for option in described.options(config)}
    monkeypatch.setattr(described, "_comments", lambda name: {})
    of_classes = {option.path: option.help for option in described.options(config)}
    foreign = {k: text for k, text in said.items() if text not in (known | {of_classes[k]})}
    assert not foreign


@pytest.mark.parametrize(
    "name, path, sentence",
    [
        ("mbert", "seed", "of parameters, masks, dropout and the embedded world's text"),
        ("laser", "data.languages", "codes, with commas between them"),
        ("elmo", "data.source", "pocket | text:DIR | tfds:NAME | batches:DIR"),
        ("xlm", "data.dictionaries", "source | pocket | a directory of xx-yy.txt | '' for none"),
        ("joint_align", "seed", "of vectors and aligners"),
        ("joint_align", "data.source", "pocket | text:DIR"),
        ("joint_align", "report.errors", "wrong translations of a direction in the table"),
        ("nli_esim", "seed", "of the first head; the next ones have seed + 1, seed + 2 and so on"),
        ("ner_mapped", "report.errors", "test rows of a language with wrong labels, in the report"),
        ("clcr", "data.languages", "the source, which is mapped and reordered, and the target"),
        (
            "clcr",
            "clcr.contrast",
            "other sentences that a word's distances are compared with: they are in units of that to "
            "the nearest word there | 0: the plain symmetric distances",
        ),
    ],
)
def test_the_sentence_of_an_option_that_several_presets_have(name, path, sentence):
    found = {option.path: option.help for option in described.options(load(name))}
    assert found[path] == sentence


@pytest.mark.parametrize("scale", options.SCALES)
def test_help_shows_every_description_whole(scale):
    for path in CONFIGS:
        config = described.load(f"{path}:{scale}")
        lines = described.text(config, "x").splitlines()
        assert all(len(line) <= 100 and not line.endswith("...") for line in lines), path.stem
        said = " ".join(" ".join(lines).split())
        for option in described.options(config):
            assert " ".join(option.help.split()) in said, option.path


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
