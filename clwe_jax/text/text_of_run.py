"""The text side of a run: text, dictionaries, tokenizer, evaluation sets, from a config.

One host makes the files that are absent, in the run's folder; the others read them there.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import os
from typing import Any, Callable, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import options, pocket
from clwe_jax.text import pocket_files
from clwe_jax.text.corpus import corpora, parallel
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.vocab import hf_tokenizer
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.spellings import Spellings, Tally, merge
from clwe_jax.text.vocab.tokenizer import Tokenizer

# Evaluator -> folder of its test files that the embedded world writes.
_POCKET_TESTS = {"retrieval": "retrieval", "bli": "bli", "bleu": "retrieval", "mining": "retrieval"}
# Key of a folder -> its option; the others follow data.pairs where they are not set.
_PARALLEL = {"pairs": "data.pairs", "parallel": "task.parallel", "finish": "finish.pairs"}


@dataclasses.dataclass(frozen=True, eq=False)
class RunText:
    """The text side of a run: all that is not a batch.

    Attributes:
      tokenizer: the run's tokenizer, which is also saved in WORKDIR/vocab.
      folders: option that names data -> its folder.
      text: the text files, 'tfds:NAME' or 'batches:DIR'.
      dictionary: merged dictionary; None if the config names none.
      frequent: language -> frequent words, most frequent first; {} where they are unknown.
      frequencies: counts of the text's words; None where the text is in no files.
      sample: language -> some lines of text, over which contextual vectors are averaged.
      description: the report's description of the text: 'languages', 'dictionary', 'vocabulary'
        and 'skipped'.
      domains: domains of the embedded world's text; () means all.
    """

    tokenizer: Tokenizer
    folders: Mapping[str, str]
    text: corpora.TextCorpus | str
    dictionary: Dictionary | None = None
    frequent: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    frequencies: Frequencies | None = None
    sample: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    description: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    domains: tuple[str, ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the model; language ids are indices into them."""
        return self.tokenizer.languages

    @functools.cached_property
    def spellings(self) -> Spellings:
        """How the words of the sample and, of those that it lacks, the dictionary's are written."""
        tally = Tally(self.tokenizer.normalizer)
        totals = {}
        for language, lines in self.sample.items():
            tokens = collections.Counter(itertools.chain.from_iterable(map(str.split, lines)))
            counts: collections.Counter[str] = collections.Counter()
            for token, count in tokens.items():
                words = self.tokenizer.words(token, language)
                tally.add(token, words, language, count)
                for word in words:
                    counts[word] += count
            totals[language] = counts
        entries = self.dictionary.spellings if self.dictionary is not None else {}
        return merge(tally.spellings(totals), totals, entries)

    @property
    def corpus(self) -> corpora.TextCorpus | None:
        """The text files; None where the text is not in files."""
        return self.text if isinstance(self.text, corpora.TextCorpus) else None


def resolve_folders(config: options.Run, workdir: str) -> dict[str, str]:
    """`folders_of`, after writing the files of the embedded world if an option has it."""
    folders = folders_of(config, workdir)
    if any(in_pocket(folder, workdir) for folder in folders.values()):
        pocket_files.write(config, options.languages(config), os.path.join(workdir, "pocket"))
    return folders


def in_pocket(folder: str, workdir: str) -> bool:
    """Whether a folder of `folders_of` belongs to the embedded world, whose files a run writes."""
    return folder.startswith(os.path.join(workdir, "pocket"))


def folders_of(config: options.Run, workdir: str) -> dict[str, str]:
    """The folder behind each option whose value may be 'pocket'. Writes nothing.

    Returns:
      'text', 'dictionaries', 'tests', 'parallel', 'finish', 'pairs', and 'evals.{key}' for every evaluator whose test
      files the embedded world has -> a folder, '' for none.

    Raises:
      ValueError: the embedded world lacks a language.
    """
    folder = os.path.join(workdir, "pocket")
    # option -> (its value, the folder of the embedded world that 'pocket' stands for)
    sources = {
        "text": (config.data.source.removeprefix("text:") if config.reads_text else "", "text"),
        "dictionaries": (config.data.dictionaries, "dictionaries"),
        "tests": (config.data.exclude_dictionaries, "bli"),
        "parallel": (config.parallel, "parallel"),
        "finish": (config.finish_pairs, "parallel"),
        "pairs": (config.training_pairs, "parallel"),
    }
    for key, spec in config.evals.items():
        if spec.name in _POCKET_TESTS:
            sources[f"evals.{key}"] = (getattr(spec, "data", ""), _POCKET_TESTS[spec.name])
    evaluated = [getattr(spec, "data", "") for spec in config.evals.values()]
    if "pocket" in [*evaluated, *(value for value, _ in sources.values())]:
        _check_spoken(options.languages(config))
    folders = {
        key: os.path.join(folder, name) if value == "pocket" else value
        for key, (value, name) in sources.items()
    }
    mined = {
        key: mined_folder(config, workdir) for key in _PARALLEL if folders[key] == options.MINED
    }
    return folders | mined


