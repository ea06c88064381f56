"""config.evals to evaluators: keys, folders, data that are absent, training's variables."""

import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.evaluate.context import Context
from clwe_jax.runs import evaluators, inputs
from clwe_jax.text import text_of_run

WORDS = [f"w{chr(97 + i)}" for i in range(20)]
CONTEXT = Context(languages=("de", "en"))


@pytest.fixture
def folder(tmp_path):
    for name, numbers in (("first", range(20)), ("second", range(5))):
        (tmp_path / name).mkdir()
        for side in ("de", "en"):
            lines = "".join(f"{WORDS[n]}\n" for n in numbers)
            (tmp_path / name / f"de-en.{side}").write_text(lines)
        lines = "".join(f"{WORDS[n]} {WORDS[n]}\n" for n in numbers)
        (tmp_path / name / "de-en.5000-6500.txt").write_text(lines)
    return tmp_path


@pytest.fixture
def model():
    vectors = np.random.RandomState(0).randn(20, 8).astype(np.float32)

    class Spaces:
        languages = ("de", "en")

        def common_vectors(self, language):
            return Vectors(WORDS, vectors)

        def space(self, source, target):
            return self.common_vectors(source), self.common_vectors(target)

    return StaticEncoder(Spaces(), lambda text, language: text.split())


def config_of(**evals):
    return options.parse(dict(evals=evals))


def test_two_of_a_kind_under_two_keys(folder, model):
    first, second = str(folder / "first"), str(folder / "second")
    config = config_of(
        bli=dict(name="bli", data=first),
        names=dict(name="bli", data=second),
        retrieval=dict(name="retrieval", data=first),
        few=dict(name="retrieval", data=first, max_sentences=5),
    )
    made = evaluators.build(config.evals, CONTEXT)
    figures, rows = evaluators.measure(made, model)
    assert figures["bli/de-en/words"] == 20 and figures["names/bli/de-en/words"] == 5
    assert figures["retrieval/mean"] == figures["few/retrieval/mean"] == 1
    assert figures["retrieval/de-en/mean_low"] > figures["few/retrieval/de-en/mean_low"]
    assert {name.split("/")[0] for name in figures} == {"bli", "names", "retrieval", "few"}
    assert len(rows) == 25 and {row["pair"] for row in rows} == {"de-en"}
    few = {"names": config.evals["names"]}
    [only] = evaluators.build(few, CONTEXT, names=("bli",))
    assert only.prefix == "names/" and not evaluators.build(config.evals, CONTEXT, names=())


def test_the_key_decides_nothing_but_the_path(folder, model):
    """Evaluators are made by `name`, even under another evaluator's name."""
    config = config_of(retrieval=dict(name="bli", data=str(folder / "first")))
    figures, _ = evaluators.measure(evaluators.build(config.evals, CONTEXT), model)
    assert figures["retrieval/bli/de-en/p@1"] == 1 and "retrieval/mean" not in figures


@pytest.mark.parametrize(
    "name", ["retrieval", "mining", "bleu", "bli", "similarity", "word_alignment"]
)
def test_an_error_names_the_option_of_the_key(folder, name):
    for key in ("tatoeba", name):
        config = config_of(**{key: dict(name=name, data=str(folder / "missing"))})
        with pytest.raises(FileNotFoundError) as error:
            evaluators.build(config.evals, CONTEXT)
        assert f"config.evals.{key}.data" in str(error.value) and "missing" in str(error.value)


@pytest.mark.parametrize(
    "spec",
    [
        dict(name="bli", data="pocket", methods="cls"),
        dict(name="bli", data="pocket", methods=""),
        dict(name="senses", data="elsewhere"),
        dict(name="wsd", training="absent"),
    ],
)
def test_an_error_in_an_option_names_the_key(spec):
    config = config_of(other=spec)
    with pytest.raises((ValueError, FileNotFoundError), match=r"config\.evals\.other\."):
        evaluators.build(config.evals, CONTEXT, {"evals.other": spec.get("data", "")})


