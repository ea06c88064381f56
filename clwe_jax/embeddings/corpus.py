"""The running words of several languages, on which static vectors are trained.

    text = corpus.read(TextCorpus("corpora", ["en", "de"]), Normalizer(), Segmenter())
    equal = text.sample(seed=0)
    for words in equal.sentences(seed=0): ...    # repeatable, always in the same order
    equal.counts("de")["haus"]

A running word takes four bytes: text of 100 million words takes 0.4 GB.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import functools
from typing import Iterable, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import time_parts
from clwe_jax.text.corpus.corpora import TextCorpus, describe_repairs, temperature_shares
from clwe_jax.text.lines import LineCounts, iterate_lines
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.spellings import Spellings, Tally
from clwe_jax.text.words.words import Segmenter

_LONGEST = 1_000  # words of a sentence; longer lines are split, because gensim drops the rest
_CACHED = 24  # maximum characters of a cached piece of text: longer pieces seldom repeat
_MAX_CACHED = 1_000_000  # maximum number of cached pieces
_BATCH = 4_096  # sentences converted at once
APART = 1_000  # places between two files, more than any rule on neighbouring lines spans
_LITTLE = 0.5  # share of a language's words in use at which a warning comes


@dataclasses.dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences of several languages as ids of one joint list of words.

    Attributes:
      words: words by id; equal spellings in two languages are one word.
      ids: language -> ids of its running words, int32.
      splits: language -> starts of the sentences in `ids` and their end, int64 [sentences + 1].
      places: language -> place of each sentence, int64 [sentences], rising: lines of one file are
        numbered one by one, and `APART` places lie between two files. None once sampled.
      files: language -> its files and the place of their first line.
      mended: fault of the text's lines -> number of mended lines.
      spellings: language -> key -> spelling, of words that are mostly written otherwise than their key.
    """

    words: Sequence[str]
    ids: Mapping[str, np.ndarray]
    splits: Mapping[str, np.ndarray]
    places: Mapping[str, np.ndarray] | None = None
    files: Mapping[str, Sequence[tuple[str, int]]] = dataclasses.field(default_factory=dict)
    mended: Mapping[str, int] = dataclasses.field(default_factory=dict)
    spellings: Spellings = dataclasses.field(default_factory=dict)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages in the order of `ids`."""
        return tuple(self.ids)

    def size(self, language: str) -> int:
        """Number of running words of a language."""
        return len(self.ids[language])

    def counts(self, language: str) -> dict[str, int]:
        """word -> occurrences in the language's text, most frequent first."""
        counts = np.bincount(self.ids[language], minlength=len(self.words))
        ids = np.flatnonzero(counts)
        ids = ids[np.argsort(-counts[ids], kind="stable")]
        return {self.words[i]: n for i, n in zip(ids.tolist(), counts[ids].tolist())}

    def only(self, *languages: str) -> Corpus:
        """The corpus of the given languages."""
        return Corpus(
            self.words,
            {language: self.ids[language] for language in languages},
            {language: self.splits[language] for language in languages},
        )

    def sample(self, temperature: float = 0.0, seed: int = 0) -> Corpus:
        """Samples whole sentences of every language, in their order.

        A language that gets more words than it has is repeated; each keeps one sentence at least, if
        need be a longer one than it should get. The log warns of a language that
        loses half of its words or more.

        Args:
          temperature: T; up to 1, a language of s times the words of the smallest one is reduced to s^T
            times as many (1: the text as it is). A larger one keeps the number of words of all languages
            together, and gives each the share of `corpora.temperature_shares`.
          seed: seed of the draws.
        """
        sizes = {language: self.size(language) for language in self.languages}
        smallest = min(sizes.values())
        if temperature > 1:
            shares = temperature_shares(sizes, temperature)
            target_sizes = {x: round(share * sum(sizes.values())) for x, share in shares.items()}
        else:
            surplus = {x: (size / smallest) ** temperature for x, size in sizes.items()}
            target_sizes = {x: round(smallest * times) for x, times in surplus.items()}
        ids = {}
        splits = {}
        for place, language in enumerate(self.languages):
            copies, remainder = divmod(target_sizes[language], sizes[language])
            lengths = np.diff(self.splits[language])
            if not copies:
                remainder = max(remainder, lengths.min())
            # Random whole sentences as long as they fit, then back in the order of the text.
            order = np.random.default_rng([seed, place]).permutation(len(lengths))
            order = order[lengths[order] <= remainder]
            kept_sentences = np.sort(order[np.cumsum(lengths[order]) <= remainder])
            mask = np.zeros(len(lengths), bool)
            mask[kept_sentences] = True
            part = self.ids[language][np.repeat(mask, lengths)]
            ids[language] = np.concatenate([self.ids[language]] * copies + [part])
            ends = np.cumsum(np.concatenate([lengths] * copies + [lengths[kept_sentences]]))
            splits[language] = np.concatenate([[0], ends])
            share = len(ids[language]) / sizes[language]
            logging.info(
                "%s: %s of %s running words are used (%.0f%%)",
                language,
                f"{len(ids[language]):,}",
                f"{sizes[language]:,}",
                100 * share,
            )
            if share <= _LITTLE:
                logging.warning(
                    "%s: %.0f%% of the text is left out, to balance it with %s, which has %s words."
                    " --config.static.temperature=1 uses all text; a larger value repeats the "
                    "sentences of small languages",
                    language,
                    100 * (1 - share),
                    min(sizes, key=sizes.get),
                    f"{smallest:,}",
                )
        return dataclasses.replace(self, ids=ids, splits=splits, places=None)

    def sentences(self, seed: int | None = 0) -> CorpusSentences:
        """The sentences of all languages in a random order; `seed` None keeps their order."""
        starts = np.cumsum([0] + [self.size(language) for language in self.languages])
        first = [self.splits[x][:-1] + start for x, start in zip(self.languages, starts)]
        last = [self.splits[x][1:] + start for x, start in zip(self.languages, starts)]
        spans = np.stack([np.concatenate(first), np.concatenate(last)], axis=1)
        if seed is not None:
            spans = spans[np.random.default_rng(seed).permutation(len(spans))]
        ids = np.concatenate([self.ids[language] for language in self.languages])
        return CorpusSentences(self.words, ids, spans)


