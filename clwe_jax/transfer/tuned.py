"""Transfer by fine-tuning: backbone and head learn together, one seed after the other."""

from __future__ import annotations

import collections
from typing import Any, Iterator

from absl import logging
import jax
import numpy as np

from clwe_jax import cached
from clwe_jax.data.arrays import ArraySource
from clwe_jax.encoders import piece_rows
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.training import CheckpointOptions, TrainOptions
from clwe_jax.options.transfer import TransferRun
from clwe_jax.runs.job import STOPPED
from clwe_jax.training import build, fine_tuned, init, optim, train
from clwe_jax.transfer.data import LabelledData, Rows
from clwe_jax.transfer.frozen import seeds_of
from clwe_jax.transfer.labeller import Labels, TunedLabellers
from clwe_jax.transfer.results import OpenedEncoder, Predicted, Training
from clwe_jax.types import Variables


class TunedTransfer:
    """Fine-tunes the backbone of a run, and predicts.

    WORKDIR/tuned/seedN holds the checkpoints of a seed. Training resumes exactly; the parameters of
    the epoch with the best development figure stay.

    Attributes:
      metric: path of the development figure.
    """

    def __init__(
        self, config: TransferRun, workdir: str, data: LabelledData, encoder: OpenedEncoder
    ):
        """`encoder`: the pretrained model; a run with other facts of it is trained again."""
        self._config = config
        self._workdir = workdir
        self._data = data
        self._model: LanguageModel = encoder.reader
        self._made_with = {
            **encoder.made_with,
            **data.made_with,
            "transfer": to_dict(config.transfer),
            "optimizer": to_dict(config.optimizer),
            "train": [config.train.epochs, config.train.batch_size, config.train.microbatches],
        }
        base = self._model.objective
        self._objective = build.tuned_objective(config.transfer, data.labels, data.tags, base)
        config.optimizer.check_model(base.model.options)
        self._length = min(config.transfer.length, base.max_length)
        self._types = data.task.texts == 2 and self._objective.model.backbone.options.types > 1
        self.metric = f"dev/{data.task.metric}"

    def train(self) -> Training | object:
        """Fine-tunes all seeds; `STOPPED` where a signal stopped it."""
        config = self._config
        columns, cuts = self._columns()
        rows = len(columns["inputs"])
        settings = config.train
        per_epoch = -(-rows // settings.batch_size)
        saves = CheckpointOptions(every_steps=per_epoch, keep=1, best=self.metric, best_mode="max")
        options = TrainOptions(
            **{x: y for x, y in values_of(settings).items() if x != "epochs"},
            steps=settings.epochs * per_epoch,
        )
        histories: list[dict[int, float]] = []
        speed: dict[str, float] = {}  # of the last seed
        for number, seed in enumerate(seeds_of(config)):
            folder = fine_tuned.folder(self._workdir, number)
            # Checkpoints that were made with other options are removed; others are resumed.
            cached.claim(folder, self._made_with)
            logging.info(
                "seed %d of %d: %d rows, %d steps an epoch",
                number + 1,
                config.transfer.seeds,
                rows,
                per_epoch,
            )
            result = train.fit(
                train.FitOptions(options, config.mesh, saves, seed),
                objective=self._objective,
                optimizer=optim.from_config(config.optimizer, self._length),
                source=ArraySource(
                    # The batch size is that of all hosts together.
                    columns,
                    settings.batch_size // jax.process_count(),
                    seed=seed,
                    padding=piece_rows.list_padding(self._model.tokenizer),
                    process_index=jax.process_index(),
                    process_count=jax.process_count(),
                ),
                workdir=folder,
                evaluators=[_Development(self, per_epoch)],
                initial=init.Initial(
                    # The head starts at random.
                    fine_tuned.backbone_of(self._model.variables),
                    "backbone/.*",
                    origin=f"config.encoder={config.encoder}",
                ),
                meta={"vocabulary": self._model.tokenizer.vocabulary.fingerprint()},
            )
            if not result.finished:
                return STOPPED
            histories.append(fine_tuned.history(folder, self.metric))
            if result.steps_per_second:
                speed = {
                    "speed/tokens_per_second": result.tokens_per_second,
                    "speed/steps_per_second": result.steps_per_second,
                    "speed/compile_seconds": result.compile_seconds,
                }
        return Training(histories, cuts, speed)

    def _columns(self) -> tuple[dict[str, Any], collections.Counter[str]]:
        """The training rows of all languages as columns of pieces; reason -> number of cut rows."""
        cuts: collections.Counter[str] = collections.Counter()
        columns: dict[str, list[Any]] = collections.defaultdict(list)
        gold: list[Any] = []
        for language, rows in self._data.train.items():
            pieces = self._rows(rows, language)
            labels = self._data.label_ids(rows)
            for key, column in pieces.columns.items():
                columns[key] += column
            cuts.update(pieces.cut)
            if self._data.tags:
                counts = [len(x) for x in pieces.columns["words"]]
                for (number, first), count in zip(pieces.places, counts):
                    gold.append(np.array(labels[number][first : first + count], np.int32))
            else:
                gold += labels
        return {**columns, "gold": gold if self._data.tags else np.array(gold, np.int32)}, cuts

    def _rows(self, rows: Rows, language: str) -> piece_rows.PieceRows:
        texts = self._data.inputs(rows)
        tokenizer = self._model.tokenizer
        if self._data.tags:
            return piece_rows.of_sentences(tokenizer, texts, language, self._length)
        return piece_rows.of_texts(tokenizer, texts, language, self._length, self._types)

    def test(self) -> tuple[dict[str, Predicted], dict[str, int]]:
        """The labels of the test rows by all seeds; reason -> number of rows that lost their end."""
        folders = [fine_tuned.folder(self._workdir, k) for k in range(self._config.transfer.seeds)]
        variables = [fine_tuned.best(x, self._objective, self.metric) for x in folders]
        predictor = self._predictor(variables)
        labels = {}
        cuts = {}
        for language, rows in self._data.tests.items():
            spoken = self._data.text_language(language)
            for reason, count in self._rows(rows, spoken).cut.items():
                cuts[f"test rows ({spoken}): {reason}"] = count
                logging.warning("%d test rows (%s): %s", count, spoken, reason)
            labels[language] = self._predict(predictor, rows, spoken)
        return {"": labels}, cuts

    def _predictor(self, variables: list[Variables]) -> TunedLabellers:
        return TunedLabellers(
            self._objective,
            self._model.tokenizer,
            variables,
            self._data.labels,
            self._length,
            self._types,
        )

    def _predict(self, predictor: TunedLabellers, rows: Rows, language: str) -> list[Labels]:
        """For each seed the labels of rows of a language."""
        texts = self._data.inputs(rows)
        if self._data.tags:
            return predictor.label_sentences(texts, language)
        return predictor.label_texts(texts, language)

    def development(self, variables: Variables) -> float:
        """The development figure of variables."""
        gold = []
        predicted = []
        predictor = self._predictor([variables])
        for language, rows in self._data.dev.items():
            gold += self._data.gold(rows)
            predicted += self._predict(predictor, rows, language)[0]
        return self._data.task.score(gold, predicted)[self._data.task.metric]


class _Development:
    """The development figure after every epoch (`types.TrainingEvaluator`)."""

    def __init__(self, job: TunedTransfer, every_steps: int):
        self._job = job
        self.every_steps = every_steps

    def run(self, variables: Variables, step: int) -> Iterator[tuple[str, float]]:
        del step
        yield self._job.metric, self._job.development(variables)
