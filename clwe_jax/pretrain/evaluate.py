"""Measures a finished language model again, on other test sets or with other options."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Iterator, Mapping

from absl import logging
import jax

from clwe_jax import options
from clwe_jax.encoders import language_model
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.training import MeshOptions
from clwe_jax.pretrain.finish import BEFORE
from clwe_jax.report.headline import FLOOR
from clwe_jax.runs import dictionary_baseline, evaluators, forecast, inputs
from clwe_jax.runs.job import FIGURES, Job, Results, Stage


def run(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Runs config.evals on the language model in `workdir`."""
    return Evaluation(config, workdir).run(dry)


class Evaluation(Job):
    """Measures a language model without its projection, which config.job='project' measures.

    Figures of evaluators that config.evals no longer lists stay as they were.
    """

    writes_config = False

    def check(self) -> None:
        if jax.process_count() > 1:
            raise ValueError("The evaluation runs on one host: start it there alone")
        if not self.read(FIGURES):
            raise FileNotFoundError(
                f"{self.workdir} holds no finished run: train it first, with the same command "
                "without --config.job=evaluate"
            )
        inputs.check(self.config, self.workdir)

    def stages(self):
        return [Stage("evaluation", self._evaluate, about=self._about_evaluation)]

    def _about_evaluation(self) -> Iterator[str]:
        yield f"model: the run in {self.workdir}"
        yield from forecast.evaluations(self.config, self.workdir)

    def _evaluate(self) -> Results:
        model = language_model.load(self.workdir)
        run_text = inputs.open_run_text(self.config, self.workdir)
        # On the devices that are here: the training may have had others.
        here = dataclasses.replace(self.config, mesh=MeshOptions())
        heldout = inputs.build(here, run_text).heldout
        suite = evaluators.build(
            self.config.evals, inputs.context(run_text, heldout), run_text.folders
        )
        encoder = ModelEncoder(
            model.objective,
            model.tokenizer,
            model.variables,
            self.config.train.steps,
            frequencies=run_text.frequencies,
        )
        figures, _ = evaluators.measure(suite, encoder)
        figures |= dictionary_baseline.measure_run(self.config, run_text, self.workdir)
        logging.info("%s figures", f"{len(figures):,}")
        return Results(figures, outcomes=evaluators.outcomes(suite))

    def results(self, done: Mapping[str, Any]) -> Results:
        # config.json names the options that the figures were measured with.
        run_config = options.read_config(self.workdir)
        data = dataclasses.replace(run_config.data, sample_bytes=self.config.data.sample_bytes)
        run_config = dataclasses.replace(run_config, data=data, evals=self.config.evals)
        options.write_config(run_config, self.workdir)
        return update(self.read(FIGURES), done["evaluation"])


def update(before: Mapping[str, float], new: Results) -> Results:
    """New figures in place of all earlier ones of the same evaluators, those of other test sets too.

    Those from before the finish go with them: the two were of the same tests.
    """
    measured = {measurement(name) for name in new.figures}
    kept = {x: y for x, y in before.items() if measurement(x.removeprefix(BEFORE)) not in measured}
    return dataclasses.replace(new, figures={**kept, **new.figures}, measured=new.figures)


def measurement(metric: str) -> str:
    """The first part of a metric's path, after that of the dictionary's floor or of a projection's method."""
    [start] = re.findall(f"^(?:{FLOOR}|projected/[^/]+/)?", metric)
    return start + metric.removeprefix(start).partition("/")[0]
