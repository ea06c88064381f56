"""Running words to train static vectors on: per language, of equal size, in one shuffled order.

    text = corpus.read(TextCorpus("corpora", ["en", "de"]), Normalizer(), Segmenter())
    equal = text.equalised(seed=0)
    for words in equal.sentences(seed=0): ...    # as often as wanted, in the same order
    equal.counts("de")["haus"]

Words are kept as numbers, four bytes each; text of 100 million words takes 0.4 GB.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
from typing import Iterator, Mapping, NamedTuple, Sequence

from absl import logging
import numpy as np

from clwe_jax.text.corpora import LineCounts, TextCorpus
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.words import Segmenter

_LONGEST = 1_000  # words of a sentence; longer lines become several (gensim drops what is beyond)
_CACHED = 24  # characters of a piece of text that may be remembered: longer ones hardly repeat
_MOST_CACHED = 1_000_000
_BATCH = 4_096  # sentences


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences of several languages as numbers of one joint list of words.

    Attributes:
      words: by number; a word of two languages, spelled alike, is one.
      ids: language -> int32, its running words.
      splits: language -> int64 [sentences + 1], where each sentence starts in `ids`.
    """

    words: Sequence[str]
    ids: Mapping[str, np.ndarray]
    splits: Mapping[str, np.ndarray]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, in the order given."""
        return tuple(self.ids)

    def size(self, language: str) -> int:
        """Running words of a language."""
        return len(self.ids[language])

    def counts(self, language: str) -> dict[str, int]:
        """word -> how often it occurs in the language's text; the most frequent first."""
        counted = np.bincount(self.ids[language], minlength=len(self.words))
        found = np.flatnonzero(counted)
        found = found[np.argsort(-counted[found], kind="stable")]
        return {self.words[i]: n for i, n in zip(found.tolist(), counted[found].tolist())}

    def only(self, *languages: str) -> Corpus:
        """The text of some of the languages."""
        return Corpus(
            self.words,
            {language: self.ids[language] for language in languages},
            {language: self.splits[language] for language in languages},
        )

    def equalised(self, seed: int = 0) -> Corpus:
        """As many running words of each language as the smallest has, to a sentence.

        Whole sentences are drawn at random from the larger ones and keep their order.
        """
        smallest = min(self.languages, key=self.size)
        ids, splits = {}, {}
        for place, language in enumerate(self.languages):
            lengths = np.diff(self.splits[language])
            order = np.random.default_rng([seed, place]).permutation(len(lengths))
            kept = np.sort(order[np.cumsum(lengths[order]) <= self.size(smallest)])
            ids[language], splits[language] = _chosen(
                self.ids[language], self.splits[language], kept
            )
            logging.info(
                "%s: %s of %s running words, as many as %s has", language,
                f"{len(ids[language]):,}", f"{self.size(language):,}", smallest,
            )  # fmt: skip
        return Corpus(self.words, ids, splits)

    def sentences(self, seed: int | None = 0) -> Sentences:
        """The sentences of all languages in one order, drawn by the seed; None: as they come."""
        starts = np.cumsum([0] + [self.size(language) for language in self.languages])
        first = [self.splits[x][:-1] + start for x, start in zip(self.languages, starts)]
        last = [self.splits[x][1:] + start for x, start in zip(self.languages, starts)]
        spans = np.stack([np.concatenate(first), np.concatenate(last)], axis=1)
        if seed is not None:
            spans = spans[np.random.default_rng(seed).permutation(len(spans))]
        ids = np.concatenate([self.ids[language] for language in self.languages])
        return Sentences(self.words, ids, spans)


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """Lists of words, which can be gone through again and again.

    Attributes:
      words: by number.
      ids: int32, running words.
      spans: int64 [sentences, 2]: first and last (exclusive) running word of each, in order.
    """

    words: Sequence[str]
    ids: np.ndarray
    spans: np.ndarray

    def __len__(self) -> int:
        return len(self.spans)

    @functools.cached_property
    def size(self) -> int:
        """Running words."""
        return int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def __iter__(self) -> Iterator[list[str]]:
        word = self.words.__getitem__
        for place in range(0, len(self.spans), _BATCH):
            for first, last in self.spans[place : place + _BATCH].tolist():
                yield list(map(word, self.ids[first:last].tolist()))


