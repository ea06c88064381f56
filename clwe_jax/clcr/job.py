"""CLCR: two monolingual models made one by transform, extract and reorder (B1-B6)."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterator, Mapping, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax import options
from clwe_jax.align import pivots
from clwe_jax.align.attention_matching import AttentionMatching, Match
from clwe_jax.align.predictors import Classifier, TrainedClassifier
from clwe_jax.align.sentences import WordPieces
from clwe_jax.cached import CachedResult
from clwe_jax.clcr import (
    aligned,
    data,
    entailment,
    figures as figures_of,
    hub as clcr_hub,
    sections,
    steps as clcr_steps,
    tune,
    vectors,
)
from clwe_jax.clcr.data import ParallelRows
from clwe_jax.clcr.results import Extracted, Reordered, Split, TransformResult
from clwe_jax.clcr.steps import MAIN, Extraction, Maps, OrderPredictors
from clwe_jax.clcr.tune import Tuning
from clwe_jax.clcr.vectors import Views
from clwe_jax.encoders import clcr_models, load as encoders
from clwe_jax.encoders.clcr_models import Space
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.runs.job import STOPPED, Job, Results, Stage
from clwe_jax.text.corpus import clcr_files
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.training import heads
from clwe_jax.transfer.encoder import state_of

_KEPT = "steps"  # folder of the results of the stages
_OF_PREDICTORS = ("transform", "tune", "contrast", "threshold", "predictor")


def run(config: ClcrRun, workdir: str, dry: bool = False) -> bool:
    """Trains what is not given, transforms, extracts, reorders and reports; whether it is finished."""
    return Clcr(config, workdir).run(dry)


class Clcr(Job):
    """Maps the vectors of `config.clcr.source` to those of `config.clcr.target`."""

    def check(self) -> None:
        if jax.process_count() > 1:
            raise ValueError("CLCR runs on one host: start it there alone")

    def advise(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        if not figures or "clcr" not in report:
            return ""
        return (
            "This run is finished. To start again, give another --workdir; to use the models: "
            f"clwe_jax.api.load({self.workdir!r})."
        )

    def stages(self) -> list[Stage]:
        read_sentences = functools.partial(data.read_sentences, self.config)
        return [
            Stage("encoders", self._encoders, (), self._about_encoders),
            Stage("sentences", read_sentences, ("encoders",), self._about_sentences),
            Stage("transform", self._transform, ("sentences",), self._about_transform),
            Stage("extract", self._extract, ("transform",)),
            Stage("reorder", self._reorder, ("transform",)),
            Stage("model", self._save, ("transform", "extract", "reorder")),
            Stage("entailment", self._entailment, ("transform",), self._about_entailment),
        ]

    def _about_encoders(self) -> Iterator[str]:
        places = data.encoder_addresses(self.config, self.workdir)
        given_encoders = data.open_given_encoders(self.config)
        for side, (language, place) in zip(data.SIDES, places.items()):
            if language in given_encoders:
                yield f"{side}: {language}, {place}"
            else:
                steps = data.encoder_config(self.config, language).train.steps
                yield f"{side}: {language}, a model that is trained first, in {steps:,} steps"

    def _about_transform(self) -> Iterator[str]:
        steps = self.config.clcr.transform.steps
        yield f"transform: {', '.join(clcr_steps.ROWS)}; {steps:,} steps in each direction"

    def _about_sentences(self) -> Iterator[str]:
        settings = self.config.clcr
        yield f"parallel sentences: {settings.parallel}, at most {settings.sentences:,}"
        yield f"gold links: {settings.gold or 'none'}"

    def _about_entailment(self) -> Iterator[str]:
        seeds = self.config.clcr.entailment.seeds
        if seeds:
            rows = (*entailment.rows(self.config), entailment.ALIGNED)
            yield f"entailment: {', '.join(rows)}; {seeds} heads each"
        else:
            yield (
                "entailment: left out (--config.clcr.entailment.seeds=5; of your own text also "
                "--config.clcr.entailment.train=en:FILE --config.clcr.entailment.tests=DIR)"
            )

    def _encoders(self) -> Any:
        """Trains the encoders that are not given; returns language -> the tokenizer of its encoder."""
        given_encoders = data.open_given_encoders(self.config)
        if not data.train_missing_encoders(self.config, self.workdir):
            return STOPPED
        # The stage 'transform' opens the models again: those of before its fine-tuning leave the memory.
        models = data.open_encoders(self.config, self.workdir, given_encoders)
        widths = [model.encoder().shape[1] for model in models.values()]
        if len(set(widths)) > 1:
            logging.info("The encoders have %d and %d dimensions; T maps between them", *widths)
        return {language: model.tokenizer for language, model in models.items()}

    @functools.cached_property
    def _stamps(self) -> dict[str, str]:
        return data.stamps(self.config)

    def _keep_arrays(
        self,
        name: str,
        made_with: Mapping[str, Any],
        used: Sequence[str],
        make: Callable[[], Mapping[str, Mapping[str, Any]]],
    ) -> dict[str, dict[str, np.ndarray]]:
        """Arrays that are computed once from the options `used`: part -> name -> array."""
        settings = to_dict(self.config.clcr)
        made_with = {**made_with, **{key: settings[key] for key in used}}
        path = self.path(_KEPT, f"{name}.npz")
        return CachedResult(
            path, made_with, make, heads.save, heads.load, stamps=self._stamps
        ).result()

    def _transform(self, rows: ParallelRows) -> TransformResult:
        config = self.config
        folder = self.workdir
        models = data.open_encoders(config, folder)
        hub_space = clcr_hub.space(config)
        spaces, pieces = data.fit_spaces(config, models, rows.train, hub_space, folder)
        tested = data.both_sides(models, spaces, rows.test, folder)
        made_with = {
            "encoders": {
                x: [y, state_of(y)] for x, y in data.encoder_addresses(config, folder).items()
            },
            "sentences": [len(rows.train), len(rows.test)],
            "space": [[*x.layers] for x in spaces.values()],
            "hub": [[run, state_of(f"run:{run}")] for run in data.hub_folders(config.clcr)],
        }
        maps = self._maps(pieces, made_with)
        figures: dict[str, float] = {}
        for name, pair in maps.items():
            figures |= self._measure_maps(name, pair, tested, rows)
        phases: dict[str, list[np.ndarray]] = {}
        for number in range(config.clcr.tune.rounds):
            # Phases 2 and 3: the second model learns towards those of the first after its turn.
            for side, language in enumerate(models):
                # The new model and vectors take the place of the old: neither memory nor disk holds both.
                models[language], history = self._tune_model(
                    number,
                    side,
                    models[language],
                    spaces[language],
                    rows.train,
                    pieces,
                    maps[MAIN][side],
                    made_with,
                )
                pieces[side] = data.one_side(models, spaces, rows.train, side, folder)
                phases.setdefault(language, []).append(history)
        if config.clcr.tune.rounds:
            tested = data.both_sides(models, spaces, rows.test, folder)
            figures |= self._measure_maps(clcr_steps.TUNED, maps[MAIN], tested, rows)
        views = [self._views(maps[MAIN], sides) for sides in (pieces, tested)]
        threshold = config.clcr.threshold
        if not config.clcr.contrast:  # then the option counts in mean distances
            threshold *= clcr_steps.mean_variance(views[0])
        distances = list(clcr_steps.distances(views[1], config.clcr.contrast, config.seed))
        of_train = clcr_steps.distances(views[0], config.clcr.contrast, config.seed)
        links = [[pivots.links(x, threshold) for x in part] for part in (of_train, distances)]
        train = Split(rows.train, False, views[0], links[0])
        test = Split(rows.test, rows.gold, views[1], links[1])
        figures |= figures_of.measure_spread(views[1])
        curve = None
        if rows.gold:
            curve = clcr_steps.pivot_curve(distances, rows.test)
            figures |= figures_of.measure_links(test, distances, curve)
        return TransformResult(
            made_with, models, spaces, maps, phases, threshold, train, test, curve, figures
        )

    def _views(self, maps: Maps, sides: Sequence[WordPieces]) -> Views:
        return vectors.views(maps, sides, vectors.files(self.workdir))

    def _measure_maps(
        self, name: str, maps: Maps, sides: Sequence[WordPieces], rows: ParallelRows
    ) -> dict[str, float]:
        """The figures of a row of Table 1 on the test sentences."""
        return clcr_steps.map_figures(
            name,
            maps,
            sides,
            self._views(maps, sides),
            rows.test if rows.gold else (),
            self.config.clcr.contrast,
            self.config.seed,
        )

    def _maps(self, pieces: Sequence[WordPieces], made_with: Mapping[str, Any]) -> dict[str, Maps]:
        """Row of Table 1 -> the maps that it learns."""
        matching = AttentionMatching(**values_of(self.config.clcr.transform))
        maps = {}
        for name in clcr_steps.ROWS:
            fit = functools.partial(clcr_steps.fit_maps, name, pieces, matching, self.config.seed)
            arrays = self._keep_arrays(
                f"transform_{name}", made_with, ("transform",), lambda fit=fit: _arrays(fit())
            )
            maps[name] = Maps(*(_match(arrays[side]) for side in Maps._fields))
        return maps

    def _tune_model(
        self,
        number: int,
        side: int,
        model: LanguageModel,
        space: Space,
        rows: Sequence[Linked],
        sides: Sequence[WordPieces],
        match: Match,
        made_with: Mapping[str, Any],
    ) -> tune.TunedEncoder:
        """The model of a side after its fine-tuning in a round, towards the vectors of the other."""
        language = options.languages(self.config)[side]

        def fit() -> Any:
            tuned = tune.tune_model(
                model,
                (language, [row[side] for row in rows]),
                space,
                match,
                sides[1 - side].table,
                sides[side].table.lengths,
                AttentionMatching(**values_of(self.config.clcr.transform)),
                Tuning(**values_of(self.config.clcr.tune)),
                self.config.seed,
            )
            return {"params": tuned.model.variables["params"], "history": tuned.history}

        arrays = self._keep_arrays(
            f"tuned_{number}_{language}", made_with, ("transform", "tune"), fit
        )
        return tune.TunedEncoder(model.with_parameters(arrays["params"]), arrays["history"])

    def _extract(self, mapped: TransformResult) -> Extracted:
        classifier = Classifier(**values_of(self.config.clcr.predictor))
        extractions: dict[str, Extraction] = {}
        figures: dict[str, float] = {}
        for side, language in enumerate(options.languages(self.config)):
            (x, gold), (test_x, test_gold) = (
                (split.words.common(side).words, clcr_steps.pivot_labels(split.links, side))
                for split in (mapped.train, mapped.test)
            )
            if not gold.any():
                raise ValueError(clcr_steps.NO_PIVOT)
            fit = functools.partial(
                clcr_steps.train_extraction, x, gold, classifier, self.config.seed
            )
            arrays = self._keep_arrays(
                f"extract_{language}",
                mapped.made_with,
                _OF_PREDICTORS,
                lambda fit=fit: _params(fit()),
            )
            trained = Extraction(*(TrainedClassifier(arrays[name]) for name in Extraction._fields))
            figures |= dict(clcr_steps.pivot_figures(trained, test_x, test_gold, language))
            extractions[language] = trained
        return Extracted(extractions, figures)

    def _reorder(self, mapped: TransformResult) -> Reordered:
        settings = self.config.clcr
        test = mapped.test
        moved_side = data.SIDES.index(settings.reordered)
        fit = functools.partial(
            clcr_steps.order_predictors,
            mapped.train.words.common(moved_side),
            clcr_steps.orders(mapped.train.links, moved_side),
            Classifier(**values_of(settings.predictor)),
            self.config.seed,
        )
        names = (*_OF_PREDICTORS, "reordered")
        arrays = self._keep_arrays("reorder", mapped.made_with, names, lambda: _params(fit()))
        order = OrderPredictors(*(TrainedClassifier(arrays[x]) for x in OrderPredictors._fields))
        links = clcr_steps.gold_links(test.rows) if test.gold else test.links
        orders = clcr_steps.orders(links, moved_side)
        figures = dict(clcr_steps.order_figures(order, test.words.common(moved_side), orders))
        for name in ("bleu4", "tau"):
            value = figures[f"clcr/reorder/relative/beam{clcr_steps.BEAMS[-1]}/{name}"]
            figures[f"clcr/reorder/{name}"] = value
            figures[f"clcr/reorder/{name}_gain"] = value - figures[f"clcr/reorder/identity/{name}"]
        return Reordered(moved_side, order, orders, figures)

    def _save(
        self, mapped: TransformResult, extracted: Extracted, reordered: Reordered
    ) -> dict[str, float]:
        """Writes the result, and returns the figures of the languages of its hub."""
        settings = self.config.clcr
        hub = data.hub_folders(self.config.clcr)
        moved_language = options.languages(self.config)[reordered.moved]
        clcr_models.save(
            self.workdir,
            {
                "encoders": data.encoder_addresses(self.config, self.workdir),
                "threshold": settings.pivot_probability,
                "beam": settings.beam,
                "reordered": moved_language,
                "hub": hub,
            },
            mapped.spaces,
            mapped.maps[MAIN].there.params,
            # Relative orders are far above absolute ones (BLEU-4 61, 18).
            {"order": reordered.predictors.relative}
            | {
                f"pivots/{x}": extraction.confident
                for x, extraction in extracted.predictors.items()
            },
        )
        # Without fine-tuning the encoders stay in their own folders.
        if settings.tune.rounds:
            for language, model in mapped.models.items():
                heads.save(
                    model.variables["params"], clcr_models.tuned_file(self.workdir, language)
                )
        if not (hub and mapped.test.gold):
            return {}
        return dict(clcr_hub.hub_figures(self.config, encoders.of_folder(self.workdir)))

    def _entailment(self, mapped: TransformResult) -> dict[str, float]:
        figures: dict[str, float] = {}
        if not self.config.clcr.entailment.seeds:
            return figures
        made_with = {**mapped.made_with, "clcr": to_dict(self.config.clcr)}
        if multilingual := self.config.clcr.entailment.multilingual:
            made_with["multilingual"] = state_of(multilingual)
        stamps = data.stamps(self.config, clcr_files.of_entailment(self.config))
        rows = {
            name: functools.partial(entailment.measure_entailment, self.config, self.workdir, name)
            for name in entailment.rows(self.config)
        }
        rows[entailment.ALIGNED] = functools.partial(
            aligned.measure_aligned, self.config, self.workdir, mapped
        )
        for name, make in rows.items():
            path = self.path(_KEPT, f"entailment_{name}.json")
            figures |= CachedResult(path, made_with, make, stamps=stamps).result()
        return figures

    def results(self, done: Mapping[str, Any]) -> Results:
        mapped, extracted, reordered = (done[x] for x in ("transform", "extract", "reorder"))
        figures = {**mapped.figures, **extracted.figures, **reordered.figures}
        figures |= {**done["model"], **done["entailment"]}
        report = {
            "sections": sections.sections(
                self.config, figures, mapped, extracted.predictors, reordered
            ),
            "clcr": {"seconds": self.seconds},
        }
        return Results(figures, report)


def _params(predictors: Extraction | OrderPredictors) -> dict[str, Any]:
    return {name: predictor.params for name, predictor in predictors._asdict().items()}


def _arrays(maps: Maps) -> dict[str, dict[str, np.ndarray]]:
    return {
        side: {
            **match.params,
            "temperature": np.array(match.temperature),
            "history": np.array(match.history, np.float64).reshape(-1, 2),
        }
        for side, match in maps._asdict().items()
    }


def _match(arrays: Mapping[str, np.ndarray]) -> Match:
    params = {name: x for name, x in arrays.items() if name not in ("temperature", "history")}
    history = [(int(step), float(loss)) for step, loss in arrays["history"]]
    return Match(params, float(arrays["temperature"]), history)
