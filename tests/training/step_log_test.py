"""The end of a run that diverged, and the speed."""

import contextlib

import pytest

from clwe_jax.options.training import StepsOptions
from clwe_jax.training import step_log
from clwe_jax.training.step_log import Diverged, StepLog
from clwe_jax.types import Sums


class Nothing:
    """A metric writer, a progress line and a checkpointer that do nothing."""

    def write(self, step, values): ...
    def show(self, step, values, speed): ...
    def advance(self, step): ...
    def check(self, wait=False): ...
    def newest(self):
        return "checkpoints/4"


class Loss(float):
    def block_until_ready(self): ...


def metrics(loss):
    bad = float(loss is None)
    return {
        "loss": Sums(Loss(loss or 0.0), 1.0 - bad),
        "skipped": Sums(bad, 1.0),
        "skipped_in_row": Sums(bad, 1.0),
    }


def ended(losses, skipped=0):
    """Calls `check_end` after steps with the given losses; None: the step was not applied."""
    train = StepsOptions(log_every_steps=2, max_skipped_in_row=99)
    log = StepLog(len(losses), train, 8, Nothing(), Nothing(), Nothing())
    for step, loss in enumerate(losses, 1):
        log.add(step, metrics(loss))
    log.flush(len(losses))
    log.check_end(len(losses), skipped)


def test_a_compilation_before_the_first_step_is_no_part_of_the_speed(monkeypatch):
    """A resumed run enters a phase there; its first interval had no time left."""
    clock = [0.0]
    monkeypatch.setattr(step_log.time, "perf_counter", lambda: clock[0])
    log = StepLog(4, StepsOptions(log_every_steps=4), 8, Nothing(), Nothing(), Nothing())
    with log.pause(()):
        clock[0] += 100.0
    for step in range(1, 5):
        clock[0] += 2.0
        log.add(step, metrics(9.0))
    assert log.last["speed/steps_per_second"] == 0.5


@pytest.mark.parametrize(
    "losses, expected",
    [
        ([9.0, 8.0, 1e20, 1e20], r"loss is 1e\+20, after 9 at the first step"),
        ([9.0, 1e20], r"after 9 at"),  # one interval
        ([None, None, 9.0, 101.0, 103.0, 105.0], r"loss is 104, after 9 at"),
        ([9.0, 8.0, 7.0, 6.0], None),
        ([9.0, 1e20, 7.0, 6.0], None),  # a spike in its middle
        ([0.01, 0.02, 40.0, 50.0], None),  # small figures may grow
        ([900.0, 800.0, 950.0], None),  # a loss of another scale
    ],
)
def test_an_absurd_loss(losses, expected):
    raises = pytest.raises(Diverged, match=expected) if expected else contextlib.nullcontext()
    with raises as error:
        ended(losses)
    if expected:
        assert "learning_rate" in str(error.value) and "checkpoints/4" in str(error.value)


def test_most_steps_skipped():
    ended([9.0, 8.0, 7.0, 6.0], skipped=2)
    with pytest.raises(Diverged, match="3 of its 4 steps"):
        ended([9.0, 8.0, 7.0, 6.0], skipped=3)
