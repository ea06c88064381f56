"""The contrastive finish as a stage: its folder, its training, its figures and its section."""

from __future__ import annotations

import dataclasses
import os
import shutil
from typing import Any, Callable, Mapping, Sequence

from absl import logging
import jax
from jax.experimental import multihost_utils

from clwe_jax.cached import CachedResult
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import to_dict
from clwe_jax.options.training import CheckpointOptions
from clwe_jax.report import data, evaluations, run_folder
from clwe_jax.runs import inputs
from clwe_jax.text.text_of_run import RunText
from clwe_jax.training import checkpoint, finish, partition, train
from clwe_jax.training.train import FitResult
from clwe_jax.types import Objective, TrainingEvaluator

# Fields of the pretraining's result that a later start of the finish cannot compute again.
_FIELDS = ("evaluations", "train", "compile_seconds", "tokens_per_second", "steps_per_second")
BEFORE = "before_finish/"
# What the finish costs: path -> name.
_COST = {
    "eval/mlm/loss": "all labels",
    "eval/mlm/monolingual_loss": "labels in the text's language",
}


@dataclasses.dataclass(frozen=True)
class Finish:
    """The contrastive finish of a run.

    WORKDIR/finish holds its checkpoints, its metrics and before.json: the pretraining's figures. A
    finish with other options, or of another number of pretraining steps, is made again from the
    pretraining's last checkpoint.
    """

    config: PretrainRun
    workdir: str

    @property
    def folder(self) -> str:
        return os.path.join(self.workdir, finish.FOLDER)

    @property
    def record(self) -> dict[str, Any]:
        """The options that the finish is made with; {} where the run has none."""
        if not finish.steps(self.config):
            return {}
        return {"pretraining_steps": self.config.train.steps, **to_dict(self.config.finish)}

    @property
    def done(self) -> bool:
        """Whether all steps of the finish are done, or the run has none."""
        steps = finish.steps(self.config)
        complete = checkpoint.complete_steps(os.path.join(self.folder, "checkpoints"))
        return (
            not steps
            or bool(self._result_before().read_stored())
            and bool(complete)
            and complete[-1] >= steps
        )

    def check_steps(self) -> None:
        """As `train.check_steps`, for the pretraining and for a finish with these options."""
        train.check_steps(self.workdir, self.config.train.steps)
        if self._result_before().read_stored():
            train.check_steps(self.folder, self.config.finish.steps)

    def begin(self) -> dict[str, Any]:
        """The pretraining's figures, fields of `FitResult`, where the finish has begun; else {}.

        A finish that was made with other options is removed.
        """
        before = self._result_before().read_stored() or {}
        # No host may still read the record when the first one removes it.
        _all_hosts("the record of the finish is read")
        if finish.steps(self.config) and not before and os.path.isdir(self.folder):
            logging.info("%s was made with other options; it is made again", self.folder)
            if jax.process_index() == 0:
                shutil.rmtree(self.folder)
            _all_hosts("the old finish is removed")
        return before

    def train(
        self,
        objective: Objective,
        run_text: RunText,
        evaluators: Sequence[TrainingEvaluator],
        pretrained: FitResult,
        meta: Mapping[str, Any],
    ) -> FitResult:
        """Trains, or goes on training; the result of the finish alone.

        Args:
          evaluators: measure the model as they do in the pretraining.
          pretrained: the pretraining's result, whose state may be used up.
        """
        config = self.config
        if jax.process_index() == 0:
            self._result_before(
                lambda: {name: getattr(pretrained, name) for name in _FIELDS}
            ).result()
        _all_hosts("the record of the finish is written")
        checkpoints = CheckpointOptions(config.checkpoint.every_steps, config.checkpoint.keep)
        settings = finish.train_options(config, partition.make_mesh(config.mesh))
        return train.fit(
            train.FitOptions(settings, config.mesh, checkpoints, config.seed),
            objective=finish.objective(
                config.finish, objective, inputs.pool_weights(config.finish, run_text)
            ),
            optimizer=finish.optimizer(config),
            source=inputs.copies(config, run_text),
            evaluators=evaluators,
            workdir=self.folder,
            before=pretrained.state,
            meta=meta,
        )

    def section(self, figures: Mapping[str, float]) -> list[Any]:
        """The report's section, [] for a run without a finish.

        Args:
          figures: of the run, those of the function `figures` among them.
        """
        if not self.record:
            return []
        options = self.config.finish
        tables = []
        for title, form, names in (
            ("The cost: held-out loss, nats per masked piece", "", _COST),
            ("The gain: translations found", "percent", _gains()),
        ):
            rows = []
            for name, row_label in names.items():
                before = figures.get(BEFORE + name)
                after = figures.get(name)
                if before is not None and after is not None:
                    change = data.Number(after, change=after - before)
                    rows.append([row_label, data.Number(before), change])
            columns = ["", data.Column("Before", form), data.Column("After", form)]
            tables += [data.Table(columns, rows, title=title)] if rows else []
        series = run_folder.read_series(self.folder)
        counterpart = "translation"
        pair = f"a sentence and its translation ({options.pairs})"
        if options.pairs == "copies":
            counterpart = "copy"
            pair = (
                f"a sentence and its code-switched copy ({options.copy_switch_rate:.0%} of the words "
                "that have a translation are switched)"
            )
        curves = {
            "InfoNCE loss": ("nats per sentence", "", {"loss": "loss"}),
            f"Nearest is the own {counterpart}": ("", "percent", {"accuracy": "both directions"}),
            "Cosines": (
                "",
                "",
                {"pair_cosine": f"with its {counterpart}", "other_cosine": "with others"},
            ),
        }
        charts = []
        for title, (unit, form, labels) in curves.items():
            lines = []
            for name, label in labels.items():
                points = run_folder.finite(series.get(f"train/{name}", {}))
                if points:
                    lines.append(data.Line(label, points=list(points.items())))
            charts.append(data.Chart(title, lines, y=unit, form=form))
        lost = ""
        against = ""
        if options.drop:
            lost = f" (each of the two loses up to {options.drop:.0%} of its words)"
        if options.against == "table":
            against = " A sentence's layers are compared with the other's token vectors (layer 0)."
        text = (
            f"After the pretraining, {options.steps:,} steps of {options.batch_size} pairs: {pair} "
            f"attract each other{lost}, and the others of the batch repel them.{against} The head does not learn, so that the loss on masked pieces rises. "
            "The tables have the figures of the training's end. All other figures of this page are of the model after the finish."
        )
        return [data.to_json(data.Section("Contrastive finish", text, [*tables, *charts]))]

    def _result_before(
        self, make: Callable[[], dict[str, Any]] = dict
    ) -> CachedResult[dict[str, Any]]:
        """before.json, of a finish with these options; more steps go on with the same finish."""
        key = {name: value for name, value in self.record.items() if name != "steps"}
        return CachedResult(os.path.join(self.folder, "before.json"), key, make)


def join_results(pretrained: FitResult, finished: FitResult) -> FitResult:
    """The result of a run with the state and the figures of its finish."""
    return dataclasses.replace(
        pretrained,
        state=finished.state,
        evaluations=finished.evaluations,
        skipped=pretrained.skipped + finished.skipped,
        failed_checkpoints=pretrained.failed_checkpoints + finished.failed_checkpoints,
    )


def figures(pretrained: FitResult, finished: FitResult) -> dict[str, float]:
    """The finish's training metrics, 'finish/...', and figures before it, under `BEFORE`."""
    before = pretrained.evaluations
    names = [name for name in (*_COST, *_gains()) if name in before]
    return {
        **{BEFORE + name: before[name] for name in names},
        **{name.replace("train/", "finish/", 1): x for name, x in finished.train.items()},
    }


def _gains() -> dict[str, str]:
    """Path -> label of the headlines that are shares."""
    return {x.mean: x.label for x in evaluations.every_headline() if x.form == "percent"}


def _all_hosts(where: str) -> None:
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(where)
