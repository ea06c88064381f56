"""The pretraining job: text and dictionaries in; a model, its figures and its report out."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import jax
import numpy as np

from clwe_jax import allocator, atomic, options
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.training import ReportOptions
from clwe_jax.pretrain import finish, own_mining, senses, warm_start
from clwe_jax.pretrain.finish import Finish
from clwe_jax.report import data
from clwe_jax.runs import (
    dictionary_baseline,
    evaluators,
    forecast,
    inputs,
    lexica,
    shared_space,
    report_words,
)
from clwe_jax.runs.job import STOPPED, Job, Results, Stage
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.text_of_run import RunText
from clwe_jax.text.words import spellings
from clwe_jax.training import build, checkpoint, init, optim, partition, phases, train
from clwe_jax.training.tables import TokenVectors
from clwe_jax.types import Objective

_START_SPACE = "start_space.json"  # the picture of the word vectors that a run starts from
# Names of facts of the word vectors that a run starts from.
_START = {"source": "word vectors", "center": "centered", "rows": "tokens that start from them"}
_ABOUT_MINING = (
    "mining: the sentences that the texts share, a few rounds over each pair of languages"
)


def run(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Trains, evaluates and reports; whether it is finished."""
    return Pretraining(config, workdir).run(dry)


class Opened(NamedTuple):
    """The text side of a run, and its batches."""

    run_text: RunText
    inputs: inputs.Inputs
    tested: dict[str, tuple[int, int]]  # the test pairs in the dictionary (`count_tested`)


class Trained(NamedTuple):
    """A trained model and its figures."""

    objective: Objective  # of the pretraining
    evaluators: Sequence[evaluators.InTraining]  # with the last evaluation's outcomes
    result: train.FitResult
    finish: Mapping[str, float] = {}  # the figures of the finish alone


