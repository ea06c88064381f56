"""The evaluators of a run, made from config.evals."""

from __future__ import annotations

import dataclasses
from typing import Any, Container, Iterator, Mapping, Sequence

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import registry
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.model_encoder import ModelEncoder
from clwe_jax.types import Encoder, Evaluator, HasDetails, Variables


@dataclasses.dataclass(frozen=True, eq=False)
class Keyed:
    """An evaluator under a key of config.evals, itself an evaluator.

    Its metrics are those of the measurement; where the key is not the measurement's own name, they
    stand under the key: 'retrieval/mean' of the key 'retrieval', 'tatoeba/retrieval/mean' of
    `config.evals.tatoeba = dict(name='retrieval', ...)`.

    Attributes:
      evaluator: of the registry.
      prefix: of its metrics: '' or '{key}/'.
    """

    evaluator: Evaluator
    prefix: str = ""
    has_data = True

    @property
    def every_steps(self) -> int:
        """See `types.Evaluator`."""
        return self.evaluator.every_steps

    @property
    def details(self) -> Sequence[Mapping[str, Any]]:
        """See `types.HasDetails`; empty where the evaluator has none."""
        return self.evaluator.details if isinstance(self.evaluator, HasDetails) else ()

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value) of a model."""
        for metric, value in self.evaluator.run(model):
            yield self.prefix + metric, value


@dataclasses.dataclass(frozen=True, eq=False)
class InTraining:
    """An evaluator and its encoder as a `types.TrainingEvaluator`."""

    evaluator: Evaluator
    encoder: ModelEncoder

    @property
    def every_steps(self) -> int:
        """See `types.Evaluator`."""
        return self.evaluator.every_steps

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        """Yields (metric path, value) of the model with these variables, after `step` steps."""
        return self.evaluator.run(self.encoder.bind(variables, step))


def build(
    config: ConfigDict,
    context: Context,
    folders: Mapping[str, str] | None = None,
    names: Container[str] | None = None,
) -> list[Keyed]:
    """The evaluators of config.evals that have data; the log names the others.

    Args:
      config: `evals`.
      context: of the run.
      folders: 'evals.{key}' -> the folder behind that evaluator's option `data`; see
        `text.world.resolve_folders`.
      names: evaluators that are wanted; None: all.

    Raises:
      ValueError: an unknown name or option, or an option that cannot work.
      FileNotFoundError: a folder that is missing or holds nothing to test on.
    """
    made = []
    for key, spec in config.evals.items():
        spec = spec.to_dict()
        if names is not None and spec["name"] not in names:
            continue
        if "data" in spec:
            spec["data"] = (folders or {}).get(f"evals.{key}", spec["data"])
        evaluator = registry.build("evaluator", spec, context=context)
        if evaluator.has_data:
            made.append(Keyed(evaluator, "" if key == spec["name"] else f"{key}/"))
        else:
            logging.info("config.evals.%s has no data: left out", key)
    return made


def in_training(made: Sequence[Keyed], encoder: ModelEncoder) -> list[InTraining]:
    """The evaluators for `training.train.fit`, of the model that is being trained."""
    return [InTraining(evaluator, encoder) for evaluator in made]


def measure(
    made: Sequence[Keyed], model: Encoder
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The figures of all evaluators by metric path, and the rows that they leave for tables."""
    figures: dict[str, float] = {}
    rows: list[dict[str, Any]] = []
    for evaluator in made:
        figures.update((metric, float(value)) for metric, value in evaluator.run(model))
        rows += evaluator.details
    return figures, rows
