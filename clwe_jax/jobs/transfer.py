"""Transfer: labels are learned in some languages and predicted in others (C8, D9, A14, E8)."""

from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import os
import time
from typing import Any, Iterator, Mapping, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax import atomic, options, presets, registry
from clwe_jax.api import encoders, transfer as api
from clwe_jax.api.base import Loaded
from clwe_jax.evaluate import agreement
from clwe_jax.evaluate.features import PieceTable, Vectors
from clwe_jax.evaluate.labeller import Labels
from clwe_jax.interop.configuration import LASER_WEIGHTS
from clwe_jax.jobs import facts, transfer_data, transfer_maps, transfer_report, transfer_search
from clwe_jax.jobs import transfer_translate, transfer_vocabulary
from clwe_jax.jobs.job import Job, Results, Stage
from clwe_jax.jobs.static import Static
from clwe_jax.jobs.transfer_frozen import FrozenTransfer
from clwe_jax.jobs.transfer_tuned import TunedTransfer
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.static import StaticRun
from clwe_jax.options.transfer import TransferRun
from clwe_jax.training import allocator, build, checkpoint, train
from clwe_jax.types import Covers

_PACKAGES = ("clwe_jax", "jax", "flax", "optax", "numpy")
PREDICTIONS = "predictions"


def run(config: TransferRun, workdir: str, dry: bool = False) -> bool:
    """Trains heads or fine-tunes, tests in all languages and reports; see `Job.run`."""
    return Transfer(config, workdir).run(dry)


