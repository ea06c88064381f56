"""Static vectors of several languages in one space, from text or from files of vectors."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.align.alignment import Alignment
from clwe_jax.cached import CachedResult
from clwe_jax.embeddings import files, word_rows
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.encoders import spaces
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.evaluate.context import Context
from clwe_jax.options.section import to_dict
from clwe_jax.options.static import StaticRun
from clwe_jax.options.text import PAIRS
from clwe_jax.report import evaluations
from clwe_jax.runs import dictionary_baseline, evaluators, forecast, inputs, lexica
from clwe_jax.runs.evaluators import NamedEvaluator
from clwe_jax.runs.job import FIGURES, Job, Results, Stage
from clwe_jax.static import examples, given_pairs, lexicon, mined, pictures, given_vectors, refine
from clwe_jax.static.dictionary_part import DictionaryPart
from clwe_jax.static.trainer import Trainer
from clwe_jax.static.unaligned import Counts, UnalignedVectors
from clwe_jax.text import text_of_run
from clwe_jax.text.corpus import frequencies
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.dictionary.test_dictionaries import TestSet
from clwe_jax.text.words.normalize import Normalizer


def run(config: StaticRun, workdir: str, dry: bool = False) -> bool:
    """Trains or reads vectors, aligns, evaluates and reports; whether it is finished."""
    return Static(config, workdir).run(dry)


class _Sources(NamedTuple):
    """What the later stages read: dictionaries, test sets with their evaluators, and what trains the vectors.

    Attributes:
      folders: option that names data -> its folder.
      dictionary: training pairs, without test words; None: no dictionary.
      tested: test set -> (number of its pairs that the dictionary has, number of its pairs).
      tests: the test dictionaries.
      context: of the evaluators.
      evaluators: made before training, so that a wrong option of one fails at once.
      trainer: trains vectors on the run's text; None where vectors are given.
    """

    folders: Mapping[str, str]
    dictionary: Dictionary | None
    tested: Mapping[str, tuple[int, int]]
    tests: Sequence[TestSet]
    context: Context
    evaluators: Sequence[NamedEvaluator]
    trainer: Trainer | None


# The figures by metric path, and the evaluators' rows of details.
_Measured = tuple[Mapping[str, float], Sequence[Mapping[str, Any]]]


class Static(Job):
    """Trains vectors, or reads those of `config.align.source_vectors`, and aligns them.

    Attributes:
      with_floor: whether the dictionary floor is measured; a run that is a part of another one
        leaves that to the other.
    """

    def __init__(self, config: StaticRun, workdir: str, with_floor: bool = True) -> None:
        super().__init__(config, workdir)
        self.with_floor = with_floor

    def check(self) -> None:
        refine.aligner(self.config.align, self.config.seed)  # raises ValueError for wrong options
        inputs.check(self.config, self.workdir, options.pairs(self.config))
        if self._uses_given_vectors and self.config.data.source != "pocket":
            logging.warning(
                "config.data.source=%s is not read: the vectors are given", self.config.data.source
            )

    def advise(self, figures: Mapping[str, float], report: Mapping[str, Any]) -> str:
        # A run without test sets has no figures, and its file of figures is an empty object.
        has_figures = os.path.exists(self.path(FIGURES))
        if not has_figures or report.get("static", {}).get("evals") != self._evals():
            return ""
        return (
            "This run is finished. To evaluate otherwise, change config.evals; to start again, "
            f"give another --workdir; to use the vectors: clwe_jax.api.load({self.workdir!r})."
        )

    def stages(self):
        config = self.config
        vectors = self._vectors_stage  # names of stages are figures of record.json: stage/training
        sources = "dictionaries"
        model = "writing"
        stages = [Stage(sources, self.read_dictionaries, (), self._describe_dictionaries)]
        if config.static.mine or config.learns_from_pairs:
            stages.append(Stage("mining", self._mine, (sources,), lambda: forecast.links(config)))
        return [
            *stages,
            Stage(vectors, self._make_vectors, (sources, "mining"), self._describe_vectors),
            Stage("alignment", self._align, (sources, vectors), self._describe_alignment),
            Stage(model, self._write_vectors, (sources, "mining", vectors, "alignment")),
            Stage("evaluation", self._evaluate, (sources, model), self._describe_evaluations),
            Stage("induced dictionaries", self._induce, (model,)),
            Stage("proposed entries", self._propose, (sources, model)),
        ]

    @property
    def _uses_given_vectors(self) -> bool:
        return bool(self.config.align.source_vectors)

    @property
    def _is_dictionary_alone(self) -> bool:
        return self.config.static.training == "dictionary" and not self._uses_given_vectors

    @property
    def _vectors_stage(self) -> str:
        return "reading" if self._uses_given_vectors else "training"

    @property
    def _needs_alignment(self) -> bool:
        return self._uses_given_vectors or self.config.static.refinement

    def _describe_dictionaries(self) -> Iterable[str]:
        return forecast.dictionaries(self.config, self.workdir)

    def _describe_evaluations(self) -> Iterable[str]:
        return forecast.evaluations(self.config, self.workdir)

    def _describe_alignment(self) -> list[str]:
        return [forecast.alignment(self.config)] if self._needs_alignment else []

    def _describe_vectors(self) -> Iterator[str]:
        align = self.config.align
        if self._uses_given_vectors:
            yield f"vectors: {forecast.sizes((align.source_vectors, align.target_vectors))}"
        else:
            yield from forecast.text_files(self.config, self.workdir)
            yield from forecast.vectors(self.config)

    def read_dictionaries(self) -> _Sources:
        """The first stage, also for commands on a finished run."""
        config = self.config
        languages = options.languages(config)
        folders = text_of_run.resolve_folders(config, self.workdir)
        lower_case = config.data.lower_case
        if self._uses_given_vectors:  # they keep their own case, which the dictionary has to meet
            lower_case = config.align.lower_case_dictionary
        normalizer = Normalizer(lower_case, config.data.simplify_chinese)
        dictionary = training_dictionary.load(config, folders, self.workdir, normalizer)
        tests = lexica.tests(config, folders, normalizer)
        tested = training_dictionary.count_tested(dictionary, tests)
        context = Context(languages=languages, normalizer=normalizer, pairs=options.pairs(config))
        measurements = evaluators.build(config.evals, context, folders)
        trainer = None
        if not self._uses_given_vectors:
            folder = config.static.trained or self.path("trained")
            segmenter = lexica.segmenter(languages, dictionary, tests)
            trainer = Trainer(config, folder, folders, normalizer, segmenter, dictionary)
        return _Sources(folders, dictionary, tested, tests, context, measurements, trainer)

    def _mine(self, sources: _Sources) -> mined.LinkReport:
        """The links of given pairs, and those that the text holds beside them."""
        config = self.config
        folder = self.path(mined.FOLDER)
        dictionary = sources.dictionary
        trainer = sources.trainer
        gold = sources.folders["text"] if config.data.source == "pocket" else ""
        report = mined.LinkReport()
        if config.learns_from_pairs:
            links = trainer.given_links.links
            tested = given_pairs.list_tested_languages(sources.evaluators)
            report = given_pairs.report_links(links, trainer, dictionary, sources.tests, tested)
        if config.static.mine and config.data.source != PAIRS:
            text_links = trainer.mine(report.links)
            judge = config.static.judge
            mining = mined.write(text_links, dictionary, folder, gold, judge, trainer.spellings)
            report = report.join(mining)
        dictionaries = os.path.join(folder, mined.DICTIONARY)
        mined.write_dictionaries(report.links, dictionaries, trainer.spellings)
        return report

    def _make_vectors(self, sources: _Sources, mining: mined.LinkReport | None) -> UnalignedVectors:
        if sources.trainer is None:
            return given_vectors.read(self.config)
        return sources.trainer.train_vectors(mining.links if mining else {})

    def _align(self, sources: _Sources, unaligned: UnalignedVectors) -> dict[str, Alignment]:
        """language -> the map of its vectors to the hub's space; {} for a run that aligns nothing."""
        if not self._needs_alignment:
            return {}
        hub = options.hub_of(self.config)
        others = [language for language in unaligned.raw if language != hub]
        return {x: self._fit_map(unaligned, sources, x, hub) for x in others}

    def _build_spaces(
        self,
        sources: _Sources,
        mining: mined.LinkReport | None,
        unaligned: UnalignedVectors,
        alignments: Mapping[str, Alignment],
    ) -> StaticSpaces:
        """The vectors of all languages in one space: the aligned ones, the dictionary's, or both concatenated."""
        trainer = sources.trainer
        counts = trainer.counts if trainer else given_vectors.counts(unaligned.raw)
        aligned = StaticSpaces(
            unaligned.raw,
            unaligned.shared,
            alignments,
            options.hub_of(self.config),
            sources.context.normalizer,
            frequencies.most_frequent(counts),
            spellings=trainer.spellings if trainer else {},
        )
        static = self.config.static
        if self._is_dictionary_alone:  # the trainer's vectors are the dictionary's
            part = self._make_dictionary_part(sources, mining, self.config.embeddings.dim, counts)
            return part.spell_unknown(aligned, 0, static, trainer.finished_space)
        if not static.dictionary_dim:
            return aligned
        part = self._make_dictionary_part(sources, mining, static.dictionary_dim, counts)
        finished_space = trainer.finished_space if trainer else None
        trained = {language: aligned.vectors(language) for language in aligned.languages}
        trained_dim = trained[aligned.hub].dim
        if finished_space:
            trained = finished_space.rotate(trained)
        concatenated = part.put_before(aligned, trained, static.trained_length)
        return part.spell_unknown(concatenated, trained_dim, static, finished_space)

    def _make_dictionary_part(
        self, sources: _Sources, mining: mined.LinkReport | None, dim: int, counts: Counts
    ) -> DictionaryPart:
        """What the dictionary says of all words, in vectors of `dim` dimensions."""
        if sources.trainer:
            links = mining.links if mining else {}
            rows = sources.trainer.rows(dim, links)
            return DictionaryPart(rows, sources.trainer.pair_regressions(links))
        graph = WordGraph(sources.dictionary, counts, self.config.static.words)
        return DictionaryPart(word_rows.rows(graph, dim, self.config.seed), {})

    def _fit_map(
        self, unaligned: UnalignedVectors, sources: _Sources, language: str, hub: str
    ) -> Alignment:
        """The map from a language's space to the hub's, or that of an earlier start."""
        source = unaligned.raw[language]
        target = unaligned.raw[hub]
        if sources.trainer:
            stamps = sources.trainer.stamps
        else:
            stamps = training_dictionary.stamps(self.config, sources.folders)
        made_with = {
            # The dictionary that the map is fitted to leaves out test words.
            "tests": training_dictionary.tests_of(self.config),
            "words": [len(source), len(target)],
            **unaligned.made_with,
        }
        fit = lambda: refine.fit(
            self.config.align,
            self.config.seed,
            source,
            target,
            sources.dictionary,
            (language, hub),
            unaligned.shared.get(language, frozenset()),
        )
        path = self.path("alignments", f"{language}-{hub}.npz")
        return CachedResult(
            path, made_with, fit, Alignment.save, Alignment.load, stamps=stamps
        ).result()

    def _write_vectors(
        self,
        sources: _Sources,
        mining: mined.LinkReport | None,
        unaligned: UnalignedVectors,
        alignments: Mapping[str, Alignment],
    ) -> StaticSpaces:
        """Writes the model, and returns it with the vectors of its files: lazy ones are computed while written."""
        model = self._build_spaces(sources, mining, unaligned, alignments)
        model.save(self.workdir, packed=self.config.static.stored == "packed")
        raw = spaces.load(self.workdir).raw
        entries = model.entries.with_dictionary(sources.dictionary, raw)
        entries.save(self.workdir)
        model = dataclasses.replace(model, raw=raw, entries=entries)
        if self.config.static.write_text:
            os.makedirs(self.path("vectors"), exist_ok=True)
            for language in model.languages:
                path = self.path("vectors", f"{language}.vec")
                files.write(path, model.vectors(language))
        if form := self.config.static.export:
            # Most runs export nothing, and load none of this.
            from clwe_jax.encoders import export

            for note in export.write_static(model, self.path("export"), form, dtype="float16"):
                logging.info("export: %s", note)
        return model

    def _evaluate(self, sources: _Sources, model: StaticSpaces) -> _Measured:
        encoder = sources.trainer.encoder(model) if sources.trainer else model.encoder()
        figures, rows = evaluators.measure(sources.evaluators, encoder)
        if self.config.learns_from_pairs:
            figures |= given_pairs.register_shares(sources.trainer, sources.evaluators)
        if self.with_floor:
            names = evaluations.names_with_floor()
            of_run = self.config.evals, sources.context, sources.folders
            with_floor = evaluators.build(*of_run, names=names)
            figures |= dictionary_baseline.measure(
                self.config, with_floor, sources.dictionary, model.frequencies, encoder.words
            )
        return figures, rows

    def _induce(self, model: StaticSpaces) -> dict[str, int]:
        """'de-en' -> number of pairs in its dictionary, which is written."""
        pairs = options.pairs(self.config)
        return lexica.induce_all(model, pairs, self.config.static.induced_words, self.workdir)

    def _propose(self, sources: _Sources, model: StaticSpaces) -> dict[str, int]:
        return lexicon.write_pages(sources.trainer, model, self.workdir)

    def results(self, done: Mapping[str, Any]) -> Results:
        sources: _Sources = done["dictionaries"]
        mining: mined.LinkReport = done.get("mining") or mined.LinkReport()
        trainer = sources.trainer
        unaligned: UnalignedVectors = done[self._vectors_stage]
        model: StaticSpaces = done["writing"]
        if self._is_dictionary_alone:  # lazy vectors would be computed again, the files hold them
            unaligned = dataclasses.replace(unaligned, raw=model.raw)
        figures, rows = done["evaluation"]
        figures = {**figures, **mining.figures}
        errors, left_out = examples.choose_errors(rows, self.config.report.errors)
        static: dict[str, Any] = {
            "evals": self._evals(),
            "stages": self.seconds,
            "alignments": {
                f"{language}-{model.hub}": _plain(alignment.info)
                for language, alignment in model.alignments.items()
            },
            "induced": done["induced dictionaries"],
            "proposed": done["proposed entries"],
            "errors": errors,
            "errors_left_out": left_out,
            "vocabulary": unaligned.description_as_written(model.spellings),
            "projection": pictures.stages(unaligned, model, sources.dictionary),
        }
        # A report shows few of many languages: first those of the run, then those that it adds them to.
        languages = list(dict.fromkeys([*options.languages(self.config), *model.languages]))
        report = {
            "neighbours": examples.list_neighbours(model, self.config.report.words, languages),
            "space": examples.place_words(model, sources.dictionary, languages),
            **(trainer.description() if trainer else {"skipped": unaligned.skipped}),
            "static": static,
            "sections": mining.sections,
            "evaluations": evaluators.examples(sources.evaluators),
        }
        if sources.dictionary is not None:
            described = text_of_run.describe_dictionary(sources.dictionary)
            report["dictionary"] = {**described, "tested": sources.tested}
        return Results(figures, report, outcomes=evaluators.outcomes(sources.evaluators))

    def _evals(self) -> list[Any]:
        """The options that decide the figures and the table of errors, as JSON values."""
        return json.loads(json.dumps([to_dict(self.config)["evals"], self.config.report.errors]))


def _plain(info: Mapping[str, Any]) -> dict[str, Any]:
    """An alignment's facts as JSON values, without arrays and NumPy numbers."""
    return json.loads(json.dumps(dict(info), default=lambda value: value.tolist()))
