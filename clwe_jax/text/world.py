"""The text side of a run: text, dictionaries, tokenizer, evaluation sets, from a config.

What is not there yet is made in the run's folder, by one host; the others read it there.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Mapping

from absl import logging
import numpy as np
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import pocket
from clwe_jax.text import corpora, dictionary as dictionaries
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.tokenizer import Tokenizer

_POCKET_SEED = 1  # of parallel text to train on
_POCKET_TESTS = ("retrieval", "bli")  # evaluators whose test files the embedded world writes


@dataclasses.dataclass(frozen=True, eq=False)
class World:
    """The text side of a run.

    Attributes:
      languages: of the model, in the order that numbers them.
      tokenizer: the run's own, also in WORKDIR/vocab.
      dictionary: the merged one; None where the config names none.
      corpus: the text files; None where text comes from TFDS.
      statistics: of each language's text; empty where it comes from TFDS.
      text: what the data room reads: the corpus or 'tfds:NAME'.
      folders: what 'pocket' stands for in an option, resolved: 'retrieval', 'bli', 'parallel'.
      sample_bytes: of each language's text, in `sample`.
    """

    languages: tuple[str, ...]
    tokenizer: Tokenizer
    dictionary: Dictionary | None
    corpus: corpora.TextCorpus | None
    statistics: Mapping[str, corpora.LanguageStats]
    text: corpora.TextCorpus | str
    folders: Mapping[str, str]
    sample_bytes: int = 100_000

    @property
    def frequent(self) -> dict[str, list[str]]:
        """The frequent words of each language, most frequent first."""
        return {language: stats.frequent for language, stats in self.statistics.items()}

    def sample(self) -> dict[str, list[str]]:
        """Some text of each language, in lines: to average contextual vectors over."""
        if self.corpus is None:
            return {}
        return {
            language: list(self.corpus.lines(language, self.sample_bytes))
            for language in self.languages
        }


def resolve_folders(config: ConfigDict, workdir: str) -> dict[str, str]:
    """The folder behind each option that may say 'pocket'; writes the embedded world where one does.

    Returns:
      'text', 'dictionaries', 'tests', 'parallel', and 'evals.{key}' for every evaluator whose test
      files the embedded world has: a folder, '' for none.

    Raises:
      ValueError: a language that the embedded world does not speak.
    """
    folder = os.path.join(workdir, "pocket")
    values = {  # part of the embedded world, and the option's value
        "text": ("text", config.data.source.removeprefix("text:")),
        "dictionaries": ("dictionaries", config.data.dictionaries),
        "tests": ("bli", config.data.exclude_dictionaries),
        "parallel": ("parallel", config.task.get("parallel", "")),
    }
    for key, spec in config.evals.items():
        if spec.name in _POCKET_TESTS:
            values[f"evals.{key}"] = spec.name, spec.get("data", "")
    folders = {
        name: os.path.join(folder, part) if value == "pocket" else value
        for name, (part, value) in values.items()
    }
    if any(value.startswith(folder) for value in folders.values()):
        _write_pocket(config, options.languages(config), folder)
    return folders


def build(config: ConfigDict, workdir: str) -> World:
    """Reads or makes the text side of a run.

    Raises:
      ValueError, FileNotFoundError: no text, dictionary or evaluation set where the config says.
    """
    languages = options.languages(config)
    folders = resolve_folders(config, workdir)
    normalizer = Normalizer(config.data.lower_case, config.data.simplify_chinese)
    dictionary = None
    if folders["dictionaries"]:
        dictionary = dictionaries.load(
            folders["dictionaries"],
            languages,
            normalizer=normalizer,
            clean=tuple(name for name in config.data.dictionary_clean.split(",") if name),
            exclude=folders["tests"] or None,
            cache_dir=os.path.join(workdir, "cache"),
        )
        logging.info(
            "Dictionaries: %s words, %s pairs", f"{len(dictionary):,}",
            f"{dictionary.pair_count:,}",
        )  # fmt: skip
    corpus = None
    if not config.data.source.startswith("tfds:"):
        corpus = corpora.TextCorpus(folders["text"], languages)
    tokenizer = _tokenizer(config, workdir, corpus, dictionary, normalizer)
    statistics = corpora.inspect(corpus, tokenizer, dictionary) if corpus is not None else {}
    for language, found in statistics.items():
        logging.info(
            "%s: %s lines, %s words, dictionary coverage %.1f%%", language, f"{found.lines:,}",
            f"{found.words:,}", 100 * found.coverage,
        )  # fmt: skip
    return World(
        languages=languages,
        tokenizer=tokenizer,
        dictionary=dictionary,
        corpus=corpus,
        statistics=statistics,
        text=corpus if corpus is not None else config.data.source,
        folders=folders,
        sample_bytes=config.data.sample_bytes,
    )


def _write_pocket(config: ConfigDict, languages: tuple[str, ...], folder: str) -> None:
    """Writes the embedded world's files once; a run that comes back finds them there."""
    absent = [language for language in languages if language not in pocket.LANGUAGES]
    if absent:
        raise ValueError(
            f"The embedded world does not speak {', '.join(absent)}, only "
            f"{', '.join(pocket.LANGUAGES)}. Bring text with --config.data.source=text:DIR, and set "
            "config.data.dictionaries, config.evals.retrieval.data and config.evals.bli.data to "
            "folders or to ''."
        )
    whole = os.path.join(folder, "whole")
    if os.path.exists(whole):
        return
    count, seed = config.data.pocket_sentences, config.seed
    among = tuple(name for name in config.data.pocket_domains.split(",") if name)
    logging.info("Writing the embedded world to %s", folder)
    if config.data.source == "pocket":
        pocket.write_corpus(os.path.join(folder, "text"), languages, count, seed, among)
    pocket.write_dictionaries(os.path.join(folder, "dictionaries"), languages)
    pocket.write_retrieval(os.path.join(folder, "retrieval"), languages, among=among)
    pocket.write_bli(os.path.join(folder, "bli"), languages)
    if config.task.get("parallel", "") == "pocket":
        parallel = os.path.join(folder, "parallel")
        pocket.write_parallel(parallel, languages, count // 4, seed + _POCKET_SEED, among)
    with open(whole, "w", encoding="utf-8") as file:
        file.write("The files beside this one are whole.\n")


def _tokenizer(
    config: ConfigDict,
    workdir: str,
    corpus: corpora.TextCorpus | None,
    dictionary: Dictionary | None,
    normalizer: Normalizer,
) -> Tokenizer:
    """The run's own where it is there, else one that is loaded or trained, and saved there."""
    folder = os.path.join(workdir, "vocab")
    if os.path.exists(os.path.join(folder, "text.json")):
        return Tokenizer.load(folder)
    if config.vocab.path and os.path.exists(os.path.join(config.vocab.path, "text.json")):
        tokenizer = Tokenizer.load(config.vocab.path)
        if tokenizer.languages != options.languages(config):
            raise ValueError(
                f"config.vocab.path={config.vocab.path} is the tokenizer of "
                f"{','.join(tokenizer.languages)}; config.data.languages={config.data.languages}"
            )
    else:
        tokenizer = Tokenizer.build(
            languages=options.languages(config),
            normalizer=normalizer,
            corpus=corpus,
            dictionary=dictionary,
            kind=config.vocab.kind,
            size=config.vocab.size,
            path=config.vocab.path,
            temperature=config.data.temperature,
            sample_bytes=config.vocab.sample_bytes,
            min_count=config.vocab.min_count,
        )
    tokenizer.save(folder)
    return tokenizer


def describe(world: World, temperature: float) -> dict[str, Any]:
    """What the report shows of it: 'languages', 'dictionary', 'vocabulary', 'skipped'.

    Args:
      world: the text side.
      temperature: of the language sampling, from which the shares that are asked for follow.
    """
    vocabulary = world.tokenizer.vocabulary
    sizes = {language: stats.words for language, stats in world.statistics.items()}
    shares = corpora.temperature_shares(sizes, temperature) if sizes else {}
    found: dict[str, Any] = {
        "vocabulary": {
            "kind": vocabulary.kind,
            "size": len(vocabulary),
            "fingerprint": vocabulary.fingerprint(),
        },
        "languages": {
            language: {
                "lines": stats.lines,
                "words": stats.words,
                "coverage": stats.coverage,
                "target_share": shares[language],
                "repaired": stats.repaired_lines,
            }
            for language, stats in world.statistics.items()
        },
        "skipped": {},
    }
    if world.dictionary is not None:
        found["dictionary"] = {
            "pairs": world.dictionary.pair_count,
            "words": len(world.dictionary),
            "pairs_by_language": pairs_by_language(world.dictionary),
        }
        for name, count in world.dictionary.skipped.items():
            found["skipped"][f"lines of {name} that are no pair of words"] = count
    return found


def pairs_by_language(dictionary: Dictionary) -> dict[str, int]:
    """language: pairs whose source word is in that language."""
    sizes = np.diff(dictionary.group_splits)
    owners = np.repeat(np.arange(len(dictionary)), np.diff(dictionary.entry_splits))
    totals = np.bincount(
        dictionary.word_language[owners], weights=sizes, minlength=len(dictionary.languages)
    )
    return {name: int(total) for name, total in zip(dictionary.languages, totals)}