class Transfer(Job):
    """Reads labelled rows, makes features or fine-tunes, predicts, and writes the tables."""

    def check(self) -> None:
        if jax.process_count() > 1 and not self.tunes:
            raise ValueError(
                "config.transfer.mode='frozen' runs on one host: start it there alone, or fine-tune "
                "with --config.transfer.mode=tune"
            )

    def finished(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        if not figures or report.get("transfer", {}).get("errors") != self.config.report.errors:
            return ""
        return (
            "This run is finished. To start again, give another --workdir; to label text: "
            f"clwe_jax.api.load({self.workdir!r}).{self._method}."
        )

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

    def stages(self):
        return [
            Stage("labelled rows", self._read, self._about_rows),
            Stage("encoder", self._open, self._about_encoder),
            *(() if self.tunes else (Stage("features", self._features),)),
            Stage("training", self._train, self._about_training),
            Stage("tests", self._test),
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
        if encoder == api.JOINT:
            yield f"encoder: joint-align vectors, trained first in {self.path(api.ENCODER)}"
        elif encoder in build.LEARNED:
            yield f"encoder: {encoder}, which learns with the head from labelled rows alone"
        else:
            data = transfer_data.read(self.config)
            translated = self.config.transfer.translate == "test"  # into a training language
            read = tuple({**data.train, **data.dev}) if translated else data.languages
            model = self._opened(encoder, read)
            yield f"encoder: {encoder}, {model!r}"
            if self.tunes:
                encoders.tunable(model, encoder)
        if self.config.transfer.align.parallel:
            yield f"mapped by word-aligned sentences: {self.config.transfer.align.parallel}"

    def _about_training(self) -> Iterator[str]:
        settings = self.config.transfer
        if self.tunes:
            yield (
                f"training: backbone and head ({settings.head.name}), {self.config.train.epochs} "
                f"epochs, {settings.seeds} seeds, one after the other"
            )
        else:
            if settings.search.trials:
                yield f"search: {settings.search.trials} trials of the regularisation"
            yield (
                f"training: head {settings.head.name}, at most {self.config.recipe.epochs} epochs, "
                f"{settings.seeds} seeds at once"
            )

    def _read(self) -> None:
        read = transfer_data.read(self.config)
        self.data = transfer_translate.translated(self.config, self.workdir, read)
        for name, sets in (("train", self.data.train), ("test", self.data.tests)):
            for language, rows in sets.items():
                logging.info("%s %s: %s rows", name, language, f"{len(rows):,}")

    def _joint_config(self) -> StaticRun:
        """The config of the joint-align vectors."""
        config = self.config
        found = presets.static(config.scale)
        found.system, found.seed = "Joint-Align", config.seed
        found.data.update(
            {name: x for name, x in values_of(config.data).items() if name in found.data}
        )
        found.static.update(
            training="joint", reallocation=True, refinement=True, write_text=False, induced_words=0
        )
        found.align.name = "rcsls"
        found.embeddings.update(values_of(config.transfer.joint))
        return options.parse(found)

    def _opened(self, where: str, wanted: Sequence[str]) -> Loaded:
        """The encoder, which knows the languages that are wanted."""
        model = encoders.load(where, wanted)
        for language in wanted:
            if language not in model.languages:
                raise ValueError(
                    f"config.encoder={self.config.encoder} knows {', '.join(model.languages)}, and "
                    f"the labelled rows are in {', '.join(wanted)}: name languages of both with "
                    f"--config.data.languages (without {language!r})"
                )
        return model

    def _open(self) -> None:
        config, encoder = self.config, self.config.encoder
        self.coverage: dict[str, float] = {}
        self.initial: dict[str, np.ndarray] = {}
        if encoder in build.LEARNED:
            self.made_with = {"encoder": encoder, "vocab": to_dict(config.vocab)}
            if config.transfer.pieces:
                self.made_with["pieces"] = state_of(config.transfer.pieces)
                tokenizer, table = transfer_vocabulary.pretrained(
                    config.transfer, self.workdir, self.data
                )
                self.initial["embedder/embedding"] = table
            else:
                tokenizer = transfer_vocabulary.tokenizer_of(config, self.workdir, self.data)
            self.source = PieceTable(tokenizer)
            return
        where = encoder
        if encoder == api.JOINT:
            Static(self._joint_config(), self.path(api.ENCODER)).run()
            where = f"run:{self.path(api.ENCODER)}"
        wanted = self.data.languages
        self.model = self._opened(where, wanted)
        self.made_with = {"encoder": where, "state": state_of(where)}
        spoken = map(self.data.spoken, [*self.data.train, *wanted])
        self.model, maps = transfer_maps.mapped(
            config, self.workdir, self.model, list(dict.fromkeys(spoken))
        )
        self.made_with |= maps
        if self.tunes:
            encoders.tunable(self.model, encoder)
            return
        settings = config.transfer
        found = encoders.text_encoder(self.model, settings.reduce, settings.pivot_probability)
        if settings.reduce:
            self.made_with |= {"reduce": [settings.reduce, settings.pivot_probability]}
        layers = "mix" if settings.layers == "each" else settings.layers
        whole = encoders.whole(settings.head, self.data.tags)
        self.source = Vectors(found, layers, settings.words, whole, self.workdir)
        if isinstance(found, Covers):
            for language, rows in self.data.tests.items():
                texts = self.data.texts(rows)
                self.coverage[language] = found.coverage(texts, self.data.spoken(language))

    def _features(self) -> None:
        self.frozen = FrozenTransfer(
            self.config, self.workdir, self.data, self.source, self.made_with, self.initial
        )
        self.frozen.features()

    def _train(self) -> bool:
        self.trials: list[transfer_search.Trial] = []
        if jax.default_backend() == "cpu":
            allocator.keep_freed_memory()
        if self.tunes:
            self.tuned = TunedTransfer(
                self.config, self.workdir, self.data, self.model, self.made_with
            )
            return self.tuned.train()
        if self.config.transfer.search.trials:
            self.trials = transfer_search.search(self.config, self.workdir, self.frozen)
            chosen = transfer_search.best(self.trials).values
            self.frozen = self.frozen.with_options(options.with_values(self.config, chosen))
        self.layers = self.frozen.train()
        return True

    def _test(self) -> None:
        self.predicted: dict[str, dict[str, list[Labels]]] = {}  # layer -> language -> seeds
        if self.tunes:
            predictor = self.tuned.predictor()
            self.predicted[""] = {
                language: self.tuned.test(predictor, rows, self.data.spoken(language))
                for language, rows in self.data.tests.items()
            }
        else:
            for layer in self.layers:
                self.predicted[layer.name] = {
                    language: self.frozen.test(layer, language) for language in self.data.tests
                }
        self._write_predictions()
        self._describe_labels()

    @property
    def chosen(self) -> str:
        """The layer with the best development figure."""
        if self.tunes:
            return ""
        return max(self.layers, key=lambda layer: layer.development.mean()).name

    def _write_predictions(self) -> None:
        """The counts of each test row, for comparisons with other runs."""
        os.makedirs(self.path(PREDICTIONS), exist_ok=True)
        for language, found in self.predicted[self.chosen].items():
            gold = self.data.gold(self.data.tests[language])
            counts = [self.data.task.counts(gold, mine) for mine in found]
            with atomic.writing(self.path(PREDICTIONS, f"{language}.npz")) as file:
                np.savez(file, counts=np.stack(counts), gold=_hash(gold))

    def _describe_labels(self) -> None:
        """Writes the facts that `api.load` reads."""
        described = {
            "labels": self.data.labels, "tags": self.data.tags, "texts": self.data.task.texts,
            "metric": self.data.task.metric, "chosen": self.chosen,
            "languages": self.data.languages,
            "translated": {} if self.config.transfer.translate == "train" else {
                language: dataclasses.asdict(x) for language, x in self.data.glossaries.items()
            },
        }  # fmt: skip
        atomic.write_json(self.path(api.SETTINGS), described)

    def results(self) -> Results:
        task, settings = self.data.task, self.config.transfer
        figures: dict[str, float] = {}
        self.scores: dict[str, dict[str, list[dict[str, float]]]] = {}
        for layer, by_language in self.predicted.items():
            self.scores[layer] = {
                language: [
                    task.score(self.data.gold(self.data.tests[language]), mine) for mine in found
                ]
                for language, found in by_language.items()
            }
            figures |= self._layer_figures(layer)
        figures |= self._layer_figures(self.chosen, main=True)
        if task.metric == "acc":
            for language in self.data.tests:
                figures[f"{task.name}/{language}/majority"] = self.data.majority(language)
        for language, share in self.coverage.items():
            figures[f"data/coverage/{language}"] = share
        for language, share in self.data.coverage.items():
            figures[f"data/translated/{language}"] = share
        if not self.tunes:
            figures["transfer/training_seconds"] = sum(x.facts["all_seconds"] for x in self.layers)
            best = next(layer for layer in self.layers if layer.name == self.chosen)
            figures[f"transfer/dev_{task.metric}"] = float(best.development.mean())
            if best.facts["seconds"]:
                rate = best.facts["rows"] / best.facts["seconds"]
                figures["transfer/training_rows_per_second"] = rate
        else:
            highest = [max(history.values()) for history in self.tuned.histories]
            figures[f"transfer/dev_{task.metric}"] = float(np.mean(highest))
            figures |= {f"speed/{name}": value for name, value in self.tuned.speed.items()}
        cut = self.tuned.cut if self.tunes else self.frozen.cut
        report = {
            **facts.environment(_PACKAGES),
            "speed": {"seconds": time.time() - self.started, **(self.tuned.speed if self.tunes else {})},
            "memory": {"peak_host_bytes": train.peak_memory()["host_peak"]},
            "notes": self.notes,
            "skipped": {**self.data.skipped, **cut},
            "sections": transfer_report.sections(self),
            "transfer": {"errors": self.config.report.errors, "seconds": self.seconds,
                         "seeds": settings.seeds},
        }  # fmt: skip
        return Results(figures, report)

    def _layer_figures(self, layer: str, main: bool = False) -> dict[str, float]:
        """The figures of the heads on a layer; `main`: under the names without a layer."""
        task, found = self.data.task.name, {}
        metric = self.data.task.metric
        below = f"{layer}/" if layer and not main else ""
        scores = self.scores[layer]
        for language, seeds in scores.items():
            for name in seeds[0]:
                values = [score[name] for score in seeds]
                found |= agreement.named_interval(f"{task}/{language}/{below}{name}", values)
        others = [language for language in scores if language not in self.data.labelled]
        if others:
            means = np.mean([[s[metric] for s in scores[x]] for x in others], axis=0)
            found |= agreement.named_interval(f"zero_shot/{task}/{below}mean_{metric}", means)
        return found


def state_of(encoder: str) -> Any:
    """Facts by which a changed encoder is recognised."""
    kind, _, where = encoder.partition(":")
    if kind == "vec":
        places = [part.partition("=")[2] or part for part in where.split(",")]
        return [[os.path.getsize(x), os.path.getmtime(x)] for x in places]
    names = ("spaces.json", "clcr.npz", "model.safetensors", "pytorch_model.bin")
    found = [os.path.join(where, name) for name in names]
    if kind == "laser":
        found = glob.glob(os.path.join(glob.escape(where), LASER_WEIGHTS))
    times = [os.path.getmtime(path) for path in found if os.path.exists(path)]
    return [checkpoint.complete_steps(os.path.join(where, "checkpoints")), times]


def _hash(gold: Any) -> str:
    """A hash of the labels of a test set, by which two runs know that they share it."""
    return hashlib.sha256(json.dumps(gold).encode()).hexdigest()[:16]
