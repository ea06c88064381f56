"""Dictionary files: finding, reading, merging and caching them.

The files are MUSE's, `xx-yy.txt` and its parts, JMdict, `JMdict*`, and Wiktionary as of kaikki.org, `*.jsonl`. The command line
`clwe-jax dictionary {show,stats} --help` shows them, and `clwe-jax data` fetches public ones.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
import zipfile
from typing import Any, Callable, Sequence

import numpy as np
from absl import logging

from clwe_jax import atomic
from clwe_jax.text.dictionary import files as dictionary_files
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.dictionary.merger import Merger, compose, read_files
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import RULES
from clwe_jax.text.dictionary.pair_files import PairFile, read_pairs

__all__ = ["CLEANINGS", "Dictionary", "from_cache", "load", "read_pairs", "test_words", "to_cache"]

CLEANINGS = ("identical", "one_to_many")
_MAX_TRANSLATIONS = 8  # default number of one_to_many
_CACHE_VERSION = 6
# Cached beside the arrays.
_ABOUT = ("languages", "skipped", "unpaired", "left_out", "windows", "spellings", "rejected")


def load(
    directory_or_files: str | Sequence[str],
    languages: Sequence[str] | None = None,
    *,
    normalizer: Normalizer = Normalizer(),
    clean: Sequence[str] = (),
    exclude: str | Sequence[str] | None = None,
    pivot: str = "",
    cache_dir: str | None = None,
) -> Dictionary:
    """Reads dictionaries and merges them into one, in both directions.

    Args:
      directory_or_files: directories, with commas between them, whose files `xx-yy.txt`,
        `xx-yy.0-5000.txt` (MUSE's training part), `xx-yy.train.txt` (VecMap's), `JMdict*` and `*.jsonl`
        (of kaikki.org) are read, plain or compressed, or paths of such files. The log counts and names
        other files. Pairs of `xx-yy.not.txt` are removed and kept in `Dictionary.rejected`.
      languages: languages whose pairs are read, in the order of the result; None means all
        languages of the file names, sorted.
      normalizer: normalizer of each word; the text needs the same.
      clean: cleanings. 'identical' removes pairs of equal words; 'one_to_many' (or 'one_to_many:K')
        removes the pairs of words with more than 8 (K) translations into one language.
      exclude: directories or files of test dictionaries (`xx-yy.txt`, `xx-yy.5000-6500.txt`; the
        `.0-5000` files of a directory are training sets and are ignored). A pair between their two
        languages is removed where it contains a test word on either side, and counted in
        `Dictionary.left_out`. The segmenter still knows the test words (`Dictionary.unpaired`).
      pivot: language through which the pairs of languages without a dictionary are composed, of words
        that no test dictionary has; '' composes them through English where a language has no
        dictionary with another one of the run's.
      cache_dir: folder that keeps the merged dictionary for the next call with the same files and
        options; None keeps nothing.

    Raises:
      FileNotFoundError: the directory or a file is missing.
      ValueError: there is no dictionary file or none between two of `languages`, or a cleaning is
        unknown.
    """
    languages = tuple(languages) if languages else None
    max_translations = _max_translations(clean)
    files = dictionary_files.find(directory_or_files, languages, pivot)
    dictionary_files.log_unread(directory_or_files)
    pivot = dictionary_files.pivot_of(files, languages, pivot)
    tests = dictionary_files.tests(exclude, languages)
    judged = dictionary_files.find_rejected(directory_or_files, languages)
    options = [dataclasses.astuple(normalizer), RULES, languages, sorted(clean), pivot]
    path = _cache_path(cache_dir, files + judged, tests, options)
    dictionary = from_cache(path) if path else None
    if dictionary is None:
        merger = Merger(normalizer)
        read_languages = [*languages, pivot] if languages else None
        notes = read_files(files, merger, read_languages)
        if pivot:
            compose(merger, pivot, languages, _test_words(merger, tests))
        left_out = _leave_out(merger, tests)
        notes["rejected"] = _leave_out_rejected(merger, judged)
        if any(option.startswith("identical") for option in clean):
            _leave_out_identical(merger)
        notes["spellings"] = merger.spellings()
        dictionary = _merge(merger, languages, max_translations, left_out=left_out, **notes)
        if not dictionary.pair_count and not dictionary.rejected:
            raise ValueError(
                dictionary_files.without_pairs(files, notes["skipped"], left_out, clean)
            )
        if path:
            to_cache(dictionary, path)
    for language in dictionary.languages:
        if not dictionary.language_words(language):
            logging.warning(
                "%s: no dictionary entry in %s: its words are never switched",
                dictionary_files.name_of(directory_or_files),
                language,
            )
    return dictionary


def test_words(
    exclude: str | Sequence[str], source: str, target: str, normalizer: Normalizer = Normalizer()
) -> set[str]:
    """The normalised words of either language in the test dictionaries between two languages.

    Arguments as of `load`.

    Raises:
      FileNotFoundError, ValueError: as of `load`.
    """
    merger = Merger(normalizer)
    _words_by_pair(merger, dictionary_files.tests(exclude, (source, target)))
    return set(itertools.chain.from_iterable(merger.numbers.values()))


def _max_translations(clean: Sequence[str]) -> int:
    max_count = 0
    for option in clean:
        name, _, number = option.partition(":")
        if name not in CLEANINGS or (number and (name != "one_to_many" or not number.isdigit())):
            raise ValueError(
                f"config.data.dictionary_clean: {option!r} is none of {', '.join(CLEANINGS)} "
                "(one_to_many:5 sets the most translations)"
            )
        if name == "one_to_many":
            max_count = int(number or _MAX_TRANSLATIONS)
    return max_count


def _filter(merger: Merger, keep: Callable[..., np.ndarray]) -> None:
    filtered = []
    for left, right, a, b in merger.edges:
        is_kept = keep(left, right, a, b)
        filtered.append((left, right, a[is_kept], b[is_kept]))
    merger.edges = filtered


def _leave_out(merger: Merger, tests: Sequence[PairFile]) -> int:
    """Removes pairs with a test word between the languages of its test dictionary.

    Returns:
      The number of distinct pairs removed.
    """
    numbers = _words_by_pair(merger, tests)
    empty = np.zeros(0, np.int32)

    def keep(left, right, a, b):
        test_a = numbers.get((left, right), empty)
        test_b = numbers.get((right, left), empty)
        return ~(np.isin(a, test_a) | np.isin(b, test_b))

    if not numbers:
        return 0
    before = _distinct(merger)
    _filter(merger, keep)
    return before - _distinct(merger)


def _leave_out_rejected(
    merger: Merger, files: Sequence[PairFile]
) -> list[tuple[str, str, str, str]]:
    """Removes the pairs that a person has rejected, and returns them: (language, word, other language, other word)."""
    rejected: list[tuple[str, str, str, str]] = []
    numbers: dict[tuple[str, str], list[np.ndarray]] = {}
    for path, left, right, _ in files:
        pairs = read_pairs(path)
        sides = merger.intern(pairs.left, left), merger.intern(pairs.right, right)
        has_both = np.minimum(*sides) >= 0
        a, b = (side[has_both] for side in sides)
        words = [list(merger.numbers[language]) for language in (left, right)]
        rejected += [
            (left, words[0][i], right, words[1][j]) for i, j in zip(a.tolist(), b.tolist())
        ]
        numbers.setdefault((left, right), []).append(_number_pairs(a, b))
        numbers.setdefault((right, left), []).append(_number_pairs(b, a))
        for fault in pairs.bad:
            logging.warning("%s: skipped %s", path, fault)

    def keep(left, right, a, b):
        return ~np.isin(_number_pairs(a, b), np.concatenate(numbers.get((left, right), [a[:0]])))

    if rejected:
        _filter(merger, keep)
        logging.info("%s pairs of words are rejected by *.not.txt", f"{len(rejected):,}")
    return rejected


def _number_pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One number a pair of words."""
    return (a.astype(np.int64) << 32) + b


