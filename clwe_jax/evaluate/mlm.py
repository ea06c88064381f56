"""Held-out masked language modelling by language."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Iterator

import jax
import numpy as np

from clwe_jax import terminal
from clwe_jax.encoders.protocols import HasObjective
from clwe_jax.encoders.sharded_call import ShardedCall, mesh_of, place, replicate
from clwe_jax.evaluate.context import Context, language_model
from clwe_jax.options.evaluators import MlmEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.types import Batch, Sums, Variables

# Metrics of the objective that are yielded where their weight is not 0.
_METRICS = (
    "loss",
    "accuracy",
    "cross_lingual_share",
    "monolingual_loss",
    "cross_lingual_loss",
    "forward/loss",
    "backward/loss",
)
_STEP = "step"  # key of the training step beside the collections


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class MlmEvaluator(ByIdentity, MlmEvaluation):
    """Loss, perplexity and accuracy on held-out text, which has the same masks every time.

    The state of rows (of a bidirectional language model) is kept from batch to batch. The figures
    cover the rows of all hosts.
    """

    context: Context

    @property
    def has_data(self) -> bool:
        """Whether the run has held-out text."""
        return bool(self.context.heldout)

    def run(self, model: HasObjective) -> Iterator[tuple[str, float]]:
        """Yields eval/mlm/{language}/{metric}, and eval/mlm/{metric}, the mean over the languages.

        The metrics are loss (nats per piece), perplexity (the exponential of the loss, also of the
        mean loss), accuracy, cross_lingual_share, monolingual_loss and cross_lingual_loss. A
        language without masked words has no metrics.

        Raises:
          ValueError: a model without an objective.
        """
        model = language_model(model, "mlm")
        score, call = _score(model.objective.loss)
        # As an array the step does not compile a program of its own.
        variables = {**model.variables, _STEP: np.int32(model.step)}
        by_metric: dict[str, list[float]] = {}
        heldout = {x: y[: self.batches or None] for x, y in self.context.heldout.items()}
        with terminal.task("batches", sum(map(len, heldout.values()))) as advance:
            for language, batches in heldout.items():
                totals: dict[str, Sums] = {}
                # The rows of a language continue each other, and begin anew with the next language.
                rows = _fresh(score, variables, batches[0])
                for batch in batches:
                    # Sums stay on the device: fetching them here would wait for each batch.
                    sums, rows = call({**variables, "rows": rows}, batch)
                    totals = {k: totals[k] + v if totals else v for k, v in sums.items()}
                    advance(1)
                for name, sums in jax.device_get(totals).items():
                    if sums.weight > 0:
                        value = float(sums.value) / float(sums.weight)
                        by_metric.setdefault(name, []).append(value)
                        yield from _yield_with_perplexity(f"eval/mlm/{language}/{name}", value)
        for name, values in by_metric.items():
            yield from _yield_with_perplexity(f"eval/mlm/{name}", float(np.mean(values)))


Score = Callable[[Variables, Batch], tuple[dict[str, Sums], Any]]


@functools.lru_cache(maxsize=2)  # evaluations of one objective share the compiled program
def _score(loss: Callable[..., Any]) -> tuple[Score, ShardedCall]:
    def score(variables: Variables, batch: Batch) -> tuple[dict[str, Sums], Any]:
        variables = dict(variables)
        step = variables.pop(_STEP)
        sums, observed = loss(variables, batch, step=step, train=False)
        return {name: sums[name] for name in _METRICS if name in sums}, observed.get("rows", {})

    return score, ShardedCall(score, own_rows=True)


def _fresh(score: Score, variables: Variables, batch: Batch) -> Any:
    """The state of rows at the beginning of their streams; {} where rows have no state."""
    batch = place(batch, mesh_of(variables), own_rows=True)  # rows of all hosts
    rows = jax.eval_shape(score, {**variables, "rows": {}}, batch)[1]
    return replicate(jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), rows), variables)


def _yield_with_perplexity(name: str, value: float) -> Iterator[tuple[str, float]]:
    yield name, value
    if name.endswith("/loss"):
        with np.errstate(over="ignore"):
            yield name.removesuffix("loss") + "perplexity", float(np.exp(value))
