"""Static vectors of several languages in one space, from text or from files of vectors."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import time
from typing import Any, Callable, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import options
from clwe_jax.align.alignment import Alignment
from clwe_jax.api import static as static_api
from clwe_jax.api.static import StaticModel
from clwe_jax.embeddings import beside, files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate.context import Context
from clwe_jax.jobs import (
    evaluators, facts, floor, forecast, inputs, lexica, mined, pictures, refine, shared_space,
)  # fmt: skip
from clwe_jax.jobs.given import Given
from clwe_jax.jobs.job import FIGURES, Job, Results, Stage
from clwe_jax.jobs.kept import Kept
from clwe_jax.jobs.trainer import Trainer
from clwe_jax.options.section import to_dict
from clwe_jax.options.static import StaticRun
from clwe_jax.report import translations, word_links
from clwe_jax.text import training_dictionary, world
from clwe_jax.training import train

_PACKAGES = ("clwe_jax", "jax", "numpy", "scipy", "gensim")
_FREQUENT = 2_000  # the report chooses words with neighbours among so many frequent words
_PAGES = (word_links, translations)  # report sections with details of evaluators


def run(config: StaticRun, workdir: str, dry: bool = False) -> bool:
    """Trains or reads vectors, aligns, evaluates and reports; see `Job.run`."""
    return Static(config, workdir).run(dry)


class Static(Job):
    """Trains vectors, or reads those of `config.align.source_vectors`, and aligns them.

    Attributes:
      with_floor: whether the dictionary floor is measured; a run that is a part of another one
        leaves that to the other.
    """

    with_floor = True
    mined: mined.Written = mined.Written()

    def check(self) -> None:
        refine.aligner(self.config.align, self.config.seed)  # raises ValueError for wrong options
        inputs.check(self.config, self.workdir, options.pairs(self.config))

    def finished(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        # A run without test sets has no figures, and its file of figures is an empty object.
        whole = os.path.exists(self.path(FIGURES))
        if not whole or report.get("static", {}).get("evals") != self._evals():
            return ""
        return (
            "This run is finished. To evaluate otherwise, change config.evals; to start again, "
            f"give another --workdir; to use the vectors: clwe_jax.api.load({self.workdir!r})."
        )

    def stages(self):
        source = Given if self.config.align.source_vectors else Trainer
        self.source = source(self.config, self.workdir)
        return [
            Stage(
                "dictionaries",
                self._read_dictionaries,
                lambda: forecast.dictionaries(self.config, self.workdir),
            ),
            *([Stage("mining", self._mine, self._about_mining)] if self.config.static.mine else []),
            Stage(self.source.stage, self._read_vocabularies, self.source.about),
            Stage("alignment", self._align, self._about_alignment),
            Stage("writing", self._write_vectors),
            Stage(
                "evaluation",
                self._evaluate,
                lambda: forecast.evaluations(self.config, self.workdir),
            ),
            Stage("induced dictionaries", self._induce),
        ]

    def _about_mining(self) -> list[str]:
        return [forecast.mining(self.config)]

    def _about_alignment(self) -> list[str]:
        return [forecast.alignment(self.config)] if self.source.aligned else []

    def _read_dictionaries(self) -> None:
        folders, normalizer = self.source.folders, self.source.normalizer
        self.dictionary = training_dictionary.load(self.config, folders, self.workdir, normalizer)
        self.tests = lexica.tests(self.config, folders, normalizer)
        self.tested = training_dictionary.tested(self.dictionary, self.tests)
        self.context = Context(
            languages=options.languages(self.config),
            normalizer=normalizer,
            pairs=options.pairs(self.config),
            seed=self.config.seed,
        )
        # Built before training, so that a wrong option of an evaluator fails at once.
        self.evaluators = evaluators.build(self.config.evals, self.context, folders)

    def _mine(self) -> None:
        grown = self.source.mine(self.dictionary, self.tests)
        gold = self.source.folders["text"] if self.config.data.source == "pocket" else ""
        self.mined = mined.write(
            grown, self.dictionary, self.path(mined.FOLDER), gold, self.config.static.judge
        )

    def _read_vocabularies(self) -> None:
        self.vocabularies = self.source.vocabularies(self.dictionary, self.tests)

    def _align(self) -> None:
        hub, found = options.hub_of(self.config), self.vocabularies
        alignments = {}
        for language in found.raw if self.source.aligned else ():
            if language != hub:
                alignments[language] = self._alignment(language, hub)
        self.model = StaticModel(
            found.raw, found.shared, alignments, hub, self.source.normalizer,
            self.source.frequencies,
        )  # fmt: skip
        if self.config.static.dictionary_dim:
            self.model = self._beside_dictionary(self.model)

    def _beside_dictionary(self, model: StaticModel) -> StaticModel:
        """The vectors in the hub's space, each behind the dictionary's vector of the word."""
        static = self.config.static
        known = self.source.dictionary_vectors(static.dictionary_dim)
        trained = {language: model.vectors(language) for language in model.languages}
        joined = beside.concatenated(known, trained, static.trained_length)
        return dataclasses.replace(model, raw=joined, shared={}, alignments={})

    def _alignment(self, language: str, hub: str) -> Alignment:
        """The map from a language's space to the hub's."""
        source, target = self.vocabularies.raw[language], self.vocabularies.raw[hub]
        shared = self.vocabularies.shared.get(language, frozenset())
        return Kept(
            self.path("alignments", f"{language}-{hub}.npz"),
            {
                # The dictionary that the map is fitted to leaves out test words.
                "tests": training_dictionary.tests_of(self.config),
                "words": [len(source), len(target)],
                **self.source.made_with,
            },
            functools.partial(
                refine.fit, self.config.align, self.config.seed, source, target, self.dictionary,
                (language, hub), shared,
            ),  # fmt: skip
            Alignment.save,
            Alignment.load,
        ).result()

    def _write_vectors(self) -> None:
        self.model.save(self.workdir)
        # Vectors beside a dictionary's are made while they are written; from here on they are mapped.
        self.model = dataclasses.replace(self.model, raw=static_api.load(self.workdir).raw)
        if self.config.static.write_text:
            os.makedirs(self.path("vectors"), exist_ok=True)
            for language in self.model.languages:
                path = self.path("vectors", f"{language}.vec")
                files.write(path, self.model.vectors(language))

    def _evaluate(self) -> None:
        encoder = self.source.encoder(self.model)
        self.figures, self.rows = evaluators.measure(self.evaluators, encoder)
        self.figures |= self.mined.figures
        if self.with_floor:
            made = evaluators.build(
                self.config.evals, self.context, self.source.folders, names=floor.EVALUATORS
            )
            self.figures |= floor.measure(
                self.config, made, self.dictionary, self.source.frequencies, encoder.words
            )

    def _induce(self) -> None:
        self.induced: dict[str, int] = {}
        most = self.config.static.induced_words
        for source, target in options.pairs(self.config) if most else ():
            if f"{target}-{source}" in self.induced:
                continue
            name = f"{source}-{target}"
            pairs = lexica.induced(*self.model.space(source, target), most)
            lexica.write(self.path("induced", f"{name}.txt"), pairs)
            self.induced[name] = len(pairs)

    def results(self) -> Results:
        errors, left_out = _errors(self.rows, self.config.report.errors)
        static: dict[str, Any] = {
            "evals": self._evals(),
            "stages": self.seconds,
            "alignments": {
                f"{language}-{self.model.hub}": _plain(alignment.info)
                for language, alignment in self.model.alignments.items()
            },
            "induced": self.induced,
            "errors": errors,
            "errors_left_out": left_out,
            "vocabulary": self.vocabularies.description,
            "projection": pictures.stages(self.vocabularies, self.model, self.dictionary),
        }
        report = {
            **facts.environment(_PACKAGES),
            "speed": {"seconds": time.time() - self.started},
            "memory": {"peak_host_bytes": train.peak_memory()["host_peak"]},
            "neighbours": self._neighbours(),
            "space": self._space(),
            "notes": self.notes,
            **self.source.description(),
            "static": static,
            "sections": [
                *self.mined.sections,
                *(x for page in _PAGES for x in page.sections(self.figures, self.rows)),
            ],
        }
        if self.dictionary is not None:
            described = world.describe_dictionary(self.dictionary)
            report["dictionary"] = {**described, "tested": self.tested}
        return Results(self.figures, report)

    def _evals(self) -> list[Any]:
        """The options that decide the figures and the table of errors, as JSON values."""
        return json.loads(
            json.dumps([to_dict(self.config)["evals"], self.config.report.errors])
        )

    def _space(self) -> dict[str, Any]:
        """The same words before the alignment and after it; see `report.space`."""
        model = self.model
        frequent = {language: vectors.words for language, vectors in model.raw.items()}
        chosen = shared_space.concepts(frequent, self.dictionary, model.hub)

        def drawn(vectors_in: Callable[[str], Vectors]) -> list[dict[str, Any]]:
            return shared_space.picture(
                chosen, lambda x, words: vectors_in(x).vectors[vectors_in(x).rows(words)]
            )

        stages = {"before": drawn(model.raw.__getitem__)} if model.alignments else {}
        return {"hub": model.hub, "stages": {**stages, "after": drawn(model.vectors)}}

    def _neighbours(self) -> list[dict[str, Any]]:
        model = self.model
        known = model.raw[model.hub]
        asked = facts.asked_words(self.config.report.words)
        for word in sorted(set(asked) - set(known.index)):
            logging.warning("config.report.words: %r has no vector in %s", word, model.hub)
        words = [word for word in asked if word in known.index]
        if not asked:
            words = facts.content_words([w for w in known.words[:_FREQUENT] if w.isalpha()])
        return facts.neighbours(model, words, model.hub, model.languages)


def _errors(rows: Sequence[Mapping[str, Any]], most: int) -> tuple[list[Any], int]:
    """At most `most` errors of each direction, evenly spread, and the number of errors left out."""
    by_pair: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["kind"] not in ("right", *(page.KIND for page in _PAGES)):
            by_pair.setdefault(row["pair"], []).append(row)
    shown, left_out = [], 0
    for some in by_pair.values():
        places = np.unique(np.linspace(0, len(some) - 1, min(most, len(some))).astype(int))
        shown += [some[place] for place in places.tolist()]
        left_out += len(some) - len(places)
    return shown, left_out


def _plain(info: Mapping[str, Any]) -> dict[str, Any]:
    """An alignment's facts as JSON values, without arrays and NumPy numbers."""
    return json.loads(json.dumps(dict(info), default=lambda value: value.tolist()))
