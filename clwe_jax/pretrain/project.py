"""Projection of one language's space onto another's, for a bilingual model or for two monolingual
ones (ELMo with projection, A13).
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Iterator, Mapping

import jax

from clwe_jax import options
from clwe_jax.encoders import language_model
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.evaluate.context import Context
from clwe_jax.objectives import projected
from clwe_jax.options.pretrain import PretrainRun, ProjectionOptions
from clwe_jax.options.section import nearest
from clwe_jax.pretrain import project_maps
from clwe_jax.pretrain.evaluate import update
from clwe_jax.pretrain.project_maps import ProjectionMaps, ProjectionSpaces
from clwe_jax.report import evaluations, tables
from clwe_jax.runs import dictionary_baseline, evaluators, forecast, inputs
from clwe_jax.runs.job import FIGURES, Job, Results, Stage
from clwe_jax.text import text_of_run
from clwe_jax.text.corpus import frequencies
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.words.normalize import Normalizer

ANCHORS = ("words", "senses")
# Parts of the config of two projected runs that are copied from the target's config.
_INHERITED = ("scale", "model", "objective", "task", "vocab", "optimizer")


def run(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Projects the runs `config.projection.source` and `.target`, else the model in `workdir`."""
    settings = config.projection
    if settings is not None and (settings.source or settings.target):
        return PairProjection(config, workdir).run(dry)
    return Projection(config, workdir).run(dry)