@dataclasses.dataclass(frozen=True, eq=False)
class CorpusSentences:
    """A repeatable iterable of sentences, each a list of words.

    Attributes:
      words: words by id.
      ids: ids of the running words, int32.
      spans: start and end of each sentence in `ids`, int64 [sentences, 2].
    """

    words: Sequence[str]
    ids: np.ndarray
    spans: np.ndarray

    def __len__(self) -> int:
        return len(self.spans)

    @functools.cached_property
    def size(self) -> int:
        """Number of running words."""
        return int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def __iter__(self) -> Iterator[list[str]]:
        word = self.words.__getitem__
        for place in range(0, len(self.spans), _BATCH):
            for first, last in self.spans[place : place + _BATCH].tolist():
                yield list(map(word, self.ids[first:last].tolist()))


@time_parts.part(time_parts.TEXT)
def read(text: TextCorpus, normalizer: Normalizer, segmenter: Segmenter) -> Corpus:
    """Reads the text files of several languages as words; a line is a sentence.

    Args:
      segmenter: cuts lines into words; by lexicons for Chinese, Japanese and Thai.

    Raises:
      ValueError: a language without a word, or a damaged file.
    """
    # A word that is asked for the first time gets the next number.
    numbers: collections.defaultdict[str, int] = collections.defaultdict()
    numbers.default_factory = numbers.__len__
    ids = {}
    splits = {}
    places = {}
    files = {}
    read_lines = {}
    tally = Tally(normalizer)
    for language in text.languages:
        counts = read_lines[language] = LineCounts()
        sources = [(path, iterate_lines(path, counts)) for path in text.files[language]]
        ids[language], splits[language], places[language], files[language] = _number_words(
            sources, language, normalizer, segmenter, numbers, tally
        )
        if not len(ids[language]):
            raise ValueError(
                f"The text in {language} has no word ({', '.join(text.files[language])}): fill it "
                f"or take {language} out of --config.data.languages"
            )
        logging.info(
            "%s: %s sentences, %s running words",
            language,
            f"{len(splits[language]) - 1:,}",
            f"{len(ids[language]):,}",
        )
        if counts.repaired_lines:
            logging.warning(
                "%s: %d of %d lines are not UTF-8; their invalid bytes become spaces",
                language,
                counts.repaired_lines,
                counts.lines,
            )
    corpus = Corpus(list(numbers), ids, splits, places, files, describe_repairs(read_lines))
    spellings = tally.spellings({x: corpus.counts(x) for x in ids})
    return dataclasses.replace(corpus, spellings=spellings)


