"""The contrastive finish as a stage: exact resume, its record, final parameters and figures."""

import json
import os
import shutil
import types

import jax
import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.pretrain import finish as finish_stage, job as pretrain
from clwe_jax.runs import inputs
from clwe_jax.training import checkpoint, finish, optim, train
from clwe_jax.training.stop import StopSignal

STEPS, MORE = 5, 4  # of pretraining and finish


def tiny(**changes):
    config = presets.start_from("mbert", "laptop")
    config.task = options.section_of("task", "dict_mlm", labels="expected")
    config.data.update(
        languages="de,en",
        pocket_sentences=300,
        pocket_domains="money",
        sequence_length=24,
        chunk_lines=32,
    )
    config.vocab.size = 800
    config.model.update(layers=1, width=16, heads=2, mlp_dim=24, dropout=0.1)
    config.train.update(steps=STEPS, batch_size=4, log_every_steps=2)
    config.checkpoint.every_steps = 100
    config.evals.mlm.update(every_steps=0, batches=1)
    config.evals.retrieval.update(every_steps=0, max_sentences=20)
    config.evals.bli.data = ""
    config.finish.update(
        steps=MORE,
        batch_size=8,
        sequence_length=16,
        learning_rate=0.01,
        drop=0.3,
        pool="sif",
        against="table",
    )
    config.finish.update(changes)
    return options.parse(config)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def run(folder, **changes):
    return pretrain.run(tiny(**changes), str(folder))


