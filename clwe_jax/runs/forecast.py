"""The lines of `--dry_run`: a stage's input, its size and its time, without writing anything."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from typing import Any, Callable, Iterable, Iterator, Sequence

import jax
from jax.sharding import Mesh
import numpy as np

from clwe_jax import options, presets
from clwe_jax.embeddings import train as static_training
from clwe_jax.embeddings.corpus import Sentences
from clwe_jax.options.evaluators import EvaluationData
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import values_of
from clwe_jax.options.embeddings import FastTextOptions
from clwe_jax.options.static import StaticRun
from clwe_jax.options.training import MAX_START_DIM
from clwe_jax.text import pocket_files, run_text as run_texts
from clwe_jax.text.corpus import corpora, parallel
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.training import build, finish, optim, partition, phases, train, train_state
from clwe_jax.types import Encodes, Generates, Objective, Variables

_STEPS = 3  # timed steps of training
_WORDS = 60_000  # running words of the timed training of static vectors
_DISTINCT = 2_000  # distinct words among them
_WORD_BYTES = 6  # bytes of a word and its space, roughly
_SENTENCE_WORDS = 8  # words of a sentence of the embedded world, roughly
_SENTENCE = 32  # positions of a timed sentence
_ROWS = 64  # sentences that are timed at once, as an encoder takes them
_ROW_BYTES = 64  # bytes of running text in such a row, roughly: its length is a power of two
_NAMED = 12  # most languages that a line names
_BUCKETS = 100_000  # most buckets in the timed training: more cost memory, hardly time


def text_files(config: options.Run, workdir: str) -> Iterator[str]:
    """The text of every language."""
    languages, source = options.languages(config), config.data.source
    folders = run_texts.folders_of(config, workdir)
    if source == "pocket":
        yield (
            f"text: the embedded world in {', '.join(languages)}, "
            f"{config.data.pocket_sentences:,} sentences each, written to {folders['text']}"
        )
    elif source.startswith("text:"):
        for language, files in corpora.TextCorpus(folders["text"], languages).files.items():
            yield f"text: {language}, {_files(files)} in {folders['text']}"
    else:
        yield f"text: {source} in {', '.join(languages)}"


def dictionaries(config: options.Run, workdir: str) -> Iterator[str]:
    """The dictionaries between the run's languages."""
    place = run_texts.folders_of(config, workdir)["dictionaries"]
    left_out = "; test words are left out" if training_dictionary.excludes_tests(config) else ""
    if not place:
        yield "dictionaries: none (--config.data.dictionaries=DIR)"
    elif run_texts.in_pocket(place, workdir):
        yield f"dictionaries: the embedded world's{left_out}"
    else:
        files = training_dictionary.files(config, place)
        yield f"dictionaries: {_files(files)} in {place}{left_out}"


def evaluations(config: options.Run, workdir: str) -> Iterator[str]:
    """The evaluators, their test data and their times."""
    folders = run_texts.folders_of(config, workdir)
    for key, spec in config.evals.items():
        every = spec.every_steps
        when = f"every {every:,} steps and at the end" if every else "at the end"
        place = folders.get(f"evals.{key}", getattr(spec, "data", ""))
        if not hasattr(spec, "data"):
            data = "held-out text" if spec.name == "mlm" else "see its options"
        elif not place:
            yield f"evaluation {key}: left out, it has no data (--config.evals.{key}.data=DIR)"
            continue
        else:
            mine = place == "pocket" or run_texts.in_pocket(place, workdir)
            data = "the embedded world" if mine else place
        yield f"evaluation {key}: {spec.name} on {data}, {when}"


def pretraining(config: PretrainRun, workdir: str) -> Iterator[str]:
    """The model, and the time of its steps and its evaluations: a few are timed on empty batches."""
    cfg, length = config.train, config.data.sequence_length
    mesh = partition.make_mesh(config.mesh)
    objective = _objective(config)
    optimizer = optim.from_config(config.optimizer, length)
    compiled = train.CompiledSteps(
        objective, optimizer, cfg, mesh, objective.batch_shapes(cfg.batch_size, length), config.seed
    )
    learn = phases.from_config(cfg, optimizer).at(0)
    state = compiled.target(learn)
    parameters = train_state.count_parameters(state.params)
    megabytes = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state)) / 1e6
    yield (
        f"model: {config.model.name}, {parameters / 1e6:,.1f} million parameters with a vocabulary "
        f"of {config.vocab.size:,} ({config.vocab.kind})"
    )
    seconds = _step_seconds(compiled, objective, learn, cfg.batch_size, length, mesh, config.seed)
    tokens = cfg.steps * cfg.batch_size * length
    yield (
        f"training: {cfg.steps:,} steps of {cfg.batch_size:,} x {length} positions "
        f"({tokens / 1e6:,.1f} million); a step takes {seconds * 1e3:,.0f} ms here (median of "
        f"{_STEPS}): {in_minutes(cfg.steps * seconds)}, without evaluations"
    )
    yield f"checkpoints: {config.checkpoint.keep} of about {megabytes:,.0f} MB"
    if isinstance(objective, Encodes):
        yield from _evaluating(config, workdir, objective, mesh, seconds)