def _words_by_pair(merger: Merger, tests: Sequence[PairFile]) -> dict[tuple[str, str], np.ndarray]:
    """(language, other language) -> the numbers of the test words of `language`."""
    word_numbers: dict[tuple[str, str], list[np.ndarray]] = {}
    for path, left, right, _ in tests:
        pairs = read_pairs(path)
        for language, other, words in ((left, right, pairs.left), (right, left, pairs.right)):
            word_numbers.setdefault((language, other), []).append(merger.intern(words, language))
    return {key: np.concatenate(parts) for key, parts in word_numbers.items()}


def _test_words(merger: Merger, tests: Sequence[PairFile]) -> dict[str, np.ndarray]:
    """Language -> the numbers of all its test words."""
    words: dict[str, list[np.ndarray]] = {}
    for (language, _), numbers in _words_by_pair(merger, tests).items():
        words.setdefault(language, []).append(numbers)
    return {language: np.concatenate(parts) for language, parts in words.items()}


def _distinct(merger: Merger) -> int:
    """The number of distinct pairs; a pair in two files or in both directions counts once."""
    keys: dict[tuple[str, str], list[np.ndarray]] = {}
    for left, right, a, b in merger.edges:
        if left > right:
            left, right, a, b = right, left, b, a
        key = a.astype(np.int64) * len(merger.numbers[right]) + b
        keys.setdefault((left, right), []).append(key)
    return sum(len(np.unique(np.concatenate(parts))) for parts in keys.values())


