"""Projection of one language's space onto another's (A10, Eq. 8), for a bilingual model or for two
monolingual ones (ELMo with projection, A13).

A map is fitted for every layer. Its anchors are the average contextual embeddings of the
dictionary's words, collected in one pass over the run's text. Tokens that occur in both languages'
text, except test words, are added as pairs. With `config.projection.anchors='senses'` the map of
the last layer is fitted to the centers of the senses.
"""

from __future__ import annotations

import dataclasses
import functools
from itertools import islice
import os
from typing import Iterator, Mapping, Sequence

from absl import logging
import jax
import numpy as np
from scipy import linalg

from clwe_jax import api, options
from clwe_jax.align import procrustes
from clwe_jax.evaluate import anchors
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.model_encoder import ModelEncoder
from clwe_jax.evaluate.pair_encoder import PairEncoder
from clwe_jax.jobs import evaluators, facts, floor, forecast, inputs
from clwe_jax.jobs.job import FIGURES, Job, Results, Stage
from clwe_jax.objectives import projected
from clwe_jax.objectives.projected import Projected
from clwe_jax.options.pretrain import PretrainRun, ProjectionOptions
from clwe_jax.options.section import nearest
from clwe_jax.report import tables
from clwe_jax.text import dictionary as dictionaries, frequencies
from clwe_jax.text import training_dictionary, world as worlds
from clwe_jax.text.normalize import Normalizer
from clwe_jax.types import Encoder

ANCHORS = ("words", "senses")
METHODS = {
    "orthogonal": procrustes.Procrustes(preprocess=()),
    "least_squares": procrustes.LeastSquares(preprocess=()),
}
# Parts of the config of two projected runs that are copied from the target's config.
_INHERITED = ("scale", "model", "objective", "task", "vocab", "optimizer")
_PACKAGES = ("clwe_jax", "jax", "flax", "numpy", "scipy")
Pairs = Sequence[tuple[str, str]]
Block = tuple[np.ndarray, np.ndarray, np.ndarray]  # source vectors, target vectors, pairs of rows


