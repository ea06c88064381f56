"""The lines of `--dry_run`: a stage's input and its size, and the time of the run, without writing anything."""

from __future__ import annotations

import dataclasses
import itertools
import os
from typing import Mapping, Any, Iterable, Iterator, Sequence

import jax
import numpy as np

from clwe_jax import options, presets
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.section import values_of
from clwe_jax.options.embeddings import FastTextOptions
from clwe_jax.options.static import StaticRun
from clwe_jax.options.text import PAIRS
from clwe_jax.options.training import MAX_START_DIM
from clwe_jax.text import text_of_run
from clwe_jax.text.corpus import corpora, parallel
from clwe_jax.text.dictionary import training_dictionary

_WORD_BYTES = 6  # bytes of a word and its space, roughly
_SENTENCE_WORDS = 8  # words of a sentence of the embedded world, roughly
_NAMED = 12  # most languages that a line names


def text_files(config: options.Run, workdir: str) -> Iterator[str]:
    """The text of every language."""
    languages = options.languages(config)
    source = config.data.source
    folders = text_of_run.folders_of(config, workdir)
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
    for place in dict.fromkeys(text_of_run.given_pairs(config, workdir).values()):
        bitexts = parallel.find(place, languages, "data.pairs")
        names = ", ".join(x.name for x in bitexts[:_NAMED]) + ", ..." * (len(bitexts) > _NAMED)
        files = sorted(set().union(*(x.paths for x in bitexts)))
        yield f"pairs: {names}, {_files(files)} in {place}"


def dictionaries(config: options.Run, workdir: str) -> Iterator[str]:
    """The dictionaries between the run's languages."""
    place = text_of_run.folders_of(config, workdir)["dictionaries"]
    left_out = "; test words are left out" if training_dictionary.excludes_tests(config) else ""
    if not place:
        yield "dictionaries: none (--config.data.dictionaries=DIR)"
    elif text_of_run.in_pocket(place, workdir):
        yield f"dictionaries: the embedded world's{left_out}"
    else:
        files = training_dictionary.files(config, place)
        yield f"dictionaries: {_files(files)} in {place}{left_out}"


def evaluations(config: options.Run, workdir: str) -> Iterator[str]:
    """The evaluators and their test data."""
    folders = text_of_run.folders_of(config, workdir)
    for key, spec in config.evals.items():
        interval = spec.every_steps
        schedule = f"every {interval:,} steps and at the end" if interval else "at the end"
        place = folders.get(f"evals.{key}", getattr(spec, "data", ""))
        if not hasattr(spec, "data"):
            data = "held-out text" if spec.name == "mlm" else "see its options"
        elif not place:
            yield f"evaluation {key}: left out, it has no data (--config.evals.{key}.data=DIR)"
            continue
        else:
            is_pocket = place == "pocket" or text_of_run.in_pocket(place, workdir)
            data = "the embedded world" if is_pocket else place
        yield f"evaluation {key}: {spec.name} on {data}, {schedule}"


def model(config: PretrainRun) -> Iterator[str]:
    """The model, its training and its checkpoints, without a step."""
    # They import optax and orbax, which static vectors do without.
    from clwe_jax.training import build, compiled_steps, optim, partition, phases, train_state

    cfg = config.train
    length = config.data.sequence_length
    mesh = partition.make_mesh(config.mesh)
    size = config.vocab.size
    no_translations = np.full((size, len(options.languages(config)), 1), -1, np.int32)
    objective = build.build_objective(config, size, options.padded_rows(size), no_translations)
    optimizer = optim.from_config(config.optimizer, length)
    compiled = compiled_steps.CompiledSteps(
        objective, optimizer, cfg, mesh, objective.batch_shapes(cfg.batch_size, length), config.seed
    )
    state = compiled.target(phases.from_config(cfg, optimizer).at(0))
    parameters = train_state.count_parameters(state.params)
    megabytes = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(state)) / 1e6
    yield (
        f"model: {config.model.name}, {parameters / 1e6:,.1f} million parameters with a vocabulary "
        f"of {size:,} ({config.vocab.kind})"
    )
    tokens = cfg.steps * cfg.batch_size * length
    yield (
        f"training: {cfg.steps:,} steps of {cfg.batch_size:,} x {length} positions "
        f"({tokens / 1e6:,.1f} million)"
    )
    yield f"checkpoints: {config.checkpoint.keep} of about {megabytes:,.0f} MB"


def finish(config: PretrainRun) -> Iterator[str]:
    """The contrastive finish."""
    settings = config.finish
    yield (
        f"finish: {settings.steps:,} contrastive steps of {settings.batch_size:,} pairs of sentences"
    )


