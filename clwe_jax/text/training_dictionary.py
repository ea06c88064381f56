"""The dictionary that a run trains on, without the words of the dictionaries that it is tested on."""

from __future__ import annotations

import os
import re
import shutil
from typing import Mapping, Sequence

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import atomic
from clwe_jax import config as options
from clwe_jax.text import dictionary as dictionaries, test_dictionaries
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer


def load(
    config: ConfigDict, folders: Mapping[str, str], workdir: str, normalizer: Normalizer
) -> Dictionary | None:
    """The merged dictionary to train on, without the test words; None where none is named.

    Args:
      config: `data.dictionaries` and what cleans it; of static vectors, `align.split` reads
        `xx-yy.{split}.txt` in place of `xx-yy.txt`.
      folders: the folders behind the options, from `world.resolve_folders`.
      workdir: holds the cache.
      normalizer: of the words.

    Raises:
      FileNotFoundError: no such folder, or no file of the split in it.
      ValueError: no dictionary between any two of the languages.
    """
    if not folders["dictionaries"]:
        return None
    languages = options.languages(config)
    place: str | list[str] = folders["dictionaries"]
    split = config.align.split if "align" in config else ""
    if split:
        place = _split(folders["dictionaries"], split, languages, workdir)
    found = dictionaries.load(
        place,
        languages,
        normalizer=normalizer,
        clean=tuple(name for name in config.data.dictionary_clean.split(",") if name),
        exclude=tests(config, folders) or None,
        cache_dir=os.path.join(workdir, "cache"),
    )
    logging.info(
        "Dictionaries: %s words, %s pairs; %s pairs with a test word are left out",
        f"{len(found):,}", f"{found.pair_count:,}", f"{found.left_out:,}",
    )  # fmt: skip
    return found


def tests(config: ConfigDict, folders: Mapping[str, str]) -> list[str]:
    """The folders and files of test dictionaries whose words are not trained on.

    These are `data.exclude_dictionaries` and, with `data.exclude_tests`, the test dictionaries of
    all evaluators of lexicon induction.

    Args:
      config: `data` and `evals`.
      folders: see `load`.

    Raises:
      FileNotFoundError: there is no such folder.
    """
    found = [folders["tests"]] if folders["tests"] else []
    if not config.data.exclude_tests:
        return found
    languages = options.languages(config)
    # Files, not their folder: training dictionaries may be in it too.
    return found + [
        file.path
        for folder in test_folders(config, folders)
        for file in test_dictionaries.files(folder).values()
        if file.source in languages and file.target in languages
    ]


def test_folders(config: ConfigDict, folders: Mapping[str, str]) -> list[str]:
    """The folders of test dictionaries of all evaluators of lexicon induction.

    Args:
      config: `evals`.
      folders: see `load`.
    """
    keys = [key for key, spec in config.evals.items() if spec.name == "bli"]
    return [folders[f"evals.{key}"] for key in keys if folders[f"evals.{key}"]]


def _split(directory: str, split: str, languages: Sequence[str], workdir: str) -> list[str]:
    """Copies of `xx-yy.{split}.txt` under the names that dictionaries are merged by."""
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{directory} is not a folder (config.data.dictionaries): expected xx-yy.{split}.txt "
            "there"
        )
    pattern = re.compile(rf"([a-z]{{2,3}})-([a-z]{{2,3}})\.{re.escape(split)}\.txt(\.gz)?")
    copies = []
    for name in sorted(os.listdir(directory)):
        match = pattern.fullmatch(name)
        if match and match[1] in languages and match[2] in languages:
            folder = os.path.join(workdir, "cache", f"split-{split}")
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, f"{match[1]}-{match[2]}.txt{match[3] or ''}")
            original = os.path.join(directory, name)
            with open(original, "rb") as file:
                atomic.write(path, file.read())
            shutil.copystat(original, path)  # its times name the cache of the merged dictionary
            copies.append(path)
    if not copies:
        raise FileNotFoundError(
            f"{directory} holds no xx-yy.{split}.txt between any two of {','.join(languages)}; "
            "--config.align.split='' reads xx-yy.txt"
        )
    return copies