def arrays(folder):
    variables = checkpoint.restore_variables(str(folder))[0]
    leaves = jax.tree_util.tree_leaves_with_path(variables)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def differ(one, other):
    return [path for path in one if not np.array_equal(one[path], other[path])]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run without a break."""
    folder = tmp_path_factory.mktemp("whole")
    assert run(folder)
    return folder


@pytest.fixture
def stops(monkeypatch):
    """The list of steps before which the next starts of training stop, one each; None: never."""
    wanted = []

    class Stops(StopSignal):
        def __init__(self):
            super().__init__()
            self.where = wanted.pop(0) if wanted else None

        def at(self, step):
            if step == self.where:
                self.received = "SIGTERM"
            return bool(self.received)

    monkeypatch.setattr(train, "StopSignal", Stops)
    return wanted


def alike(folder, whole):
    """Fails unless parameters and figures are those of the run without a break."""
    for part in ("", "finish"):
        ours, theirs = arrays(folder / part), arrays(whole / part)
        assert len(ours) > 20 and not differ(ours, theirs)
    ours, theirs = read(folder, "results.json"), read(whole, "results.json")
    measured = [name for name in theirs if name.startswith(("eval", "retrieval", "before_finish"))]
    assert {name: ours[name] for name in measured} == {name: theirs[name] for name in measured}
    return ours


def test_a_finish_that_is_stopped_ends_like_an_unbroken_one(whole, tmp_path, stops):
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)  # as it was after the pretraining
    shutil.rmtree(folder / "finish")
    for name in ("results.json", "report.json", "report.html"):
        (folder / name).unlink()
    assert finish.final_folder(str(folder)) == str(folder)
    stops += [None, 2]
    assert not run(folder)  # before step 2 of the finish
    assert not (folder / "results.json").exists()
    before = read(folder / "finish", "before.json")["evaluations"]
    assert run(folder)
    ours = alike(folder, whole)
    assert before["eval/mlm/loss"] == ours["before_finish/eval/mlm/loss"] != ours["eval/mlm/loss"]


@pytest.mark.slow
def test_a_run_that_is_stopped_everywhere_ends_like_an_unbroken_one(
    whole, tmp_path, stops, monkeypatch
):
    """Within the pretraining, between the two, and within the finish."""
    stops += [3]
    assert not run(tmp_path)  # before step 3 of the pretraining
    assert finish.final_folder(str(tmp_path)) == str(tmp_path)

    def killed(*arguments):
        raise RuntimeError("killed")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="killed"):
        patch.setattr(inputs, "copies", killed)  # the finish is recorded and begins no step
        run(tmp_path)
    before = read(tmp_path / "finish", "before.json")["evaluations"]
    assert not (tmp_path / "finish" / "checkpoints").exists()
    stops += [None, 2]
    assert not run(tmp_path)  # before step 2 of the finish
    assert not (tmp_path / "results.json").exists()
    assert run(tmp_path)
    ours = alike(tmp_path, whole)
    assert before["eval/mlm/loss"] == ours["before_finish/eval/mlm/loss"] != ours["eval/mlm/loss"]


def test_the_report_shows_gain_cost_and_curve(whole):
    results, report = read(whole, "results.json"), read(whole, "report.json")
    assert np.isfinite(results["finish/loss"]) and np.isfinite(results["train/loss"])
    (section,) = [x for x in report["sections"] if x["title"] == "Contrastive finish"]
    cost, gain, curve, *_ = section["blocks"]
    change = results["eval/mlm/loss"] - results["before_finish/eval/mlm/loss"]
    assert cost["rows"][0][2]["change"] == pytest.approx(change)
    assert (
        "Retrieval, last layers, CSLS" in [row[0] for row in gain["rows"]]
        and curve["title"] == "InfoNCE loss"
    )
    assert [step for step, _ in curve["lines"][0]["points"]] == [2, 4]
    assert "Contrastive finish" in (whole / "report.html").read_text()


def test_the_final_parameters_are_those_of_the_finish(whole):
    table = "['params']['backbone']['token_embedding']"
    final, first = arrays(whole / "finish"), arrays(whole)
    assert differ(final, first)
    loaded, before = api.load(whole), api.load(whole, step=STEPS)
    for model, expected in ((loaded, final), (before, first)):
        found = model.loaded.variables["params"]["backbone"]["token_embedding"]
        np.testing.assert_array_equal(found, expected[table])
    # The head does not learn, nor does it decay.
    head = [path for path in final if "['head']" in path]
    assert head and not set(head) & set(differ(final, first))


def test_a_finished_run_does_nothing_again(whole, stops):
    stops += [0, 0]
    assert run(whole)
    assert stops == [0, 0]  # no training has started


@pytest.mark.parametrize("option, steps", [("train.steps", STEPS), ("finish.steps", MORE)])
def test_fewer_steps_are_refused_before_anything_is_written(whole, option, steps):
    """Fewer steps of the pretraining deleted the finish first, and config.json had either number."""
    before = read(whole, "config.json")
    config = options.with_values(tiny(), {option: steps - 1})
    with pytest.raises(ValueError, match=f"has {steps} steps already, .* ask for {steps - 1}"):
        pretrain.run(config, str(whole))
    assert read(whole, "config.json") == before
    assert checkpoint.complete_steps(str(whole / "finish" / "checkpoints")) == [MORE]


@pytest.mark.slow
def test_more_steps_go_on_and_other_options_begin_again(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    folder = tmp_path / "run"
    assert run(folder, steps=MORE + 2)
    assert checkpoint.complete_steps(str(folder / "finish" / "checkpoints")) == [MORE, MORE + 2]
    assert run(folder, temperature=0.5)
    assert checkpoint.complete_steps(str(folder / "finish" / "checkpoints")) == [MORE]
    assert read(folder, "report.json")["finish"]["temperature"] == 0.5
    assert differ(arrays(folder / "finish"), arrays(whole / "finish"))
    assert not differ(arrays(folder), arrays(whole))  # the pretraining is kept
    assert run(folder, steps=0)
    results = read(folder, "results.json")
    assert not any(name.startswith(("finish/", "before_finish/")) for name in results)
    expected = read(whole, "results.json")["before_finish/eval/mlm/loss"]
    assert results["eval/mlm/loss"] == pytest.approx(expected)
    assert finish.final_folder(str(folder)) == str(folder)


def test_the_optimizer_keeps_frozen_groups_and_ratios_of_rates():
    table = dict(pattern=".*token_embedding", learning_rate=3e-4, warmup_steps=7)
    rest = dict(pattern=".*language_embedding", frozen=True)
    config = options.with_values(tiny(), {"optimizer.groups": dict(table=table, rest=rest)})
    made = finish.optimizer(config)
    assert isinstance(made, optim.Optimizer) and made.learning_rate == 0.01
    assert made.weight_decay == 0 and made.learning_groups == ("default", "matrices", "table")
    group = made.for_group("table")
    assert group.learning_rate == pytest.approx(0.001)  # a tenth, as of 3e-3
    assert group.warmup_steps == config.finish.warmup_steps and group.weight_decay == 0
    assert made.for_group("matrices").learning_rate == pytest.approx(0.01 * 0.02 / 3e-3)  # Muon's


@pytest.mark.parametrize(
    "section, change, message",
    [
        ("data", dict(dictionaries=""), "config.data.dictionaries"),
        ("data", dict(source="batches:x"), "config.data.source"),
        ("task", dict(name="bilm"), "--config.finish.steps=0"),
        ("finish", dict(temperature=0.0), "config.finish.temperature=0.0: must be above 0"),
        ("finish", dict(copy_switch_rate=1.5), "config.finish.copy_switch_rate=1.5"),
        ("finish", dict(drop=1.0), "config.finish.drop=1.0"),
        ("finish", dict(against="table_"), "config.finish.against='table_'"),
        ("finish", dict(pool="idf"), "config.finish.pool='idf'"),
        ("finish", dict(microbatches=3), "not divisible by config.finish.microbatches=3"),
        ("finish", dict(steps=-1), "config.finish.steps=-1: must be at least 0"),
        ("finish", dict(sequence_length=2), "config.finish.sequence_length=2"),
    ],
)
def test_wrong_options_are_answered(section, change, message):
    with pytest.raises(ValueError) as error:
        options.with_values(tiny(), {section: change}).resolve().check_all()
    assert message in str(error.value)


def test_weights_of_pieces_need_counts():
    data = {"data.source": "tfds:wiki", "data.dictionaries": "pocket"}
    config = options.with_values(tiny(pool="sif"), data)
    with pytest.raises(ValueError, match="--config.finish.pool=mean"):
        config.resolve().check_all()


def test_an_uneven_batch_names_the_option_of_the_finish():
    mesh = jax.sharding.AbstractMesh((2, 1, 1), ("data", "fsdp", "tensor"))
    with pytest.raises(
        ValueError, match=r"config.finish.batch_size=9 .*--config.finish.batch_size=8"
    ):
        finish.train_options(tiny(batch_size=9), mesh)


def test_a_finish_without_evaluations_keeps_its_metrics():
    pretrained = types.SimpleNamespace(evaluations={})
    finished = types.SimpleNamespace(train={"train/loss": 0.5})
    assert finish_stage.figures(pretrained, finished) == {"finish/loss": 0.5}