def finishing(config: PretrainRun) -> Iterator[str]:
    """The contrastive finish, with the time of its steps."""
    mesh, settings = partition.make_mesh(config.mesh), config.finish
    objective = finish.objective(config.finish, _objective(config))
    cfg, length = finish.train_options(config, mesh), finish.length(config)
    shapes = objective.batch_shapes(settings.batch_size, length)
    optimizer = finish.optimizer(config)
    compiled = train.CompiledSteps(objective, optimizer, cfg, mesh, shapes, config.seed)
    learn = phases.from_config(cfg, optimizer).at(0)
    rows = settings.batch_size, length
    seconds = _step_seconds(compiled, objective, learn, *rows, mesh, config.seed)
    yield (
        f"finish: {settings.steps:,} contrastive steps of {settings.batch_size:,} pairs of "
        f"sentences: {in_minutes(settings.steps * seconds)} here"
    )


def _objective(config: PretrainRun) -> Objective:
    """The run's objective, without translations."""
    size = config.vocab.size
    nothing = np.full((size, len(options.languages(config)), 1), -1, np.int32)
    return build.build_objective(config, size, options.padded_rows(size), nothing)


def _step_seconds(
    compiled, objective, learn, rows: int, length: int, mesh: Mesh, seed: int
) -> float:
    shapes, step = objective.batch_shapes(rows, length), compiled.step(learn)
    state = train_state.start(objective, compiled.tx(learn), shapes, mesh, seed)
    batch = {key: np.zeros(value.shape, value.dtype) for key, value in shapes.items()}
    batch = partition.global_batch(batch, mesh)

    def once() -> None:
        nonlocal state
        # The step donates its state, so each call takes the one of the call before.
        state, metrics = step(state, batch)
        jax.block_until_ready((state, metrics))

    return _median_seconds(once)


def _median_seconds(once: Callable[[], Any]) -> float:
    """The median time of a few calls after one that warms up."""
    seconds = []
    for _ in range(1 + _STEPS):
        started = time.monotonic()
        once()
        seconds.append(time.monotonic() - started)
    return float(np.median(seconds[1:]))


