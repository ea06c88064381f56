"""Reads the files of dictionaries into one table of words and pairs of their numbers."""

from __future__ import annotations

import array
import os
from typing import Any, Container, Mapping, Sequence

import numpy as np
from absl import logging

from clwe_jax.text.dictionary import composed, jmdict, kaikki
from clwe_jax.text.dictionary.pair_files import ListedPairs, PairFile, read_pairs
from clwe_jax.text.words.languages import name_in
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.spellings import Tally, as_written

_SAMPLE = 500  # words of each column that the test for swapped columns looks up


class Merger:
    """Numbers the words of each language and collects pairs of numbers."""

    def __init__(self, normalizer: Normalizer):
        self.normalizer = normalizer
        self.numbers: dict[str, dict[str, int]] = {}  # language -> key of a word -> number
        self._others: dict[str, dict[str, int]] = {}  # language -> other spelling -> number
        self.edges: list[tuple[str, str, np.ndarray, np.ndarray]] = []
        self._tally = Tally(normalizer)

    def intern(self, words: Sequence[str], language: str) -> np.ndarray:
        """int32 [words]: the numbers of words; -1 for a word that normalisation makes empty."""
        numbers = self.numbers.setdefault(language, {})
        variants = self._others.setdefault(language, {})
        odd: dict[str, str] = {}
        result = array.array("i")
        append = result.append
        get = numbers.get
        for word in words:
            number = get(word)
            if number is None:
                number = variants.get(word)
            if number is None:
                normal = self.normalizer.key(word, language)
                number = numbers.setdefault(normal, len(numbers)) if normal else -1
                # A spelling is normalised once, however many pairs have it.
                if normal != word:
                    variants[word] = number
                    if normal and as_written(word, self.normalizer, language) != normal:
                        odd[word] = normal
            append(number)
        if odd:
            self._tally.add_entries(odd, words, language)
        return np.frombuffer(result, np.int32)

    def spellings(self) -> dict[str, dict[str, str]]:
        """Language -> key -> its most frequent spelling in the entries, where that is not the key."""
        totals: dict[str, np.ndarray] = {x: np.zeros(len(y), int) for x, y in self.numbers.items()}
        for left, right, a, b in self.edges:
            for language, numbers in ((left, a), (right, b)):
                totals[language] += np.bincount(numbers, minlength=len(totals[language]))
        return self._tally.spellings(
            {x: dict(zip(self.numbers[x], counts.tolist())) for x, counts in totals.items()}
        )

    def looks_swapped(self, left: str, right: str, pairs: ListedPairs) -> bool:
        """Whether the columns, exchanged, fit the words read so far better."""
        known_words = [self.numbers.get(language, {}) for language in (left, right)]
        step = max(1, len(pairs.left) // _SAMPLE)
        if not pairs.left or not pairs.right:
            return False

        def share(words: Sequence[str], vocabulary: Container[str]) -> float:
            return np.mean([word in vocabulary for word in words[::step]])

        straight = share(pairs.left, known_words[0]) + share(pairs.right, known_words[1])
        swapped = share(pairs.left, known_words[1]) + share(pairs.right, known_words[0])
        return swapped > 0.5 and swapped > 2 * straight


def read_files(
    files: Sequence[PairFile], merger: Merger, languages: Sequence[str] | None
) -> dict[str, Any]:
    """Reads each file into the merger; `Dictionary.skipped` and `Dictionary.windows`, by name."""
    skip_counts = {}
    windows = {}
    for path, left, right, _ in files:
        if not right:
            _read_entries(path, left, merger, languages)
            continue
        pairs = read_pairs(path)
        if merger.looks_swapped(left, right, pairs):
            logging.warning(
                "%s: its columns look swapped, compared with the dictionaries read before it: the "
                "first should be %s, the second %s. If so, rename it %s-%s.txt",
                path,
                left,
                right,
                right,
                left,
            )
        _add(merger, left, right, pairs.left, pairs.right)
        if pairs.windows:
            windows[os.path.basename(path)] = pairs.windows
        if pairs.bad_count:
            skip_counts[os.path.basename(path)] = pairs.bad_count
            logging.warning("%s: skipped %d lines; %s", path, pairs.bad_count, "; ".join(pairs.bad))
        if not pairs.left:
            logging.warning("%s: holds no pair of words", path)
    return {"skipped": skip_counts, "windows": windows}


def _read_entries(path: str, source: str, merger: Merger, languages: Sequence[str] | None) -> None:
    """Reads JMdict, whose words are in a language, or a file of kaikki.org, whose glosses are English."""
    if source:
        entries = ((source, word, code, gloss) for word, code, gloss in jmdict.iterate(path))
    else:
        english = name_in("en", languages)
        entries = ((code, word, english, gloss) for code, word, gloss in kaikki.iterate(path))
    by_pair: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for code, word, other_code, gloss in entries:
        pair = name_in(code, languages), name_in(other_code, languages)
        if languages is None or set(pair) <= set(languages):
            left, right = by_pair.setdefault(pair, ([], []))
            left.append(word)
            right.append(gloss)
    for pair in sorted(by_pair):
        _add(merger, *pair, *by_pair[pair])


def _add(merger: Merger, left: str, right: str, words: list[str], others: list[str]) -> None:
    a = merger.intern(words, left)
    b = merger.intern(others, right)
    has_both = (a >= 0) & (b >= 0)
    merger.edges.append((left, right, a[has_both], b[has_both]))


def compose(
    merger: Merger, pivot: str, languages: Sequence[str] | None, tested: Mapping[str, np.ndarray]
) -> None:
    """Composes pairs through a language, whose own pairs go if it is none of the run's."""
    edges = composed.compose(merger.edges, pivot, tested)
    for left, right, words, _ in edges:
        logging.info(
            "Dictionary of %s and %s, composed through %s: %s pairs",
            left,
            right,
            pivot,
            f"{len(words):,}",
        )
    merger.edges += edges
    if languages and pivot not in languages:
        merger.edges = [edge for edge in merger.edges if pivot not in edge[:2]]
        merger.numbers.pop(pivot, None)
