"""Bilingual lexicon induction from averaged contextual embeddings.

A word's vector is the mean of its contextual vectors over its occurrences in a text sample
(Schuster et al. 2019, section 3.1). A source word of a test dictionary is right when one of its
translations is among the nearest words of the target language.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
import re
from typing import Callable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.align import csls
from clwe_jax.evaluate.encode import MEAN_LAST4, Encoder, Layer, Row, select_layer
from clwe_jax.evaluate.spelled import encoder_of
from clwe_jax.text import dictionary
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables

_NAME = re.compile(r"([a-z]{2,3})-([a-z]{2,3})\.5000-6500\.txt(\.gz)?")
_TOPS = (1, 5)  # the k of P@k
_SUFFIXES = {"cosine": "", "csls": "_csls"}


@dataclasses.dataclass(frozen=True)
class TestSet:
    """A test dictionary: source word -> its translations, all normalised."""

    source: str
    target: str
    entries: Mapping[str, frozenset[str]]

    @property
    def name(self) -> str:
        """'de-en'."""
        return f"{self.source}-{self.target}"


def find(directory: str, tokenizer: Tokenizer) -> list[TestSet]:
    """The test dictionaries in a folder of which the model has learned both languages.

    The others, and lines that are skipped, are named in the log.

    Args:
      directory: holds `xx-yy.5000-6500.txt` (MUSE); other files are not looked at.
      tokenizer: its languages and its normalisation count.

    Raises:
      FileNotFoundError: the folder is missing or holds no test dictionary.
      ValueError: a test dictionary without pairs.
    """
    mend = "--config.evals.bli.data='' leaves lexicon induction out."
    if not os.path.isdir(directory):
        raise FileNotFoundError(f"{directory} is not a folder (config.evals.bli.data). {mend}")
    names = [m for name in sorted(os.listdir(directory)) if (m := _NAME.fullmatch(name))]
    if not names:
        raise FileNotFoundError(
            f"{directory} holds no test dictionaries xx-yy.5000-6500.txt (config.evals.bli.data). "
            f"{mend}"
        )
    found, absent = [], []
    for match in names:
        source, target = match[1], match[2]
        if source in tokenizer.languages and target in tokenizer.languages:
            path = os.path.join(directory, match[0])
            found.append(read(path, source, target, tokenizer.normalizer))
        else:
            absent.append(f"{source}-{target}")
    if absent:
        logging.info(
            "%s: left out, as the model has not learned both languages: %s",
            directory, ", ".join(absent),
        )  # fmt: skip
    return found


def read(path: str, source: str, target: str, normalizer: Callable[[str, str], str]) -> TestSet:
    """A test dictionary; lines that are no pair are skipped and named in the log.

    Args:
      path: `source target` a line.
      source, target: the languages.
      normalizer: (word, language) -> the word as the vectors spell it.

    Raises:
      ValueError: no line is a pair.
    """
    pairs = dictionary.read_pairs(path)
    if pairs.bad_count:
        logging.warning("%s: %d lines skipped: %s", path, pairs.bad_count, "; ".join(pairs.bad))
    entries: dict[str, set[str]] = {}
    for left, right in zip(pairs.left, pairs.right):
        entries.setdefault(normalizer(left, source), set()).add(normalizer(right, target))
    if not entries:
        raise ValueError(f"{path} holds no pairs: expected a source and a target word a line")
    return TestSet(source, target, {word: frozenset(found) for word, found in entries.items()})


@dataclasses.dataclass(frozen=True)
class Sample:
    """Text to find words in.

    Attributes:
      lines: the words of each line.
      frequent: distinct words, most frequent first.
    """

    lines: Sequence[Sequence[str]]
    frequent: Sequence[str]


def sample(
    lines: Sequence[str], language: str, tokenizer: Tokenizer, min_count: int, max_words: int
) -> Sample:
    """The lines as words, and the most frequent words: with a letter, `min_count` times there."""
    words = [tokenizer.words(line, language) for line in lines]
    counts = collections.Counter(word for line in words for word in line)
    frequent = [
        word
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= min_count and any(map(str.isalpha, word))
    ]
    return Sample(words, frequent[: max_words or None])


def averaged(
    encoder: Encoder,
    variables: Variables,
    lines: Sequence[Sequence[str]],
    language: str,
    words: Sequence[str],
    occurrences: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The mean contextual vector of each word over its first occurrences.

    A word that does not occur is encoded by itself.

    Args:
      encoder, variables: the model.
      lines: the words of each line of text.
      language: theirs.
      words: which are wanted, distinct.
      occurrences: how many of each are averaged; fewer where there are fewer.

    Returns:
      float32 [W, layers + 1, D], and int [W]: how many occurrences were found.
    """
    number, room = encoder.tokenizer.language_id(language), encoder.max_length - 2
    index = {word: place for place, word in enumerate(words)}
    counts = np.zeros(len(words), np.int64)
    rows: list[Row] = []
    targets: list[list[int]] = []
    for line in lines:
        for start, end in encoder.windows(line):
            chosen: dict[int, int] = {}  # place in the window -> slot
            target = []
            for place, word in enumerate(line[start:end]):
                wanted = index.get(word, -1)
                if wanted >= 0 and counts[wanted] < occurrences:
                    counts[wanted] += 1
                    chosen[place] = len(target)
                    target.append(wanted)
            if target:
                ids, owners = encoder.tokenizer.encode_words(line[start:end])
                groups = [chosen.get(owner, -1) for owner in owners]
                rows.append(Row(ids[:room], groups[:room], number))
                targets.append(target)
    sums = np.zeros((len(words), *encoder.shape(variables)), np.float32)
    for place, vectors in encoder.stream(variables, rows):
        np.add.at(sums, targets[place], vectors)
    sums /= np.maximum(counts, 1)[:, None, None].astype(np.float32)
    alone = np.flatnonzero(counts == 0)
    if len(alone):
        sums[alone] = encoder.sentences(variables, [words[i] for i in alone], language)
    return sums, counts


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class BliEvaluator:
    """P@1 and P@5 on test dictionaries, by cosine and by CSLS.

    The candidates are the frequent words of the sample of the target language; words of the test
    dictionary are never added to them.

    Attributes:
      every_steps: how often in training; 0: at its end only.
      data: a folder of test dictionaries; see `find`.
      layer: what the figures without a layer's name are measured at: a number or 'mean_last4', the
        mean of the vectors of the last four layers.
      occurrences: of a word, that its vector is the mean of.
      min_count: of a candidate in the sample.
      max_words: candidates of a language, at most; 0: all.
      neighbourhood: of CSLS.
      batch_size: rows encoded at once.
      max_length: pieces of a row, [CLS] and [SEP] included; 0: as the model.
      objective: the model, by `objective.encode`.
      tokenizer: the run's.
      lines: a text sample of each language.
    """

    every_steps: int = 0
    data: str = ""
    layer: Layer = MEAN_LAST4
    occurrences: int = 10
    min_count: int = 2
    max_words: int = 20_000
    neighbourhood: int = 10
    batch_size: int = 64
    max_length: int = 0
    objective: Objective
    tokenizer: Tokenizer
    lines: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        _ = self._all_tests  # what is wrong with the folder is said before training starts

    def run(self, variables: Variables) -> Iterator[tuple[str, float]]:
        """Yields, as fractions, with '' (cosine) and '_csls' in place of *:

        bli/{src}-{trg}/p@1*, p@5*: of all source words; without a candidate among its translations
          a word is wrong.
        bli/{src}-{trg}/p@1*_covered: of the source words with a candidate among their translations.
        bli/{src}-{trg}/coverage: the share of these.
        bli/{src}-{trg}/isolated: the share of source words that do not occur in the sample and were
          encoded by themselves.
        bli/{src}-{trg}/words: how many source words there are.
        bli/{src}-{trg}/layer{k}/p@1*, p@5*.
        bli/p@1*, ...: means over the pairs.
        """
        totals: dict[str, list[float]] = {}
        tests = self._tests
        vectors: dict[str, _Vectors] = {}
        for place, test in enumerate(tests):
            for language in (test.source, test.target):
                if language not in vectors:
                    vectors[language] = self._vectors(variables, language)
            for metric, value in self._measure(test, vectors[test.source], vectors[test.target]):
                yield f"bli/{test.name}/{metric}", value
                if "/" not in metric and metric != "words":
                    totals.setdefault(metric, []).append(value)
            later = {language for t in tests[place + 1 :] for language in (t.source, t.target)}
            vectors = {language: v for language, v in vectors.items() if language in later}
        for metric, values in totals.items():
            yield f"bli/{metric}", float(np.mean(values))

    def _measure(
        self, test: TestSet, source: "_Vectors", target: "_Vectors"
    ) -> Iterator[tuple[str, float]]:
        words = list(test.entries)
        rows = [source.index[word] for word in words]
        candidates = {word: place for place, word in enumerate(target.frequent)}
        gold = [
            [candidates[word] for word in sorted(test.entries[query]) if word in candidates]
            for query in words
        ]
        covered = np.array([bool(found) for found in gold])
        layers = [(f"layer{layer}/", layer) for layer in range(source.vectors.shape[1])]
        for prefix, layer in [("", self.layer), *layers]:
            keys = select_layer(target.vectors[: len(candidates)], layer)
            queries = select_layer(source.vectors, layer)
            for method, suffix in _SUFFIXES.items():
                found, _ = csls.nearest(
                    queries[rows],
                    keys,
                    min(max(_TOPS), len(keys)),
                    method,
                    pool=queries[: len(source.frequent)],
                    neighbourhood=self.neighbourhood,
                )
                found = np.asarray(found)
                right = np.array([np.isin(row, some) for row, some in zip(found, gold)])
                for top in _TOPS:
                    hit = right[:, :top].any(1)
                    yield f"{prefix}p@{top}{suffix}", float(hit.mean())
                    if top == 1 and not prefix and covered.any():
                        yield f"p@1{suffix}_covered", float(hit[covered].mean())
        yield "coverage", float(covered.mean())
        yield "isolated", float((source.counts[rows] == 0).mean())
        yield "words", float(len(words))

    def _vectors(self, variables: Variables, language: str) -> "_Vectors":
        text = self._sample(language)
        tested = {word for t in self._tests if t.source == language for word in t.entries}
        words = [*text.frequent, *sorted(tested - set(text.frequent))]
        logging.info("lexicon induction: vectors of %d words (%s)", len(words), language)
        vectors, counts = averaged(
            self._encoder, variables, text.lines, language, words, self.occurrences
        )
        index = {word: place for place, word in enumerate(words)}
        return _Vectors(text.frequent, index, vectors, counts)

    def _sample(self, language: str) -> Sample:
        if language not in self._samples:
            self._samples[language] = sample(
                self.lines.get(language, ()),
                language, self.tokenizer, self.min_count, self.max_words,
            )  # fmt: skip
        return self._samples[language]

    @functools.cached_property
    def _samples(self) -> dict[str, Sample]:
        return {}

    @functools.cached_property
    def _all_tests(self) -> list[TestSet]:
        return find(self.data, self.tokenizer)

    @functools.cached_property
    def _tests(self) -> list[TestSet]:
        """The test sets that have text on both sides, the directions of a pair side by side."""
        found, empty = [], []
        for test in self._all_tests:
            texts = self._sample(test.source), self._sample(test.target)
            (found if all(text.frequent for text in texts) else empty).append(test)
        if empty:
            logging.warning(
                "%s: left out, as there is no text sample with words that occur %d times in both "
                "languages: %s",
                self.data, self.min_count, ", ".join(test.name for test in empty),
            )  # fmt: skip
        if not found:
            logging.warning("%s: lexicon induction is left out; no pair can be used", self.data)
        # A language that many pairs share is kept while the others come and go.
        uses = collections.Counter(lang for t in found for lang in (t.source, t.target))

        def order(test: TestSet) -> tuple[list[str], str]:
            shared = sorted((test.source, test.target), key=lambda lang: (-uses[lang], lang))
            return shared, test.name

        return sorted(found, key=order)

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return encoder_of(self.objective, self.tokenizer, self.max_length, self.batch_size)


@dataclasses.dataclass(frozen=True)
class _Vectors:
    """The words of a language, the frequent ones (which are candidates) first."""

    frequent: Sequence[str]
    index: Mapping[str, int]
    vectors: np.ndarray  # [W, layers + 1, D]
    counts: np.ndarray  # occurrences that were averaged
