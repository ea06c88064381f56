"""The fields of registered classes, read from their source, and the ranges that they declare."""

from typing import Annotated

import pytest

from clwe_jax import fields, presets, registry, validation
from clwe_jax.fields import OneOf, Range

TRANSFORMER = registry.TABLES["model"]["transformer"]


def test_a_field_has_its_range_and_its_description():
    found = fields.of(TRANSFORMER)
    assert found["dropout"].annotation == fields.Rate
    assert found["dropout"].help.startswith("dropout rate of the embeddings and of each sublayer's")
    assert found["heads"].help == found["width"].help  # described together
    assert fields.of(registry.TABLES["aligner"]["rcsls"])["neighbourhood"].help == (
        "neighbours of CSLS"  # a comment in the line
    )


def test_a_class_has_the_fields_of_its_bases():
    found = fields.of(registry.TABLES["task"]["dict_mlm"])
    assert {"masking_rate", "cross_lingual_share"} <= found.keys()
    assert found["masking_rate"].help == "expected share of masked words among the words of a line."


def test_fields_that_the_class_sets_are_no_options():
    found = fields.of(registry.TABLES["evaluator"]["bli"])
    assert "methods" in found and "details" not in found


@pytest.mark.parametrize(
    "annotation, good, bad",
    [
        (fields.Size, 1, [0, -1, 1.5, "1", True]),
        (fields.Rate, 0, [1.0, -0.1, "x"]),
        (fields.Share, 1.0, [1.1]),
        (Annotated[str, OneOf("a", "b")], "b", ["c", 1]),
        (Annotated[int, Range(8)], 8, [7]),
        (bool, True, [1]),
    ],
)
def test_values(annotation, good, bad):
    fields.check_value(annotation, good, "config.x")
    for value in bad:
        with pytest.raises(ValueError, match="config.x="):
            fields.check_value(annotation, value, "config.x")


@pytest.mark.parametrize(
    "path, value, expected",
    [
        ("model.heads", 5, "heads=5 does not divide config.model.width=128; 4 does: --config.model."),
        ("model.width", 0, "config.model.width=0: must be at least 1"),
        ("model.dropout", 1.5, r"config.model.dropout=1.5: must be in \[0, 1\)"),
        ("model.norm", "both", "config.model.norm='both': must be one of post, pre"),
        ("optimizer.name", "adamx", "config.optimizer.name='adamx': must be one of adam, adamw"),
        ("optimizer.b1", 1.0, "config.optimizer.b1=1.0"),
        ("task.masking_rate", -0.1, "config.task.masking_rate=-0.1"),
        ("evals.retrieval.max_sentences", -1, "config.evals.retrieval.max_sentences=-1"),
        ("evals.bli.name", "blu", "no evaluator named 'blu'"),
        ("train.steps", -5, "config.train.steps=-5: must be at least 1"),
        ("train.log_every_steps", 0, "config.train.log_every_steps=0"),
        ("vocab.kind", "words", "config.vocab.kind='words': must be one of"),
        ("data.temperature", 0.0, "config.data.temperature=0.0"),
        ("checkpoint.best_mode", "most", "config.checkpoint.best_mode='most'"),
    ],
)
def test_a_language_model_is_checked_without_its_classes(path, value, expected):
    config = presets.bert("laptop")
    *sections, key = path.split(".")
    section = config
    for name in sections:
        section = section[name]
    section[key] = value
    with pytest.raises(ValueError, match=expected):
        validation.validate(config)


@pytest.mark.parametrize(
    "path, value, expected",
    [
        ("objective.senses.senses", 0, "config.objective.senses.senses=0: must be at least 1"),
        ("objective.senses.init", "x", "config.objective.senses.init='x'"),
        ("model.cells", 0, "config.model.cells=0"),
    ],
)
def test_options_within_options(path, value, expected):
    config = presets.elmo("laptop", languages="en")
    config.update_from_flattened_dict({path: value})
    with pytest.raises(ValueError, match=expected):
        validation.validate(config)


@pytest.mark.parametrize("option", ["layers", "decoder_layers"])
def test_shared_layers_are_among_the_layers(option):
    config = presets.unsupervised_translation("laptop")
    config.model.shared_layers = config.model[option]
    validation.validate(config)
    config.model[option] -= 1
    with pytest.raises(ValueError, match=f"shared_layers=2 is more than config.model.{option}=1: --"):
        validation.validate(config)


@pytest.mark.parametrize(
    "path, value", [("embeddings.dim", 0), ("embeddings.batch", 0), ("static.gamma", 0.2)]
)
def test_static_vectors(path, value):
    config = presets.static("laptop")
    with config.unlocked():
        config.update_from_flattened_dict({path: value})
    with pytest.raises(ValueError, match=f"config.{path}="):
        validation.validate(config)


def test_an_option_that_a_class_lacks():
    config = presets.bert("laptop")
    with config.unlocked():
        config.model.depth = 3
    with pytest.raises(ValueError, match="config.model has no option 'depth'"):
        validation.validate(config)