def mined_folder(config: options.Run, workdir: str) -> str:
    """The folder of the sentences that a language model mines in its own text.

    The training of its start vectors mines them where these learn from them; else a stage of its own.
    """
    return os.path.join(workdir, "start" if config.learns_from_mined else "mining", "mined")


def given_pairs(config: options.Run, workdir: str) -> dict[str, str]:
    """Option -> its parallel text; without the embedded world's and what the run will mine."""
    places = folders_of(config, workdir)
    mined = mined_folder(config, workdir)
    return {
        option: places[key]
        for key, option in _PARALLEL.items()
        if places[key] not in ("", mined) and not in_pocket(places[key], workdir)
    }


def check(config: options.Run, workdir: str) -> None:
    """Finds the text, vectors and dictionaries of a run; reads and writes nothing.

    Raises:
      ValueError, FileNotFoundError: as of `build`, for folders and files.
    """
    languages = options.languages(config)
    source = config.data.source
    folders = folders_of(config, workdir)
    yours = {key: "" if in_pocket(place, workdir) else place for key, place in folders.items()}
    for option, path in config.given_vectors.items():
        if not os.path.isfile(path):
            raise FileNotFoundError(
                f"config.{option}={path} is not a file; expected word vectors, such as wiki.de.vec"
            )
    if source.startswith("text:") and config.reads_text:
        corpora.TextCorpus(folders["text"], languages).check()
    if yours["dictionaries"] and not source.startswith("batches:"):  # these hold translations
        training_dictionary.files(config, yours["dictionaries"])
    dictionary_files.tests(yours["tests"], languages)
    for option, place in given_pairs(config, workdir).items():
        parallel.find(place, languages, option)


def _check_spoken(languages: Sequence[str]) -> None:
    """Raises ValueError for a language that the embedded world lacks."""
    absent = [language for language in languages if language not in pocket.LANGUAGES]
    if absent:
        raise ValueError(
            f"config.data.languages={','.join(languages)}: the embedded world does not speak "
            f"{', '.join(absent)}, only {', '.join(pocket.LANGUAGES)}. Bring your own text with "
            "--config.data.source=text:DIR; data.dictionaries, evals.retrieval.data and "
            "evals.bli.data are folders or '' then"
        )


def build(
    config: options.Run, workdir: str, counted: Callable[[str], corpora.WordCounts] | None = None
) -> RunText:
    """Reads or makes the text side of a run.

    Args:
      config: the run's config.
      workdir: the run's folder.
      counted: language -> the counts of its text, where they are known; else they are of a part.

    Raises:
      ValueError, FileNotFoundError: a text, dictionary or evaluation set that the config names is
        missing or unusable.
    """
    languages = options.languages(config)
    folders = resolve_folders(config, workdir)
    normalizer = normalizer_of(config)
    dictionary = training_dictionary.load(config, folders, workdir, normalizer)
    corpus = None
    if not config.data.source.startswith("tfds:"):
        corpus = corpora.TextCorpus(folders["text"], languages)
    counts: corpora.Countable | None = corpus
    if counted is not None:
        counts = corpora.CountedText(tuple(languages), counted)
    tokenizer = load_tokenizer(config, workdir, counts, dictionary, normalizer)
    statistics = {}
    sample = {}
    if counts is not None:
        statistics = corpora.inspect(counts, tokenizer.words, dictionary)
    if corpus is not None:
        max_bytes = config.data.sample_bytes
        sample = {language: list(corpus.lines(language, max_bytes)) for language in languages}
    for language, stats in statistics.items():
        logging.info(
            "%s: %s lines, %s words, dictionary coverage %.1f%%",
            language,
            f"{stats.lines:,}",
            f"{stats.words:,}",
            100 * stats.coverage,
        )
    return RunText(
        tokenizer=tokenizer,
        folders=folders,
        text=corpus if corpus is not None else config.data.source,
        dictionary=dictionary,
        frequent={language: stats.frequent for language, stats in statistics.items()},
        frequencies=_frequencies(statistics) if statistics else None,
        sample=sample,
        description=_describe_text(tokenizer, dictionary, statistics, config.data.temperature),
        domains=pocket_files.domains(config.data),
    )


