"""A bilingual sense-aware run from config to report: interrupted, resumed, projected, used."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from clwe_jax import api, options
from clwe_jax import reevaluate
from clwe_jax.encoders.senses import WordInContext
from clwe_jax.pretrain import job as pretrain, project
from clwe_jax.training import train

ROOT = pathlib.Path(__file__).resolve().parents[1]
STEPS = 12


def tiny(name, changes={}):
    senses = dict(warmup_steps=3, queue=256, refresh_every=2, projected=8)
    config = options.from_file(
        f"{ROOT}/configs/{name}.py",
        {
            "data": dict(pocket_sentences=1_500, pocket_domains="money,nature", sequence_length=10),
            "vocab.size": 1_500,
            "model": dict(layers=1, width=16, cells=24, filters=((1, 8), (2, 8)), highways=1),
            "objective": dict(negatives=64, senses=senses),
            "train": dict(steps=STEPS, batch_size=8, log_every_steps=2),
            "checkpoint.every_steps": 5,
            "evals.mlm": dict(every_steps=0, batches=2),
            "evals.senses": dict(every_steps=0, sentences=40, labelled=2),
            "evals.retrieval.max_sentences": 40,
            "evals.bli.occurrences": 2,
        },
    )
    return options.with_values(config, changes)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert pretrain.run(tiny("bi_saelmo"), str(folder))
    shutil.copy(folder / "results.json", trained(folder))
    return folder


def trained(folder):
    """The figures of the training, which later jobs in the folder leave alone."""
    return folder.with_name(f"{folder.name}.json")


def results(folder):
    return json.loads((folder / "results.json").read_text())


def test_the_figures_are_there(workdir):
    found = results(workdir)
    for name in (
        "train/loss",
        "train/translation_loss",
        "eval/mlm/en/perplexity",
        "eval/mlm/forward/loss",
        "senses/purity",
        "senses/forward/v_measure",
        "senses/backward/senses_in_use",
        "senses/translation_accuracy",
        "senses/nearest",
        "senses/backward/nearest",
        "retrieval/mean_last4",
        "bli/p@1",
    ):
        assert np.isfinite(found[name]), name
    assert found["senses/enabled_senses"] == 5.0


@pytest.mark.slow
def test_broken_off_it_ends_as_a_whole_run(workdir, tmp_path, monkeypatch):
    add = train.StepLog.add

    def breaks(self, step, *measured):
        if step == 8:
            raise ConnectionError("the machine is gone")
        add(self, step, *measured)

    monkeypatch.setattr(train.StepLog, "add", breaks)
    with pytest.raises(ConnectionError):
        pretrain.run(tiny("bi_saelmo"), str(tmp_path))
    monkeypatch.setattr(train.StepLog, "add", add)
    assert pretrain.run(tiny("bi_saelmo"), str(tmp_path))
    whole, found = results(workdir), results(tmp_path)
    for name, value in whole.items():
        if not name.startswith(("speed/", "data/")):
            np.testing.assert_array_equal(found[name], value, name)  # NaN equals NaN


@pytest.mark.slow
def test_projection_is_measured_saved_and_applied(workdir):
    asked = [WordInContext(("the", "river"), 1, "de")]
    model = api.load(workdir)
    before = model.encode(["the river"], lang="de", layer="all")[0]
    inputs = model.sense_view.index.represent(asked)
    assert project.run(tiny("bi_saelmo", {"evals.bli.data": ""}), str(workdir))
    found = results(workdir)
    assert found["projected/de-en/pairs"] > 50
    for method in ("orthogonal", "least_squares"):
        assert 0 <= found[f"projected/{method}/retrieval/mean_last4"] <= 1
    model = api.load(workdir)
    after = model.encode(["the river"], lang="de", layer="all")[0]
    # Centers are not projected, and neither is the input of sense selection.
    np.testing.assert_array_equal(model.sense_view.index.represent(asked), inputs)
    for raw, turned in zip(before, after, strict=True):
        assert not np.allclose(raw, turned)
        np.testing.assert_allclose(np.linalg.norm(raw), np.linalg.norm(turned), rtol=1e-3)
    # Projected again, the same comes out: not the projection of a projection.
    with np.load(workdir / "projection.npz") as file:
        maps = dict(file)
    again = tiny("bi_saelmo", {"evals.bli.data": "", "evals.retrieval.data": ""})
    assert project.run(again, str(workdir))
    with np.load(workdir / "projection.npz") as file:
        assert set(file) == set(maps)
        for name, matrices in maps.items():
            np.testing.assert_array_equal(file[name], matrices)


@pytest.mark.slow
def test_the_last_layers_map_by_the_centers_of_senses(workdir, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(workdir, folder)
    config = tiny("bi_saelmo", {"evals.bli.data": "", "evals.retrieval.data": ""})
    maps = {}
    for anchors in ("words", "senses"):
        chosen = options.with_values(config, {"projection.anchors": anchors})
        assert project.run(chosen, str(folder))
        with np.load(folder / "projection.npz") as file:
            maps[anchors] = file["orthogonal/de"]
    np.testing.assert_array_equal(maps["senses"][:-1], maps["words"][:-1])
    last = maps["senses"][-1]
    np.testing.assert_allclose(last @ last.T, np.eye(len(last)), atol=1e-4)
    half = len(last) // 2  # each direction has senses of its own
    assert not last[:half, half:].any() and not last[half:, :half].any()
    assert maps["words"][-1][:half, half:].any()
    with pytest.raises(ValueError, match="anchors='sense'.*senses"):
        project.run(options.with_values(config, {"projection.anchors": "sense"}), str(folder))


@pytest.mark.slow
def test_measured_again_a_run_has_the_same_figures(workdir):
    # Projected before or not: what is measured is the model as it was trained.
    # The steps are of no account: the run is what it is.
    config = tiny("bi_saelmo", {"job": "evaluate", "train.steps": 1})
    before = json.loads(trained(workdir).read_text())
    assert reevaluate.run(config, str(workdir))
    again = results(workdir)
    assert {name for name in again if not name.startswith("projected/")} == before.keys()
    for name, value in before.items():
        assert again[name] == pytest.approx(value, rel=1e-5, nan_ok=True), name


def test_measured_again_a_run_has_other_figures_where_asked(workdir):
    # The steps are of no account: the run is what it is.
    config = tiny(
        "bi_saelmo",
        {
            "job": "evaluate",
            "train.steps": 1,
            "evals.bli.data": "",
            "data.sample_bytes": 1_000,
            "evals.retrieval.max_sentences": 21,
        },
    )
    before = results(workdir)
    # A pair that is not asked for any more leaves no figure.
    (workdir / "results.json").write_text(json.dumps({**before, "retrieval/xx-yy/mean_last4": 1.0}))
    assert reevaluate.run(config, str(workdir))
    other = results(workdir)
    assert other["retrieval/mean_last4"] != before["retrieval/mean_last4"]
    for name, value in before.items():  # of the model as it was trained, projected or not
        if name.startswith("eval/mlm/"):
            assert other[name] == pytest.approx(value, rel=1e-5), name
    projected = [name for name in before if name.startswith("projected/")]
    for name in ("bli/p@1", "train/loss", *projected):
        assert other[name] == before[name]
    kept = json.loads((workdir / "config.json").read_text())
    assert (kept["job"], kept["train"]["steps"]) == ("pretrain", STEPS)
    assert (
        kept["data"]["sample_bytes"] == 1_000 and kept["evals"]["retrieval"]["max_sentences"] == 21
    )
    assert other.keys() == before.keys()


@pytest.mark.slow
def test_context_senses(tmp_path):
    config = tiny(
        "bi_saelmo_context",
        {
            "train.steps": 6,
            "checkpoint.every_steps": 6,
            "data.pocket_sentences": 600,
            "evals.senses.sentences": 20,
            "evals.retrieval.data": "",
            "evals.bli.data": "",
        },
    )
    assert (config.task.backward, config.objective.sense_input) == ("window", "context")
    assert pretrain.run(config, str(tmp_path))
    found = results(tmp_path)
    assert found["senses/purity"] == found["senses/both/purity"] > 0
    assert found["senses/both/translation_accuracy"] == found["senses/translation_accuracy"]
    assert not any(name.startswith(("senses/forward", "senses/backward")) for name in found)
    model = api.load(tmp_path)
    assert (
        model.translate_in_context("bank", context="the bank of the river", to="de").direction
        == "both"
    )
    assert {x.direction for x in model.senses("bank", lang="en")} == {"both"}


def test_what_is_no_finished_run_is_not_measured(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no run"):
        reevaluate.run(tiny("bi_saelmo", {"job": "evaluate"}), str(tmp_path))


def test_a_model_of_one_language_is_not_projected(tmp_path):
    with pytest.raises(ValueError, match="config.projection.methods='turn'"):
        project.run(tiny("bi_saelmo", {"projection.methods": "turn"}), str(tmp_path))
