"""Contiguous streams of words for bidirectional language models (A1, A12).

Lines of all languages, mixed and shuffled as in every run, are encoded in the graph; rows then take
the texts one after the other, and windows are cut from rows. The window after next continues
exactly where the next one ends, and so does a stream whose place was saved.
"""

from __future__ import annotations

import functools
import io
import zipfile
from typing import Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import seqio
import tensorflow as tf
from absl import logging
from ml_collections import ConfigDict

from clwe_jax.data import chunks, draws, sources, stream, texts, word_sizes
from clwe_jax.data.encoding import TextEncoder
from clwe_jax.data.tasks import BiLm
from clwe_jax.data.word_chunks import (
    COUNTERS,
    LANGUAGE,
    WORD,
    ChunkEncoder,
    Spellings,
    assemble,
    frame,
)
from clwe_jax.data.word_windows import BatchMaker, Rows
from clwe_jax.text.corpora import TextCorpus
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.text.word_vocab import WordVocabulary
from clwe_jax.types import Batch

# Options that a saved place in the stream depends on; not the folders, which may move.
_SHAPING = (
    "sequence_length", "temperature", "heldout_share", "chunk_lines", "shuffle_lines",
    "lower_case", "simplify_chinese",
)  # fmt: skip
_CALLS = 4  # chunks encoded at the same time


class _Opened(NamedTuple):
    """What training and evaluation read, by the same encoders."""

    vocabulary: WordVocabulary
    encoder: TextEncoder
    chunks: ChunkEncoder
    texts: Mapping[str, texts.Source]
    rates: Mapping[str, float]


