"""Transfer: labels are learned in some languages and predicted in others (C8, D9, A14, E8)."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from typing import Any, Iterator, Mapping

from absl import logging
import jax
import numpy as np

from clwe_jax import allocator, atomic, options, registry
from clwe_jax.encoders import load as encoders
from clwe_jax.options.transfer import LEARNED, TransferRun
from clwe_jax.runs import forecast
from clwe_jax.runs.job import Job, Results, Stage
from clwe_jax.transfer import (
    data as transfer_data,
    encoder as transfer_encoder,
    frozen as transfer_frozen,
    loaded,
    results as transfer_results,
    search,
    sections,
    translate,
)
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.frozen import FrozenTransfer
from clwe_jax.transfer.results import Features, OpenedEncoder, Predicted, Tested, Training
from clwe_jax.transfer.tuned import TunedTransfer

# the stages
_ROWS = "labelled rows"
_ENCODER = "encoder"
_FEATURES = "features"
_TRAINING = "training"
_TESTS = "tests"


def run(config: TransferRun, workdir: str, dry: bool = False) -> bool:
    """Trains heads or fine-tunes, tests in all languages and reports; whether it is finished."""
    return Transfer(config, workdir).run(dry)


class Transfer(Job):
    """Reads labelled rows, makes features or fine-tunes, predicts, and writes the tables."""

    def check(self) -> None:
        if jax.process_count() > 1 and not self.tunes:
            raise ValueError(
                "config.transfer.mode='frozen' runs on one host: start it there alone, or fine-tune "
                "with --config.transfer.mode=tune"
            )

    def advise(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        # Other errors to show or runs to compare with need the predictions again.
        shown = {"compare_with": "", **report.get("transfer", {})}
        if not figures or any(shown.get(name) != x for name, x in self._page_options.items()):
            return ""
        return (
            "This run is finished. To start again, give another --workdir; to label text: "
            f"clwe_jax.api.load({self.workdir!r}).{self._method}."
        )

    @property
    def _page_options(self) -> dict[str, Any]:
        """The options of the report's sections."""
        settings = self.config.report
        return {"errors": settings.errors, "compare_with": settings.compare_with}

    @property
    def _method(self) -> str:
        return {
            "tags": "tag([TEXT], lang=...)",
            "texts": "classify([TEXT], lang=...)",
            "spans": "label_spans([(WORDS, SPANS)], lang=...)",
        }[registry.lookup("transfer_task", self.config.transfer.task).kind]

    @property
    def tunes(self) -> bool:
        """Whether the backbone learns too."""
        return self.config.transfer.mode == "tune"

    def stages(self) -> list[Stage]:
        arguments = (self.config, self.workdir)
        open_encoder = functools.partial(transfer_encoder.open_encoder, *arguments)
        features = functools.partial(transfer_frozen.features, *arguments)
        needs = (_ROWS, _ENCODER)
        return [
            Stage(_ROWS, self._read, about=self._about_rows),
            Stage(_ENCODER, open_encoder, (_ROWS,), self._about_encoder),
            *(() if self.tunes else (Stage(_FEATURES, features, needs),)),
            Stage(_TRAINING, self._train, (*needs, _FEATURES), self._about_training),
            Stage(_TESTS, self._test, (*needs, _FEATURES, _TRAINING)),
        ]

    def _about_rows(self) -> Iterator[str]:
        settings = self.config.transfer
        data = transfer_data.read(self.config)
        for name, sets in (("train", data.train), ("dev", data.dev), ("test", data.tests)):
            counts = ", ".join(f"{language} {len(rows):,}" for language, rows in sets.items())
            yield f"{settings.task} {name}: {counts}"
        yield f"labels: {', '.join(data.labels)}"
        if settings.translate:
            yield f"translated word by word by {self.config.data.dictionaries}: {settings.translate} rows"

    def _about_encoder(self) -> Iterator[str]:
        encoder = self.config.encoder
        if encoder == loaded.JOINT:
            yield f"encoder: joint-align vectors, trained first in {self.path(loaded.ENCODER)}"
            yield from forecast.vectors(transfer_encoder.joint_config(self.config))
        elif encoder in LEARNED:
            yield f"encoder: {encoder}, which learns with the head from labelled rows alone"
        else:
            data = transfer_data.read(self.config)
            translated = self.config.transfer.translate == "test"  # into a training language
            languages = tuple({**data.train, **data.dev}) if translated else data.languages
            model = transfer_encoder.load(encoder, encoder, languages)
            yield f"encoder: {encoder}, {model!r}"
            if self.tunes:
                encoders.tunable(model, encoder)
        if self.config.data.pairs:
            yield f"mapped by word-aligned sentences: {self.config.training_pairs}"

    def _about_training(self) -> Iterator[str]:
        settings = self.config.transfer
        epochs = self.config.train.epochs if self.tunes else self.config.recipe.epochs
        learns = "backbone and head" if self.tunes else "head"
        yield (
            f"training: {learns} {settings.head.name}, at most {epochs} epochs, {settings.seeds} seeds"
        )
        if settings.search.trials and not self.tunes:
            yield f"search: {settings.search.trials} trials of the regularisation"

    def _read(self) -> LabelledData:
        rows = transfer_data.read(self.config)
        data = translate.translate_rows(self.config, self.workdir, rows)
        for name, sets in (("train", data.train), ("test", data.tests)):
            for language, rows_of in sets.items():
                logging.info("%s %s: %s rows", name, language, f"{len(rows_of):,}")
        return data

    def _train(
        self, data: LabelledData, encoder: OpenedEncoder, features: Features | None
    ) -> Training | object:
        # Else glibc returns each step's memory to the system: 7% of a BiLSTM-CRF's step.
        if jax.default_backend() == "cpu":
            allocator.keep_freed_memory()
        if features is None:
            return TunedTransfer(self.config, self.workdir, data, encoder).train()
        frozen = FrozenTransfer(self.config, self.workdir, data, encoder, features)
        if not self.config.transfer.search.trials:
            return frozen.train()
        trials = search.search(frozen)
        config = options.with_values(self.config, search.best(trials).values)
        training = dataclasses.replace(frozen, config=config).train()
        return dataclasses.replace(training, trials=trials)

    def _test(
        self,
        data: LabelledData,
        encoder: OpenedEncoder,
        features: Features | None,
        training: Training,
    ) -> Tested:
        if features is None:
            labels, cuts = TunedTransfer(self.config, self.workdir, data, encoder).test()
        else:
            labels = transfer_frozen.test(training.layers, features, data.tests)
            cuts = {}
        self._write_counts(data, labels[training.chosen])
        self._describe_labels(data, training.chosen)
        scores = {layer: transfer_results.scores(data, mine) for layer, mine in labels.items()}
        return Tested(labels, scores, cuts)

    def _write_counts(self, data: LabelledData, labels: Predicted) -> None:
        """The counts of each test row, for comparisons with other runs."""
        os.makedirs(self.path(sections.PREDICTIONS), exist_ok=True)
        for language, seeds in labels.items():
            rows = data.tests[language]
            gold = data.gold(rows)
            counts = [data.task.counts(gold, mine) for mine in seeds]
            path = self.path(sections.PREDICTIONS, f"{language}.npz")
            with atomic.writing(path) as file:
                np.savez(file, counts=np.stack(counts), gold=_hash(gold), items=data.items(rows))

    def _describe_labels(self, data: LabelledData, chosen: str) -> None:
        """Writes the facts that `api.load` reads."""
        described = {
            "labels": data.labels,
            "tags": data.tags,
            "texts": data.task.texts,
            "metric": data.task.metric,
            "chosen": chosen,
            "languages": data.languages,
            "translated": {}
            if self.config.transfer.translate == "train"
            else {language: dataclasses.asdict(x) for language, x in data.glossaries.items()},
        }
        atomic.write_json(self.path(loaded.SETTINGS), described)

    def results(self, done: Mapping[str, Any]) -> Results:
        data, encoder, training, tested = (done[x] for x in (_ROWS, _ENCODER, _TRAINING, _TESTS))
        speed = (name.partition("/") + (x,) for name, x in training.speed.items())
        report = {
            "speed": {name: x for kind, _, name, x in speed if kind == "speed"},
            "skipped": {**data.skipped, **training.cut, **tested.cut},
            "sections": sections.sections(
                self.config, self.workdir, data, encoder, training, tested
            ),
            "transfer": {
                **self._page_options,
                "seconds": self.seconds,
                "seeds": self.config.transfer.seeds,
            },
        }
        return Results(transfer_results.figures(data, encoder, training, tested), report)


def _hash(gold: Any) -> str:
    """A hash of the labels of a test set, by which two runs know that they share it."""
    return hashlib.sha256(json.dumps(gold).encode()).hexdigest()[:16]
