"""Held-out masked language modelling by language."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Iterator, Mapping, Sequence

import jax
import numpy as np

from clwe_jax.evaluate.placement import Program, whole
from clwe_jax.types import Batch, Objective, Sums, Variables

# Metrics of the objective that are passed on where something was weighed.
_METRICS = (
    "loss", "accuracy", "cross_lingual_share", "monolingual_loss", "cross_lingual_loss",
    "forward/loss", "backward/loss",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class MlmEvaluator:
    """Loss, perplexity and accuracy on held-out text, which is masked alike every time.

    Where rows have a state (a bidirectional language model's), it goes from batch to batch.

    Attributes:
      every_steps: how often in training; 0: at its end only.
      batches: the held-out batches of each language, the same on every host.
      objective: what is scored.
    """

    every_steps: int = 0
    batches: Mapping[str, Sequence[Batch]]
    objective: Objective

    def run(self, variables: Variables) -> Iterator[tuple[str, float]]:
        """Yields eval/mlm/{language}/{metric}, and eval/mlm/{metric}, the mean over the languages.

        The metrics are loss (nats a piece), perplexity (its exponential; the mean's is that of the
        mean loss), accuracy, cross_lingual_share, monolingual_loss and cross_lingual_loss.
        A language without masked words has none.
        """
        found: dict[str, list[float]] = {}
        for language, batches in self.batches.items():
            totals: dict[str, Sums] = {}
            rows = self._fresh(variables, batches[0])
            for batch in batches:
                sums, rows = self._program({**variables, "rows": rows}, batch)
                totals = {k: totals[k] + v if totals else v for k, v in sums.items()}
            for name, sums in jax.device_get(totals).items():
                if sums.weight > 0:
                    value = float(sums.value) / float(sums.weight)
                    found.setdefault(name, []).append(value)
                    yield from _named(f"eval/mlm/{language}/{name}", value)
        for name, values in found.items():
            yield from _named(f"eval/mlm/{name}", float(np.mean(values)))

    @functools.cached_property
    def _program(self) -> Program:
        return Program(self._score)

    def _score(self, variables: Variables, batch: Batch) -> tuple[dict[str, Sums], Any]:
        sums, observed = self.objective.loss(variables, batch, step=0, train=False)
        return {name: sums[name] for name in _METRICS if name in sums}, observed.get("rows", {})

    def _fresh(self, variables: Variables, batch: Batch) -> Any:
        """The state of rows whose streams begin, where rows have one."""
        rows = jax.eval_shape(self._score, {**variables, "rows": {}}, batch)[1]
        return whole(jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), rows), variables)


def _named(name: str, value: float) -> Iterator[tuple[str, float]]:
    yield name, value
    if name.endswith("/loss"):
        with np.errstate(over="ignore"):
            yield name.removesuffix("loss") + "perplexity", float(np.exp(value))