def evaluate(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Runs config.evals on the two projected runs in `workdir`."""
    config = dataclasses.replace(config, projection=options.read_config(workdir).projection)
    return PairEvaluation(config, workdir).run(dry)


class Projection(Job):
    """Maps all further languages onto the first, measures the result and saves the maps.

    Its figures are named 'projected/{method}/...' in results.json; `api.load` applies the maps of
    the method `config.projection.apply`.
    """

    writes_config = False

    def check(self) -> None:
        if jax.process_count() > 1:
            raise ValueError("The projection runs on one host: start it there alone")
        if self.config.projection is None:
            raise ValueError(
                "This config has no options `projection`: use a config for several languages, such "
                "as configs/bi_saelmo.py, or configs/elmo_projected.py for two runs"
            )
        settings = self.config.projection
        fitted = project_maps.methods(settings)
        for option, names, choices in (
            ("methods", fitted, project_maps.METHODS),
            ("apply", [settings.apply], fitted),
            ("anchors", [settings.anchors], ANCHORS),
        ):
            for name in (name for name in names if name not in choices):
                raise ValueError(f"config.projection.{option}={name!r}: {nearest(name, choices)}")

    def stages(self):
        evaluations = functools.partial(forecast.evaluations, self.config, self.workdir)
        methods = ", ".join(project_maps.methods(self.config.projection))
        return [
            Stage("model and text", self._open, about=self._about_models),
            Stage("maps", self._fit, ("model and text",), lambda: [f"maps: {methods}"]),
            Stage("evaluation", self._evaluate, ("model and text", "maps"), evaluations),
        ]

    def _about_models(self) -> Iterator[str]:
        yield f"model: the run in {self.workdir}, projected onto its first language"
        yield from forecast.dictionaries(self.config, self.workdir)

    def _open(self) -> ProjectionSpaces:
        if options.read_config(self.workdir).job == "project":
            raise ValueError(
                f"{self.workdir} holds two projected runs: name them again with "
                "--config.projection.source=RUN --config.projection.target=RUN"
            )
        model = language_model.load(self.workdir)
        if len(model.languages) < 2:
            raise ValueError(
                f"{self.workdir} holds a model of {', '.join(model.languages)} alone. Project two "
                "such runs in a third folder: --config=configs/elmo_projected.py "
                "--config.projection.source=RUN --config.projection.target=RUN"
            )
        if self.config.projection.anchors == "senses" and not model.variables.get("senses"):
            raise ValueError(
                f"{self.workdir} holds a model without senses: --config.projection.anchors=words"
            )
        run_text = inputs.open_run_text(self.config, self.workdir)
        if run_text.dictionary is None or run_text.corpus is None:
            raise ValueError(
                "The projection needs the run's text files and a dictionary: set "
                "--config.data.source=text:DIR and --config.data.dictionaries=DIR"
            )
        return ProjectionSpaces(
            dict.fromkeys(model.languages, model),
            dict.fromkeys(model.languages, run_text.corpus),
            run_text.dictionary,
            run_text.frequencies,
            run_text.folders,
            inputs.context(run_text),
        )

    def _fit(self, spaces: ProjectionSpaces) -> ProjectionMaps:
        return project_maps.fit(self.config, spaces)

    def _evaluate(self, spaces: ProjectionSpaces, fitted: ProjectionMaps) -> Results:
        suite = evaluators.build(
            self.config.evals, spaces.context, spaces.folders, names=evaluations.names_with_floor()
        )
        figures = dict(fitted.figures)
        outcomes = {}
        for name, maps in fitted.maps.items():
            measured, _ = evaluators.measure(suite, project_maps.apply_maps(spaces.models, maps))
            figures |= {f"projected/{name}/{x}": value for x, value in measured.items()}
            items = evaluators.outcomes(suite)
            outcomes |= {f"projected/{name}/{x}": tested for x, tested in items.items()}
        figures |= dictionary_baseline.measure(
            self.config,
            suite,
            spaces.dictionary,
            spaces.frequencies,
            lambda text, language: spaces.models[language].tokenizer.words(text, language),
        )
        return Results(figures, outcomes=outcomes)

    def results(self, done: Mapping[str, Any]) -> Results:
        projected.save(self.path(projected.FILE), done["maps"].maps, self.config.projection.apply)
        # Figures of other maps do not stay.
        own = {x: y for x, y in self.read(FIGURES).items() if not x.startswith("projected/")}
        return update(own, done["evaluation"])

    def show(self, figures: Mapping[str, float]) -> None:
        tables.print_projection(self.read(FIGURES), figures)


class PairProjection(Projection):
    """Maps the run `config.projection.source` onto the run `config.projection.target`.

    Both runs are monolingual language models. Each encodes its own language, and the anchors are
    collected on its own text. The folder of this run holds the maps and names both runs: `api.load`
    opens them as one model, and config.job='evaluate' measures it. The figures of the method
    `config.projection.apply` are also written without 'projected/{method}/'.
    """

    writes_config = True

    def __init__(self, config: PretrainRun, workdir: str) -> None:
        """Reads the configs of both runs.

        Raises:
          FileNotFoundError: one of the folders holds no run.
          ValueError: the runs are not monolingual language models of two languages, or `workdir`
            holds another run.
        """
        self.runs: dict[str, str] = {}  # language -> its folder, the target's first
        self._configs: dict[str, PretrainRun] = {}
        for option in ("target", "source"):
            language, folder, run_config = _monolingual(config.projection, option)
            if language in self.runs:
                raise ValueError(
                    f"{self.runs[language]} and {folder} (config.projection.target and .source) "
                    f"are both runs of {language}: a projection takes two languages"
                )
            self.runs[language] = folder
            self._configs[language] = run_config
            config = options.with_values(config, {f"projection.{option}": folder})
        target = next(iter(self._configs.values()))
        config = dataclasses.replace(config, **{x: getattr(target, x) for x in _INHERITED})
        config = options.with_values(
            config,
            {
                "data.languages": ",".join(self.runs),
                "data.source": target.data.source,
                "train.steps": 0,
                "job": "project",  # nothing is trained
            },
        )
        exists = os.path.exists(os.path.join(workdir, "config.json"))
        if exists and options.read_config(workdir).job != "project":
            raise ValueError(
                f"{workdir} holds another run: give the projection a folder with --workdir=DIR"
            )
        super().__init__(config, workdir)

    def check(self) -> None:
        super().check()
        if self.config.projection.anchors != "words":
            raise ValueError(
                "config.projection.anchors='senses' needs one model of both languages; two runs "
                "share no words: --config.projection.anchors=words"
            )

    def _about_models(self) -> Iterator[str]:
        for language, folder in self.runs.items():
            yield f"model: {language}, the run in {folder}"
        yield from forecast.dictionaries(self.config, self.workdir)

    def _open(self) -> ProjectionSpaces:
        models = {language: language_model.load(folder) for language, folder in self.runs.items()}
        shapes = {
            language: ModelEncoder(model.objective, model.tokenizer, model.variables).shape
            for language, model in models.items()
        }
        normalizers = {model.tokenizer.normalizer for model in models.values()}
        if len(set(shapes.values())) > 1:
            raise ValueError(
                "The models of the two runs differ in (layers, dimensions): "
                + ", ".join(f"{self.runs[x]} {shape}" for x, shape in shapes.items())
            )
        if len({each.lower_case for each in normalizers}) > 1:
            raise ValueError(
                "config.data.lower_case is True in one run and False in the other: "
                + ", ".join(self.runs.values())
            )
        chinese = "zh" in models and models["zh"].tokenizer.normalizer.simplify_chinese
        normalizer = Normalizer(normalizers.pop().lower_case, chinese)
        folders = inputs.folders_without_text(self.config, self.workdir)
        dictionary = training_dictionary.load(self.config, folders, self.workdir, normalizer)
        if dictionary is None:
            raise ValueError(
                "The projection needs a dictionary: set --config.data.dictionaries=DIR"
            )
        run_texts = {x: inputs.open_run_text(self._configs[x], self.runs[x]) for x in self.runs}
        sample = {}
        for language, run_text in run_texts.items():
            if run_text.corpus is None:
                raise ValueError(f"The projection needs the text files of {self.runs[language]}")
            sample |= run_text.sample
        context = Context(
            languages=tuple(models),
            normalizer=normalizer,
            sample=sample,
            domains=next(iter(run_texts.values())).domains,
        )
        texts = {language: run_text.corpus for language, run_text in run_texts.items()}
        counts = frequencies.join_counts(run_text.frequencies for run_text in run_texts.values())
        return ProjectionSpaces(models, texts, dictionary, counts, folders, context)

    def results(self, done: Mapping[str, Any]) -> Results:
        base = super().results(done)
        prefix = f"projected/{self.config.projection.apply}/"
        figures, outcomes = (
            {**x, **{name.removeprefix(prefix): y for name, y in x.items()}}
            for x in (base.measured, base.outcomes)
        )
        report = {"dictionary": text_of_run.describe_dictionary(done["model and text"].dictionary)}
        return Results(figures, report, outcomes=outcomes)

    def show(self, figures: Mapping[str, float]) -> None:
        tables.print_projection({}, figures)


class PairEvaluation(PairProjection):
    """Measures two projected runs again, with their saved maps."""

    writes_config = False

    def _fit(self, spaces: ProjectionSpaces) -> ProjectionMaps:
        return ProjectionMaps(projected.read(self.path(projected.FILE))[0], {})

    def results(self, done: Mapping[str, Any]) -> Results:
        # config.json names the options that the figures were measured with.
        run_config = dataclasses.replace(options.read_config(self.workdir), evals=self.config.evals)
        options.write_config(run_config, self.workdir)
        return update(self.read(FIGURES), super().results(done))


def _monolingual(settings: ProjectionOptions, option: str) -> tuple[str, str, PretrainRun]:
    """The language, folder and config of a run that `config.projection` names."""
    folder = getattr(settings, option)
    if not folder:
        raise ValueError(
            f"config.projection.{option} is empty: give the folders of two monolingual runs as "
            "--config.projection.source=RUN --config.projection.target=RUN"
        )
    run_config = options.read_config(folder)
    if run_config.job != "pretrain" or len(options.languages(run_config)) > 1:
        raise ValueError(
            f"config.projection.{option}={folder} holds no monolingual language model (job "
            f"{run_config.job}, languages {run_config.data.languages}): train one, as with "
            "--config=configs/elmo.py --config.data.languages=de"
        )
    return options.languages(run_config)[0], os.path.abspath(folder), run_config
