"""CLCR: two monolingual models made one by transform, extract and reorder (B1-B6)."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from typing import Any, Callable, Iterator, Mapping, Sequence

from absl import logging
import jax
import numpy as np

from clwe_jax import atomic, options
from clwe_jax.align import pivots
from clwe_jax.align.attention_matching import AttentionMatching, Match
from clwe_jax.align.predictors import Classifier, Predictor
from clwe_jax.align.sentences import Sentences
from clwe_jax.api import clcr as api
from clwe_jax.jobs import (
    clcr_aligned, clcr_data, clcr_entailment, clcr_hub, clcr_report, clcr_steps, clcr_tune,
    clcr_vectors, facts,
)  # fmt: skip
from clwe_jax.jobs.clcr_data import Part
from clwe_jax.jobs.clcr_steps import Extraction, Maps, OrderPredictors
from clwe_jax.jobs.clcr_tune import Tuning
from clwe_jax.jobs.clcr_vectors import Views
from clwe_jax.jobs.job import Job, Results, Stage
from clwe_jax.jobs.kept import Kept
from clwe_jax.jobs.transfer import state_of
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.text.alignment_files import Linked
from clwe_jax.training import heads, train

_PACKAGES = ("clwe_jax", "jax", "flax", "optax", "numpy")
_KEPT = "steps"  # folder of the results of the stages
_OF_PREDICTORS = ("transform", "tune", "contrast", "threshold", "predictor")


def run(config: ClcrRun, workdir: str, dry: bool = False) -> bool:
    """Trains what is not given, transforms, extracts, reorders and reports; see `Job.run`."""
    return Clcr(config, workdir).run(dry)


class Clcr(Job):
    """Maps the vectors of `config.clcr.source` to those of `config.clcr.target`.

    Attributes:
      figures: the figures of the stages done.
      train, test: the parallel sentences with the vectors of their pieces.
      words: 'train' and 'test' -> their words in both spaces, by the final models and maps.
      maps: row of Table 1 -> its maps.
      phases: language -> the history of its model's fine-tuning in each round.
      contrast: arguments of `clcr_steps.distances`.
      curve: the pivots of the test sentences by their threshold, where these have gold links.
      threshold: the largest distance of a pivot.
      links: the pivots of the training and of the test sentences, as links.
    """

    def check(self) -> None:
        if jax.process_count() > 1:
            raise ValueError("CLCR runs on one host: start it there alone")

    def finished(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        if not figures or "clcr" not in report:
            return ""
        return (
            "This run is finished. To start again, give another --workdir; to use the models: "
            f"clwe_jax.api.load({self.workdir!r})."
        )

    def stages(self):
        self.figures: dict[str, float] = {}
        self.languages = options.languages(self.config)
        return [
            Stage("encoders", self._encoders, self._about_encoders),
            Stage("sentences", self._read, self._about_sentences),
            Stage("transform", self._transform, self._about_transform),
            Stage("extract", self._extract),
            Stage("reorder", self._reorder),
            Stage("model", self._save),
            Stage("entailment", self._entailment, self._about_entailment),
        ]

    def _about_encoders(self) -> Iterator[str]:
        for language, side in zip(self.languages, clcr_data.SIDES):
            place = getattr(self.config.clcr, side)
            steps = self.config.clcr.encoder.steps
            yield f"{side}: {language}, " + (place or f"a model that is trained first, {steps} steps")

    def _about_sentences(self) -> Iterator[str]:
        settings = self.config.clcr
        yield f"parallel sentences: {settings.parallel}, at most {settings.sentences:,}"
        yield f"gold links: {settings.gold or 'none'}"

    def _about_transform(self) -> Iterator[str]:
        steps = self.config.clcr.transform.steps
        yield f"transform: {', '.join(clcr_steps.ROWS)}; {steps:,} steps in each direction"

    def _about_entailment(self) -> Iterator[str]:
        seeds = self.config.clcr.entailment.seeds
        if seeds:
            rows = (*clcr_entailment.rows(self.config), clcr_entailment.ALIGNED)
            yield f"entailment: {', '.join(rows)}; {seeds} heads each"

    def _encoders(self) -> bool:
        self.models = clcr_data.given(self.config)
        return clcr_data.trained(self.config, self.workdir)

    def _read(self) -> None:
        self.places = clcr_data.places(self.config, self.workdir)
        self.models = clcr_data.opened(self.config, self.workdir, self.models)
        rows, tests, gold = clcr_data.sentences(self.config, self.models)
        known = clcr_hub.space(self.config)
        self.spaces, self.train = clcr_data.learned(
            self.config, self.models, rows, known, self.workdir
        )
        self.test = self._part(tests, gold)
        hub = clcr_data.hub(self.config.clcr)
        self._made_with = {
            "encoders": {x: [place, state_of(place)] for x, place in self.places.items()},
            "sentences": [len(self.train.rows), len(self.test.rows)],
            "space": [[*x.layers] for x in self.spaces.values()],
            "hub": [[folder, state_of(f"run:{folder}")] for folder in hub],
        }

    def _part(self, rows: Sequence[Linked], gold: bool = False) -> Part:
        return clcr_data.part(self.models, self.spaces, rows, gold, self.workdir)

    def views(self, part: Part, name: str = clcr_steps.MAIN) -> Views:
        """The words of sentences in both spaces, by the maps of a row of Table 1."""
        return clcr_vectors.views(self.maps[name], part.sides, clcr_vectors.files(self.workdir))

    def _kept(
        self, name: str, used: Sequence[str], make: Callable[[], Mapping[str, Mapping[str, Any]]]
    ) -> dict[str, dict[str, np.ndarray]]:
        """Arrays that are computed once from the options `used`: part -> name -> array."""
        settings = to_dict(self.config.clcr)
        used_options = {key: settings[key] for key in used}
        return Kept(
            self.path(_KEPT, f"{name}.npz"), {**self._made_with, **used_options}, make, heads.save, heads.load
        ).result()

    def _transform(self) -> None:
        matching = AttentionMatching(**values_of(self.config.clcr.transform))
        self.maps: dict[str, Maps] = {}
        self.contrast = self.config.clcr.contrast, self.config.seed
        for name in clcr_steps.ROWS:
            fit = functools.partial(
                clcr_steps.fit, name, self.train, matching, self.config.seed
            )
            found = self._kept(f"transform_{name}", ("transform",), lambda fit=fit: _arrays(fit()))
            self.maps[name] = Maps(*(_match(found[side]) for side in Maps._fields))
            views = self.views(self.test, name)
            self.figures |= clcr_steps.measured(
                name, self.maps[name], self.test, views, *self.contrast
            )
        self._tune(matching)
        self.words = {"train": self.views(self.train), "test": self.views(self.test)}
        for side, name in enumerate(("mapped", "target")):
            variance, rank = clcr_steps.spread(self.common("test", side).words)
            self.figures |= {f"clcr/variance/{name}": variance, f"clcr/rank/{name}": rank}
            if clcr_steps.collapsed(variance, rank):
                logging.warning(
                    "The %s representations have collapsed: variance %.4f of a dimension, effective rank "
                    "%.1f. Lower config.clcr.tune.learning_rate or .rounds, or train T for more steps",
                    name, variance, rank,
                )  # fmt: skip
        self._link()

    def _link(self) -> None:
        """Finds the pivots of all sentences, and measures those of the test sentences."""
        settings = self.config.clcr
        self.threshold = settings.threshold
        if not settings.contrast:
            self.threshold *= clcr_steps.unit(self.words["train"])
        distances = list(clcr_steps.distances(self.words["test"], *self.contrast))
        train = clcr_steps.distances(self.words["train"], *self.contrast)
        self.links = {
            split: [pivots.links(x, self.threshold) for x in found]
            for split, found in (("train", train), ("test", distances))
        }
        if not self.test.gold:
            return
        rows = self.test.rows
        nearest = clcr_steps.alignment([pivots.links(x) for x in distances], rows)
        self.figures |= {f"clcr/alignment_{name}": value for name, value in nearest.items()}
        found = clcr_steps.alignment(self.links["test"], rows)
        self.figures |= {f"clcr/pivots/{x}": value for x, value in found.items()}
        self.figures |= clcr_steps.aligners(self.words["test"], rows)
        self.curve = clcr_steps.pivot_curve(distances, rows)
        at = self.curve.precision_at(clcr_steps.RECALL)
        if at is not None:
            self.figures[f"clcr/pivots/precision@{clcr_steps.RECALL}"] = at

    def _tune(self, matching: AttentionMatching) -> None:
        """Fine-tunes the models in turns, and encodes the sentences again."""
        tuning, maps = Tuning(**values_of(self.config.clcr.tune)), self.maps[clcr_steps.MAIN]
        self.phases: dict[str, list[np.ndarray]] = {}
        for number in range(tuning.rounds):
            for side, (language, match) in enumerate(zip(self.languages, maps)):
                words = [row[side] for row in self.train.rows]

                def fit(language=language, match=match, side=side, words=words) -> Any:
                    found = clcr_tune.tuned(
                        self.models[language], (language, words), self.spaces[language], match,
                        self.train.sides[1 - side].table, self.train.sides[side].table.rows.shape[1],
                        matching, tuning, self.config.seed,
                    )  # fmt: skip
                    return {"params": found.model.variables["params"], "history": found.history}

                name = f"tuned_{number}_{language}"
                found = self._kept(name, ("transform", "tune"), fit)
                self.models[language] = api.with_parameters(self.models[language], found["params"])
                self.phases.setdefault(language, []).append(found["history"])
                sides = list(self.train.sides)
                sides[side] = clcr_data.one_side(
                    self.models, self.spaces, self.train.rows, side, self.workdir
                )
                self.train = dataclasses.replace(self.train, sides=tuple(sides))
        if tuning.rounds:
            self.test = self._part(self.test.rows, self.test.gold)
            self.figures |= clcr_steps.measured(
                clcr_steps.TUNED, maps, self.test, self.views(self.test), *self.contrast
            )

    def common(self, split: str, side: int) -> Sentences:
        """The words of a side of the sentences in the common space."""
        return self.words[split].common(side)

    def _extract(self) -> None:
        options_of = Classifier(**values_of(self.config.clcr.predictor))
        self.extraction: dict[str, Extraction] = {}
        for side, language in enumerate(self.languages):
            x = self.common("train", side).words
            gold = clcr_steps.labels(self.links["train"], side)
            if not gold.any():
                raise ValueError(clcr_steps.NO_PIVOT)
            fit = functools.partial(clcr_steps.extraction, x, gold, options_of, self.config.seed)
            found = self._kept(
                f"extract_{language}", _OF_PREDICTORS,
                lambda fit=fit: {name: y.params for name, y in fit()._asdict().items()},
            )  # fmt: skip
            made = Extraction(*(Predictor(found[name]) for name in Extraction._fields))
            self.extraction[language] = made
            x = self.common("test", side).words
            gold = clcr_steps.labels(self.links["test"], side)
            self.figures |= dict(clcr_steps.extracted(made, x, gold, language))

    def _reorder(self) -> None:
        options_of = Classifier(**values_of(self.config.clcr.predictor))
        self.moved = clcr_data.SIDES.index(self.config.clcr.reordered)
        given = clcr_steps.orders(self.links["train"], self.moved)

        def fit() -> dict[str, Any]:
            found = clcr_steps.order_predictors(
                self.common("train", self.moved), given, options_of, self.config.seed
            )
            return {name: x.params for name, x in found._asdict().items()}

        found = self._kept("reorder", (*_OF_PREDICTORS, "reordered"), fit)
        self.order = OrderPredictors(*(Predictor(found[name]) for name in OrderPredictors._fields))
        links = self.links["test"]
        if self.test.gold:
            links = clcr_steps.gold_links(self.test.rows)
        self.given = clcr_steps.orders(links, self.moved)
        words = self.common("test", self.moved)
        self.figures |= dict(clcr_steps.reordered(self.order, words, self.given))
        widest = f"relative/beam{clcr_steps.BEAMS[-1]}"
        for name in ("bleu4", "tau"):
            value = self.figures[f"clcr/reorder/{widest}/{name}"]
            self.figures[f"clcr/reorder/{name}"] = value
            own = self.figures[f"clcr/reorder/identity/{name}"]
            self.figures[f"clcr/reorder/{name}_gain"] = value - own

    def _save(self) -> None:
        """Writes the result, and measures the languages of its hub."""
        settings = self.config.clcr
        api.save(
            self.workdir,
            {"encoders": self.places, "threshold": settings.pivot_probability, "beam": settings.beam,
             "reordered": self.languages[self.moved], "hub": clcr_data.hub(self.config.clcr)},
            self.spaces,
            self.maps[clcr_steps.MAIN].there.params,
            {"order": self.order.relative}
            | {f"pivots/{x}": found.confident for x, found in self.extraction.items()},
        )
        if settings.tune.rounds:
            for language, model in self.models.items():
                heads.save(model.variables["params"], api.tuned_file(self.workdir, language))
        if clcr_data.hub(self.config.clcr) and self.test.gold:
            self.figures |= dict(clcr_hub.aligned(self.config, api.load(self.workdir)))

    def _entailment(self) -> None:
        if not self.config.clcr.entailment.seeds:
            return
        made_with = {**self._made_with, "clcr": to_dict(self.config.clcr)}
        rows = {
            name: functools.partial(clcr_entailment.measured, self.config, self.workdir, name)
            for name in clcr_entailment.rows(self.config)
        }
        rows[clcr_entailment.ALIGNED] = functools.partial(clcr_aligned.measured, self)
        for name, make in rows.items():
            path = self.path(_KEPT, f"entailment_{name}.json")
            self.figures |= Kept(path, made_with, make, _write, _read).result()

    def results(self) -> Results:
        report = {
            **facts.environment(_PACKAGES),
            "speed": {"seconds": time.time() - self.started},
            "memory": {"peak_host_bytes": train.peak_memory()["host_peak"]},
            "notes": self.notes,
            "sections": clcr_report.sections(self),
            "clcr": {"seconds": self.seconds},
        }
        return Results(self.figures, report)


def _write(figures: Mapping[str, float], path: str) -> None:
    atomic.write_json(path, dict(figures))


def _read(path: str) -> dict[str, float]:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _arrays(maps: Maps) -> dict[str, dict[str, np.ndarray]]:
    return {
        side: {
            **match.params, "temperature": np.array(match.temperature),
            "history": np.array(match.history, np.float64).reshape(-1, 2),
        }
        for side, match in maps._asdict().items()
    }  # fmt: skip


def _match(arrays: Mapping[str, np.ndarray]) -> Match:
    params = {name: x for name, x in arrays.items() if name not in ("temperature", "history")}
    history = [(int(step), float(loss)) for step, loss in arrays["history"]]
    return Match(params, float(arrays["temperature"]), history)