class Pretraining(Job):
    """Trains a language model; the checkpoints keep the state of the training stage.

    Attributes:
      finish: the contrastive finish of the run.
    """

    def __init__(self, config: PretrainRun, workdir: str) -> None:
        super().__init__(config, workdir)
        self.finish = Finish(self.config, workdir)

    def check(self) -> None:
        config = self.config
        inputs.check(config, self.workdir)
        self.finish.check_steps()
        mesh = partition.make_mesh(config.mesh)
        partition.check_batch_size(config.train.batch_size, config.train.microbatches, mesh)
        optimizer = optim.from_config(config.optimizer, config.data.sequence_length)
        phases.from_config(config.train, optimizer)
        init.from_config(config.init)
        size = config.vocab.size
        any_words = np.full((1, 1, 1), -1, np.int32)  # the check is without the translations
        build.build_objective(config, size, options.padded_rows(size), any_words)

    def advise(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        steps = checkpoint.complete_steps(self.path("checkpoints"))
        if not figures or not steps or steps[-1] < self.config.train.steps:
            return ""
        if not self.finish.done or report.get("finish", {}) != self.finish.record:
            return ""
        return (
            f"This run is finished (step {steps[-1]}). To train on, raise --config.train.steps; to "
            "start again, give another --workdir; to use the model: "
            f"clwe_jax.api.load({self.workdir!r})."
        )

    def stages(self):
        config = self.config
        stages = []
        if config.mined_by:
            mine = functools.partial(own_mining.run, config, self.workdir)
            stages.append(Stage("mining", mine, about=lambda: [_ABOUT_MINING]))
        stages += [
            Stage("inputs", self._open, about=self._about_inputs),
            Stage("start", self._start, ("inputs",), self._about_start),
            Stage("training", self._train, ("inputs", "start"), self._about_training),
        ]
        if self.finish.record:
            about = functools.partial(forecast.finish, config)
            stages.append(Stage("finish", self._finish, ("inputs", "training"), about))
        return [*stages, Stage("floor", self._measure_floor, ("inputs",))]

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
        yield from forecast.model(self.config)

    def _open(self) -> Opened:
        run_text = inputs.open_run_text(self.config, self.workdir)
        training_inputs = inputs.build(self.config, run_text)
        opened = Opened(run_text, training_inputs, count_tested(self.config, run_text))
        if jax.process_index() == 0:
            atomic.write_json(self.path("words.json"), dict(run_text.frequent))
            atomic.write_json(self.path(spellings.FILE), run_text.spellings)
            if run_text.frequencies is not None:
                run_text.frequencies.save(self.workdir)
        return opened

    def _start(self, opened: Opened) -> TokenVectors | None:
        if checkpoint.complete_steps(self.path("checkpoints")):
            return None  # the run goes on from its checkpoint, whatever it started from
        start = warm_start.token_vectors(self.config, self.workdir, opened.run_text)
        if start is not None and jax.process_index() == 0:
            vectors_of = functools.partial(start_vectors, start, opened.run_text.tokenizer)
            atomic.write_json(self.path(_START_SPACE), space_of(opened.run_text, vectors_of))
        return start

    def _train(self, opened: Opened, start: TokenVectors | None) -> Trained | object:
        config = self.config
        run_text = opened.run_text
        vocabulary = run_text.tokenizer.vocabulary
        objective = build.build_objective(
            config,
            len(vocabulary),
            vocabulary.size,
            inputs.translations(config.objective, run_text),
            vocabulary.specials,
            opened.inputs.labels,
        )
        context = inputs.context(run_text, opened.inputs.heldout)
        suite = evaluators.build(config.evals, context, run_text.folders)
        encoder = ModelEncoder(objective, run_text.tokenizer, {}, frequencies=run_text.frequencies)
        if jax.default_backend() == "cpu":
            # Else glibc returns a step's memory to the system, which zeroes it again.
            allocator.keep_freed_memory()
        measuring = [evaluators.InTraining(evaluator, encoder) for evaluator in suite]
        before = self.finish.begin()
        result = train.fit(
            train.FitOptions(config.train, config.mesh, config.checkpoint, config.seed),
            objective=objective,
            optimizer=optim.from_config(config.optimizer, config.data.sequence_length),
            source=opened.inputs.source,
            evaluators=() if before else measuring,  # they have measured already
            workdir=self.workdir,
            initial=init.from_config(config.init, warm_start.names(run_text.tokenizer), start),
            meta=self._meta(run_text),
        )
        state = result.state.replace(opt_state=())  # nothing reads it after the training
        # Where the finish has begun, the pretraining's figures are those that it has recorded.
        result = dataclasses.replace(result, state=state, **before)
        return Trained(objective, measuring, result) if result.finished else STOPPED

    def _finish(self, opened: Opened, trained: Trained) -> Trained | object:
        pretrained = trained.result
        meta = self._meta(opened.run_text)
        finish_result = self.finish.train(
            trained.objective, opened.run_text, trained.evaluators, pretrained, meta
        )
        if not finish_result.finished:
            return STOPPED
        result = finish.join_results(pretrained, finish_result)
        figures = finish.figures(pretrained, finish_result)
        return trained._replace(result=result, finish=figures)

    def _meta(self, run_text: RunText) -> dict[str, str]:
        """The entries of every checkpoint."""
        fingerprint = run_text.tokenizer.vocabulary.fingerprint()
        return {"vocabulary": fingerprint, "system": self.config.system}

    def _measure_floor(self, opened: Opened) -> dict[str, float]:
        if jax.process_index():
            return {}
        return dictionary_baseline.measure_run(self.config, opened.run_text, self.workdir)

    def results(self, done: Mapping[str, Any]) -> Results:
        opened = done["inputs"]
        trained = done.get("finish", done["training"])
        stats = opened.inputs.source.stats()
        languages = opened.run_text.description.get("languages", {})
        figures = {**trained.result.train, **trained.result.evaluations, **done["floor"]}
        figures |= warm_start.figures(self.workdir) | trained.finish
        figures |= {f"data/coverage/{name}": x["coverage"] for name, x in languages.items()}
        figures |= {f"data/{name}": float(value) for name, value in stats.items()}
        outcomes = evaluators.outcomes(x.evaluator for x in trained.evaluators)
        return Results(figures, self._report(opened, trained, stats, figures), outcomes=outcomes)

    def _report(
        self,
        opened: Opened,
        trained: Trained,
        stats: Mapping[str, float],
        figures: Mapping[str, float],
    ) -> dict[str, Any]:
        run_text = opened.run_text
        result = trained.result
        model = LanguageModel(
            self.config,
            run_text.tokenizer,
            trained.objective,
            result.state.variables,
            dict(run_text.frequent),
            lambda language: run_text.sample.get(language, ()),
            frequencies=run_text.frequencies,
        )
        skip_counts = {
            **run_text.description.get("skipped", {}),
            "words cut (more pieces than a row)": stats.get("cut_words", 0),
            "training steps with a non-finite loss": result.skipped,
            "checkpoints that could not be written": result.failed_checkpoints,
        }
        return {
            **run_text.description,
            "dictionary": {**run_text.description.get("dictionary", {}), "tested": opened.tested},
            "languages": {
                language: {**row, "sampled_share": stats.get(f"language_share/{language}")}
                for language, row in run_text.description.get("languages", {}).items()
            },
            "parameters": result.parameters,
            "examples": opened.inputs.examples(),
            "neighbours": _neighbours(model, run_text, self.config.report),
            "space": self._space(model, run_text),
            "senses": senses.gather(self.config, model, self.workdir),
            "sections": [*_initial(result.initial), *self.finish.section(figures)],
            "evaluations": evaluators.examples(x.evaluator for x in trained.evaluators),
            "finish": self.finish.record,
            "speed": {
                "tokens_per_second": result.tokens_per_second,
                "steps_per_second": result.steps_per_second,
                "compile_seconds": result.compile_seconds,
            },
            "skipped": {name: count for name, count in skip_counts.items() if count},
        }

    def _space(self, model: LanguageModel, run_text: RunText) -> dict[str, Any]:
        """A few words of all languages before and after the training."""

        def trained_vectors(language: str, words: Sequence[str]) -> np.ndarray:
            vectors = model.vectors(language)
            return vectors.vectors[vectors.rows(words)]

        hub = _hub(run_text)
        if hub is None:
            return {}
        before = self.read(_START_SPACE) if self.config.init.embeddings else []
        stages = {"start": before, "trained": space_of(run_text, trained_vectors)}
        return {"hub": hub, "stages": {name: x for name, x in stages.items() if x}}


def count_tested(config: PretrainRun, run_text: RunText) -> dict[str, tuple[int, int]]:
    """The test pairs that a run trains on, as `training_dictionary.count_tested` counts them."""
    if config.data.exclude_tests or run_text.dictionary is None:
        return {}
    tests = lexica.tests(config, run_text.folders, run_text.tokenizer.normalizer)
    return training_dictionary.count_tested(run_text.dictionary, tests)


def start_vectors(
    start: TokenVectors, tokenizer: Tokenizer, language: str, words: Sequence[str]
) -> np.ndarray:
    """The means of the words' tokens as a run starts, float32 [N, D]; zeros for no token."""
    means = np.zeros((len(words), start.values.shape[1]), np.float32)
    for mean, word in zip(means, words):
        if ids := [x for x in tokenizer.encode(word, language)[0] if start.has_vector[x]]:
            mean[:] = start.values[ids].mean(0)
    return means


def space_of(run_text: RunText, vectors_of: shared_space.VectorsOf) -> list[dict[str, Any]]:
    """The picture of the words in a space, less the mean of each language's frequent words."""
    frequent = {x: words for x, words in run_text.frequent.items() if words}
    hub = _hub(run_text)
    if hub is None:
        return []
    means = {x: vectors_of(x, words).mean(0) for x, words in frequent.items()}
    chosen = shared_space.concepts(frequent, run_text.dictionary, hub)
    return shared_space.picture(
        chosen,
        lambda x, words: vectors_of(x, words) - means[x],
        lambda x, word: run_text.spellings.get(x, {}).get(word, word),
    )


def _hub(run_text: RunText) -> str | None:
    """The language whose words are joined to the others'; None for one language."""
    languages = [x for x, words in run_text.frequent.items() if words]
    return report_words.first_language(languages) if len(languages) > 1 else None


def _neighbours(
    model: LanguageModel, run_text: RunText, shown: ReportOptions
) -> list[dict[str, Any]]:
    frequent = run_text.frequent
    languages = [language for language in model.languages if frequent.get(language)]
    if not languages:
        return []
    first = report_words.first_language(languages)
    words = report_words.asked_words(shown.words) or report_words.content_words(frequent[first])
    spelled = run_text.spellings.get(first, {})
    return report_words.neighbours(model, [spelled.get(x, x) for x in words], first, languages)


def _initial(record: Mapping[str, Any] | None) -> list[Any]:
    """The report's section on parameters from `config.init`."""
    if record is None:
        return []
    entries = {name: value for name, value in record.items() if not isinstance(value, Mapping)}
    for name, axis in (("tokens of both runs", "vocab"), ("languages of both runs", "language")):
        if axis in record.get("common", {}):
            entries[name] = record["common"][axis]
    vectors = dict(record.get("embeddings", {}))
    words = vectors.pop("words", {})
    entries |= {_START.get(name, name): value for name, value in vectors.items()}
    entries |= {f"words with a vector, {language}": count for language, count in words.items()}
    if "parts" in record:
        entries["parts"] = record["parts"] or "all"
    facts = {
        name: data.Number(value) if type(value) in (int, float) else str(value)
        for name, value in entries.items()
        if value is not None
    }
    text = "The run started from these parameters; initialisers made the others."
    return [data.to_json(data.Section("Initial parameters", text, [data.Facts(facts)]))]
