"""The dictionary that a run trains on, without the words of its test dictionaries."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.options.static import StaticRun
from clwe_jax.text import dictionary as dictionaries, stamps as file_stamps
from clwe_jax.text.dictionary import pair_files, test_dictionaries
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.dictionary.test_dictionaries import TestSet

_TRADITIONAL = 0.02  # share of a dictionary's words with traditional characters that is named


def load(
    config: options.Run, folders: Mapping[str, str], workdir: str, normalizer: Normalizer
) -> Dictionary | None:
    """The merged dictionary to train on, without the test words; None if the config names none.

    Args:
      config: the run's config. With `align.split`, an option of static vectors, the files
        `xx-yy.{split}.txt` are read in place of `xx-yy.txt`, and `data.exclude_tests` has no
        effect; of the two directions of a pair, the one that is mapped is read (MUSE's protocol).
      folders: the folders behind the options, from `text_of_run.resolve_folders`.
      workdir: folder of the run, which holds the cache.

    Raises:
      FileNotFoundError: the folder is missing, or has no file of the split.
      ValueError: the folder has no dictionary between any two of the languages.
    """
    if not folders["dictionaries"]:
        return None
    languages = options.languages(config)
    place: str | list[str] = folders["dictionaries"]
    if _split_name(config):
        place = files(config, place)
    dictionary = dictionaries.load(
        place,
        languages,
        normalizer=normalizer,
        clean=tuple(name for name in config.data.dictionary_clean.split(",") if name),
        exclude=tests(config, folders) or None,
        pivot=config.data.dictionary_pivot,
        cache_dir=os.path.join(workdir, "cache"),
    )
    logging.info(
        "Dictionaries: %s words, %s pairs; %s pairs with a test word are left out",
        f"{len(dictionary):,}",
        f"{dictionary.pair_count:,}",
        f"{dictionary.left_out:,}",
    )
    if not normalizer.simplify_chinese:
        _warn_of_traditional(dictionary.language_words("zh"))
    return dictionary


def _warn_of_traditional(words: Sequence[str]) -> None:
    """Warns where Chinese words are written in both scripts, which makes two words of each."""
    simplify = Normalizer(simplify_chinese=True)
    share = sum(simplify(word, "zh") != word for word in words) / max(1, len(words))
    if share > _TRADITIONAL:
        logging.warning(
            "zh: %.0f%% of the dictionary's words have traditional characters, which text in "
            "simplified ones does not match: --config.data.simplify_chinese=True reads both alike",
            100 * share,
        )


def files(config: options.Run, directory: str) -> list[str]:
    """The paths of the dictionary files that `load` reads; errors as of `load`."""
    languages = options.languages(config)
    if _split_name(config):
        paths = _split_files(config, directory)
    else:
        listed = dictionary_files.find(directory, languages, config.data.dictionary_pivot)
        paths = [file.path for file in listed]
    rejected = dictionary_files.find_rejected(directory, languages)
    return [*paths, *(file.path for file in rejected)]


def stamps(
    config: options.Run, folders: Mapping[str, str], left_out: Sequence[str] | None = None
) -> dict[str, str]:
    """Name -> stamp of the dictionary files that `load` reads; {} for a run without dictionaries.

    Args:
      left_out: folders and files of the test dictionaries that count too; None: all of `tests`.
    """
    if not folders["dictionaries"]:
        return {}
    left_out = tests(config, folders) if left_out is None else left_out
    tested = dictionary_files.tests(left_out, options.languages(config))
    paths = [*files(config, folders["dictionaries"]), *(file.path for file in tested)]
    return file_stamps.stamps(paths)


def tests(config: options.Run, folders: Mapping[str, str]) -> list[str]:
    """The folders and files of the test dictionaries whose words the training leaves out.

    These are `data.exclude_dictionaries` and, with `data.exclude_tests`, the test dictionaries of
    all evaluators of lexicon induction and those in the folder of the training dictionaries, except
    beside a published split (`align.split`).

    Raises:
      FileNotFoundError: a folder of test dictionaries is missing.
    """
    paths = [folders["tests"]] if folders["tests"] else []
    if not excludes_tests(config):
        return paths
    languages = options.languages(config)
    places = test_folders(config.evals, folders)
    # MUSE's folder holds whole dictionaries and splits.
    places += [place for place in folders["dictionaries"].split(",") if os.path.isdir(place)]
    # Files, not their folder: training dictionaries may be in it too.
    for folder in dict.fromkeys(places):
        test_files = test_dictionaries.files(folder, languages).values()
        paths += [x.path for x in test_files if x.source in languages and x.target in languages]
    return paths


def test_folders(evals: Mapping[str, Any], folders: Mapping[str, str]) -> list[str]:
    """The folders of the test dictionaries of all evaluators of lexicon induction."""
    keys = [key for key, spec in evals.items() if spec.name == "bli"]
    return [folders[f"evals.{key}"] for key in keys if folders[f"evals.{key}"]]


def count_tested(
    dictionary: Dictionary | None, tests: Sequence[TestSet]
) -> dict[str, tuple[int, int]]:
    """'de-en' -> (number of test pairs that are in the training dictionary, number of test pairs).

    A published split of one direction may hold test pairs of the other; the log warns of them.
    """
    counts = {}
    for test in tests if dictionary is not None else ():
        pairs = set(dictionary.pairs(test.source, test.target))
        test_pairs: set[tuple[str, str]] = set()
        for word, others in test.entries.items():
            test_pairs |= {(word, other) for other in others}
        counts[test.name] = len(pairs & test_pairs), len(test_pairs)
        if pairs & test_pairs:
            logging.warning(
                "%s: %s of %s test pairs are in the training dictionary, so its lexicon induction "
                "does not measure unseen words. --config.data.exclude_tests=True leaves the test words "
                "out; beside align.split, --config.data.exclude_dictionaries=DIR leaves out those "
                "of the test dictionaries in DIR",
                test.name,
                *(f"{count:,}" for count in counts[test.name]),
            )
    return counts


def tests_of(config: options.Run) -> str:
    """The options whose test words the training leaves out, with their values."""
    if not excludes_tests(config):
        return ""
    paths = {f"evals.{x}.data": spec.data for x, spec in config.evals.items() if spec.name == "bli"}
    paths["data.dictionaries"] = config.data.dictionaries
    return ", ".join(f"{option}={value}" for option, value in paths.items() if value)


def excludes_tests(config: options.Run) -> bool:
    """Whether the words of all known tests are left out; a published split stays as it is."""
    return config.data.exclude_tests and not _split_name(config)


def _split_name(config: options.Run) -> str:
    """`align.split`; '' for language models, which have no such option."""
    return config.align.split if isinstance(config, StaticRun) else ""


def _split_files(config: options.Run, directory: str) -> list[str]:
    """The files `xx-yy.{split}.txt` between the run's languages.

    Of the two directions between a language and the hub, the one to the hub is taken.
    """
    split = config.align.split
    languages = options.languages(config)
    hub = options.hub_of(config)
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{directory} is not a folder (config.data.dictionaries): expected xx-yy.{split}.txt "
            "there"
        )
    files = [file for file in pair_files.find(directory, languages) if file.split == split]
    directions = {(file.source, file.target) for file in files}
    paths = []
    for original, source, target, _ in files:
        reversed_too = source == hub and (target, source) in directions
        if source in languages and target in languages and not reversed_too:
            paths.append(original)
    if not paths:
        raise FileNotFoundError(
            f"{directory} holds no xx-yy.{split}.txt between any two of {','.join(languages)}; "
            "--config.align.split='' reads xx-yy.txt"
        )
    return paths