def run(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Projects the runs `config.projection.source` and `.target`, else the model in `workdir`."""
    settings = config.projection
    if settings is not None and (settings.source or settings.target):
        return PairProjection(config, workdir).run(dry)
    return Projection(config, workdir).run(dry)


def evaluate(config: PretrainRun, workdir: str, dry: bool = False) -> bool:
    """Runs config.evals on the two projected runs in `workdir`; see `PairEvaluation`."""
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
        self.methods = settings.methods.split(",")
        for option, names, known in (
            ("methods", self.methods, METHODS),
            ("apply", [settings.apply], METHODS),
            ("anchors", [settings.anchors], ANCHORS),
        ):
            for name in (name for name in names if name not in known):
                raise ValueError(
                    f"config.projection.{option}={name!r}: {nearest(name, known)}"
                )

    def stages(self):
        evaluations = functools.partial(forecast.evaluations, self.config, self.workdir)
        return [
            Stage("model and text", self._open, self._about_models),
            Stage("maps", self._fit, lambda: [f"maps: {', '.join(self.methods)}"]),
            Stage("evaluation", self._evaluate, evaluations),
        ]

    def _about_models(self) -> Iterator[str]:
        yield f"model: the run in {self.workdir}, projected onto its first language"
        yield from forecast.dictionaries(self.config, self.workdir)

    def _open(self) -> None:
        model = api.load(self.workdir)
        if isinstance(model, api.PairModel):
            raise ValueError(
                f"{self.workdir} holds two projected runs: name them again with "
                "--config.projection.source=RUN --config.projection.target=RUN"
            )
        if len(model.languages) < 2:
            raise ValueError(
                f"{self.workdir} holds a model of {', '.join(model.languages)} alone: there is no "
                "second language to project. Two such runs are projected in a third folder: "
                "--config=configs/elmo_projected.py --config.projection.source=RUN "
                "--config.projection.target=RUN"
            )
        if self.config.projection.anchors == "senses" and not model.variables.get("senses"):
            raise ValueError(
                f"{self.workdir} holds a model without senses: --config.projection.anchors=words"
            )
        world = inputs.open_world(self.config, self.workdir)
        if world.dictionary is None or world.corpus is None:
            raise ValueError(
                "The projection needs the run's text files and a dictionary: set "
                "--config.data.source=text:DIR and --config.data.dictionaries=DIR"
            )
        self.models = dict.fromkeys(model.languages, model)
        self.texts = dict.fromkeys(model.languages, world.corpus)
        self.dictionary, self.folders = world.dictionary, world.folders
        self.frequencies = world.frequencies
        self.context = inputs.context(self.config.seed, world)

    def _fit(self) -> None:
        target, *sources = self.models
        self.maps: dict[str, dict[str, np.ndarray]] = {name: {} for name in self.methods}
        self.figures: dict[str, float] = {}
        for source in sources:
            pairs = self._pairs(source, target)
            layers = [[block] for block in self._words(pairs, source, target)]
            if self.config.projection.anchors == "senses":
                layers[-1] = list(self._senses(pairs))
            for name, found in self.maps.items():
                fit = METHODS[name].fit
                found[source] = np.stack([
                    linalg.block_diag(*(fit(*block).source_map for block in blocks))
                    for blocks in layers
                ])  # fmt: skip

    def _pairs(self, source: str, target: str) -> Pairs:
        """The dictionary's pairs, and the tokens of both languages' text, except test words.

        The paper adds every such token (footnote 6); `identical_min_count` leaves out tokens whose
        mean would be over a few occurrences.
        """
        pairs = dict.fromkeys((a, b) for a, b in self.dictionary.pairs(source, target))
        if self.config.projection.identical:
            both = self._tokens(source) & self._tokens(target)
            both -= dictionaries.test_words(
                training_dictionary.tests(self.config, self.folders),
                source, target, self.context.normalizer,
            )  # fmt: skip
            logging.info("%s tokens of both %s and %s", f"{len(both):,}", source, target)
            pairs.update(dict.fromkeys((word, word) for word in sorted(both)))
        return list(pairs)

    def _tokens(self, language: str) -> set[str]:
        """The tokens that occur at least `identical_min_count` times in a language's text."""
        tokenizer = self.models[language].tokenizer
        counts, _ = self.texts[language].count_words(
            language, lambda text: tokenizer.words(text, language)
        )
        least = self.config.projection.identical_min_count
        return {word for word, count in counts.items() if count >= least}

    def _words(self, pairs: Pairs, source: str, target: str) -> list[Block]:
        """Mean representations of the pairs' words, layer by layer."""
        collected = []
        for side, language in enumerate((source, target)):
            model = self.models[language]
            encoder = ModelEncoder(model.objective, model.tokenizer, model.variables)
            index = {word: row for row, word in enumerate(dict.fromkeys(p[side] for p in pairs))}
            lines = islice(self.texts[language].lines(language), self.config.projection.lines)
            logging.info("Anchors of %s words (%s)", f"{len(index):,}", language)
            found = anchors.collect(encoder, lines, language, index)
            collected.append((index, *found))
        (left, x, seen_x), (right, y, seen_y) = collected
        rows = np.array([(left[a], right[b]) for a, b in pairs], np.int32).reshape(-1, 2)
        rows = rows[(seen_x[rows[:, 0]] > 0) & (seen_y[rows[:, 1]] > 0)]
        logging.info("%s pairs of anchors for %s-%s", f"{len(rows):,}", source, target)
        self.figures[f"projected/{source}-{target}/pairs"] = float(len(rows))
        return [(x[:, layer], y[:, layer], rows) for layer in range(x.shape[1])]

    def _senses(self, pairs: Pairs) -> Iterator[Block]:
        """Centers of the senses of the pairs' words, a block for each direction."""
        model = next(iter(self.models.values()))  # the one model of all languages
        words = model.vocabulary.words
        ids = np.array([[words.get(a, -1), words.get(b, -1)] for a, b in pairs]).reshape(-1, 2)
        # A word of both languages has the same senses in both, which say nothing about the map.
        ids = ids[(ids >= 0).all(1) & (ids[:, 0] != ids[:, 1])]
        for direction in model.objective.directions:
            x, y = anchors.centers(model.variables["senses"][direction], ids)
            logging.info("%s pairs of senses (%s)", f"{len(x):,}", direction)
            yield x, y, np.repeat(np.arange(len(x), dtype=np.int32)[:, None], 2, axis=1)

    def _evaluate(self) -> None:
        made = evaluators.build(
            self.config.evals, self.context, self.folders, names=floor.EVALUATORS
        )
        for name, found in self.maps.items():
            measured, _ = evaluators.measure(made, self._mapped(found))
            self.figures |= {f"projected/{name}/{x}": value for x, value in measured.items()}
        self.figures |= floor.measure(
            self.config, made, self.dictionary, self.frequencies,
            lambda text, language: self.models[language].tokenizer.words(text, language),
        )  # fmt: skip

    def _mapped(self, maps: Mapping[str, np.ndarray]) -> Encoder:
        """The encoder of all languages that applies the maps of the source languages."""
        encoders = {
            model: ModelEncoder(
                Projected(
                    model.objective,
                    {
                        model.tokenizer.language_id(x): matrix
                        for x, matrix in maps.items()
                        if x in model.languages
                    },
                ),
                model.tokenizer,
                model.variables,
                frequencies=model.frequencies,
            )
            for model in set(self.models.values())
        }
        if len(encoders) == 1:
            return next(iter(encoders.values()))
        return PairEncoder({language: encoders[model] for language, model in self.models.items()})

    def results(self) -> Results:
        projected.save(self.path(projected.FILE), self.maps, self.config.projection.apply)
        self.before = self.read(FIGURES)
        return Results({**self.before, **self.figures}, measured=self.figures)

    def show(self, figures: Mapping[str, float]) -> None:
        tables.print_projection(self.before, figures)


class PairProjection(Projection):
    """Maps the run `config.projection.source` onto the run `config.projection.target`.

    Both runs are monolingual language models. Each encodes its own language, and the anchors are
    collected on its own text. The folder of this run holds the maps and names both runs: `api.load`
    returns a `PairModel`, and config.job='evaluate' measures it. The figures of the method
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
            language, folder, found = _monolingual(config.projection, option)
            if language in self.runs:
                raise ValueError(
                    f"{self.runs[language]} and {folder} (config.projection.target and .source) "
                    f"are both runs of {language}: a projection takes two languages"
                )
            self.runs[language], self._configs[language] = folder, found
            config = options.with_values(config, {f"projection.{option}": folder})
        target = next(iter(self._configs.values()))
        config = dataclasses.replace(config, **{x: getattr(target, x) for x in _INHERITED})
        config = options.with_values(
            config,
            {
                "data.languages": ",".join(self.runs), "data.source": target.data.source,
                "train.steps": 0, "job": "project",  # nothing is trained
            },
        )  # fmt: skip
        there = os.path.exists(os.path.join(workdir, "config.json"))
        if there and options.read_config(workdir).job != "project":
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

    def _open(self) -> None:
        self.models = {language: api.load(folder) for language, folder in self.runs.items()}
        shapes = {
            language: ModelEncoder(model.objective, model.tokenizer, model.variables).shape
            for language, model in self.models.items()
        }
        normalizers = {model.tokenizer.normalizer for model in self.models.values()}
        if len(set(shapes.values())) > 1:
            raise ValueError(
                "The models of the two runs differ in (layers, dimensions): "
                + ", ".join(f"{self.runs[x]} {shape}" for x, shape in shapes.items())
            )
        if len({found.lower_case for found in normalizers}) > 1:
            raise ValueError(
                "config.data.lower_case is True in one run and False in the other: "
                + ", ".join(self.runs.values())
            )
        chinese = "zh" in self.models and self.models["zh"].tokenizer.normalizer.simplify_chinese
        normalizer = Normalizer(normalizers.pop().lower_case, chinese)
        self.folders = inputs.folders_without_text(self.config, self.workdir)
        self.dictionary = training_dictionary.load(
            self.config, self.folders, self.workdir, normalizer
        )
        if self.dictionary is None:
            raise ValueError(
                "The projection needs a dictionary: set --config.data.dictionaries=DIR"
            )
        own = {x: inputs.open_world(self._configs[x], self.runs[x]) for x in self.runs}
        for language, world in own.items():
            if world.corpus is None:
                raise ValueError(f"The projection needs the text files of {self.runs[language]}")
        self.texts = {language: world.corpus for language, world in own.items()}
        self.frequencies = frequencies.joined(world.frequencies for world in own.values())
        self.context = Context(
            languages=tuple(self.models),
            normalizer=normalizer,
            sample={x: line for world in own.values() for x, line in world.sample.items()},
            domains=next(iter(own.values())).domains,
            seed=self.config.seed,
        )

    def results(self) -> Results:
        prefix = f"projected/{self.config.projection.apply}/"
        own = {x.removeprefix(prefix): y for x, y in self.figures.items() if x.startswith(prefix)}
        self.figures |= own
        report = {
            **facts.environment(_PACKAGES),
            "dictionary": worlds.describe_dictionary(self.dictionary),
            "notes": self.notes,
        }
        return dataclasses.replace(super().results(), report=report)

    def show(self, figures: Mapping[str, float]) -> None:
        tables.print_projection({}, figures)


class PairEvaluation(PairProjection):
    """Measures two projected runs again, with their saved maps."""

    writes_config = False

    def _fit(self) -> None:
        self.maps, _ = projected.read(self.path(projected.FILE))
        self.figures: dict[str, float] = {}

    def results(self) -> Results:
        # config.json names the options that the figures were measured with.
        kept = dataclasses.replace(options.read_config(self.workdir), evals=self.config.evals)
        options.write_config(kept, self.workdir)
        return super().results()


def _monolingual(settings: ProjectionOptions, option: str) -> tuple[str, str, PretrainRun]:
    """The language, folder and config of a run that `config.projection` names."""
    folder = getattr(settings, option)
    if not folder:
        raise ValueError(
            f"config.projection.{option} is empty: give the folders of two monolingual runs as "
            "--config.projection.source=RUN --config.projection.target=RUN"
        )
    found = options.read_config(folder)
    if found.job != "pretrain" or len(options.languages(found)) > 1:
        raise ValueError(
            f"config.projection.{option}={folder} holds no monolingual language model (job "
            f"{found.job}, languages {found.data.languages}): train one, as with "
            "--config=configs/elmo.py --config.data.languages=de"
        )
    return options.languages(found)[0], os.path.abspath(folder), found