@time_parts.part(time_parts.TEXT)
def of_sentences(
    sentences: Mapping[str, Sequence[str]], normalizer: Normalizer, segmenter: Segmenter
) -> Corpus:
    """The sentences of several languages as words; the place of a sentence is its number."""
    numbers: collections.defaultdict[str, int] = collections.defaultdict()
    numbers.default_factory = numbers.__len__
    tally = Tally(normalizer)
    ids = {}
    splits = {}
    places = {}
    for language, texts in sentences.items():
        ids[language], splits[language], places[language], _ = _number_words(
            [("", texts)], language, normalizer, segmenter, numbers, tally
        )
    text = Corpus(list(numbers), ids, splits, places)
    return dataclasses.replace(text, spellings=tally.spellings({x: text.counts(x) for x in ids}))


def _number_words(
    sources: Iterable[tuple[str, Iterable[str]]],
    language: str,
    normalizer: Normalizer,
    segmenter: Segmenter,
    numbers: collections.defaultdict[str, int],
    tally: Tally,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[tuple[str, int]]]:
    """Ids, splits, places and files of a language's text, of (file, its lines)."""
    # Most pieces between spaces repeat, so each is normalised and segmented once.
    ids_of_piece: dict[str, list[int]] = {}
    odd_words: dict[str, list[str]] = {}  # pieces that are written otherwise than their words
    odd_counts: collections.Counter[str] = collections.Counter()
    ids = array.array("i")
    splits = array.array("q", [0])
    places = array.array("q")
    files = []
    place = 0
    for path, lines in sources:
        files.append((path, place))
        for line in lines:
            for piece in line.split():
                piece_ids = ids_of_piece.get(piece)
                if piece_ids is None:
                    words = segmenter.words(normalizer(piece, language), language)
                    piece_ids = [numbers[word] for word in words]
                    is_odd = tally.is_odd(piece, words, language)
                    if len(piece) <= _CACHED and len(ids_of_piece) < _MAX_CACHED:
                        ids_of_piece[piece] = piece_ids
                        if is_odd:
                            odd_words[piece] = words
                    elif is_odd:
                        tally.add(piece, words, language)
                if piece in odd_words:
                    odd_counts[piece] += 1
                ids.extend(piece_ids)
            while len(ids) - splits[-1] > _LONGEST:
                splits.append(splits[-1] + _LONGEST)
                places.append(place)
            if len(ids) > splits[-1]:
                splits.append(len(ids))
                places.append(place)
            place += 1
        place += APART
    for piece, count in odd_counts.items():
        tally.add(piece, odd_words[piece], language, count)
    arrays = [np.frombuffer(x, y) for x, y in ((ids, np.int32), (splits, "q"), (places, "q"))]
    return *arrays, files