def vectors(config: StaticRun) -> Iterator[str]:
    """The training of static vectors."""
    yield _describe_training(config, config.static.training, config.embeddings)


def joint_vectors(config: PretrainRun) -> Iterator[str]:
    """The vectors that a language model starts from."""
    settings = options.parse(presets.static(config.scale)).embeddings
    joint = config.init.joint
    dim = joint.dim or min(config.model.width, MAX_START_DIM)
    start = dataclasses.replace(settings, **{**values_of(joint), "dim": dim})
    yield _describe_training(config, "joint", start).replace("training:", "start: word vectors,", 1)


def _describe_training(config: options.Run, training: str, settings: FastTextOptions) -> str:
    words = count_words(options.to_dict(config))
    if training == "dictionary":
        return f"vectors of the dictionary, {settings.dim} dimensions: no training"
    settings = settings.over(words // len(options.languages(config)))
    return (
        f"training: {training}, {settings.dim} dimensions, {settings.epochs} epochs over "
        f"at most {words / 1e6:,.1f} million words"
    )


def links(config: StaticRun) -> Iterator[str]:
    """Where links of words come from."""
    if config.learns_from_pairs:
        yield "given pairs: their words are linked"
    if config.static.mine and config.data.source != PAIRS:
        yield mining(config)


def mining(config: StaticRun) -> str:
    """The search for translations in the text."""
    count = len(options.languages(config))
    all_pairs = count <= config.static.mining.all_pairs
    pairs = count * (count - 1) // 2 if all_pairs else count - 1
    left_out = (
        "" if all_pairs else f" ({options.hub_of(config)} and another; see static.mining.all_pairs)"
    )
    return (
        f"mining: sentences of {pairs} pairs of languages{left_out}, in a few rounds, each over the pairs "
        "that share text"
    )


def alignment(config: StaticRun) -> str:
    """The alignments of the languages with the hub."""
    hub = options.hub_of(config)
    names = [name for name in options.languages(config) if name != hub]
    sources = ", ".join(names) if len(names) <= _NAMED else f"{len(names)} languages"
    return f"alignment: {config.align.name}, {sources} to {hub}"


def sizes(paths: Iterable[str]) -> str:
    """'FILE (3.2 MB), FILE (1.0 MB)'."""
    return ", ".join(f"{path} ({os.path.getsize(path) / 1e6:,.1f} MB)" for path in paths)


def _files(paths: Sequence[str]) -> str:
    plural = "" if len(paths) == 1 else "s"
    return f"{len(paths)} file{plural}, {sum(map(os.path.getsize, paths)) / 1e6:,.1f} MB,"


def count_words(values: Mapping[str, Any]) -> int:
    """The running words of the text that options name, roughly, from the sizes of its files; 0: unknown.

    Args:
      values: all options of a run, as `options.to_dict` gives them.
    """
    data = values["data"]
    languages = data["languages"].split(",")
    if data["source"] == "pocket":
        return len(languages) * data["pocket_sentences"] * _SENTENCE_WORDS
    if not data["source"].startswith("text:"):
        return 0
    files = corpora.TextCorpus(data["source"].removeprefix("text:"), languages).files
    paths = itertools.chain.from_iterable(files.values())
    return sum(map(os.path.getsize, paths)) // _WORD_BYTES


def count_work(values: Mapping[str, Any]) -> int:
    """What a run's time grows with: positions in all steps, or words of the text; 0: unknown."""
    if values["job"] == "pretrain":
        train = values["train"]
        return train["steps"] * train["batch_size"] * values["data"]["sequence_length"]
    # Language models of a comparison have a budget, which is the same for any text.
    return 0 if values["job"] == "compare" else count_words(values)


def expected_time(config: options.Run, measured: Mapping[str, float]) -> str:
    """A line on the time of a run, from that of the config's default run; '' without one.

    Args:
      measured: of the default run 'minutes', of one processor, and its 'work', as of `count_work`.
    """
    if not measured:
        return ""
    minutes = measured["minutes"]
    line = f"time: the config's default run takes about {minutes:,.1f} minutes of one processor"
    work = count_work(options.to_dict(config))
    if not work or not measured["work"]:
        return line
    scale = work / measured["work"]
    if abs(scale - 1) < 0.05:
        return line
    return (
        f"{line}; this one has {scale:,.1f} times its {'steps and rows' if config.job == 'pretrain' else 'words'}"
        f": about {scale * minutes:,.0f} minutes with a model of the same size"
    )
