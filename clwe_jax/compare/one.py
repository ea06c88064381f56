"""Trains and measures one run of a system, in a process of its own.

    python -m clwe_jax.compare.one WORKDIR SYSTEM SEED

A process of its own has its own peak of memory, and gives all of it back. WORKDIR is the folder of a
comparison, whose config.json it reads; `compare.job` starts it.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from typing import Any, Mapping

from absl import logging

from clwe_jax import atomic, cached, options, registry, terminal
from clwe_jax.cached import CachedResult
from clwe_jax.compare import measured, shared, systems, tasks
from clwe_jax.compare.measured import Measured
from clwe_jax.compare.place import RunPlace
from clwe_jax.encoders.encode import describe_reading
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.protocols import Encoder, HasObjective
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.evaluate.context import Context
from clwe_jax.runs import environment, record
from clwe_jax.options.clcr import ClcrRun
from clwe_jax.options.compare import CompareRun
from clwe_jax.options.objectives import SenseLossOptions
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import to_dict
from clwe_jax.options.static import StaticRun
from clwe_jax.options.transfer import encoder_files
from clwe_jax.runs import dictionary_baseline, evaluators, lexica
from clwe_jax.text.corpus import corpora
from clwe_jax.text.dictionary import test_dictionaries, training_dictionary
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.transfer.encoder import load as load_encoder

_TRIAL = 60  # steps of the trial that measures the speed for a budget in minutes
# Without start vectors, finish and checkpoints: only the steps are timed.
_TRIAL_VALUES = {
    "train.steps": _TRIAL,
    "train.log_every_steps": _TRIAL // 3,
    "init.embeddings": "",
    "finish.steps": 0,
    "checkpoint.every_steps": 0,
}


def measure(config: CompareRun, place: RunPlace) -> Measured | None:
    """Trains a system, unless it is trained, and measures it; None where a signal stopped it."""
    folders = shared.folders(config, place.workdir)
    run = None
    if place.system.config:
        run = _with_budget(config, place, folders)
        if not registry.lookup("job", run.job)(run, place.folder):
            return None
    cost = _cost(place.folder) if run else {}
    start = time.monotonic()
    result = _evaluate(config, place, folders, run)
    figures = dict(result.figures)
    parts = dict(result.parts)
    cost["all_minutes"] = cost.get("wall_minutes", 0.0) + (time.monotonic() - start) / 60
    for task in tasks.names(config.compare) if place.encoder else ():
        names = options.languages(run or config)
        job = tasks.run_of(config, task, place.encoder, names)
        if job is None:
            continue
        # A finished run of other rows or of another model is removed.
        rows = os.path.join(config.compare.labelled, task)
        made_with = {"stamps": shared.stamps_of(place.system.model, [rows])}
        cached.claim(place.task(task), made_with)
        if not registry.lookup("job", job.job)(job, place.task(task)):
            return None
        figures |= tasks.majorities(place.task(task))
        parts |= tasks.read_parts(task, place.task(task), job)
        cost["all_minutes"] += _cost(place.task(task))["wall_minutes"]
    if place.encoder:
        cost["disk"] = float(sum(map(os.path.getsize, encoder_files(place.encoder))))
    used = _describe_training(run)
    device = environment.machine()["device"]
    return Measured(figures, parts, cost, used, device, result.reading)


def _with_budget(config: CompareRun, place: RunPlace, folders: Mapping[str, str]) -> options.Run:
    """The run's options, with the steps of the budget."""
    run = shared.run_of(config, place.system, place.seed, folders)
    number, unit = config.compare.amount
    if not isinstance(run, PretrainRun):
        return run
    if unit == "tokens":
        number /= run.train.batch_size * run.data.sequence_length
    if unit == "minutes":
        # One trial for all seeds, so that they train for equally many steps.
        speed = CachedResult(
            place.steps,
            {"steps": _TRIAL, "run": {**to_dict(run), "seed": None}},
            lambda: {"steps_per_second": _measure_speed(run, f"{place.folder}.trial")},
        ).result()["steps_per_second"]
        number *= 60 * speed
    steps = max(1, round(number)) if unit else 0
    return shared.run_of(config, place.system, place.seed, folders, steps)


def _measure_speed(run: PretrainRun, folder: str) -> float:
    """The training's steps per second, by a trial in a folder that is deleted."""
    if not registry.lookup("job", run.job)(options.with_values(run, _TRIAL_VALUES), folder):
        sys.exit(terminal.UNFINISHED)
    speed = atomic.read_json(os.path.join(folder, "report.json"))["speed"]["steps_per_second"]
    shutil.rmtree(folder)
    return float(speed)


