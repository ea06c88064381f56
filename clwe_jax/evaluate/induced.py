"""The source words of one test dictionary: their figures, and a table of errors."""

from __future__ import annotations

import functools
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from absl import logging
import numpy as np

from clwe_jax.encoders.protocols import WordSpace
from clwe_jax.evaluate.statistics import wilson_interval
from clwe_jax.text.dictionary.test_dictionaries import TestSet

TOPS = (1, 5, 10)  # the k of P@k
FREQUENCY_EDGES = (200, 1_000, 5_000, 20_000, 100_000)  # last ranks of the frequency groups
_SHOWN = 5  # nearest words in a row of the table of errors


class Places(NamedTuple):
    """The place (from 1) of each source word's first translation among its nearest words; 0: beyond ten.

    Attributes:
      all: the first of all its translations, int [W].
      distinct: the first of its translations with another spelling, int [W].
    """

    all: np.ndarray
    distinct: np.ndarray


class WordInduction:
    """The source words of a test dictionary, the rows of their vectors, and their translations.

    A row of the table of errors holds 'pair', 'word', 'rank' (from 1, the most frequent word; None
    for words that are not frequent), 'gold', 'distinct' (whether a translation has another
    spelling), 'found' (pairs of word and score, best first, by cosine), 'place' (of the first right
    word, by CSLS where measured; 0: none of ten is right), 'kind' ('right', 'near', ...) and, if
    known, 'tag'.

    Attributes:
      source_rows: row of each source word's vector, int [W]; -1: no vector.
      has_vector: bool [W], whether a source word has a vector.
      has_other_spelling: bool [W], whether it has a translation of another spelling.
    """

    def __init__(
        self, test: TestSet, source: WordSpace, target: WordSpace, tags: Mapping[str, str]
    ):
        """Args:
        source, target: words of both languages, in one space.
        tags: source word -> part of speech.
        """
        self._test = test
        self._source = source
        self._target = target
        self._tags = tags
        self._target_keys = target.keys or target.words
        self._words = list(test.entries)
        self._gold = [test.entries[word] for word in self._words]
        self.source_rows = np.array([source.index.get(word, -1) for word in self._words])
        self.has_vector = self.source_rows >= 0
        candidates = {
            word: row for word, row in target.index.items() if row < target.frequent_count
        }
        # The rows of each source word's translations, and of those with another spelling.
        self._candidates = []
        self._distinct = []
        for word, gold in zip(self._words, self._gold):
            rows = {candidates[translation] for translation in gold if translation in candidates}
            self._candidates.append(rows)
            self._distinct.append({row for row in rows if self._target_keys[row] != word})
        entries = list(zip(self._words, self._gold))
        self.has_other_spelling = np.array([bool(gold - {word}) for word, gold in entries])
        self._translates_itself = np.array([word in gold for word, gold in entries])
        self._covered = self.has_vector & np.array([bool(x) for x in self._candidates])
        self._covered_distinct = self.has_vector & np.array([bool(x) for x in self._distinct])
        is_ranked = self.has_vector & (self.source_rows < source.frequent_count)
        self._ranks = np.where(is_ranked, self.source_rows + 1, 0)
        self._groups = {**dict(_frequency_groups(self._ranks)), **_tag_groups(self._words, tags)}

    def counts(self) -> Iterator[tuple[str, float]]:
        """Coverage, and numbers of words and of pairs."""
        yield "words", float(len(self._words))
        yield "pairs", float(sum(map(len, self._gold)))
        yield "words_distinct", float(self.has_other_spelling.sum())
        yield "coverage", float(self._covered.mean())
        yield "oov", float((~self.has_vector).mean())
        if self.has_other_spelling.any():
            is_covered = self._covered_distinct[self.has_other_spelling]
            yield "coverage_distinct", float(is_covered.mean())
        if self._source.counts is not None:
            alone = self.has_vector & (self._source.counts[self.source_rows] == 0)
            yield "isolated", float(alone.mean())
        for name, members in self._groups.items():
            yield f"{name}/words", float(len(members))
        if not self._covered.any():
            logging.warning(
                "%s: none of the %d test words is covered by the vectors (%.0f%% of the source "
                "words have none)",
                self._test.name,
                len(self._words),
                100 * (~self.has_vector).mean(),
            )

    @functools.cached_property
    def questions(self) -> tuple[np.ndarray, list[set[int]]]:
        """The words to look up, as numbers among those that have a vector, int [Q], and their right candidates.

        Each word stands there with all its translations. A word that is spelled like one of them stands there
        again, at the end, with the others alone.
        """
        with_vector = np.flatnonzero(self.has_vector).tolist()
        lines = list(range(len(with_vector)))
        answers = [self._candidates[word] for word in with_vector]
        for line, word in enumerate(with_vector):
            if self._distinct[word] != self._candidates[word]:
                lines.append(line)
                answers.append(self._distinct[word])
        return np.array(lines, int), answers

    def places(self, ranked: np.ndarray) -> Places:
        """The places of the right candidates.

        Args:
          ranked: the rank of the first right candidate by `questions`, int [Q]; 0: none.
        """
        places, distinct = np.zeros((2, len(self._words)), int)
        lines, _ = self.questions
        with_vector = np.flatnonzero(self.has_vector)
        places[with_vector] = distinct[with_vector] = ranked[: len(with_vector)]
        distinct[with_vector[lines[len(with_vector) :]]] = ranked[len(with_vector) :]
        # A word without a vector is predicted to be its own translation (joint-align, appendix B).
        places[~self.has_vector & self._translates_itself] = 1
        return Places(places, distinct)

    def figures(self, suffix: str, ranked: Places) -> Iterator[tuple[str, float]]:
        """P@k, MRR and intervals over all sets of words, and P@1 of the groups."""
        for ending, ranks, words in (
            ("", ranked.all, slice(None)),
            ("_covered", ranked.all, self._covered),
            ("_distinct", ranked.distinct, self.has_other_spelling),
            ("_distinct_covered", ranked.distinct, self._covered_distinct),
        ):
            ranks = ranks[words]
            ending = f"{suffix}{ending}"
            if not len(ranks):
                continue
            for top in TOPS:
                yield f"p@{top}{ending}", precision(ranks, top)
            yield f"mrr{ending}", float(np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0).mean())
            low, high = wilson_interval(precision(ranks, 1), len(ranks))
            yield f"p@1{ending}_low", low
            yield f"p@1{ending}_high", high
        for name, members in self._groups.items():
            yield f"{name}/p@1{suffix}", precision(ranked.all[members], 1)

    def rows(
        self, nearest: np.ndarray, scores: np.ndarray, places: np.ndarray
    ) -> Iterator[dict[str, Any]]:
        """A row of the table of errors for each source word.

        Args:
          nearest, scores: nearest candidates of the words that have a vector, [Q, depth].
        """
        line = np.cumsum(self.has_vector) - 1  # line of each word in `nearest`
        for number, word in enumerate(self._words):
            near = []
            keys = []
            if self.has_vector[number]:
                rows = nearest[line[number]][:_SHOWN]
                of_rows = scores[line[number]]
                near = [
                    (self._target.words[row], round(float(x), 4)) for row, x in zip(rows, of_rows)
                ]
                keys = [(self._target_keys[row], score) for row, (_, score) in zip(rows, near)]
            place = int(places[number])
            is_covered = bool(self._covered[number])
            row = {
                "pair": self._test.name,
                "word": _spell(word, self._source),
                "rank": int(self._ranks[number]) or None,
                "gold": sorted(_spell(key, self._target) for key in self._gold[number]),
                "distinct": bool(self.has_other_spelling[number]),
                "found": near,
                "place": place,
                "kind": _kind(word, bool(self.has_vector[number]), is_covered, place, keys),
            }
            yield row | ({"tag": self._tags[word]} if word in self._tags else {})


