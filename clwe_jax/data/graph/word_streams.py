"""Contiguous streams of words for bidirectional language models (A1, A12).

The graph encodes lines of all languages, mixed and shuffled as in every run. The rows of a batch
take the resulting texts one after the other, and windows are cut from the rows. Each window of a
row continues exactly where the one before ended, also after a saved place was restored.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Iterator, Mapping

import numpy as np
import seqio
import tensorflow as tf
from absl import logging

from clwe_jax.data import counts
from clwe_jax.data.graph import chunks, draws, sources, texts, word_sizes
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.stream import GraphSource, pack, unpack
from clwe_jax.data.graph.word_chunks import (
    COUNTERS,
    LANGUAGE,
    WORD,
    ChunkEncoder,
    Spellings,
    assemble,
    frame,
)
from clwe_jax.data.graph.word_windows import BatchMaker, WindowRows
from clwe_jax.text.vocab.word_vocab import WordVocabulary
from clwe_jax.types import Batch

_CALLS = 4  # chunks encoded at the same time


class WordPipeline(texts.Pipeline):
    """Windows of words; `word_windows.BatchMaker` lists the keys of a batch.

    data.sequence_length is the length of a window. The dictionary is not used.
    """

    def source(self, repeat: bool = True) -> "WordStream":
        """Windows of words; those of a row continue each other from batch to batch."""
        vocabulary = self.vocabulary
        chunk_encoder = self._chunk_encoder
        word_sizes.check_length(
            self.data.sequence_length,
            self.batch_size,
            self.texts,
            self.data.heldout_share,
            self.encoder,
            seqio.ShardInfo(self.process_index, self.process_count),
        )
        dataset = self._chunks(repeat).map(
            tf.autograph.experimental.do_not_convert(
                lambda number, chunk: {"number": number, **chunk_encoder(*chunk)}
            ),
            num_parallel_calls=_CALLS,
            deterministic=True,
        )
        spellings = Spellings(vocabulary, self.task.max_characters)
        return WordStream(
            dataset,
            WordCounts(self.tokenizer.languages),
            (*COUNTERS, "unspelt_words"),
            self._fingerprint("words", self._distinct, repeat),
            self.stamps,
            vocabulary=vocabulary,
            spellings=spellings,
            rows=WindowRows(self.batch_size, self.data.sequence_length, vocabulary.pad_id),
            maker=self._maker(spellings),
            seed=draws.fold("texts", self.seed, self.process_index),
        )

    def _heldout(self, number: int, text: sources.TextSource, batches: int) -> list[Batch]:
        """Windows in the order of the text, so that state can be carried along each row."""
        vocabulary = self.vocabulary
        spellings = Spellings(vocabulary, self.task.max_characters)
        maker = self._maker(spellings)
        first_row = self.process_index * self.batch_size
        # Every host cuts the windows of the whole batch, and keeps its own rows.
        rows = WindowRows(
            self.batch_size * self.process_count, self.data.sequence_length, vocabulary.pad_id
        )
        framed = self._frame_lines(self._heldout_chunks(number, text), spellings)
        heldout: list[Batch] = []
        while len(heldout) < batches and (window := rows.window(framed)) is not None:
            mine = {name: x[first_row : first_row + self.batch_size] for name, x in window.items()}
            heldout.append(maker(mine))
        return heldout

    def _frame_lines(
        self, lines: Iterator[chunks.Chunk], spellings: Spellings
    ) -> Iterator[np.ndarray]:
        for chunk in lines:
            arrays = {name: x.numpy() for name, x in self._chunk_encoder(*chunk).items()}
            yield from frame(arrays, spellings, self.vocabulary.cls_id, self.vocabulary.sep_id)[0]

    def examples(self, count: int) -> list[dict[str, Any]]:
        return []  # no word is switched

    @functools.cached_property
    def encoder(self) -> TextEncoder:
        """The tokenizer in the graph."""
        return texts.shared_encoder(self.tokenizer, None)

    @functools.cached_property
    def vocabulary(self) -> WordVocabulary:
        """The word-level vocabulary.

        Raises:
          ValueError: the tokenizer has a vocabulary of subwords.
        """
        vocabulary = self.tokenizer.vocabulary
        if not isinstance(vocabulary, WordVocabulary):
            raise ValueError(
                f"The task bilm reads whole words, and the vocabulary is {vocabulary.kind}: set "
                "--config.vocab.kind=word, or a list of words as --config.vocab.path"
            )
        return vocabulary

    @functools.cached_property
    def _chunk_encoder(self) -> ChunkEncoder:
        return ChunkEncoder(self.encoder, self.vocabulary.unk_id, self.task.sentences == "marks")

    @functools.cached_property
    def _distinct(self) -> int:
        # The reversed stream shows other words than the forward one in the same batch.
        streams = 2 if self.task.backward == "reversed" else 1
        words = self.batch_size * self.data.sequence_length * streams
        return word_sizes.distinct_words(
            self.data.distinct_words, words, self.texts, self.rates, self.encoder, len(self._shards)
        )

    @property
    def _shards(self) -> tuple[int, ...]:
        return self.shards or (self.process_index,)

    def _maker(self, spellings: Spellings) -> BatchMaker:
        return BatchMaker(
            self.vocabulary,
            spellings,
            self._distinct,
            reset=self.task.reset == "document",
            reverse=self.task.backward == "reversed",
            shards=self._shards,
        )


@dataclasses.dataclass(frozen=True)
class WordCounts:
    """`arrays.Counts` of windows of words; `<S>` and `</S>` count as words.

    Attributes:
      languages: languages of the run; language ids are indices into them.
    """

    languages: tuple[str, ...]

    def count(self, batch: Batch) -> dict[str, int]:
        """Numbers of positions, and of words by language."""
        filled = batch["loss_weights"] > 0
        return {
            "positions": filled.size,
            "pieces": int(filled.sum()),
            **counts.language_counts(self.languages, batch["language_ids"][filled]),
        }

    def stats(self, sums: Mapping[str, int]) -> dict[str, float]:
        return counts.language_shares(self.languages, sums)


class WordStream(GraphSource):
    """Batches of windows."""

    def __init__(
        self,
        *stream: Any,
        vocabulary: WordVocabulary,
        spellings: Spellings,
        rows: WindowRows,
        maker: BatchMaker,
        seed: int,
    ):
        """Args:
        stream: arguments of `GraphSource`; the dataset has chunks of `word_chunks.ChunkEncoder`,
          each with its 'number'.
        vocabulary, spellings, rows, maker: objects that no other stream uses.
        seed: seed of the order of the texts within a chunk.
        """
        super().__init__(*stream)
        self._begin = vocabulary.cls_id
        self._end = vocabulary.sep_id
        self._spellings = spellings
        self._rows = rows
        self._maker = maker
        self._seed = seed
        self._waiting: list[np.ndarray] = []  # texts in reverse order
        self._warned = False

    def __next__(self) -> Batch:
        # Between two windows, because a window in progress has the old numbers.
        if self._spellings.is_crowded:
            self._spellings.keep([*self._rows.texts(), *self._waiting])
        window = self._rows.window(self._texts())
        if window is None:
            raise StopIteration
        batch = self._maker(window)
        self._sums["unspelt_words"] += self._maker.unspelt
        if self._maker.unspelt and not self._warned:
            self._warned = True
            logging.warning(
                "A batch has more distinct words than room for spellings (%d): its rarest words "
                "are spelt <UNK>. Raise --config.data.distinct_words",
                len(batch["characters"]),
            )
        return self._count_batch(batch)

    def _texts(self) -> Iterator[np.ndarray]:
        """Yields the texts from the current place on; a new call continues at that place."""
        while True:
            while self._waiting:
                yield self._waiting.pop()
            chunk = next(self._iterator, None)
            if chunk is None:
                return
            arrays = {name: value.numpy() for name, value in chunk.items()}
            framed, counters = frame(arrays, self._spellings, self._begin, self._end)
            self._add_counters(counters)
            # A chunk has several lines of one language in succession; a row should not.
            order = np.random.default_rng([self._seed, int(arrays["number"])])
            self._waiting = [framed[place] for place in order.permutation(len(framed))]

    def get_state(self) -> bytes:
        words, limit = self._spellings.state()
        # Words, sizes and languages suffice: `assemble` makes the other columns again.
        texts = [*self._rows.texts(), *self._waiting]
        return pack(
            {
                "graph": np.frombuffer(super().get_state(), np.uint8),
                "sizes": np.array([len(text) for text in texts], np.int64),
                "words": np.concatenate([text[:, WORD] for text in texts]),
                # The sum is 0 for a row without a text.
                "languages": np.array([text[:1, LANGUAGE].sum() for text in texts], np.int32),
                "unknown": np.frombuffer(b"\n".join(words), np.uint8),
                "unknown_words": np.array([len(words), limit], np.int64),
                **{f"rows_{name}": value for name, value in self._rows.state().items()},
            }
        )

    def set_state(self, state: bytes) -> None:
        with unpack(state) as arrays:
            graph = arrays["graph"].tobytes()
            rows = {name[5:]: value for name, value in arrays.items() if name[:5] == "rows_"}
            count, limit = arrays["unknown_words"].tolist()
            unknown = arrays["unknown"].tobytes().split(b"\n") if count else []
            texts = assemble(arrays["words"], arrays["sizes"], arrays["languages"])
            row_count = len(rows["places"])
        super().set_state(graph)
        self._spellings.restore(unknown, limit)
        self._rows.restore(rows, texts[:row_count])
        self._waiting = texts[row_count:]
