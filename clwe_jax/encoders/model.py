"""A language model with its parameters as an encoder."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
from typing import Any, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax.encoders.batching import Row
from clwe_jax.encoders.characters import encoder_of
from clwe_jax.encoders.checks import choose_pool
from clwe_jax.encoders.encode import EncodesSentences, Reduce, WordLists, group_by_word
from clwe_jax.encoders.protocols import WordSample, WordSpace
from clwe_jax.text.corpus.frequencies import SIF, Frequencies
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.characters import has_letter
from clwe_jax.types import Batch, Objective, Variables

POOLS = ("mean", SIF)


class ModelEncoder:
    """An objective that encodes, its tokenizer and its variables (`protocols.Encoder`).

    The vector of a sentence or a word is the mean over its pieces, layer by layer. Of an objective
    that `EncodesSentences` a sentence has one vector, without layers.

    Attributes:
      pools: 'mean' and, where the counts of words are given, 'sif'. 'own' alone
        for an objective that `EncodesSentences`.
    """

    def __init__(
        self,
        objective: Objective,
        tokenizer: Tokenizer,
        variables: Variables,
        step: int = 0,
        *,
        frequencies: Frequencies | None = None,
        max_length: int = 0,
        batch_size: int = 64,
    ):
        """Args:
        objective: objective that encodes (`types.Encodes`).
        step: training steps that the variables have seen.
        frequencies: counts of words in the run's text; None where they are not known.
        max_length: pieces of the longest row, special pieces included; 0: the model's maximum.
        batch_size: rows computed at once.
        """
        self.objective = objective
        self.tokenizer = tokenizer
        self.variables = variables
        self.step = step
        self._options = dict(frequencies=frequencies, max_length=max_length, batch_size=batch_size)
        self.encoded_counts: collections.Counter[str] = collections.Counter()
        self.cut_counts: collections.Counter[str] = collections.Counter()
        self._warned: set[str] = set()
        self.pools = POOLS if frequencies is not None else POOLS[:1]
        self._own = isinstance(objective, EncodesSentences)
        if self._own:
            self.pools = ("own",)
        self._weights = lambda language: frequencies.word_weights(language, SIF)
        self._counts = lambda language: frequencies.words.get(language, {}) if frequencies else {}
        # Made on first use: not every objective encodes.
        self._rows = functools.cache(
            functools.partial(encoder_of, objective, tokenizer, max_length, batch_size)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """The arguments, for a copy in another process: compiled programs stay here."""
        make = functools.partial(type(self), **self._options)
        return make, (self.objective, self.tokenizer, self.variables, self.step)

    def bind(self, variables: Variables, step: int = 0) -> ModelEncoder:
        """The encoder with other variables; it shares compiled programs and counts."""
        # `__init__` would make new caches, and with them compile the programs again.
        bound = object.__new__(type(self))
        bound.__dict__ |= self.__dict__
        bound.variables = variables
        bound.step = step
        return bound

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the model has learned."""
        return tuple(self.tokenizer.languages)

    @property
    def shape(self) -> tuple[int, int]:
        """Layers, the embedding output included, and dimensions."""
        return self._rows().shape(self.variables)

    @property
    def room(self) -> int:
        """The maximum number of pieces of a row, without [CLS] and [SEP]."""
        return self._rows().max_length - 2

    @property
    def layers(self) -> int:
        """The model's layers and the embedding output."""
        return self.shape[0]

    def pairwise_space(self, source: str, target: str) -> ModelEncoder:
        """The encoder itself: all languages of a model share one space."""
        return self

    def words(self, text: str, language: str) -> list[str]:
        """The normalised words of a text."""
        return self.tokenizer.words(text, language)

    def sentences(
        self, texts: Sequence[str], language: str, reduce: Reduce = np.asarray
    ) -> np.ndarray:
        """float32 [N, layers, D]: sentence vectors.

        A sentence longer than a row loses its end; `cut_counts` has it, and the log says so once.

        Args:
          reduce: function of vectors [..., layers, D], such as `encode.select`: the layers that it
            leaves out are kept for no more than a batch.
        """
        rows = self._sentence_rows(texts, language)
        if self._own:
            program = self.objective.sentence_vectors
            return reduce(self._rows().vectors_of_rows(program, self.variables, rows)[:, None])
        return self._pool(rows, 1, reduce)[0]

    def pool_in_all_ways(
        self, texts: Sequence[str], language: str, reduce: Reduce = np.asarray
    ) -> dict[str, np.ndarray]:
        """Pool -> sentence vectors, from one pass of encoding; `reduce` as for `sentences`."""
        if self._own:
            return {"own": self.sentences(texts, language, reduce)}
        rows = self._sentence_rows(texts, language, weighted=SIF in self.pools)
        return dict(zip(self.pools, self._pool(rows, len(self.pools), reduce)))

    def _pool(self, rows: Sequence[Row], means: int, reduce: Reduce = np.asarray) -> np.ndarray:
        """float32 [means, N, ...]: the reduced means over each row, zeros for a row without pieces."""
        shape = reduce(np.zeros(self.shape, np.float32)).shape
        result = np.zeros((means, len(rows), *shape), np.float32)
        for place, vectors in self._rows().pool_rows(self.variables, rows, reduce):
            if vectors.shape[1]:
                result[:, place] = vectors[:, 0]
        return result

    def pool_texts(
        self, texts: Sequence[str], language: str, pool: str | None, reduce: Reduce = np.asarray
    ) -> np.ndarray | list[np.ndarray]:
        pool = choose_pool(pool, "piece", self.pools)
        if pool is None:
            return [reduce(vectors) for vectors in self.pieces(texts, language)]
        if pool == "mean":
            return self.sentences(texts, language, reduce)
        return self.pool_in_all_ways(texts, language, reduce)[pool]

    def pieces(self, texts: Sequence[str], language: str) -> list[np.ndarray]:
        """The vectors of each sentence's pieces, float32 [pieces, layers, D]."""
        rows = self._sentence_rows(texts, language)
        rows = [dataclasses.replace(row, groups=range(len(row.ids))) for row in rows]
        return self._rows().means(self.variables, rows)

    def _sentence_rows(
        self, texts: Sequence[str], language: str, weighted: bool = False
    ) -> list[Row]:
        """One row for each sentence, as one group, without the pieces that do not fit.

        Args:
          weighted: whether a word's pieces share its SIF weight, so that a word which is cut into
            many pieces counts once, as in the vectors of words.
        """
        encoder = self._rows()
        number = encoder.tokenizer.language_id(language)
        room = self.room
        text_ids = []
        shares = []
        for text in texts:
            ids, owners = encoder.tokenizer.encode(text, language)
            text_ids.append(ids)
            shares.append(self._shares(text, language, owners)[:room] if weighted else None)
        cut_count = sum(len(ids) > room for ids in text_ids)
        self.cut_counts[language] += cut_count
        self.encoded_counts[language] += len(text_ids)
        if cut_count and language not in self._warned:
            self._warned.add(language)
            logging.warning(
                "%d of %d sentences (%s) are longer than %d pieces; their ends are left out",
                cut_count,
                len(text_ids),
                language,
                room,
            )
        return [
            Row(ids[:room], [0] * len(ids[:room]), number, share)
            for ids, share in zip(text_ids, shares)
        ]

    def _shares(self, text: str, language: str, owners: Sequence[int]) -> np.ndarray:
        """The SIF weight of each piece's word, whose places are `owners`, over the word's pieces."""
        if not owners:
            return np.zeros(0, np.float32)
        weights = self._weights(language)
        if self.tokenizer.whole_text:  # owners are strings between spaces, such as "bank."
            strings = [self.words(string, language) for string in text.split()]
            of_words = [np.mean([weights.get(x, 1.0) for x in words] or [1]) for words in strings]
        else:
            of_words = [weights.get(word, 1.0) for word in self.words(text, language)]
        pieces = np.bincount(owners)
        of_words += [1.0] * (len(pieces) - len(of_words))
        return np.array([of_words[x] / pieces[x] for x in owners], np.float32)

    def in_context(self, texts: Sequence[str], language: str) -> list[tuple[list[str], np.ndarray]]:
        """For each text its words and their vectors, float32 [words, layers, D].

        A text longer than a row is split between words into several rows. Only a word that is
        longer than a row loses its end.
        """
        encoder = self._rows()
        shape = self.shape
        number = self.tokenizer.language_id(language)
        room = self.room
        pairs = []
        rows = []
        targets = []
        for text in texts:
            words = self.words(text, language)
            vectors = np.zeros((len(words), *shape), np.float32)
            pairs.append((words, vectors))
            for start, end in self._windows(words):
                ids, groups = encoder.tokenizer.encode_words(words[start:end])
                rows.append(Row(ids[:room], groups[:room], number))
                targets.append(vectors[start:end])
        for place, vectors in encoder.stream(self.variables, rows):
            # A view of a text's array, which is filled here.
            targets[place][:] = vectors
        return pairs

    def of_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[np.ndarray]:
        """The vectors of given words in context; a sentence longer than a row is read in several rows."""
        rows, targets = self._word_rows(sentences, language, pool)
        # Parts of a sentence by their first words: rows come in another order than they went.
        parts: list[dict[int, np.ndarray]] = [{} for _ in sentences]
        for row, vectors in self._rows().stream(self.variables, rows):
            place, first, owners = targets[row]
            if pool == "max" and owners:
                starts = np.flatnonzero(np.diff(owners, prepend=-1))
                # The pieces were kept apart (`group_by_word`): a maximum does not follow from means.
                vectors = np.maximum.reduceat(vectors, starts, axis=0)
            # A copy: a view would hold the whole batch.
            parts[place][first] = np.array(reduce(vectors))
        return [
            np.concatenate([by_first[first] for first in sorted(by_first)]) for by_first in parts
        ]

    def pieces_of_words(
        self, sentences: WordLists, language: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        rows, targets = self._word_rows(sentences, language, "max")
        parts: list[dict[int, tuple[np.ndarray, np.ndarray]]] = [{} for _ in sentences]
        for row, vectors in self._rows().stream(self.variables, rows):
            place, first, owners = targets[row]
            parts[place][first] = vectors.copy(), np.array(owners, np.int32) + first
        sentence_pieces = []
        for by_first in parts:
            in_order = [by_first[first] for first in sorted(by_first)]
            sentence_pieces.append(tuple(np.concatenate(side) for side in zip(*in_order)))
        return sentence_pieces

    def word_batch(self, sentences: WordLists, language: str, length: int) -> Batch:
        """One batch with a row for each sentence of given words, and the word of each piece: 'groups'.

        Args:
          sentences: words of no more than `room` pieces each.
          length: of a row, [CLS] and [SEP] included.
        """
        rows, _ = self._word_rows(sentences, language, "mean")
        return self._rows().batch(rows, len(rows), length)

    def _word_rows(
        self, sentences: WordLists, language: str, pool: str
    ) -> tuple[list[Row], list[tuple[int, int, list[int]]]]:
        """Rows of given words; for each its sentence, first word, and the owner of each piece."""
        encoder = self._rows()
        number = self.tokenizer.language_id(language)
        room = self.room
        rows = []
        targets = []
        cache = {}
        for place, words in enumerate(sentences):
            ids: list[int] = []
            owners: list[int] = []
            first = 0
            for index, word in enumerate(words):
                pieces = cache.get(word)
                if pieces is None:
                    pieces = cache[word] = encoder.tokenizer.encode_given(word, language)[:room]
                if len(ids) + len(pieces) > room:
                    rows.append(Row(ids, group_by_word(owners, pool), number))
                    targets.append((place, first, owners))
                    ids = []
                    owners = []
                    first = index
                ids += pieces
                owners += [index - first] * len(pieces)
            rows.append(Row(ids, group_by_word(owners, pool), number))
            targets.append((place, first, owners))
        return rows, targets

    def _windows(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Splits words into ranges [start, end) that fit a row; a longer word has its own range."""
        encoder = self._rows()
        start = 0
        size = 0
        for place, word in enumerate(words):
            length = len(encoder.tokenizer.vocabulary.encode_word(word))
            if size and size + length > self.room:
                yield start, place
                start = place
                size = 0
            size += length
        if size:
            yield start, len(words)

    def vocabulary(
        self, language: str, wanted: Sequence[str] = (), sample: WordSample = WordSample()
    ) -> WordSpace:
        """The frequent words of the text and the wanted words, with their mean vectors.

        A word's vector is the mean of its contextual vectors over its first occurrences in the
        sample (Schuster et al. 2019, section 3.1); a word that does not occur is encoded alone.
        """
        lines = [self.words(line, language) for line in sample.lines.get(language, ())]
        counts = self._counts(language) or collections.Counter(itertools.chain(*lines))
        frequent = _frequent(counts, sample)
        words = [*frequent, *sorted(set(wanted) - set(frequent))]
        vectors, counts = self._average_occurrences(lines, language, words, sample.occurrences)
        return WordSpace(words, vectors, len(frequent), counts)

    def _average_occurrences(
        self, lines: Sequence[Sequence[str]], language: str, words: Sequence[str], occurrences: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean vectors, float32 [W, layers, D], and the averaged occurrences, int [W]."""
        encoder = self._rows()
        number = self.tokenizer.language_id(language)
        room = self.room
        index = {word: place for place, word in enumerate(words)}
        counts = np.zeros(len(words), np.int64)
        rows: list[Row] = []
        targets: list[list[int]] = []
        for line in lines:
            for start, end in self._windows(line):
                group_of: dict[int, int] = {}  # place in the window -> group
                target = []
                for place, word in enumerate(line[start:end]):
                    word_row = index.get(word, -1)
                    if word_row >= 0 and counts[word_row] < occurrences:
                        counts[word_row] += 1
                        group_of[place] = len(target)
                        target.append(word_row)
                if target:
                    ids, owners = encoder.tokenizer.encode_words(line[start:end])
                    groups = [group_of.get(owner, -1) for owner in owners]
                    rows.append(Row(ids[:room], groups[:room], number))
                    targets.append(target)
        sums = np.zeros((len(words), *self.shape), np.float32)
        for place, vectors in encoder.stream(self.variables, rows):
            # A word may occur twice in a row, which `sums[...] +=` would count once.
            np.add.at(sums, targets[place], vectors)
        # [W, layers, D]
        sums /= np.maximum(counts, 1)[:, None, None].astype(np.float32)
        absent_rows = np.flatnonzero(counts == 0)
        if len(absent_rows):
            rows = self._sentence_rows([words[i] for i in absent_rows], language)
            sums[absent_rows] = self._pool(rows, 1)[0]
        return sums, counts


def _frequent(counts: Mapping[str, int], sample: WordSample) -> list[str]:
    """Words with a letter that occur `min_count` times, most frequent first."""
    frequent = [
        word
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count >= sample.min_count and has_letter(word)
    ]
    return frequent[: sample.max_words]