def test_folders_stand_for_the_option(folder, model):
    config = config_of(bli=dict(name="bli", data="pocket"), other=dict(name="bli", data="pocket"))
    folders = {"evals.bli": str(folder / "first"), "evals.other": ""}
    [one] = evaluators.build(config.evals, CONTEXT, folders)
    assert dict(one.run(model))["bli/de-en/words"] == 20
    with pytest.raises(FileNotFoundError, match="pocket"):
        evaluators.build(config.evals, CONTEXT)


def test_the_embedded_world_serves_every_key(tmp_path):
    evals = dict(
        mlm=dict(name="mlm"),
        here=dict(name="retrieval", data="pocket"),
        there=dict(name="bli", data="pocket"),
        brought=dict(name="bli", data="dir"),
    )
    data = dict(source=f"text:{tmp_path}", languages="en,de", dictionaries="")
    config = options.parse(dict(data=data, evals=evals))
    folders = text_of_run.resolve_folders(config, str(tmp_path / "run"))
    assert folders["evals.brought"] == "dir" and "evals.mlm" not in folders
    made = evaluators.build(
        config.evals, Context(languages=("en", "de")), {**folders, "evals.brought": ""}
    )
    assert [each.prefix for each in made] == ["here/", "there/"]


def test_evaluators_without_data_are_left_out_and_named(said):
    config = config_of(
        mlm=dict(name="mlm", batches=2),
        retrieval=dict(name="retrieval", data=""),
        bli=dict(name="bli", data=""),
        similarity=dict(name="similarity", data=""),
        senses=dict(name="senses", data=""),
        wsd=dict(name="wsd", training=""),
    )
    assert evaluators.build(config.evals, CONTEXT) == []
    [line] = {x.getMessage() for x in said.records if "name no data" in x.getMessage()}
    named = [f"config.evals.{key}.data" for key in ("retrieval", "bli", "similarity", "senses")]
    assert all(name in line for name in [*named, "config.evals.wsd"])
    assert "mlm" in line  # it has no held-out text here


def test_names_and_options_are_checked():
    with pytest.raises(ValueError, match="evaluator named 'retrieva'.*'retrieval'"):
        config_of(retrieval=dict(name="retrieva"))
    with pytest.raises(ValueError, match="'neighborhood'.*'neighbourhood'"):
        config_of(bli=dict(name="bli", neighborhood=3))
    with pytest.raises(ValueError, match="'details'"):
        config_of(bli=dict(name="bli", details=[]))


@pytest.mark.parametrize(
    "name, known", [("mbert", r"0 \(the embeddings\) to \d+"), ("joint_align", "0 only")]
)
def test_a_layer_that_the_model_lacks_is_refused_at_the_start(name, known, tmp_path):
    config = options.parse(presets.start_from(name, "laptop")).resolve()
    inputs.check(config, str(tmp_path))
    wrong = options.with_values(config, {"evals.bli.layer": 13})
    with pytest.raises(ValueError, match=f"config.evals.bli.layer=13: .* {known}"):
        inputs.check(wrong, str(tmp_path))


def test_layers_of_word_alignment_are_checked_at_the_start(tmp_path):
    config = options.parse(presets.start_from("mbert", "laptop")).resolve()
    wrong = options.with_values(config, {"evals.word_alignment.layers": "1-13"})
    with pytest.raises(
        ValueError, match="config.evals.word_alignment.layers='1-13': expected a layer"
    ):
        inputs.check(wrong, str(tmp_path))


def test_training_gives_variables_and_evaluators_get_an_encoder():
    class Model:
        def __init__(self, variables=None, step=0):
            self.variables, self.step = variables, step

        def bind(self, variables, step):
            return Model(variables, step)

    class Evaluator:
        every_steps, has_data = 7, True

        def run(self, model):
            yield "x", model.variables["a"]
            yield "step", model.step

    bound = evaluators.InTraining(evaluators.NamedEvaluator(Evaluator(), "other/"), Model())
    assert bound.every_steps == 7
    assert dict(bound.run({"a": 3.0}, 7)) == {"other/x": 3.0, "other/step": 7}
    assert dict(bound.run({"a": 4.0}, 9)) == {"other/x": 4.0, "other/step": 9}
