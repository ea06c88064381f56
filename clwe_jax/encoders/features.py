"""Vectors of labelled words and texts, computed once, as the rows of a table.

The heads of `models.heads` read the words of a batch as row numbers in a table (`models.labelling`).
Row 0 is padding.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Iterable, Iterator, Protocol, Sequence, runtime_checkable

from absl import logging
import numpy as np

from clwe_jax.encoders import batching
from clwe_jax.encoders.encode import Reduce, WordLists, by_layer
from clwe_jax.encoders.part_rows import PartRows
from clwe_jax.encoders.loaded import PoolsTexts
from clwe_jax.models.pooling import select
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Batch

_AT_ONCE = 512  # sentences that are encoded at once
_ROWS = 16_384  # rows of a table that are in memory at once
_WORTH = 3  # batches of a further width, from which on it saves more than its compilation costs
Words = Sequence[str]


@runtime_checkable
class EncodesWords(Protocol):
    """An encoder of words that are given, instead of a text that it cuts itself."""

    def of_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[np.ndarray]:
        """The vectors of each sentence's words.

        Args:
          sentences: the words of each sentence, at least one.
          language: their language.
          pool: 'first': a word is the vector of its first piece; 'mean', 'max': of all its pieces.
          reduce: function [words, layers, D] -> the part that is kept.

        Returns:
          For each sentence float32 [words, layers, D], reduced.
        """


@runtime_checkable
class ComparesWords(Protocol):
    """An encoder of given words whose vectors are others where single words are compared."""

    def compared_words(self, words: Words, language: str) -> np.ndarray:
        """The vectors by which single words are compared, float32 [words, layers, D]."""


@runtime_checkable
class EncodesPieces(Protocol):
    """An encoder of given words that also has the vectors of their pieces."""

    def pieces_of_words(
        self, sentences: WordLists, language: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sentence the vectors of its pieces, float32 [pieces, layers, D], and the place of
        the word that each piece belongs to, int32 [pieces]."""