def _leave_out_identical(merger: Merger) -> None:
    words = {x: np.array(list(numbers), object) for x, numbers in merger.numbers.items()}

    def keep(left, right, a, b):
        return words[left][a] != words[right][b]

    _filter(merger, keep)


def _merge(merger: Merger, languages, max_translations, **notes) -> Dictionary:
    languages = languages or tuple(sorted(merger.numbers))
    words = [list(merger.numbers.get(language, ())) for language in languages]
    first = dict(zip(languages, np.cumsum([0] + [len(part) for part in words])))
    merger.numbers.clear()
    sources = [a + first[left] for left, _, a, _ in merger.edges]
    targets = [b + first[right] for _, right, _, b in merger.edges]
    merger.edges.clear()
    return Dictionary.from_edges(
        languages,
        words,
        np.concatenate(sources) if sources else np.zeros(0, np.int64),
        np.concatenate(targets) if targets else np.zeros(0, np.int64),
        max_translations=max_translations,
        **notes,
    )


def _cache_path(cache_dir: str | None, files, tests, options: list[Any]) -> str | None:
    if not cache_dir:
        return None
    stamps = [
        (os.path.basename(path), left, right, os.stat(path).st_size, os.stat(path).st_mtime_ns)
        for path, left, right, _ in files + tests
    ]
    key = json.dumps([_CACHE_VERSION, stamps, len(tests), options], sort_keys=True)
    digest = hashlib.sha256(key.encode("utf-8")).hexdigest()[:16]
    return os.path.join(cache_dir, f"dictionary-{digest}.npz")


def from_cache(path: str) -> Dictionary | None:
    """The dictionary that `to_cache` kept; None where there is none."""
    if not os.path.exists(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            stored_about = json.loads(archive["about"].tobytes())
            about = {name: stored_about[name] for name in _ABOUT}
            arrays = {name: archive[name] for name in Dictionary.ARRAYS}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        logging.warning("%s cannot be read (%s): merging the dictionaries again", path, error)
        return None
    return Dictionary(arrays=arrays, **about)


def to_cache(dictionary: Dictionary, path: str) -> None:
    """Keeps a merged dictionary in one file."""
    about = json.dumps({name: getattr(dictionary, name) for name in _ABOUT})
    arrays = {name: getattr(dictionary, name) for name in Dictionary.ARRAYS}
    arrays["about"] = np.frombuffer(about.encode("utf-8"), np.uint8)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with atomic.writing(path) as file:
            np.savez(file, **arrays)
    except OSError as error:
        logging.warning("The merged dictionary is not kept in %s: %s", path, error)
