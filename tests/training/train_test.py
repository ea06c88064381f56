"""fit: learning, logging, evaluating, stopping, and going on exactly."""

import json
import os
import signal

import numpy as np
import pytest

from clwe_jax.training.checkpoint import complete_steps, restore_variables
from clwe_jax.training.step_log import Diverged


@pytest.fixture(scope="module")
def same_batch(toy):
    """A source that gives one batch for ever."""

    class Same(toy.Source):
        def __next__(self):
            self.place = 0
            return super().__next__()

    return Same


def read(folder):
    with open(folder / "metrics.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {(line["step"], line["name"]): line["value"] for line in lines}


def test_learns_one_batch_by_heart(toy, same_batch, tmp_path):
    result = toy.fit(
        tmp_path,
        source=same_batch(),
        steps=150,
        log_every_steps=50,
        model=dict(dropout=0.0),
        optimizer=dict(name="adamw", learning_rate=0.02),
        checkpoint=dict(every_steps=0),
    )
    assert result.finished and result.step == 150 and result.skipped == 0
    assert result.train["train/loss"] < 0.1 and result.train["train/accuracy"] > 0.99
    metrics = read(tmp_path)
    assert metrics[50, "train/loss"] > metrics[100, "train/loss"] > metrics[150, "train/loss"]
    assert (100, "speed/tokens_per_second") in metrics
    assert result.tokens_per_second == pytest.approx(result.steps_per_second * 8 * 12)
    assert result.step_flops > 1e5
    assert os.listdir(tmp_path / "checkpoints") == ["150"]


class Evaluator:
    """Says when it was called, and how large the first kernel is."""

    def __init__(self, every_steps):
        self.every_steps, self.norms = every_steps, []

    def run(self, variables, step):
        self.norms.append(float(np.linalg.norm(variables["params"]["head"]["kernel"])))
        yield "eval/norm", self.norms[-1]
        yield "eval/calls", len(self.norms)


def test_evaluators_run_when_due_and_at_the_end(toy, tmp_path):
    often, last = Evaluator(3), Evaluator(0)
    result = toy.fit(tmp_path, evaluators=[often, last])
    assert len(often.norms) == 3 and len(set(often.norms)) == 3 and len(last.norms) == 1
    metrics = read(tmp_path)
    assert [step for step, name in metrics if name == "eval/norm"] == [3, 6, 8]
    assert metrics[6, "eval/norm"] == often.norms[1]
    assert result.evaluations == {"eval/norm": last.norms[0], "eval/calls": 1.0}


def test_the_best_checkpoint_stays(toy, tmp_path):
    """Weight decay alone shrinks the norm from step to step, so the first is the best."""
    checkpoint = dict(every_steps=2, keep=1, best="eval/calls", best_mode="min")
    toy.fit(tmp_path, evaluators=[Evaluator(2)], checkpoint=checkpoint)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["2", "8"]


def test_a_checkpoint_between_evaluations_has_no_figure(toy, tmp_path):
    """The checkpoint of step 4 had that of step 3, and was kept for it."""
    kept = dict(every_steps=2, keep=1, best="eval/calls", best_mode="min")
    toy.fit(tmp_path, evaluators=[Evaluator(3)], checkpoint=kept)
    assert sorted(os.listdir(tmp_path / "checkpoints")) == ["6", "8"]


def test_a_best_metric_that_no_evaluation_has_is_refused(toy, tmp_path):
    """Once the names are known, in a checkpoint from which the right name goes on."""
    kept = dict(every_steps=2, keep=1, best="eval/cals")
    evaluators = [Evaluator(4), Evaluator(0)]
    message = "config.checkpoint.best='eval/cals' is no figure .* Did you mean 'eval/calls'"
    with pytest.raises(ValueError, match=message):
        toy.fit(tmp_path, evaluators=evaluators, checkpoint=kept)
    assert os.listdir(tmp_path / "checkpoints") == ["4"]
    result = toy.fit(tmp_path, evaluators=evaluators, checkpoint=kept | dict(best="eval/calls"))
    assert result.finished and result.step == 8


class Broken(Exception):
    """An interruption in the middle of a run."""


def breaking(toy, place):
    class Source(toy.Source):
        def __next__(self):
            if self.place == place:
                raise Broken
            return super().__next__()

    return Source()


@pytest.mark.parametrize(
    "options",
    [dict(), dict(prefetch=0, microbatches=2), dict(optimizer=dict(name="muon"))],
    ids=["1", "2", "muon"],
)
def test_interrupted_equals_uninterrupted(toy, tmp_path, options):
    """Bitwise: parameters, optimizer, counters; and the metrics file has each step once."""
    options = dict(options, log_every_steps=1)
    whole = toy.fit(tmp_path / "whole", **options)
    for place in (5, 7):  # checkpoints at 3 and 6
        with pytest.raises(Broken):
            toy.fit(tmp_path / "parts", source=breaking(toy, place), **options)
    parts = toy.fit(tmp_path / "parts", **options)
    ours, theirs = toy.arrays(parts.state), toy.arrays(whole.state)
    for path in theirs:
        np.testing.assert_array_equal(ours[path], theirs[path], err_msg=path)
    ours, theirs = read(tmp_path / "parts"), read(tmp_path / "whole")
    for (step, name), value in theirs.items():
        if name.startswith("train/"):
            assert ours[step, name] == value, (step, name)
    lines = (tmp_path / "parts" / "metrics.jsonl").read_text().splitlines()
    assert len(lines) == len({(json.loads(x)["step"], json.loads(x)["name"]) for x in lines})


def test_a_finished_run_is_not_trained_further(toy, tmp_path):
    first = toy.fit(tmp_path)
    evaluator = Evaluator(2)
    again = toy.fit(tmp_path, evaluators=[evaluator])
    assert again.finished and again.step == 8 and again.tokens_per_second == 0
    assert again.compile_seconds == 0 and len(evaluator.norms) == 1
    assert "train/loss" in first.train and again.train == first.train
    for path, value in toy.arrays(first.state).items():
        np.testing.assert_array_equal(toy.arrays(again.state)[path], value)


def test_the_first_loss_is_that_of_all_starts(toy, tmp_path):
    """The end is compared with it; a resumed run took its own first, which may be absurd already."""
    toy.fit(tmp_path, steps=4, log_every_steps=1)
    first = read(tmp_path)[1, "train/loss"]
    for steps in (4, 8):
        toy.fit(tmp_path, steps=steps)
        assert restore_variables(str(tmp_path))[1]["first_loss"] == pytest.approx(first)


def test_fewer_steps_than_a_run_has_are_refused(toy, tmp_path):
    """It said 'Stopped by  at step 8 of 6', at every start."""
    toy.fit(tmp_path)
    with pytest.raises(ValueError, match="8 steps already, .* ask for 6: raise config.train.steps"):
        toy.fit(tmp_path, steps=6)
    assert toy.fit(tmp_path).finished


def test_the_end_of_the_data_ends_the_run(toy, tmp_path, caplog):
    class Short(toy.Source):
        def __next__(self):
            if self.place == 5:
                raise StopIteration
            return super().__next__()

    result = toy.fit(tmp_path, source=Short())
    assert result.finished and result.step == 5
    assert "step 5 of 8" in caplog.text


def poisoned(toy, places):
    class Source(toy.Source):
        def __next__(self):
            batch = super().__next__()
            if self.place - 1 in places:
                batch["loss_weights"][batch["loss_weights"] > 0] = np.inf
            return batch

    return Source()


def test_a_bad_batch_is_skipped_and_counted(toy, tmp_path):
    result = toy.fit(tmp_path, source=poisoned(toy, {4, 6}))
    assert result.skipped == 2 and result.finished
    assert read(tmp_path)[6, "train/skipped"] == 0.5
    for value in toy.arrays(result.state.params).values():
        assert np.isfinite(value).all()


def test_bad_batches_in_a_row_stop_the_run(toy, tmp_path):
    """Three in a row; the checkpoint that is named is the last one before them."""
    with pytest.raises(Diverged) as error:
        toy.fit(
            tmp_path, source=poisoned(toy, range(4, 99)), steps=20, checkpoint=dict(every_steps=4)
        )
    assert "4 steps" in str(error.value) and "step 8" in str(error.value)
    assert str(tmp_path / "checkpoints" / "4") in str(error.value)


def test_a_run_with_most_steps_skipped_fails_at_its_end(toy, tmp_path):
    """No row of skipped steps is long enough to stop it. Its last state is not kept as finished."""
    options = dict(steps=8, max_skipped_in_row=20, checkpoint=dict(every_steps=0))
    with pytest.raises(Diverged, match="7 of its 8 steps") as error:
        toy.fit(tmp_path, source=poisoned(toy, range(1, 99)), **options)
    assert "--config.optimizer.learning_rate" in str(error.value)
    assert not list((tmp_path / "checkpoints").glob("[0-9]*"))


def test_sizes_that_do_not_fit(toy, tmp_path):
    with pytest.raises(ValueError, match="batch_size=10 is not divisible by microbatches=3"):
        toy.fit(tmp_path, batch_size=10, microbatches=3)
    with pytest.raises(ValueError, match="has 8 rows; config.train.batch_size=16"):
        toy.fit(tmp_path, batch_size=16)


def test_another_model_in_the_folder_is_refused(toy, tmp_path):
    toy.fit(tmp_path, steps=1)
    with pytest.raises(ValueError, match="another model"):
        toy.fit(tmp_path, model=dict(mlp_dim=16))
    toy.fit(tmp_path, meta={"vocabulary": "a"}, steps=2)
    with pytest.raises(ValueError, match="another vocabulary"):
        toy.fit(tmp_path, meta={"vocabulary": "b"}, steps=3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_same_call_goes_on(toy, tmp_path, caplog, number):
    class Killer(toy.Source):
        def __next__(self):
            if self.place == 5:
                os.kill(os.getpid(), number)
            return super().__next__()

    before = signal.getsignal(number)
    result = toy.fit(tmp_path, source=Killer(), checkpoint=dict(every_steps=0))
    assert not result.finished and 0 < result.step < 8
    assert f"Stopped by {number.name}" in caplog.text and "same command" in caplog.text
    assert os.listdir(tmp_path / "checkpoints") == [str(result.step)]
    assert signal.getsignal(number) == before
    assert toy.fit(tmp_path).step == 8


def test_an_evaluation_that_a_signal_cut_is_done_by_the_next_start(toy, tmp_path):
    """The step's figures were lost, and with them the best checkpoint of a fine-tuned model."""

    class Measured:
        every_steps = 2

        def __init__(self, name, cut_at=0):
            self.name, self.cut_at = name, cut_at

        def run(self, variables, step):
            yield f"eval/{self.name}/step", step
            if step == self.cut_at:
                os.kill(os.getpid(), signal.SIGTERM)
            yield f"eval/{self.name}/twice", 2 * step

    def lines(folder):
        with open(tmp_path / folder / "metrics.jsonl") as file:
            rows = map(json.loads, file)
            return [(x["step"], x["name"]) for x in rows if x["name"].startswith("eval/")]

    options = dict(steps=6, checkpoint=dict(every_steps=2))
    toy.fit(tmp_path / "whole", evaluators=[Measured("a"), Measured("b")], **options)
    cut = toy.fit(tmp_path / "cut", evaluators=[Measured("a"), Measured("b", 4)], **options)
    assert cut.step == 4 and not cut.finished
    assert toy.fit(tmp_path / "cut", evaluators=[Measured("a"), Measured("b")], **options).finished
    assert sorted(lines("cut")) == sorted(lines("whole"))


def test_a_signal_in_an_evaluation_leaves_the_best_checkpoint_the_best(toy, tmp_path):
    class Scored:
        every_steps = 2

        def __init__(self, cut_at=0):
            self.cut_at = cut_at

        def run(self, variables, step):
            yield "eval/step", step
            if step == self.cut_at:
                os.kill(os.getpid(), signal.SIGTERM)
            yield "eval/score", -abs(step - 4)

    options = dict(steps=8, checkpoint=dict(every_steps=2, keep=1, best="eval/score"))
    for folder, cut_at in (("whole", 0), ("cut", 4)):
        done = toy.fit(tmp_path / folder, evaluators=[Scored(cut_at)], **options)
        assert done.finished == (not cut_at)
    assert toy.fit(tmp_path / "cut", evaluators=[Scored()], **options).finished
    for folder in ("whole", "cut"):
        assert complete_steps(str(tmp_path / folder / "checkpoints")) == [4, 8], folder


def test_failed_checkpoints_do_not_stop_training(toy, tmp_path, monkeypatch, caplog):
    free = iter([0, 0, 1 << 40])
    full = lambda path: type("Disk", (), {"free": next(free)})()
    monkeypatch.setattr("shutil.disk_usage", full)
    result = toy.fit(tmp_path)
    assert result.finished and result.step == 8 and result.failed_checkpoints == 2
    assert "Training goes on" in caplog.text


def test_a_last_checkpoint_that_fails_is_an_error(toy, tmp_path, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr("shutil.disk_usage", lambda path: type("Disk", (), {"free": 0})())
        with pytest.raises(OSError, match="step 8, .* checkpoint: none"):
            toy.fit(tmp_path)
    assert toy.fit(tmp_path).finished


@pytest.mark.slow
def test_batches_of_several_widths(toy, tmp_path):
    """Each width has its own step; tokens count the positions that were read; runs go on exactly."""

    class Two(toy.Source):
        def __next__(self):
            if self.place == self.end:
                raise Broken
            narrow = self.place % 2
            batch = super().__next__()
            return {key: x[:, :6] for key, x in batch.items()} if narrow else batch

    def until(end):
        source = Two()
        source.end = end
        return source

    options = dict(steps=6, checkpoint=dict(every_steps=2))
    whole = toy.fit(tmp_path / "whole", source=until(99), **options)
    with pytest.raises(Broken):
        toy.fit(tmp_path / "parts", source=until(5), prefetch=0, **options)
    parts = toy.fit(tmp_path / "parts", source=until(99), **options)
    kernel = lambda result: np.asarray(result.state.params["head"]["kernel"])
    np.testing.assert_array_equal(kernel(whole), kernel(parts))
    assert whole.tokens_per_second == pytest.approx(whole.steps_per_second * 8 * 9, rel=0.25)
