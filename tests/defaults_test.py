"""Evaluation data and dictionaries that a config does not name follow the run's data."""

import json
import pathlib

import pytest

from clwe_jax import options, presets
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.sense_evaluator import SenseEvaluator
from clwe_jax.runs.job import Job

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.py"))


def load(name, values={}):
    return options.from_file(f"{ROOT / 'configs' / name}.py", values)


def named_data(config):
    """Option -> value, of the options that follow the run's data."""
    found = {"data.dictionaries": config.data.dictionaries}
    found |= {"data.pairs": config.data.pairs} if hasattr(config.data, "pairs") else {}
    task = getattr(config, "task", None)
    found |= {"task.parallel": task.parallel} if hasattr(task, "parallel") else {}
    return found | {
        f"evals.{x}.data": y.data for x, y in config.evals.items() if hasattr(y, "data")
    }


@pytest.mark.parametrize("name", CONFIGS)
def test_no_run_on_own_text_reads_the_embedded_world(name):
    config = load(name, {"data.source": "text:mine"})
    assert set(named_data(config.resolve()).values()) == {""}
    assert options.SOURCE in named_data(config).values()  # the config itself is unchanged
    whole = set(named_data(load(name, {"data.source": "pocket"}).resolve()).values())
    assert "pocket" in whole and whole <= {"pocket", ""}


@pytest.mark.parametrize("name", ["dict_mlm_50", "joint_align", "bi_saelmo"])
def test_named_data_stay(name):
    own = {"data.source": "text:mine", "data.dictionaries": "folder", "evals.bli.data": "pocket"}
    found = load(name, own).resolve().resolve()
    assert (found.data.dictionaries, found.evals["bli"].data) == ("folder", "pocket")
    assert found.evals["retrieval"].data == ""


def test_own_vectors_are_no_part_of_the_embedded_world():
    own = {"align.source_vectors": "de.vec", "align.target_vectors": "en.vec"}
    assert set(named_data(load("align_procrustes", own).resolve()).values()) == {""}


def test_a_run_keeps_the_resolved_config(tmp_path):
    config = load("dict_mlm_50", {"data.source": "text:mine", "data.dictionaries": "folder"})

    class Nothing(Job):
        def show(self, figures):
            pass

    Nothing(config, str(tmp_path)).run()
    kept = json.loads((tmp_path / "config.json").read_text())
    assert kept["data"]["dictionaries"] == "folder" and kept["evals"]["bli"]["data"] == ""
    Nothing(config, str(tmp_path)).run()  # the same command finds its own run


@pytest.mark.parametrize(
    "name, changes, expected",
    [
        ("dict_mlm_50", {}, "config.task.name='dict_mlm' needs dictionaries"),
        ("dict_tlm", {}, "config.task.name='dict_tlm' needs dictionaries"),
        ("bi_saelmo", {}, "config.objective.translation_share=0.5 needs dictionaries"),
        ("joint_align", {}, "config.align.name='rcsls' needs a dictionary"),
        ("joint_replace", {}, "config.static.training='replace' needs a dictionary"),
        ("mbert", {}, None),
        ("saelmo", {}, None),
        ("align_self_learning", {}, None),
        ("dict_mlm_50", {"data.source": "batches:mine"}, None),
    ],
)
def test_a_method_that_needs_a_dictionary_says_so_at_once(name, changes, expected):
    config = load(name, {"data.source": "text:mine", **changes}).resolve()
    if expected is None:
        return config.check_all()
    with pytest.raises(ValueError, match=f"{expected}.*--config.data.dictionaries=DIR"):
        config.check_all()


def test_translations_of_words_need_text():
    """With prepared batches the run ended later, and asked for the dictionary that it had."""
    own = {"data.source": "batches:mine", "data.dictionaries": "folder"}
    with pytest.raises(
        ValueError, match="translation_share=0.5 .* batches lack: --config.data.source"
    ):
        load("sa_dict_mlm", own).resolve().check_all()


def test_senses_of_a_language_that_the_embedded_world_lacks_are_refused_at_once():
    SenseEvaluator(data="", context=Context(languages=("it",)))
    with pytest.raises(ValueError, match="config.evals.senses.data=''"):
        SenseEvaluator(data="pocket", context=Context(languages=("en", "it")))


def test_presets_on_real_text_name_their_data():
    for name in ("mbert", "joint_align"):
        found = options.parse(presets.start_from(name, "small")).resolve().evals
        assert (found["retrieval"].data, found["bli"].data) == ("tatoeba", "dictionaries")