def _chosen(ids: np.ndarray, splits: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ids, splits) of the sentences of these numbers."""
    lengths = np.diff(splits)
    mask = np.zeros(len(lengths), bool)
    mask[kept] = True
    return ids[np.repeat(mask, lengths)], np.concatenate([[0], np.cumsum(lengths[kept])])


def read(
    text: TextCorpus,
    normalizer: Normalizer,
    segmenter: Segmenter,
    *,
    limit: int | None = None,
) -> Corpus:
    """Reads the text files of several languages as words; a line is a sentence.

    Args:
      text: the files.
      normalizer: spells the words: lower case, by default.
      segmenter: cuts lines into words; with lexicons for Chinese, Japanese, ...
      limit: bytes of a language to read; None for all.

    Raises:
      ValueError: a language without a word, or a damaged file.
    """
    numbers: collections.defaultdict[str, int] = collections.defaultdict()
    numbers.default_factory = numbers.__len__
    ids, splits = {}, {}
    for language in text.languages:
        counts = LineCounts()
        lines = text.lines(language, limit, counts)
        ids[language], splits[language] = _numbered(lines, language, normalizer, segmenter, numbers)
        if not len(ids[language]):
            raise ValueError(
                f"The text in {language} has no word ({', '.join(text.files[language])}): fill it "
                f"or take {language} out of --config.data.languages"
            )
        logging.info(
            "%s: %s sentences, %s running words", language, f"{len(splits[language]) - 1:,}",
            f"{len(ids[language]):,}",
        )  # fmt: skip
        if counts.repaired_lines:
            logging.warning(
                "%s: %d of %d lines are not UTF-8; their bad bytes are treated as spaces", language,
                counts.repaired_lines, counts.lines,
            )  # fmt: skip
    return Corpus(list(numbers), ids, splits)


def _numbered(
    lines: Iterator[str],
    language: str,
    normalizer: Normalizer,
    segmenter: Segmenter,
    numbers: collections.defaultdict[str, int],
) -> tuple[np.ndarray, np.ndarray]:
    """(ids, splits) of lines of text."""
    # Most pieces of text between spaces come again: each is spelled and cut once.
    known: dict[str, list[int]] = {}
    ids, splits = array.array("i"), array.array("q", [0])
    for line in lines:
        for piece in line.split():
            found = known.get(piece)
            if found is None:
                words = segmenter.words(normalizer(piece, language), language)
                found = [numbers[word] for word in words]
                if len(piece) <= _CACHED and len(known) < _MOST_CACHED:
                    known[piece] = found
            ids.extend(found)
        while len(ids) - splits[-1] > _LONGEST:
            splits.append(splits[-1] + _LONGEST)
        if len(ids) > splits[-1]:
            splits.append(len(ids))
    return np.frombuffer(ids, np.int32), np.frombuffer(splits, np.int64)


class Links(NamedTuple):
    """The dictionary between words by number, those of word w at starts[w] up to starts[w + 1].

    Attributes:
      starts: int64 [words + 1].
      targets: int32 [links]: numbers of translations.
      ends: float64 [links]: w plus the share of the draws that fall on this link or one before it.
    """

    starts: np.ndarray
    targets: np.ndarray
    ends: np.ndarray

    def draw(self, words: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """int32: a translation of each word, all of which have one.

        As `Dictionary` has it: uniform over the languages that translate the word, then uniform
        over its translations there.
        """
        places = np.searchsorted(self.ends, words + random.random(len(words)), side="right")
        # Of sums that end a hair below 1, the last one.
        return self.targets[np.minimum(places, self.starts[words + 1] - 1)]


def links(
    dictionary: Dictionary,
    language: str,
    source: Mapping[str, int],
    targets: Mapping[str, Mapping[str, int]],
    size: int,
) -> Links:
    """The translations of one language's words, by number.

    Args:
      dictionary: normalised as the text.
      language: the words'.
      source: word -> number.
      targets: language -> word -> number; translations elsewhere are left out.
      size: above all numbers of `source`.
    """
    rows, found, shares = [], [], []
    for word in dictionary.language_words(language):
        if word not in source:
            continue
        groups = [
            [known[other] for other in others if other in known]
            for there, others in dictionary.synonyms(word, language).items()
            if (known := targets.get(there)) is not None
        ]
        groups = [group for group in groups if group]
        for group in groups:
            rows += [source[word]] * len(group)
            found += group
            shares += [1 / len(groups) / len(group)] * len(group)
    rows, found, shares = np.array(rows, np.int64), np.array(found, np.int32), np.array(shares)
    order = np.argsort(rows, kind="stable")
    rows, found, shares = rows[order], found[order], shares[order]
    starts = np.searchsorted(rows, np.arange(size + 1))
    before = np.concatenate([[0.0], np.cumsum(shares)])
    return Links(starts, found, rows + before[1:] - before[starts[rows]])


def joint_replace(corpus: Corpus, dictionary: Dictionary, rate: float, seed: int = 0) -> Corpus:
    """Joint-Replace (joint-align, 4.1): dictionary words replaced at random by translations.

    Every running word that the dictionary translates into another language of the corpus is, with
    probability `rate`, replaced by a translation: of a random one of these languages, and there a
    random one. Translations of several words are left out.

    Args:
      corpus: stays as it is; its counts are those of the real text.
      dictionary: normalised as the text.
      rate: in [0, 1].
      seed: same seed, same text.

    Raises:
      ValueError: a rate out of range, or a dictionary that translates no word of the text.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate={rate}: must be in [0, 1]")
    numbers = {word: number for number, word in enumerate(corpus.words)}
    # Translations that the text does not have come in with it.
    for language in corpus.languages:
        for word in dictionary.language_words(language):
            if " " not in word:
                numbers.setdefault(word, len(numbers))
    ids, covered = {}, 0
    for place, language in enumerate(corpus.languages):
        others = {other: numbers for other in corpus.languages if other != language}
        found = links(dictionary, language, numbers, others, len(numbers))
        running = corpus.ids[language]
        random = np.random.default_rng([seed, place])
        known = np.diff(found.starts)[running] > 0
        chosen = np.flatnonzero(known & (random.random(len(running)) < rate))
        replaced = running.copy()
        replaced[chosen] = found.draw(running[chosen], random)
        ids[language] = replaced
        covered += int(known.sum())
        logging.info(
            "%s: %.1f%% of the running words have a translation, %.1f%% are replaced by one",
            language, 100 * known.mean(), 100 * len(chosen) / max(1, len(running)),
        )  # fmt: skip
    if not covered:
        raise ValueError(uncovered(dictionary, {x: corpus.counts(x) for x in corpus.languages}))
    return Corpus(list(numbers), ids, corpus.splits)


def uncovered(dictionary: Dictionary, words: Mapping[str, Mapping[str, int]]) -> str:
    """Says that a dictionary does not fit the text, with three words of each side.

    Args:
      dictionary: of which no pair is covered.
      words: language -> its words, most frequent first.
    """
    seen = []
    for language, counts in words.items():
        there = [word for word, _ in zip(filter(str.isalpha, counts), range(3))]
        listed = [word for word, _ in zip(dictionary.language_words(language), range(3))]
        seen.append(
            f"{language} has {', '.join(map(repr, there)) or 'no words'} in the text and "
            f"{', '.join(map(repr, listed)) or 'none'} in the dictionary"
        )
    return (
        "The dictionary translates 0% of the running words: " + "; ".join(seen) + ". Are both "
        "spelled alike (config.data.lower_case), and are these dictionaries "
        "(config.data.dictionaries) of the text's languages (config.data.languages)?"
    )
