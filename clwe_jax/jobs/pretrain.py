"""The pretraining job: text and dictionaries in; a model, its figures and its report out."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Iterator, Mapping, Sequence

import jax
import numpy as np

from clwe_jax import api, atomic, options
from clwe_jax.evaluate.model_encoder import ModelEncoder
from clwe_jax.jobs import (
    evaluators, facts, floor, forecast, inputs, lexica, own_mining, senses, shared_space, warm,
)  # fmt: skip
from clwe_jax.jobs.finish import Finish
from clwe_jax.jobs.job import Job, Results, Stage
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.report import data, translations, word_links
from clwe_jax.text import training_dictionary
from clwe_jax.training import (
    allocator, build, checkpoint, init, optim, partition, phases, train,
)  # fmt: skip

_PACKAGES = ("clwe_jax", "jax", "flax", "optax", "orbax-checkpoint", "tensorflow", "seqio")
_START_SPACE = "start_space.json"  # the picture of the word vectors that a run starts from
# Names of facts of the word vectors that a run starts from.
_START = {"source": "word vectors", "center": "centered", "rows": "tokens that start from them"}


def run(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Trains, evaluates and reports; see `Job.run`."""
    return Pretraining(config, workdir).run(dry)


class Pretraining(Job):
    """Trains a language model; the checkpoints keep the state of the training stage."""

    def check(self) -> None:
        config = self.config
        inputs.check(config, self.workdir)
        mesh = partition.make_mesh(config.mesh)
        partition.check_batch_size(config.train.batch_size, config.train.microbatches, mesh)
        optimizer = optim.from_config(config.optimizer, config.data.sequence_length)
        phases.from_config(config.train, optimizer)
        init.from_config(config.init)
        size = config.vocab.size
        any_words = np.full((1, 1, 1), -1, np.int32)  # the check is without the translations
        build.build_objective(config, size, options.padded_rows(size), any_words)

    def finished(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        steps = checkpoint.complete_steps(self.path("checkpoints"))
        finish = Finish(self.config, self.workdir)
        if not figures or not steps or steps[-1] < self.config.train.steps:
            return ""
        if not finish.done or report.get("finish", {}) != finish.record:
            return ""
        return (
            f"This run is finished (step {steps[-1]}). To train on, raise --config.train.steps; to "
            "start again, give another --workdir; to use the model: "
            f"clwe_jax.api.load({self.workdir!r})."
        )

    def stages(self):
        stages = []
        if self.config.mined_by:
            stages.append(Stage("mining", self._mine, self._about_mining))
        stages += [
            Stage("inputs", self._open, self._about_inputs),
            Stage("start", self._start, self._about_start),
            Stage("training", self._train, self._about_training),
        ]
        self.finish = Finish(self.config, self.workdir)
        if self.finish.record:
            stages.append(Stage("finish", self._finish, self._about_finish))
        return [*stages, Stage("floor", self._measure_floor)]

    def _about_mining(self) -> list[str]:
        return [forecast.mining(self.config)]

    def _about_inputs(self) -> Iterator[str]:
        yield from forecast.text_files(self.config, self.workdir)
        yield from forecast.dictionaries(self.config, self.workdir)

    def _about_start(self) -> Iterator[str]:
        source = self.config.init.embeddings or self.config.init.parameters
        if source in options.TRAINED_STARTS:
            yield from forecast.joint_vectors(self.config)
        elif source:
            yield f"start: from {source} (config.init)"

    def _about_training(self) -> Iterator[str]:
        yield from forecast.evaluations(self.config, self.workdir)
        yield from forecast.pretraining(self.config, self.workdir)

    def _about_finish(self) -> Iterator[str]:
        return forecast.finishing(self.config)

    def _mine(self) -> None:
        own_mining.run(self.config, self.workdir)

    def _open(self) -> None:
        self.world = inputs.open_world(self.config, self.workdir)
        self.inputs = inputs.build(self.config, self.world)
        self.tested = self._tested()
        if jax.process_index() == 0:
            atomic.write_json(self.path("words.json"), dict(self.world.frequent))
            if self.world.frequencies is not None:
                self.world.frequencies.save(self.workdir)

    def _tested(self) -> dict[str, tuple[int, int]]:
        """The test pairs that the run trains on, as `training_dictionary.tested` counts them."""
        world = self.world
        if self.config.data.exclude_tests or world.dictionary is None:
            return {}
        normalizer = world.tokenizer.normalizer
        tests = lexica.tests(self.config, world.folders, normalizer)
        return training_dictionary.tested(world.dictionary, tests)

    def _start(self) -> None:
        # A run that has a checkpoint goes on from it, whatever it started from.
        begun = checkpoint.complete_steps(self.path("checkpoints"))
        self.start = None if begun else warm.start(self.config, self.workdir, self.world)
        if self.start is not None and jax.process_index() == 0:
            atomic.write_json(self.path(_START_SPACE), self._space_of(self._started))

    def _started(self, language: str, words: Sequence[str]) -> np.ndarray:
        """The means of the words' tokens as the run starts, float32 [N, D]; zeros for no token."""
        tokenizer, start = self.world.tokenizer, self.start
        found = np.zeros((len(words), start.values.shape[1]), np.float32)
        for place, word in enumerate(words):
            ids = [x for x in tokenizer.encode(word, language)[0] if start.known[x]]
            found[place] = start.values[ids].mean(0) if ids else 0
        return found

    def _train(self) -> bool:
        config, world = self.config, self.world
        vocabulary = world.tokenizer.vocabulary
        self.objective = build.build_objective(
            config, len(vocabulary), vocabulary.size, inputs.translations(config.objective, world),
            vocabulary.specials,
        )  # fmt: skip
        context = inputs.context(config.seed, world, self.inputs.heldout)
        made = evaluators.build(config.evals, context, world.folders)
        encoder = ModelEncoder(
            self.objective, world.tokenizer, {}, frequencies=world.frequencies
        )
        if jax.default_backend() == "cpu":
            allocator.keep_freed_memory()
        self.evaluators = [evaluators.InTraining(evaluator, encoder) for evaluator in made]
        self.meta = {"vocabulary": vocabulary.fingerprint(), "system": config.system}
        before = self.finish.begin()
        result = train.fit(
            objective=self.objective,
            optimizer=optim.from_config(config.optimizer, config.data.sequence_length),
            source=self.inputs.source,
            evaluators=() if before else self.evaluators,  # they have measured already
            workdir=self.workdir,
            train_cfg=config.train,
            mesh_cfg=config.mesh,
            checkpoint_cfg=config.checkpoint,
            seed=config.seed,
            initial=init.from_config(config.init, warm.names(world.tokenizer), self.start),
            meta=self.meta,
        )
        self.result = dataclasses.replace(result, **before)
        return result.finished

    def _finish(self) -> bool:
        self.result = self.finish.train(
            self.objective, self.world, self.evaluators, self.result, self.meta
        )
        return self.result.finished

    def _measure_floor(self) -> None:
        first_host = jax.process_index() == 0
        self.floor = floor.of_world(self.config, self.world, self.workdir) if first_host else {}

    def results(self) -> Results:
        stats = self.inputs.source.stats()
        languages = self.world.description.get("languages", {})
        figures = {**self.result.train, **self.result.evaluations, **self.floor}
        figures |= warm.figures(self.workdir) | self.finish.figures()
        figures |= {f"data/coverage/{name}": x["coverage"] for name, x in languages.items()}
        figures |= {f"data/{name}": float(value) for name, value in stats.items()}
        return Results(figures, self._report(stats, figures))

    def _report(self, stats: Mapping[str, float], figures: Mapping[str, float]) -> dict[str, Any]:
        config, world, result = self.config, self.world, self.result
        model = api.Model(
            config,
            world.tokenizer,
            self.objective,
            result.state.variables,
            dict(world.frequent),
            lambda language: world.sample.get(language, ()),
            frequencies=world.frequencies,
        )
        skipped = {
            **world.description.get("skipped", {}),
            "words cut (more pieces than a row)": stats.get("cut_words", 0),
            "training steps with a non-finite loss": result.skipped,
            "checkpoints that could not be written": result.failed_checkpoints,
        }
        seconds = time.time() - self.started
        shown = [row for evaluator in self.evaluators for row in evaluator.details]
        return {
            **world.description,
            "dictionary": {**world.description.get("dictionary", {}), "tested": self.tested},
            **facts.environment(_PACKAGES),
            "languages": {
                language: {**found, "sampled_share": stats.get(f"language_share/{language}")}
                for language, found in world.description.get("languages", {}).items()
            },
            "parameters": result.parameters,
            "examples": self.inputs.examples(),
            "neighbours": self._neighbours(model),
            "space": self._space(model),
            "senses": senses.gather(config, model, self.workdir),
            "sections": [
                *_initial(result.initial), *self.finish.section(figures),
                *(x for page in (word_links, translations) for x in page.sections(figures, shown)),
            ],  # fmt: skip
            "finish": self.finish.record,
            "speed": {
                "tokens_per_second": result.tokens_per_second,
                "steps_per_second": result.steps_per_second,
                "compile_seconds": result.compile_seconds,
                "seconds": seconds,
            },
            "memory": {
                "peak_host_bytes": result.memory.get("host_peak"),
                "peak_device_bytes": result.memory.get("device_peak"),
            },
            "skipped": {name: count for name, count in skipped.items() if count},
        }

    def _neighbours(self, model: api.Model) -> list[dict[str, Any]]:
        frequent = self.world.frequent
        languages = [language for language in model.languages if frequent.get(language)]
        if not languages:
            return []
        first = facts.first_language(languages)
        words = facts.asked_words(self.config.report.words)
        return facts.neighbours(
            model, words or facts.content_words(frequent[first]), first, languages
        )

    def _space(self, model: api.Model) -> dict[str, Any]:
        """A few words of all languages before and after the training; see `report.space`."""

        def trained(language: str, words: Sequence[str]) -> np.ndarray:
            vectors = model.vectors(language)
            return vectors.vectors[vectors.rows(words)]

        if self._hub is None:
            return {}
        before = self.read(_START_SPACE) if self.config.init.embeddings else []
        stages = {"start": before, "trained": self._space_of(trained)}
        return {"hub": self._hub, "stages": {name: x for name, x in stages.items() if x}}

    @property
    def _hub(self) -> str | None:
        """The language whose words are joined to the others'; None for one language."""
        found = [x for x, words in self.world.frequent.items() if words]
        return facts.first_language(found) if len(found) > 1 else None

    def _space_of(self, vectors_of: shared_space.VectorsOf) -> list[dict[str, Any]]:
        """The picture of the words in a space, less the mean of each language's frequent words."""
        frequent = {x: words for x, words in self.world.frequent.items() if words}
        if self._hub is None:
            return []
        means = {x: vectors_of(x, words).mean(0) for x, words in frequent.items()}
        chosen = shared_space.concepts(frequent, self.world.dictionary, self._hub)
        return shared_space.picture(chosen, lambda x, words: vectors_of(x, words) - means[x])


def _initial(record: Mapping[str, Any] | None) -> list[Any]:
    """The report's section on parameters from `config.init`; see `training.init`."""
    if record is None:
        return []
    shown = {name: value for name, value in record.items() if not isinstance(value, Mapping)}
    for name, axis in (("tokens of both runs", "vocab"), ("languages of both runs", "language")):
        if axis in record.get("common", {}):
            shown[name] = record["common"][axis]
    vectors = dict(record.get("embeddings", {}))
    words = vectors.pop("words", {})
    shown |= {_START.get(name, name): value for name, value in vectors.items()}
    shown |= {f"words with a vector, {language}": count for language, count in words.items()}
    if "parts" in record:
        shown["parts"] = record["parts"] or "all"
    known = {
        name: data.Number(value) if type(value) in (int, float) else str(value)
        for name, value in shown.items()
        if value is not None
    }
    text = "The run started from these parameters; initialisers made the others."
    return [data.to_json(data.Section("Initial parameters", text, [data.Facts(known)]))]