def build(
    config: ConfigDict,
    *,
    task: BiLm,
    tokenizer: Tokenizer,
    source: TextCorpus | str,
    batch_size: int,
    seed: int,
    process_index: int = 0,
    process_count: int = 1,
    repeat: bool = True,
) -> "WordStream":
    """The stream of training batches of one host; `word_windows.BatchMaker` lists their keys.

    Args:
      config: `config.data`; `sequence_length` is the window.
      task: how.
      tokenizer: with a word-level vocabulary; its languages are the run's.
      source: text files, or 'tfds:NAME'.
      batch_size: rows a batch, of this host.
      seed: of shuffles and the order of languages.
      process_index, process_count: this host reads only its shard of the text.
      repeat: without end, shuffled anew every epoch; else once through the text.

    Raises:
      ValueError: settings that cannot work; text shorter than a window.
    """
    opened = _opened(config, task, tokenizer, source)
    vocabulary = opened.vocabulary
    word_sizes.check_length(
        config.sequence_length, batch_size, opened.texts, config.heldout_share, opened.encoder,
        seqio.ShardInfo(process_index, process_count),
    )  # fmt: skip
    block_lines = next(iter(opened.texts.values())).block_lines
    mixed = sources.mix(
        opened.texts, opened.rates, seed=seed, repeat=repeat, process_index=process_index,
        process_count=process_count,
    )  # fmt: skip
    dataset = chunks.chunks(
        mixed, max(1, config.chunk_lines // block_lines), config.heldout_share
    ).map(
        tf.autograph.experimental.do_not_convert(
            lambda number, chunk: {"number": number, **opened.chunks(*chunk)}
        ),
        num_parallel_calls=_CALLS,
        deterministic=True,
    )
    settings = tf.data.Options()
    settings.deterministic = True
    settings.threading.max_intra_op_parallelism = 1
    # Lookup tables count as state; they never change, so the place can be saved.
    settings.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    distinct = _distinct(config, task, opened, batch_size)
    spellings = Spellings(vocabulary, task.max_characters)
    fingerprint = draws.fold(
        "words", [config[name] for name in _SHAPING], repr(task), tokenizer.languages,
        vocabulary.fingerprint(), distinct, batch_size, seed, process_index, process_count, repeat,
    )  # fmt: skip
    return WordStream(
        dataset.prefetch(2).with_options(settings),
        tokenizer.languages,
        f"{fingerprint:016x}",
        vocabulary=vocabulary,
        spellings=spellings,
        rows=Rows(batch_size, config.sequence_length, vocabulary.pad_id),
        maker=_maker(task, vocabulary, spellings, distinct, process_index),
        seed=draws.fold("texts", seed, process_index),
    )


class WordStream(stream.GraphSource):
    """Batches of windows; a `types.BatchSource`.

    Attributes:
      batches: how many have come out.
    """

    def __init__(
        self,
        dataset: tf.data.Dataset,
        languages: Sequence[str],
        fingerprint: str,
        *,
        vocabulary: WordVocabulary,
        spellings: Spellings,
        rows: Rows,
        maker: BatchMaker,
        seed: int,
    ):
        """Args:
        dataset: of chunks, see `word_chunks.ChunkEncoder`, with their 'number'.
        languages: for `stats`.
        fingerprint: what the stream depends on; a state is restored only where it is the same.
        vocabulary, spellings, rows, maker: of the stream's own.
        seed: of the order of the texts of a chunk.
        """
        super().__init__(dataset, languages, fingerprint)
        self._begin, self._end = vocabulary.cls_id, vocabulary.sep_id
        self._spellings, self._rows, self._maker = spellings, rows, maker
        self._seed = seed
        self._waiting: list[np.ndarray] = []  # the last one goes first
        self._counters = np.zeros(len(COUNTERS), np.int64)
        self._warned = False

    def __next__(self) -> Batch:
        # Between windows: one that is half made has the old numbers.
        if self._spellings.crowded:
            self._spellings.keep([*self._rows.texts(), *self._waiting])
        window = self._rows.window(self._texts())
        if window is None:
            raise StopIteration
        batch = self._maker(window)
        self.batches += 1
        filled = window["filled"]
        self._sums[:2] += (filled.size, filled.sum())
        self._sums[2] = self._maker.unspelt
        self._pieces += np.bincount(window["language"][filled], minlength=len(self._languages))
        if self._maker.unspelt and not self._warned:
            self._warned = True
            logging.warning(
                "A batch has more distinct words than it holds spellings (%d): its rarest are "
                "spelt <UNK>. Raise --config.data.distinct_words",
                len(batch["characters"]),
            )
        return batch

    def _texts(self) -> Iterator[np.ndarray]:
        """The texts from here on; another iterator goes on where this one was left."""
        while True:
            while self._waiting:
                yield self._waiting.pop()
            chunk = next(self._iterator, None)
            if chunk is None:
                return
            arrays = {name: value.numpy() for name, value in chunk.items()}
            found, counters = frame(arrays, self._spellings, self._begin, self._end)
            self._counters += counters
            # A chunk has some lines of a language in a row: rows should not.
            order = np.random.default_rng([self._seed, int(arrays["number"])])
            self._waiting = [found[place] for place in order.permutation(len(found))]

    def stats(self) -> dict[str, float]:
        """What has come out so far.

        'language_share/{language}', of the words, `<S>` and `</S>` included; 'filled_share', of the
        positions; 'pieces', those words; 'unspelt_words', see `word_windows.BatchMaker`; and the
        counters of `word_chunks.COUNTERS`, of the text that was read for it.
        """
        positions, filled, unspelt, _ = map(int, self._sums)
        shares = self._pieces / max(1, filled)
        return {
            **{f"language_share/{x}": float(s) for x, s in zip(self._languages, shares)},
            "filled_share": filled / max(1, positions),
            "pieces": filled,
            "unspelt_words": unspelt,
            **dict(zip(COUNTERS, map(int, self._counters))),
        }

    def get_state(self) -> bytes:
        """The place in the stream: the next batch after `set_state` is the same batch."""
        words, limit = self._spellings.state()
        kept = [*self._rows.texts(), *self._waiting]
        arrays = {
            "graph": np.frombuffer(super().get_state(), np.uint8),
            "sizes": np.array([len(text) for text in kept], np.int64),
            "words": np.concatenate([text[:, WORD] for text in kept]),
            "languages": np.array([text[:1, LANGUAGE].sum() for text in kept], np.int32),
            "unknown": np.frombuffer(b"\n".join(words), np.uint8),
            "unknown_words": np.array([len(words), limit], np.int64),
            **{f"rows_{name}": value for name, value in self._rows.state().items()},
        }
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)
        return packed.getvalue()

    def set_state(self, state: bytes) -> None:
        """Goes to a place that `get_state` gave.

        Raises:
          ValueError: the state is damaged, or that of a stream with other settings.
        """
        try:
            with np.load(io.BytesIO(state), allow_pickle=False) as packed:
                arrays = {name: packed[name] for name in packed.files}
            graph = arrays["graph"].tobytes()
            rows = {name[5:]: value for name, value in arrays.items() if name[:5] == "rows_"}
            count, limit = arrays["unknown_words"].tolist()
            unknown = arrays["unknown"].tobytes().split(b"\n") if count else []
            kept = assemble(arrays["words"], arrays["sizes"], arrays["languages"])
            inside = len(rows["places"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(f"The saved state of the data is damaged: {error}") from error
        super().set_state(graph)
        self._spellings.restore(unknown, limit)
        self._rows.restore(rows, kept[:inside])
        self._waiting = kept[inside:]
        self._maker.unspelt = int(self._sums[2])


def heldout(
    config: ConfigDict,
    *,
    task: BiLm,
    tokenizer: Tokenizer,
    source: TextCorpus | str,
    batch_size: int,
    batches_per_language: int,
    process_index: int = 0,
    process_count: int = 1,
) -> dict[str, list[Batch]]:
    """Windows of the held-out lines of each language, one stream a row, in the order of the text.

    The batches of a language follow each other as those of training do: state is carried. Every
    host gets as many as the others; rows that have ended are padded. A language without held-out
    lines is left out, and named in the log.

    Args: as `build`; batches_per_language: at most so many.
    """
    opened = _opened(config, task, tokenizer, source)
    vocabulary = opened.vocabulary
    distinct = _distinct(config, task, opened, batch_size)
    mine = slice(process_index * batch_size, (process_index + 1) * batch_size)
    result: dict[str, list[Batch]] = {}
    for language, text in opened.texts.items():
        index = tokenizer.languages.index(language)
        spellings = Spellings(vocabulary, task.max_characters)
        maker = _maker(task, vocabulary, spellings, distinct, process_index)
        rows = Rows(batch_size * process_count, config.sequence_length, vocabulary.pad_id)
        lines = texts.heldout_lines(text, config.heldout_share, config.chunk_lines)
        framed = _framed(lines, index, opened, spellings)
        found: list[Batch] = []
        while len(found) < batches_per_language:
            window = rows.window(framed)
            if window is None:
                break
            found.append(maker({name: value[mine] for name, value in window.items()}))
        if found:
            result[language] = found
        else:
            logging.warning(
                "%s has no held-out text: raise config.data.heldout_share (%g) or bring more text",
                language,
                config.heldout_share,
            )
    return result


def _opened(config, task, tokenizer, source) -> _Opened:
    return _open(
        tokenizer, source, config.tfds_dir, config.shuffle_lines, config.temperature,
        task.sentences == "marks",
    )  # fmt: skip


@functools.lru_cache(maxsize=1)
def _open(tokenizer, source, tfds_dir, shuffle_lines, temperature, at_marks) -> _Opened:
    # One for training and evaluation: a large vocabulary's table takes seconds and memory.
    vocabulary = tokenizer.vocabulary
    if not isinstance(vocabulary, WordVocabulary):
        raise ValueError(
            f"The task bilm reads whole words, and the vocabulary is {vocabulary.kind}: set "
            "--config.vocab.kind=word, or a list of words as --config.vocab.path"
        )
    encoder = TextEncoder(tokenizer, None)
    read = texts.open_all(source, tokenizer.languages, tfds_dir, shuffle_lines)
    return _Opened(
        vocabulary=vocabulary,
        encoder=encoder,
        chunks=ChunkEncoder(encoder, vocabulary.unk_id, at_marks),
        texts=read,
        rates=texts.rates(read, encoder, temperature),
    )


def _distinct(config, task, opened: _Opened, rows: int) -> int:
    words = rows * config.sequence_length * (2 if task.backward == "reversed" else 1)
    return word_sizes.distinct_words(
        config.distinct_words, words, opened.texts, opened.rates, opened.encoder
    )


def _maker(task, vocabulary, spellings, distinct, process_index) -> BatchMaker:
    return BatchMaker(
        vocabulary,
        spellings,
        distinct,
        reset=task.reset == "document",
        reverse=task.backward == "reversed",
        process_index=process_index,
    )


def _framed(lines, index, opened: _Opened, spellings) -> Iterator[np.ndarray]:
    """The texts of chunks of lines of one language."""
    vocabulary = opened.vocabulary
    for chunk in lines:
        chunk, languages = chunks.cut_long_lines(chunk, tf.fill([tf.size(chunk)], index))
        encoded = opened.chunks(chunk, languages)
        arrays = {name: value.numpy() for name, value in encoded.items()}
        yield from frame(arrays, spellings, vocabulary.cls_id, vocabulary.sep_id)[0]