def _describe_training(run: options.Run | None) -> str:
    """The training in words; '' without one, or of a dictionary."""
    if isinstance(run, PretrainRun):
        rows = run.train.batch_size
        length = run.data.sequence_length
        text = f"{run.train.steps:,} steps, {run.train.steps * rows * length / 1e6:,.2f} million positions"
        if run.finish.steps:
            text += f", a finish of {run.finish.steps:,} steps"
        return text + (", vectors at the start" if run.init.embeddings else "")
    if isinstance(run, StaticRun) and run.static.training != "dictionary":
        return f"{run.embeddings.epochs or '5 to 15'} passes over the text"
    if isinstance(run, ClcrRun):  # of a budget of its own
        return f"two language models of {run.clcr.encoder.steps:,} steps each"
    return ""


def _cost(folder: str) -> dict[str, float]:
    """The cost of a run over all its starts."""
    run_record = record.read(folder)
    return {
        "minutes": run_record["seconds"]["processor"] / 60,
        "wall_minutes": run_record["seconds"]["wall"] / 60,
        "memory": float(run_record["memory"]["host_peak"]),
    }


def _evaluate(
    config: CompareRun, place: RunPlace, folders: Mapping[str, str], run: options.Run | None
) -> Measured:
    """What config.evals measure of a system."""
    languages = options.languages(run or config)
    corpus = corpora.TextCorpus(folders["text"], languages)
    encoder, normalizer = _encoder(config, place, folders, corpus)
    max_bytes = config.data.sample_bytes
    tokenizer = encoder.tokenizer if isinstance(encoder, HasObjective) else None
    context = Context(
        languages=languages,
        normalizer=normalizer,
        tokenizer=tokenizer,
        sample={language: list(corpus.lines(language, max_bytes)) for language in languages},
        domains=tuple(filter(None, config.data.pocket_domains.split(","))),
    )
    names = set(registry.TABLES["evaluator"])
    if not isinstance(getattr(run, "objective", None), SenseLossOptions):
        names -= {"senses", "wsd"}  # they measure sense vectors
    named_evaluators = evaluators.build(config.evals, context, folders, names)
    figures, _ = evaluators.measure(named_evaluators, encoder)
    parts = measured.parts_of_hits(evaluators.outcomes(named_evaluators))
    return Measured(figures, parts, {}, reading=describe_reading(encoder))


def _encoder(
    config: CompareRun, place: RunPlace, folders: Mapping[str, str], corpus: corpora.TextCorpus
) -> tuple[Encoder, Normalizer]:
    """The system as an encoder, and how it spells words."""
    normalizer = Normalizer(config.data.lower_case, config.data.simplify_chinese)
    if not place.encoder:
        dictionary = training_dictionary.load(config, folders, place.workdir, normalizer)
        tests = []
        if folders.get("evals.bli"):
            tests = test_dictionaries.find(folders["evals.bli"], corpus.languages, normalizer)
        segmenter = lexica.segmenter(corpus.languages, dictionary, tests)
        words = lambda text, language: segmenter.words(normalizer(text, language), language)
        counts = _count_words(corpus, words)
        return dictionary_baseline.encoder(dictionary, counts, config.seed, words), normalizer
    model = load_encoder(place.encoder, place.encoder, corpus.languages)
    encoder = model.encoder()
    tokenizer = model.tokenizer
    if tokenizer is None:
        return encoder, model.normalizer if isinstance(model, StaticSpaces) else normalizer
    if place.system.model and isinstance(encoder, ModelEncoder) and encoder.pools == ("mean",):
        # A downloaded model has not counted the words among which induction chooses.
        counts = _count_words(corpus, encoder.words)
        parts = (encoder.objective, tokenizer, encoder.variables, encoder.step)
        encoder = ModelEncoder(*parts, frequencies=counts)
    return encoder, tokenizer.normalizer


def _count_words(corpus: corpora.TextCorpus, words: Any) -> Frequencies:
    inspected = corpora.inspect(corpus, words, None)
    return Frequencies(
        {language: x.counted for language, x in inspected.items()},
        {language: x.counts for language, x in inspected.items()},
    )


def main() -> None:
    """The command line."""
    workdir, name, seed = sys.argv[1:]
    workdir = os.path.abspath(workdir)  # as in the main job, whose runs have paths in it as options
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    config = options.read_config(workdir).resolve()
    [system] = [x for x in systems.choose_systems(config.compare) if x.name == name]
    place = RunPlace(workdir, system, int(seed))
    try:
        measurements = measure(config, place)
    except (ValueError, OSError, ImportError) as error:
        logging.exception("%s", error)
        sys.exit(f"error: {error}")
    if measurements is None:
        sys.exit(terminal.UNFINISHED)
    os.makedirs(os.path.dirname(place.measurements_path), exist_ok=True)
    measurements.save(place.measurements_path)


if __name__ == "__main__":
    terminal.until_stopped(main)
