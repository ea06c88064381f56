"""The evaluators of a run, made from config.evals."""

from __future__ import annotations

import dataclasses
from typing import Any, Container, Iterable, Iterator, Mapping, Sequence

from absl import logging

from clwe_jax import time_parts, registry, terminal
from clwe_jax.encoders.encode import describe_reading
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.evaluator import Evaluator, HasDetails, HasExamples, HasOutcomes
from clwe_jax.options.section import Options
from clwe_jax.types import Variables


@dataclasses.dataclass(frozen=True, eq=False)
class NamedEvaluator:
    """An `Evaluator` under a key of config.evals.

    Where the key is not the evaluator's name, it precedes the metrics: the key 'retrieval' yields
    'retrieval/mean', `config.evals.tatoeba = dict(name='retrieval', ...)` yields
    'tatoeba/retrieval/mean'.

    Attributes:
      prefix: prefix of its metrics: '' or '{key}/'.
      key: key of config.evals, which the terminal shows.
    """

    evaluator: Evaluator
    prefix: str = ""
    key: str = ""
    has_data = True

    @property
    def every_steps(self) -> int:
        return self.evaluator.every_steps

    @property
    def details(self) -> Sequence[Mapping[str, Any]]:
        return self.evaluator.details if isinstance(self.evaluator, HasDetails) else ()

    @property
    def outcomes(self) -> dict[str, Outcomes]:
        """Metric -> whether each test item was right in the last run; {} if not known."""
        outcomes = self.evaluator.outcomes if isinstance(self.evaluator, HasOutcomes) else {}
        return {self.prefix + metric: items for metric, items in outcomes.items()}

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        with terminal.stage(f"evaluating {self.key}"), time_parts.part(time_parts.EVALUATION):
            for metric, value in self.evaluator.run(model):
                yield self.prefix + metric, value


@dataclasses.dataclass(frozen=True, eq=False)
class InTraining:
    """An evaluator and its encoder as a `types.TrainingEvaluator`."""

    evaluator: NamedEvaluator
    encoder: ModelEncoder

    @property
    def every_steps(self) -> int:
        return self.evaluator.every_steps

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        return self.evaluator.run(self.encoder.bind(variables, step))


def build(
    evals: Mapping[str, Options],
    context: Context,
    folders: Mapping[str, str] | None = None,
    names: Container[str] | None = None,
) -> list[NamedEvaluator]:
    """The evaluators of config.evals that have data; one line of the log names the others.

    Args:
      context: the run's context.
      folders: 'evals.{key}' -> the folder of that evaluator's option `data`.
      names: names of the requested evaluators; None: all.

    Raises:
      ValueError: an option that cannot work.
      FileNotFoundError: a folder that is missing or holds no test data.
    """
    evaluators = []
    absent = []
    for key, evaluator in _make_each(evals, context, folders or {}, names):
        spec = evals[key]
        if evaluator.has_data:
            evaluators.append(NamedEvaluator(evaluator, "" if key == spec.name else f"{key}/", key))
        else:
            option = f"config.evals.{key}"
            absent.append(f"{option}.data" if hasattr(spec, "data") else option)
    if absent and names is None:
        logging.info("Not measured, as these options name no data: %s", ", ".join(absent))
    return evaluators


def check(evals: Mapping[str, Options], context: Context, folders: Mapping[str, str]) -> None:
    """Makes every evaluator, which finds its test data, and forgets it.

    Args:
      evals, folders: as of `build`; an evaluator whose folder is '' is made without data.
      context: the run's context without tokenizer and text.

    Raises:
      ValueError, FileNotFoundError: as of `build`.
    """
    for _ in _make_each(evals, context, folders, None):
        pass


def _make_each(
    evals: Mapping[str, Options],
    context: Context,
    folders: Mapping[str, str],
    names: Container[str] | None,
) -> Iterator[tuple[str, Evaluator]]:
    """The key in config.evals and the evaluator of each entry."""
    for key, spec in evals.items():
        if names is not None and spec.name not in names:
            continue
        if hasattr(spec, "data"):
            spec = dataclasses.replace(spec, data=folders.get(f"evals.{key}", spec.data))
        yield key, registry.build("evaluator", spec, context=dataclasses.replace(context, key=key))


def measure(
    named: Sequence[NamedEvaluator], model: Encoder
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The figures of all evaluators by metric path, and the rows of their `HasDetails.details`."""
    figures: dict[str, float] = {}
    rows: list[dict[str, Any]] = []
    logging.info("a sentence's vector: %s", describe_reading(model))
    for evaluator in named:
        figures.update((metric, float(value)) for metric, value in evaluator.run(model))
        rows += evaluator.details
    return figures, rows


def outcomes(named: Iterable[NamedEvaluator]) -> dict[str, Outcomes]:
    """Metric -> whether each test item was right in the last run, of all evaluators."""
    all_outcomes: dict[str, Outcomes] = {}
    for evaluator in named:
        all_outcomes |= evaluator.outcomes
    return all_outcomes


def examples(named: Iterable[NamedEvaluator]) -> dict[str, list[Mapping[str, Any]]]:
    """Name of an evaluator -> the rows that its section shows: report.json's 'evaluations'."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for evaluator in (named.evaluator for named in named):
        if isinstance(evaluator, HasExamples):
            rows.setdefault(evaluator.name, []).extend(evaluator.examples)
    return rows