def precision(places: np.ndarray, top: int) -> float:
    """P@k: the share of places in 1 ... top."""
    return float(((places >= 1) & (places <= top)).mean())


def _frequency_groups(ranks: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yields 'frequency/1-200' and the words of these ranks, ...; words of rank 0 are left out."""
    first = 1
    for last in (*FREQUENCY_EDGES, None):
        members = np.flatnonzero((ranks >= first) & (ranks <= (last or np.inf)))
        if len(members):
            yield f"frequency/{first}-{last or ''}", members
        first = (last or 0) + 1


def _tag_groups(words: Sequence[str], tags: Mapping[str, str]) -> dict[str, np.ndarray]:
    groups: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        if word in tags:
            groups.setdefault(f"tag/{tags[word]}", []).append(number)
    return {name: np.array(members) for name, members in sorted(groups.items())}


def _kind(word: str, has_vector: bool, covered: bool, place: int, near: Sequence) -> str:
    """The kind of a prediction.

    'right'; 'near': right among the ten nearest; 'copied': the source word itself; 'no vector': the
    source word has no vector; 'no candidate': no translation is a candidate; else 'wrong'.
    """
    if place == 1:
        return "right"
    if not has_vector:
        return "no vector"
    if not covered:
        return "no candidate"
    if place:
        return "near"
    return "copied" if near and near[0][0] == word else "wrong"


def _spell(key: str, space: WordSpace) -> str:
    """A word as it is written, where the space has it."""
    row = space.index.get(key)
    return key if row is None else space.words[row]
