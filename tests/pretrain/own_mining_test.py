"""Sentences that a language model mines in its own text, and what trains on them."""

import os

import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.embeddings import mining
from clwe_jax.embeddings.text_links import TextLinks
from clwe_jax.pretrain import job as pretrain, own_mining, warm_start
from clwe_jax.pretrain.finish import Finish
from clwe_jax.runs import inputs
from clwe_jax.text.corpus import parallel
from clwe_jax.text import text_of_run


def tiny(**overrides):
    config = presets.start_from("mbert", "laptop")
    config.task.update(name="tlm", parallel="mined", parallel_share=0.5)
    config.data.update(
        languages="en,de",
        pocket_sentences=1_500,
        pocket_shared=0.1,
        sequence_length=24,
        chunk_lines=32,
    )
    config.vocab.size = 800
    config.model.update(layers=1, width=16, heads=2, mlp_dim=24)
    config.train.update(steps=2, batch_size=4)
    config.evals.mlm.update(every_steps=0, batches=1)
    config.evals.retrieval.data = ""
    config.evals.bli.data = ""
    config.finish.update(steps=2, batch_size=8, sequence_length=16, pairs="mined")
    found = options.with_values(options.parse(config), overrides).resolve()
    found.check_all()
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run that trains on mined sentences."""
    folder = str(tmp_path_factory.mktemp("runs") / "mined")
    assert pretrain.run(tiny(**{"finish.steps": 0}), folder)
    return folder


def test_a_run_mines_once_and_trains_on_it(run, monkeypatch):
    folder = os.path.join(run, "mining", "mined")
    assert text_of_run.mined_folder(tiny(), run) == folder
    folders = text_of_run.folders_of(tiny(), run)
    assert folders["parallel"] == folders["finish"] == folder
    [files] = parallel.find(folder, ("en", "de"), "task.parallel")
    assert len(parallel.read(files).source) > 100
    monkeypatch.setattr(mining, "grow", lambda *_: pytest.fail("mined twice"))
    own_mining.run(tiny(), run)


def test_a_dry_run_says_that_it_mines(tmp_path, capsys):
    assert pretrain.run(tiny(), str(tmp_path / "run"), dry=True)
    assert "mining: the sentences" in capsys.readouterr().out


def test_batches_hold_the_mined_pairs(run):
    """A sentence and its translation a row, in the order of languages in the file's name."""
    config = tiny()
    world = inputs.open_run_text(config, run)
    batch = next(inputs.copies(config, world))
    assert {0} == set(batch["copy_language_ids"][batch["copy_segment_ids"] > 0])  # English
    assert {1} == set(batch["language_ids"][batch["segment_ids"] > 0])


def test_the_pairs_of_the_embedded_world_finish_a_model(tmp_path):
    values = {"task": {"name": "mlm"}, "data.pocket_sentences": 200}
    given = tiny(**values, **{"data.pairs": "pocket", "finish.pairs": "given"})
    assert given.finish.pairs == "pocket"
    config = tiny(**values, **{"finish.pairs": "pocket"})
    world = inputs.open_run_text(config, str(tmp_path))
    batch = next(inputs.copies(config, world))
    assert {0, 1} == {*np.unique(batch["copy_language_ids"]), *np.unique(batch["language_ids"])}


def test_the_report_names_the_pairs_of_the_finish(tmp_path):
    for pairs, wanted in (("mined", "a sentence and its translation (mined)"), ("copies", "copy")):
        finish = Finish(tiny(**{"finish.pairs": pairs}), str(tmp_path))
        assert finish.record["pairs"] == pairs
        [section] = finish.section({})
        assert wanted in section["text"]


def test_what_another_run_has_mined(run, tmp_path):
    """A folder of a run is parallel text for the tasks that read it."""
    place = os.path.join(run, "mining", "mined")
    config = tiny(**{"task.parallel": place, "finish.steps": 0})
    text_of_run.check(config, str(tmp_path))
    assert text_of_run.folders_of(config, str(tmp_path))["parallel"] == place
    stages = [stage.name for stage in pretrain.Pretraining(config, str(tmp_path)).stages()]
    assert "mining" not in stages


def test_vectors_of_the_start_learn_from_it(run, tmp_path, monkeypatch):
    start = {"init.embeddings": "joint+dictionary", "init.mine": True}
    config = tiny(**start)
    place = str(tmp_path / "start" / "mined")
    assert text_of_run.mined_folder(config, str(tmp_path)) == place
    folders = text_of_run.folders_of(config, run)
    found = warm_start.static_config(config, folders)
    assert found.static.mine and found.static.dictionary_dim == 16
    assert not warm_start.static_config(tiny(**start | {"init.mine": False}), folders).static.mine
    trained = []
    monkeypatch.setattr(warm_start, "train", lambda *arguments: trained.append(arguments[1]))
    monkeypatch.setattr(
        own_mining.TextLinks, "load", lambda _: TextLinks(rounds=[ROW | {"taken": 3}])
    )
    monkeypatch.setattr(own_mining.text_of_run, "resolve_folders", lambda *_: folders)
    own_mining.run(config, str(tmp_path))
    assert trained == [str(tmp_path)]  # one mining for both


ROW = {"round": 1, "pair": "de-en", "mutual": 1_234, "supported": 3, "by_chance": 2, "taken": 0}


def test_text_without_translations_is_answered(tmp_path):
    """In one message, which names the languages and the figures."""
    words = [f"w{number}" for number in range(60)]
    (tmp_path / "text").mkdir()
    for shift, language in enumerate(("en", "de")):
        lines = [
            " ".join(words[(i * (7 + shift) + j * 3) % 60] + language for j in range(6))
            for i in range(40)
        ]
        (tmp_path / "text" / f"{language}.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "dictionaries").mkdir()
    pairs = [f"{word}de {word}en\n" for word in words[::3]]
    (tmp_path / "dictionaries" / "de-en.txt").write_text("".join(pairs))
    config = tiny(
        **{
            "data.source": f"text:{tmp_path / 'text'}",
            "data.dictionaries": str(tmp_path / "dictionaries"),
            "evals.retrieval.data": "",
        }
    )
    wanted = "config.task.parallel='mined': the texts hold no.*de-en: .* mutual best.*shuffled text"
    with pytest.raises(ValueError, match=wanted):
        pretrain.run(config, str(tmp_path / "run"))


def test_figures_of_languages_without_translations():
    whole = TextLinks(rounds=[ROW, {**ROW, "pair": "en-fr", "taken": 5}])
    own_mining._check(whole, "finish.pairs")  # some are found
    with pytest.raises(
        ValueError, match=r"finish.pairs.*de-en: 1,234 .*, 3 with .*\(2 in shuffled"
    ):
        own_mining._check(TextLinks(rounds=[ROW]), "finish.pairs")


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"data.dictionaries": ""},
            "config.task.parallel='mined' finds translations by a dictionary",
        ),
        ({"data.source": "tfds:x"}, "config.task.parallel='mined' mines text files"),
        ({"init.mine": True}, "--config.init.embeddings=joint+dictionary"),
        (
            {"finish.pairs": ""},
            "config.finish.pairs='': expected copies, mined, given with config.data.pairs",
        ),
    ],
)
def test_wrong_options_are_answered(changes, message):
    with pytest.raises(ValueError) as error:
        tiny(**changes)
    assert message in str(error.value)
