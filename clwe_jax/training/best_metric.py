"""The metric of the best checkpoint, whose name only the evaluations know."""

from __future__ import annotations

from typing import Mapping, Sequence

from clwe_jax.options.section import nearest
from clwe_jax.types import TrainingEvaluator


class BestMetric:
    """Checks `config.checkpoint.best` when every evaluation of the training has run once."""

    def __init__(self, name: str, evaluators: Sequence[TrainingEvaluator]):
        self._unmeasured = [evaluator for evaluator in evaluators if evaluator.every_steps]
        # Without evaluations in the training there is no best checkpoint to choose.
        self._name = name if self._unmeasured else ""

    def needs_more(self, figures: Mapping[str, float]) -> bool:
        """Whether the best checkpoint is chosen by a figure of the training that is not among these."""
        return bool(self._name) and self._name not in figures

    def note_evaluation(self, evaluator: TrainingEvaluator) -> None:
        """Notes that an evaluation has run to its end."""
        self._unmeasured = [other for other in self._unmeasured if other is not evaluator]

    def check(self, figures: Mapping[str, float]) -> None:
        """Raises ValueError where all evaluations have run and none has the metric."""
        if self.needs_more(figures) and not self._unmeasured:
            raise ValueError(
                f"config.checkpoint.best={self._name!r} is no figure of the evaluations in the "
                f"training. {nearest(self._name, figures)} The same command with another one goes on"
            )