def _evaluating(
    config: PretrainRun, workdir: str, objective: Encodes, mesh: Mesh, step_seconds: float
) -> Iterator[str]:
    """The time of the evaluations: a batch of sentences is timed; it is at most so much.

    Timed translations have the greatest length.
    """
    length = min(_SENTENCE, config.data.sequence_length)
    shapes = objective.batch_shapes(_ROWS, length)
    batch = {key: np.zeros(value.shape, value.dtype) for key, value in shapes.items()}
    batch = partition.global_batch(batch, mesh)
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(config.seed), batch))
    encode = jax.jit(objective.encode)
    forward = _median_seconds(lambda: jax.block_until_ready(encode(variables, batch)))
    folders = run_texts.folders_of(config, workdir)
    total, rows, written, languages = 0.0, 0, 0, options.languages(config)
    for key, spec in config.evals.items():
        place = folders.get(f"evals.{key}", "")
        if hasattr(spec, "data") and not place:
            continue
        data = EvaluationData(
            len(languages),
            len(languages) * config.data.sample_bytes // _ROW_BYTES,
            functools.partial(_test_sentences, place, workdir, languages),
            functools.partial(_translated, place, workdir, languages)
            if isinstance(objective, Generates)
            else lambda most: 0,
        )
        batches, texts, translated, width = spec.cost(data)
        once = batches * step_seconds / 3  # no backward pass
        if translated:
            writing = _writing_seconds(objective, variables, length)
            once += translated * width / _ROWS * writing  # a beam costs as much as a text
        every, steps = spec.every_steps, config.train.steps
        # Once at the end; where that step is a multiple of `every`, it does not count twice.
        times = 1 + ((steps - 1) // every if every else 0)
        total += times * (once + texts / _ROWS * forward)
        rows += times * texts
        written += times * translated
    translations = (
        f" and {written:,} translations; {_ROWS} take {writing:,.1f} s" if written else ""
    )
    yield (
        f"evaluations: at most {rows:,} texts; {_ROWS} take {forward * 1e3:,.0f} ms here"
        f"{translations}: {in_minutes(total)}"
    )


def _test_sentences(place: str, workdir: str, languages: Sequence[str], max_sentences: int) -> int:
    """The number of sentences that a retrieval encodes."""
    if run_texts.in_pocket(place, workdir):
        return len(languages) * min(max_sentences or pocket_files.TESTED, pocket_files.TESTED)
    pairs = parallel.tested(place, languages, "evals.retrieval.data")
    return 2 * _count_pairs(pairs, max_sentences)


def _translated(place: str, workdir: str, languages: Sequence[str], max_sentences: int) -> int:
    """The number of translations that BLEU measures, in all directions."""
    if run_texts.in_pocket(place, workdir):
        directions = len(languages) * (len(languages) - 1)
        return directions * min(max_sentences or pocket_files.TESTED, pocket_files.TESTED)
    pairs = parallel.find(place, languages, "evals.bleu.data")
    return 2 * _count_pairs(pairs, max_sentences)


def _count_pairs(found: Sequence[parallel.Files], max_sentences: int) -> int:
    reader = parallel.Reader()
    return sum(len(reader.read(files, max_sentences).source) for files in found)


def _writing_seconds(objective: Generates, variables: Variables, length: int) -> float:
    """The time of a batch of translations, of which hardly any ends early."""
    languages = np.zeros(_ROWS, np.int32)
    texts = np.ones((_ROWS, length), np.int32)
    batch = dict(inputs=texts, source_language_ids=languages, language_ids=languages)
    # Pieces are drawn, because search in a model that is not trained may choose the end at once.
    write = jax.jit(lambda variables, key: objective.decode(variables, batch, key=key))
    key = jax.random.key(0)
    return _median_seconds(lambda: jax.block_until_ready(write(variables, key)))


def vectors(config: StaticRun) -> Iterator[str]:
    """The training of static vectors, with its time: a sample is timed on made-up words."""
    yield _fasttext(config, config.static.training, config.embeddings)


def joint_vectors(config: PretrainRun) -> Iterator[str]:
    """The vectors that a language model starts from, with the time of their training."""
    settings, joint = options.parse(presets.static(config.scale)).embeddings, config.init.joint
    dim = joint.dim or min(config.model.width, MAX_START_DIM)
    given = dataclasses.replace(settings, **{**values_of(joint), "dim": dim})
    yield _fasttext(config, "joint", given).replace("training:", "start: word vectors,", 1)


def _fasttext(config: options.Run, training: str, given: FastTextOptions) -> str:
    languages, source = options.languages(config), config.data.source
    if source == "pocket":
        words = len(languages) * config.data.pocket_sentences * _SENTENCE_WORDS
    else:
        files = corpora.TextCorpus(source.removeprefix("text:"), languages).files.values()
        words = sum(os.path.getsize(path) for paths in files for path in paths) // _WORD_BYTES
    if training == "dictionary":
        return f"vectors of the dictionary, {given.dim} dimensions: no training"
    given = given.over(words // len(languages))
    line = (
        f"training: {training}, {given.dim} dimensions, {given.epochs} epochs over "
        f"at most {words / 1e6:,.1f} million words"
    )
    if training == "duong":
        return line
    rng = np.random.default_rng(0)
    ids = np.minimum(rng.zipf(1.3, _WORDS), _DISTINCT).astype(np.int32) - 1
    starts = np.arange(0, _WORDS, _SENTENCE_WORDS)
    spans = np.stack([starts, np.minimum(starts + _SENTENCE_WORDS, _WORDS)], 1)
    sample = Sentences([f"word{number}" for number in range(_DISTINCT)], ids, spans)
    settings = dataclasses.replace(given, min_count=1, buckets=min(given.buckets, _BUCKETS))
    started = time.monotonic()
    static_training.fasttext(sample, settings)
    seconds = (time.monotonic() - started) * words / _WORDS
    return f"{line}: {in_minutes(seconds)} here, from {_WORDS:,} timed words"


def mining(config: StaticRun) -> str:
    """The search for translations in the text."""
    count = len(options.languages(config))
    every = count <= config.static.mining.all_pairs
    pairs = count * (count - 1) // 2 if every else count - 1
    left_out = (
        "" if every else f" ({options.hub_of(config)} and another; see static.mining.all_pairs)"
    )
    return (
        f"mining: sentences of {pairs} pairs of languages{left_out}, in a few rounds, each over the pairs "
        "that share text"
    )


def alignment(config: StaticRun) -> str:
    """The alignments of the languages with the hub."""
    hub = options.hub_of(config)
    names = [name for name in options.languages(config) if name != hub]
    others = ", ".join(names) if len(names) <= _NAMED else f"{len(names)} languages"
    return f"alignment: {config.align.name}, {others} to {hub}"


def sizes(paths: Iterable[str]) -> str:
    """'FILE (3.2 MB), FILE (1.0 MB)'."""
    return ", ".join(f"{path} ({os.path.getsize(path) / 1e6:,.1f} MB)" for path in paths)


def _files(paths: Sequence[str]) -> str:
    plural = "" if len(paths) == 1 else "s"
    return f"{len(paths)} file{plural}, {sum(map(os.path.getsize, paths)) / 1e6:,.1f} MB,"


def in_minutes(seconds: float) -> str:
    """A time as a person says it: 'about 5 minutes'."""
    if seconds < 90:
        return f"about {seconds:,.0f} seconds"
    minutes = seconds / 60
    return f"about {minutes:,.0f} minutes" if minutes < 120 else f"about {minutes / 60:,.1f} hours"