@runtime_checkable
class LeavesOut(Protocol):
    """An encoder of given words that leaves some of them out."""

    def kept_words(
        self, sentences: WordLists, language: str, pool: str = "mean", reduce: Reduce = np.asarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each sentence the places of the words that are kept, int [n], and their vectors.

        Args, vectors: as of `EncodesWords.of_words`, [n, layers, D].
        """


@dataclasses.dataclass(frozen=True)
class FeatureTable:
    """The features of rows of labelled data.

    Attributes:
      values: float32 [N, layers, D] or [N, P, layers, D], or int32 [N, P], ids of pieces;
        row 0 is padding. In memory or in a mapped file.
      rows: for each row of the data and each of its texts, the numbers of its words in `values`; 0
        for a word that the encoder leaves out.
    """

    values: np.ndarray
    rows: Sequence[Sequence[np.ndarray]]


def join_tables(tables: Sequence[FeatureTable], folder: str | None = None) -> FeatureTable:
    """The rows of one or more tables in one."""
    if len(tables) == 1:
        return tables[0]
    sizes = [len(table.values) - 1 for table in tables]
    starts = np.cumsum([0, *sizes[:-1]])
    rows = []
    for table, start in zip(tables, starts):
        for row in table.rows:
            # 0 stays the one row of padding of all tables.
            rows.append([np.where(x > 0, x + start, 0).astype(np.int32) for x in row])
    values = PartRows(folder)
    values.add(tables[0].values[:1])
    for table in tables:
        values.add(table.values[1:])
    return FeatureTable(values.together(), rows)


def mean(values: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The mean vector of words, [layers, D].

    Args:
      values: those of a `FeatureTable`; of a word's pieces every one counts, its last one once.
      words: rows of the table, int32 [n].
    """
    # In parts, as the table may be a mapped file; in float32 the sum of many rows loses digits.
    total = np.zeros(values.shape[-2:])
    count = 0
    for start in range(0, len(words), _ROWS):
        block = values[words[start : start + _ROWS]]
        block = block.reshape(len(block), -1, *values.shape[-2:])
        # A word with fewer pieces than the longest one repeats its last piece.
        pieces = np.ones(block.shape[:2], bool)
        pieces[:, 1:] = (block[:, 1:] != block[:, :-1]).any((-1, -2))
        total = total + block[pieces].sum(0, dtype=np.float64)
        count = count + pieces.sum()
    return (total / max(count, 1)).astype(np.float32)


def center_table(
    table: FeatureTable, center: np.ndarray, folder: str | None = None
) -> FeatureTable:
    """The table without a vector, [layers, D]; its padding stays. Arguments as of `PartRows`."""
    values = PartRows(folder)
    values.add(np.array(table.values[:1]))
    for start in range(1, len(table.values), _ROWS):
        values.add(table.values[start : start + _ROWS] - center)
    return dataclasses.replace(table, values=values.together())


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureReader:
    """The vectors of an encoder as features.

    Attributes:
      encoder: it encodes.
      one_vector: whether a text has one vector, the encoder's own sentence vector, instead of one for
        each word.
      folder: of the vectors, in mapped files; None: they are in memory.
    """

    encoder: PoolsTexts
    layers: str | int = "mix"
    pool: str = "mean"
    one_vector: bool = False
    folder: str | None = None

    def of_sentences(self, sentences: WordLists, language: str) -> FeatureTable:
        """The features of sentences of given words."""
        if not isinstance(self.encoder, LeavesOut):
            return self._stack(self._of_words(sentences, language))
        places: list[np.ndarray] = []

        def vectors() -> Iterator[np.ndarray]:
            reduce = lambda x: select(x, self.layers)
            for block in _parts(sentences):
                for word_places, word_vectors in self.encoder.kept_words(
                    block, language, self.pool, reduce
                ):
                    places.append(word_places)
                    yield word_vectors

        table = self._stack(vectors())
        rows = []
        for words, word_places, (numbers,) in zip(sentences, places, table.rows):
            # A word stays at its place, where its label is, whatever its predicted order.
            rows.append([np.zeros(len(words), np.int32)])
            rows[-1][0][word_places] = numbers
        return FeatureTable(table.values, rows)

    def _of_words(self, sentences: Iterable[Words], language: str) -> Iterator[np.ndarray]:
        """The vectors of each sentence's words; few sentences are in memory at a time."""
        for block in _parts(sentences):
            yield from self._encode_part(block, language)

    def _encode_part(self, sentences: WordLists, language: str) -> list[np.ndarray]:
        if not isinstance(self.encoder, EncodesWords):
            raise ValueError(
                "This encoder cuts text itself and has no vectors of given words: take a language "
                "model's run, a static run or files of vectors as config.encoder"
            )
        mixed = self.pool == "max" and self.layers in ("mix", "upper")
        if (mixed or self.layers in ("top", "upper")) and isinstance(self.encoder, EncodesPieces):
            # A maximum is not linear: that of directions comes before the pool, and that of pieces
            # after the learned mix (LASER-elmo, Eq. 3), for which every piece is kept.
            pooled = []
            for vectors, owners in self.encoder.pieces_of_words(sentences, language):
                x = select(vectors, self.layers)
                pooled.append(_by_word(x, owners) if mixed else pool_words(x, owners, self.pool))
            return pooled
        return self.encoder.of_words(
            sentences, language, self.pool, lambda x: select(x, self.layers)
        )

    def of_texts(self, texts: Sequence[Sequence[str]], language: str) -> FeatureTable:
        """The features of rows of one or two texts."""
        distinct = list(dict.fromkeys(itertools.chain.from_iterable(texts)))
        number = {text: place for place, text in enumerate(distinct)}
        if self.one_vector:
            # The layers are chosen here, not by the authors of a downloaded model.
            vectors = by_layer(self.encoder).pool_texts(distinct, language, "own")
            vectors = select(vectors, self.layers)[:, None]
        else:
            words = (self.encoder.words(x, language) for x in distinct)
            vectors = self._of_words(words, language)
        table = self._stack(vectors)
        return FeatureTable(
            table.values, [[table.rows[number[x]][0] for x in row] for row in texts]
        )

    def _stack(self, text_vectors: Iterable[np.ndarray]) -> FeatureTable:
        """A table of the vectors [words, layers, D] of each row's text."""
        values = PartRows(self.folder)
        rows = []
        end = 1
        for vectors in text_vectors:
            if not rows:
                values.add(np.zeros((1, *vectors.shape[1:]), np.float32))
            values.add(vectors.astype(np.float32))
            rows.append([np.arange(end, end + len(vectors), dtype=np.int32)])
            end += len(vectors)
        return FeatureTable(values.together(), rows)


def _parts(sentences: Iterable[Words]) -> Iterator[list[Words]]:
    iterator = iter(sentences)
    while block := list(itertools.islice(iterator, _AT_ONCE)):
        yield block


def pool_words(vectors: np.ndarray, owners: np.ndarray, pool: str) -> np.ndarray:
    """The vectors of words, [words, layers, D], from those of their pieces."""
    # Owners ascend from 0: a word starts where they change.
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    if pool == "first":
        return vectors[starts]
    if pool == "max":
        return np.maximum.reduceat(vectors, starts, axis=0)
    counts = np.diff([*starts, len(owners)])[:, None, None]
    return np.add.reduceat(vectors, starts, axis=0) / counts.astype(np.float32)


def _by_word(vectors: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """The pieces of each word, [words, P, layers, D]; the last one is repeated up to P.

    Args:
      vectors: of the pieces, [pieces, layers, D].
      owners: the word of each piece, ascending, int [pieces].
    """
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    counts = np.diff(np.append(starts, len(owners)))
    max_pieces = counts.max(initial=1)
    return vectors[starts[:, None] + np.minimum(np.arange(max_pieces), counts[:, None] - 1)]


@dataclasses.dataclass(frozen=True, eq=False)
class PieceTable:
    """The pieces of words as features, for the embedders that learn with the head.

    Attributes:
      max_pieces: of a word; longer words lose their end, which is logged.
    """

    tokenizer: Tokenizer
    max_pieces: int = 8

    def of_sentences(self, sentences: WordLists, language: str) -> FeatureTable:
        """The features of sentences of given words."""
        return self._number_pieces([[words] for words in sentences], language)

    def of_texts(self, texts: Sequence[Sequence[str]], language: str) -> FeatureTable:
        """The features of rows of one or two texts."""
        return self._number_pieces(
            [[self.tokenizer.words(x, language) for x in row] for row in texts], language
        )

    def _number_pieces(self, texts: Sequence[WordLists], language: str) -> FeatureTable:
        index: dict[str, int] = {}

        def number(words: Words) -> np.ndarray:
            return np.array([index.setdefault(x, len(index) + 1) for x in words], np.int32)

        rows = [list(map(number, row)) for row in texts]
        unknown = [self.tokenizer.vocabulary.unk_id]
        pieces = [self.tokenizer.encode(word, language)[0] or unknown for word in index]
        cut_count = sum(len(ids) > self.max_pieces for ids in pieces)
        if cut_count:
            logging.warning(
                "%d of %d distinct words (%s) have more than %d pieces and lose their end",
                cut_count,
                len(pieces),
                language,
                self.max_pieces,
            )
        pieces = [ids[: self.max_pieces] for ids in pieces]
        values = np.full((len(index) + 1, max(map(len, pieces), default=1)), -1, np.int32)
        for place, ids in enumerate(pieces, 1):
            values[place, : len(ids)] = ids
        return FeatureTable(values, rows)


def span_table(
    source: FeatureReader | PieceTable,
    rows: Sequence[tuple[Words, Sequence[tuple[int, int]]]],
    language: str,
) -> FeatureTable:
    """The features of spans of given words; of a row, each span is one text.

    Args:
      source: makes the features of whole sentences, each of them once.
      rows: words, and spans [first word, word after the last one).
      language: their language.
    """
    sentences = list(dict.fromkeys(tuple(words) for words, _ in rows))
    table = source.of_sentences(sentences, language)
    numbers = {words: row[0] for words, row in zip(sentences, table.rows)}
    span_rows = []
    for words, spans in rows:
        span_numbers = [numbers[tuple(words)][first:end] for first, end in spans]
        # Words that the encoder leaves out are no part of a span.
        span_rows.append([x[x > 0] for x in span_numbers])
    return FeatureTable(table.values, span_rows)


def batches(table: FeatureTable, size: int, shortest: int = 8) -> list[tuple[list[int], Batch]]:
    """Batches of all rows without labels, for predictions; few shapes.

    Args:
      size: rows of a batch.
      shortest: width of the narrowest batch; the others are twice, four times, ... as wide. A width
        between two of them, 1.5 times the narrower one, is used where it fills several batches.

    Returns:
      Pairs of the rows' numbers and a batch, which has rows of padding at its end.
    """
    # A text without words has a position of padding.
    lengths = [max([1, *(len(x) for x in row)]) for row in table.rows]
    widths = batching.widths(lengths, shortest, _WORTH * size)
    pairs = []
    for width, places in batching.group_rows(widths, size):
        batch = {}
        for text, key in enumerate(("words", "words_b")[: len(table.rows[0])]):
            batch[key] = np.zeros((size, width), np.int32)
            for line, place in enumerate(places):
                words = table.rows[place][text]
                batch[key][line, : len(words)] = words
        pairs.append((places, batch))
    return pairs
