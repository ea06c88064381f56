"""The end of a run that diverged."""

import contextlib

import pytest

from clwe_jax.options.training import StepsOptions
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


def ended(losses, skipped=0):
    """Calls `check_end` after steps with the given losses; None: the step was not applied."""
    train = StepsOptions(log_every_steps=2, max_skipped_in_row=99)
    log = StepLog(len(losses), train, 8, Nothing(), Nothing(), Nothing())
    for step, loss in enumerate(losses, 1):
        bad = float(loss is None)
        found = {
            "loss": Sums(Loss(loss or 0.0), 1.0 - bad),
            "skipped": Sums(bad, 1.0),
            "skipped_in_row": Sums(bad, 1.0),
        }
        log.add(step, found)
    log.flush(len(losses))
    log.check_end(len(losses), skipped)


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
