"""What an evaluator is, and what only some evaluators keep of their last run."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Protocol, Sequence, runtime_checkable

from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate.agreement import Outcomes


class Evaluator(Protocol):
    """A measurement of an encoder. `name` in an entry of config.evals chooses its class.

    Attributes:
      every_steps: training steps between two runs; 0: at the end only.
      has_data: whether its options name data; a run skips it otherwise.
    """

    every_steps: int
    has_data: bool

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields (path of a metric, value), such as ('retrieval/de-en/chance', 0.001).

        Args:
          model: the model to measure. An evaluator of losses or senses needs a `HasObjective`.

        Raises:
          ValueError: the model lacks a capability, which the message names.
        """


@runtime_checkable
class HasDetails(Protocol):
    """An evaluator that keeps a record of each test item of its last run, for the table of all errors."""

    details: Sequence[Mapping[str, Any]]


@runtime_checkable
class HasExamples(Protocol):
    """An evaluator that keeps a few records of its last run, which its section of the report shows."""

    examples: Sequence[Mapping[str, Any]]


@runtime_checkable
class HasOutcomes(Protocol):
    """An evaluator that keeps whether each test item was right in its last run, for tests of significance."""

    outcomes: Mapping[str, Outcomes]  # by metric