def normalizer_of(config: options.Run) -> Normalizer:
    """The normalizer of a run's text and dictionaries.

    The vocabulary of a run or of Hugging Face brings its own; `config.data` must agree with it.

    Raises:
      ValueError: it does not.
    """
    of_config = Normalizer(config.data.lower_case, config.data.simplify_chinese)
    of_model = of_config
    path = config.vocabulary_path
    if path and os.path.exists(os.path.join(path, "text.json")):
        of_model = Tokenizer.load(path).normalizer
    elif path and hf_tokenizer.is_folder(path):
        of_model = hf_tokenizer.normalizer(path)
    simplify = of_model.simplify_chinese
    if (of_model.lower_case, simplify) != (of_config.lower_case, of_config.simplify_chinese):
        raise ValueError(
            f"config.vocab.path={path} has a vocabulary of text "
            f"{'in lower case' if of_model.lower_case else 'with its case'}: "
            f"--config.data.lower_case={of_model.lower_case} --config.data.simplify_chinese={simplify}"
        )
    return of_model


def load_tokenizer(
    config: options.Run,
    workdir: str,
    corpus: corpora.Countable | None,
    dictionary: Dictionary | None,
    normalizer: Normalizer,
) -> Tokenizer:
    """The tokenizer in WORKDIR/vocab, or one that is loaded or trained and then saved there.

    Raises:
      ValueError: config.vocab.path names a tokenizer of other languages, or no tokenizer.
    """
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
    elif config.vocab.path and hf_tokenizer.is_folder(config.vocab.path):
        languages = options.languages(config)
        lexicons = {x: dictionary.lexicon(x) for x in languages} if dictionary is not None else {}
        tokenizer = hf_tokenizer.tokenizer(config.vocab.path, languages, lexicons)
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
            dictionary_share=config.vocab.dictionary_share,
        )
    tokenizer.save(folder)
    return tokenizer


def _frequencies(statistics: Mapping[str, corpora.LanguageStats]) -> Frequencies:
    return Frequencies(
        {language: stats.counted for language, stats in statistics.items()},
        {language: stats.counts for language, stats in statistics.items()},
    )


def _describe_text(
    tokenizer: Tokenizer,
    dictionary: Dictionary | None,
    statistics: Mapping[str, corpora.LanguageStats],
    temperature: float,
) -> dict[str, Any]:
    """`RunText.description`; 'target_share' follows from the temperature of the sampling."""
    vocabulary = tokenizer.vocabulary
    sizes = {language: stats.words for language, stats in statistics.items()}
    shares = corpora.temperature_shares(sizes, temperature) if sizes else {}
    described: dict[str, Any] = {
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
            for language, stats in statistics.items()
        },
        "skipped": corpora.describe_repairs(statistics),
    }
    if dictionary is not None:
        described["dictionary"] = describe_dictionary(dictionary)
        for name, count in dictionary.skipped.items():
            described["skipped"][f"lines of {name} that are no pair of words"] = count
        for name, count in dictionary.windows.items():
            described["skipped"][f"lines of {name} with Windows line ends"] = count
    return described


def describe_dictionary(dictionary: Dictionary) -> dict[str, Any]:
    """Figures of the dictionary for the report: the numbers of pairs, of words, of pairs that test
    words exclude, and of pairs by the language of the source word."""
    sizes = np.diff(dictionary.group_splits)
    owners = np.repeat(np.arange(len(dictionary)), np.diff(dictionary.entry_splits))
    totals = np.bincount(
        dictionary.word_language[owners], weights=sizes, minlength=len(dictionary.languages)
    )
    by_language = {name: int(total) for name, total in zip(dictionary.languages, totals)}
    return {
        "pairs": dictionary.pair_count,
        "words": len(dictionary),
        "left_out": dictionary.left_out,
        "pairs_by_language": by_language,
    }
