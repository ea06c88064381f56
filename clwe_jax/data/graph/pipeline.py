"""Text to batches of masked examples: training stream, held-out batches, examples for the report.

Blocks of lines of all languages (`sources`) become chunks (`chunks`), then rows of masked examples
(`examples`), then batches. Only graph operations take part, so that the place of an iterator can be
saved and restored exactly.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Any, Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf

from clwe_jax import options
from clwe_jax.data.arrays import ArraySource
from clwe_jax.data.counts import PieceCounts
from clwe_jax.data.graph import chunks, draws, parallel, sources, texts
from clwe_jax.data.graph.context import ContextModel
from clwe_jax.data.graph.copies import CopyMaker
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.examples import COUNTERS, ExampleMaker
from clwe_jax.data.graph.stream import GraphSource
from clwe_jax.data.graph.word_streams import WordPipeline
from clwe_jax.options.objectives import SenseLossOptions
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.tasks import BiLm, Copies, DictMlm, DictTlm, Mlm, Task, Tlm
from clwe_jax.options.text import BatchesOptions
from clwe_jax.text import stamps
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.dictionary import label_table, training_dictionary
from clwe_jax.text.text_of_run import RunText
from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Batch

_MAX_CALLS = 16  # maximum number of chunks that are processed in parallel
_CONTEXT_BYTES = 1 << 21  # text of each language that choice='context' reads
_SHOWN = 32  # blocks of each language that are searched for examples
_SENTENCE = range(5, 31)  # numbers of words of an example


def build(
    data: BatchesOptions,
    *,
    task: Task,
    tokenizer: Tokenizer,
    dictionary: Dictionary | None,
    text: TextCorpus | str,
    batch_size: int,
    seed: int,
    process_index: int = 0,
    process_count: int = 1,
    dictionaries: Callable[[], Mapping[str, str]] = dict,
) -> texts.Pipeline:
    """The pipeline of a task; the arguments are those of `texts.Pipeline`."""
    kind = WordPipeline if isinstance(task, BiLm) else PiecePipeline
    return kind(
        data,
        task,
        tokenizer,
        dictionary,
        text,
        batch_size,
        seed,
        process_index,
        process_count,
        dictionaries,
    )


def of_run(
    config: PretrainRun,
    run_text: RunText,
    batch_size: int,
    process_index: int = 0,
    process_count: int = 1,
    task: Task | None = None,
) -> texts.Pipeline:
    """The pipeline of a run: a task on its text.

    Args:
      config: `data`, `task` and `seed`.
      task: how examples are made; None: as `config.task` says.
    """
    if task is None:
        task = config.task
        if isinstance(task, Tlm):
            task = dataclasses.replace(task, parallel=run_text.folders["parallel"])
    return build(
        config.data,
        task=task,
        tokenizer=run_text.tokenizer,
        dictionary=run_text.dictionary,
        text=run_text.text,
        batch_size=batch_size,
        seed=config.seed,
        process_index=process_index,
        process_count=process_count,
        # A worker of Beam, which needs no stamps, has no dictionary files.
        dictionaries=functools.partial(_dictionary_stamps, config, task, run_text.folders),
    )


def _dictionary_stamps(
    config: PretrainRun, task: Task, folders: Mapping[str, str]
) -> dict[str, str]:
    """Name -> stamp of the dictionary files; {} where they decide neither the batches nor the loss."""
    makes_copies = isinstance(task, Copies) and not task.parallel
    switches = makes_copies or isinstance(task, DictMlm | DictTlm)
    masks = isinstance(task, Mlm) and task.only_words_with_entries
    loss = config.objective
    translates = isinstance(loss, SenseLossOptions) and loss.translation_share > 0
    if not (switches or masks or translates):
        return {}
    # Without the test sets of evaluators, which may change between two starts.
    left_out = [folders["tests"]] if folders["tests"] else []
    return training_dictionary.stamps(config, folders, left_out)


class PiecePipeline(texts.Pipeline):
    """Batches of masked pieces, as `types.piece_shapes` describes them."""

    _SHARED = (*texts.Pipeline._SHARED, "_maker", "_pairs")

    def source(self, repeat: bool = True) -> GraphSource:
        """The batches of `dataset`, with a place that can be saved.

        Raises:
          ValueError: as of `dataset`; no pair of sentences, or no sentence and its copy, makes a row.
        """
        if repeat and (self._pairs or isinstance(self.task, Copies)):
            rows = self._pair_rows(False) if self._pairs else self._plain_rows(False)
            # The endless stream would search for ever.
            if not any(len(some["inputs"]) for some in rows):
                raise ValueError(
                    f"{self.task.parallel or 'the text'}: none of its sentences makes a row of this task. All are held out "
                    "or too short, lack a side, or have no word of the dictionary"
                )
        counts = PieceCounts(self.tokenizer.languages)
        return GraphSource(
            self.dataset(repeat), counts, COUNTERS, self._fingerprint("pieces", repeat), self.stamps
        )

    def _file_stamps(self) -> dict[str, str]:
        pairs = itertools.chain(*(x.list_shards("train") for x in self._pairs.values()))
        return super()._file_stamps() | stamps.stamps(pairs)

    @functools.cached_property
    def _pairs(self) -> dict[str, parallel.ParallelSource]:
        """The parallel text; {} for a task that reads none."""
        if not isinstance(self.task, Tlm | Copies) or not self.task.parallel:
            return {}
        return parallel.find(self.task.parallel, self.tokenizer.languages, self.data.shuffle_lines)

    @functools.cached_property
    def _pair_rates(self) -> dict[str, float]:
        return texts.rates(self._pairs, self.encoder, self.data.temperature)

    def dataset(self, repeat: bool) -> tf.data.Dataset:
        """The batches, and 'counters'. The last batch of a pass is filled up with empty rows.

        With parallel text beside it, a pass reads the running text once; without running text, it
        reads the parallel text once.

        Raises:
          ValueError: no parallel text, or a share of it that is no row or all rows of a host.
        """
        pair_rows = 0
        if isinstance(self.task, Tlm):
            share = self.task.parallel_share
            pair_rows = round(self.batch_size * share)
            if 0 < share < 1 and pair_rows in (0, self.batch_size):
                raise ValueError(
                    f"config.task.parallel_share={share} of a host's {self.batch_size} rows is "
                    f"{pair_rows}: raise config.train.batch_size, or set config.task.parallel_share to 0 "
                    "(no sentence pairs) or 1 (nothing else)"
                )
        reads_translations = isinstance(self.task, Copies) and self.task.parallel
        if pair_rows == self.batch_size or reads_translations:
            return _fixed_size(self._pair_rows(repeat), self.batch_size, repeat)
        plain_rows = self.batch_size - pair_rows
        batches = _fixed_size(self._plain_rows(repeat), plain_rows, repeat)
        if pair_rows:
            batches = _alternate(batches, self._pair_rows(), plain_rows, pair_rows)
        return batches

    def _plain_rows(self, repeat: bool) -> tf.data.Dataset:
        return self._rows(self._chunks(repeat), self._maker, "rows")

    def _heldout(self, number: int, text: sources.TextSource, batches: int) -> list[Batch]:
        max_rows = self.batch_size * self.process_count * batches
        # The seed lacks the host: all hosts make the same rows, and each takes its share below.
        masks = tf.constant(draws.fold("heldout", self.seed), tf.int64)
        parts = []
        count = 0
        for place, chunk in enumerate(self._heldout_chunks(number, text)):
            # The number of the chunk includes the language, so languages draw different numbers.
            batch = self._maker.rows(masks, tf.constant(number << 32 | place, tf.int64), *chunk)
            parts.append({name: x.numpy() for name, x in batch.items() if name != "counters"})
            count += len(parts[-1]["inputs"])
            if count >= max_rows:
                break
        if not count:
            return []
        rows = {name: np.concatenate([x[name] for x in parts])[:max_rows] for name in parts[0]}
        return list(ArraySource(rows, self.batch_size, shuffle=False, epochs=1, **self.host))

    def examples(self, count: int) -> list[dict[str, list[Any]]]:
        """Sentences before and after masking; those with a switched word come first, languages in turn."""
        masks = tf.constant(draws.fold("examples", self.seed), tf.int64)
        ranked: list[tuple[bool, int, dict[str, list[Any]]]] = []
        for number, text in enumerate(self.texts.values()):
            lines = next(iter(text.lines(shuffle=False, seed=0).batch(_SHOWN * text.block_lines)))
            chunk = chunks.of_language(chunks.drop_heldout(lines, self.data.heldout_share), number)
            words = self._maker.words(masks, tf.constant(number, tf.int64), *chunk)
            place = 0
            for switched, example in self._sentences(number, *words):
                # A language's k-th switched sentence has place k: sorted, the languages take turns.
                place += switched
                ranked.append((not switched, place, example))
        ranked.sort(key=lambda item: item[:2])
        return [example for _, _, example in ranked[:count]]

    def _sentences(self, number, words, after) -> Iterator[tuple[bool, dict[str, list[Any]]]]:
        """Yields (whether a word is switched, example) for each sentence of suitable length."""
        languages = self.tokenizer.languages
        begins = words.line.numpy()[1:] != words.line.numpy()[:-1]
        sentence = np.cumsum(np.append(False, begins | words.ends_sentence.numpy()[:-1]))
        for place in range(int(sentence[-1]) + 1):
            word_numbers = np.flatnonzero(sentence == place)
            if len(word_numbers) not in _SENTENCE:
                continue
            original = [words.text.numpy()[i].decode() for i in word_numbers]
            transformed = list(original)
            switched = False
            for i, synonym in enumerate(after.synonym.numpy()[word_numbers].tolist()):
                if synonym >= 0:
                    transformed[i] = self.encoder.synonyms.dictionary.word(synonym)
                    switched = True
            yield (
                switched,
                dict(
                    language=languages[number],
                    original=original,
                    transformed=transformed,
                    masked=after.masked.numpy()[word_numbers].tolist(),
                    languages=[languages[i] for i in after.language.numpy()[word_numbers]],
                ),
            )

    def labels(self) -> label_table.LabelTable | None:
        """The labels of the dictionary's words; None where labels are drawn."""
        synonyms = self.encoder.synonyms
        if self.task.labels == "drawn" or synonyms is None:
            return None
        return label_table.make(
            synonyms.dictionary,
            synonyms.piece_splits.numpy(),
            synonyms.pieces.numpy(),
            len(self.tokenizer.vocabulary),
            self.task.cross_lingual_share,
            self.task.equal_languages,
        )

    @functools.cached_property
    def _maker(self) -> ExampleMaker:
        # Shared by training, evaluation and examples.
        return self._new_maker(self._context())

    def _new_maker(self, context: ContextModel | None, pairs: bool = False) -> ExampleMaker:
        task = self.task
        if task.parallel:  # the folder decides no example
            task = dataclasses.replace(task, parallel="")
        return _shared_maker(
            self.encoder,
            self.tokenizer.vocabulary,
            task,
            self.data.sequence_length,
            options.max_predictions(self.data),
            pairs,
            context,
        )

    def _context(self) -> ContextModel | None:
        """Context vectors from a sample of the training text; None for tasks without them."""
        if self.task.choice != "context" or self.encoder.synonyms is None:
            return None

        def sample() -> Iterator[chunks.Chunk]:
            for number, text in enumerate(self._open(shuffle_lines=0).values()):
                bytes_read = 0
                for lines in text.lines(shuffle=True, seed=0).batch(texts.SCANNED_LINES):
                    lines = chunks.drop_heldout(lines, self.data.heldout_share)
                    chunk = chunks.of_language(lines, number)
                    yield chunk
                    bytes_read += int(tf.reduce_sum(tf.strings.length(chunk[0])))
                    if bytes_read > _CONTEXT_BYTES:
                        break

        return ContextModel(self.encoder, sample())

    def _rows(self, numbered: tf.data.Dataset, maker: ExampleMaker, name: str) -> tf.data.Dataset:
        # Hosts number their chunks alike: without the host in the seed they would draw equal masks.
        seed = draws.fold(name, self.seed, self.process_index)
        return numbered.map(
            tf.autograph.experimental.do_not_convert(
                lambda number, chunk: maker.rows(tf.constant(seed, tf.int64), number, *chunk)
            ),
            num_parallel_calls=min(os.cpu_count() or 1, _MAX_CALLS),
            deterministic=True,
        )

    def _pair_rows(self, repeat: bool = True) -> tf.data.Dataset:
        """A dataset of rows of sentence pairs (TLM, and the finish on translations)."""
        pairs = self._pairs
        if not pairs:
            raise ValueError(
                "Rows of sentence pairs need --config.data.pairs=DIR (parallel text) or mined, or "
                "--config.task.parallel_share=0"
            )
        numbered = parallel.pair_chunks(
            sources.mix(pairs, self._pair_rates, seed=self.seed, repeat=repeat, **self.host),
            # A block has 8 pairs, which are 16 lines.
            max(1, self.data.chunk_lines // 16),
            [text.languages for text in pairs.values()],
            self.data.heldout_share,
        )
        return self._rows(numbered, self._new_maker(None, pairs=True), "pairs")


@functools.lru_cache(maxsize=4)
def _shared_maker(
    encoder: TextEncoder,
    vocabulary: Vocabulary,
    task: Mlm,
    length: int,
    max_predictions: int,
    pairs: bool,
    context: ContextModel | None,
) -> ExampleMaker:
    """The pipelines of a process share it, because tracing takes seconds."""
    kind = CopyMaker if isinstance(task, Copies) else ExampleMaker
    return kind(encoder, vocabulary, task, length, max_predictions, pairs, context)


def _alternate(batches, pairs, plain_rows: int, pair_rows: int) -> tf.data.Dataset:
    """Batches in which `pair_rows` rows of `pairs` are spread evenly among the rows of `batches`.

    A batch with empty rows has the same share of pairs, and further empty rows.
    """
    # Row i of n has the place (i + .5) / n; sorting the places of both kinds interleaves the rows.
    places = np.concatenate([(np.arange(n) + 0.5) / n for n in (plain_rows, pair_rows)])
    order = tf.constant(np.argsort(places, kind="stable"), tf.int32)

    @tf.autograph.experimental.do_not_convert
    def merge(one, other):
        filled = tf.math.count_nonzero(tf.reduce_any(one["segment_ids"] > 0, 1), dtype=tf.int32)
        kept = tf.range(pair_rows) * plain_rows < filled * pair_rows
        merged = {}
        for name, value in one.items():
            chosen = tf.where(kept[:, None], other[name], tf.zeros_like(other[name]))
            merged[name] = tf.gather(tf.concat([value, chosen], 0), order)
        return merged

    return tf.data.Dataset.zip(batches, pairs.rebatch(pair_rows, drop_remainder=True)).map(merge)


def _fixed_size(rows: tf.data.Dataset, batch_size: int, repeat: bool) -> tf.data.Dataset:
    """Batches of exactly `batch_size` rows; the last one of a pass is filled up with empty rows."""
    if repeat:
        return rows.rebatch(batch_size, drop_remainder=True)

    @tf.autograph.experimental.do_not_convert
    def fill(batch):
        missing = batch_size - tf.shape(batch["inputs"])[0]
        filled = {}
        for name, value in batch.items():
            padded = tf.pad(value, [[0, missing], [0, 0]])
            filled[name] = tf.ensure_shape(padded, [batch_size, value.shape[1]])
        return filled

    return rows.rebatch(batch_size, drop_remainder=False).map(fill)
