"""The dictionaries of a run of static embeddings: to train on, to test on, and induced ones."""

from __future__ import annotations

import os
import re
import shutil
from typing import Callable, Mapping, Sequence

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.align import induce
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate import bli
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer

_TEST = "{}-{}.5000-6500.txt"
_ENDINGS = ("", ".gz")


def training(
    config: ConfigDict, folders: Mapping[str, str], workdir: str, normalizer: Normalizer
) -> Dictionary | None:
    """The merged dictionary to train on, without the test words; None where none is named.

    Args:
      config: `data.dictionaries` and what cleans it; `align.split` reads `xx-yy.{split}.txt` in
        place of `xx-yy.txt`.
      folders: what the options' folders stand for, as `world.resolve_folders` has them.
      workdir: caches there.
      normalizer: of the words.

    Raises:
      FileNotFoundError: no such folder, or no file of the split in it.
      ValueError: no dictionary between any two of the languages.
    """
    if not folders["dictionaries"]:
        return None
    languages = options.languages(config)
    place: str | list[str] = folders["dictionaries"]
    if config.align.split:
        place = _split(folders["dictionaries"], config.align.split, languages, workdir)
    exclude = [folders["tests"]] if folders["tests"] else []
    # Files, not their folder: training dictionaries may be in it too.
    exclude += [path for _, path in _test_files(folders["bli"], languages)]
    found = dictionaries.load(
        place,
        languages,
        normalizer=normalizer,
        clean=tuple(name for name in config.data.dictionary_clean.split(",") if name),
        exclude=exclude or None,
        cache_dir=os.path.join(workdir, "cache"),
    )
    logging.info("Dictionaries: %s words, %s pairs", f"{len(found):,}", f"{found.pair_count:,}")
    return found


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
            # With its times: the cache of the merged dictionary goes by them.
            shutil.copy2(os.path.join(directory, name), path + ".tmp")
            os.replace(path + ".tmp", path)
            copies.append(path)
    if not copies:
        raise FileNotFoundError(
            f"{directory} holds no xx-yy.{split}.txt between any two of {','.join(languages)}; "
            "--config.align.split='' reads xx-yy.txt"
        )
    return copies


def _test_files(directory: str, languages: Sequence[str]) -> list[tuple[tuple[str, str], str]]:
    """((source, target), path) of the test dictionaries between the languages."""
    if not directory:
        return []
    if not os.path.isdir(directory):
        raise FileNotFoundError(
            f"{directory} is not a folder (config.evals.bli.data). Expected test dictionaries "
            "xx-yy.5000-6500.txt there; --config.evals.bli.data='' leaves lexicon induction out."
        )
    found = []
    for source in languages:
        for target in languages:
            for ending in _ENDINGS:
                path = os.path.join(directory, _TEST.format(source, target) + ending)
                if source != target and os.path.exists(path):
                    found.append(((source, target), path))
                    break
    return found


def tests(
    directory: str,
    directions: Sequence[tuple[str, str]],
    normalizer: Callable[[str, str], str],
) -> tuple[list[bli.TestSet], list[str]]:
    """The test dictionaries of the directions, and the names of directions without one.

    Raises:
      FileNotFoundError: there is no such folder.
      ValueError: a test dictionary without pairs.
    """
    languages = list(dict.fromkeys(language for pair in directions for language in pair))
    files = dict(_test_files(directory, languages))
    found = [bli.read(files[pair], *pair, normalizer) for pair in directions if pair in files]
    absent = [
        f"{source}-{target}" for source, target in directions if (source, target) not in files
    ]
    if absent and directory:
        logging.warning(
            "%s has no test dictionary of %s (expected %s): no lexicon induction there",
            directory, ", ".join(absent), _TEST.format(*absent[0].split("-")),
        )  # fmt: skip
    return found, absent


def induced(
    source: Vectors, target: Vectors, max_words: int, method: str = "csls"
) -> list[tuple[str, str]]:
    """Pairs of words with a letter that are each other's nearest, by the source word's frequency.

    Args:
      source, target: vectors in one space, most frequent first.
      max_words: of a side take part.
      method: of retrieval.
    """
    rows = induce.induce(source.vectors, target.vectors, method=method, max_words=max_words)
    pairs = [(source.words[a], target.words[b]) for a, b in rows.tolist()]
    return [pair for pair in pairs if all(any(map(str.isalpha, word)) for word in pair)]


def write(path: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Writes a dictionary in MUSE's format: `source target` a line; with tabs where words have
    spaces in them. Whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8", newline="\n") as file:
        for a, b in pairs:
            file.write(f"{a}\t{b}\n" if " " in a or " " in b else f"{a} {b}\n")
    os.replace(path + ".tmp", path)
