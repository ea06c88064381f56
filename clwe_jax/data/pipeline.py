"""Text in, batches out: the training stream, held-out batches and examples to look at.

The stream is: blocks of lines of all languages (`sources`) -> chunks (`chunks`) -> rows of masked
examples (`examples`) -> batches. Only operations of the graph take part, so that an iterator can be
saved and restored exactly.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any, Iterator

import numpy as np
import tensorflow as tf
from absl import logging
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.data import batches, chunks, draws, parallel, sources, stream, texts, word_streams
from clwe_jax.data.context import ContextModel
from clwe_jax.data.encoding import TextEncoder
from clwe_jax.data.examples import ExampleMaker
from clwe_jax.data.tasks import BiLm, Mlm, Tlm
from clwe_jax.text.corpora import TextCorpus
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import BATCH_DTYPES, Batch

_MOST_CALLS = 16  # chunks made at the same time
_CONTEXT_BYTES = 1 << 21  # of a language's text, for choice='context'
# Options that a saved place in the stream depends on; not the folders, which may move.
_SHAPING = (
    "sequence_length", "max_predictions", "temperature", "heldout_share", "chunk_lines",
    "shuffle_lines", "lower_case", "simplify_chinese",
)  # fmt: skip
_SHOWN = 32  # blocks of a language that examples are looked for in


def build(
    config: ConfigDict,
    *,
    task: Mlm | BiLm,
    tokenizer: Tokenizer,
    dictionary: Dictionary | None,
    source: TextCorpus | str,
    batch_size: int,
    seed: int,
    process_index: int = 0,
    process_count: int = 1,
    repeat: bool = True,
) -> stream.GraphSource:
    """The stream of training batches of one host.

    Args:
      config: `config.data`.
      task: how examples are made.
      tokenizer: its languages are the run's.
      dictionary: None: no word has a synonym.
      source: text files, or 'tfds:NAME'.
      batch_size: rows a batch, of this host.
      seed: of shuffles, masks and synonyms. They differ between languages, hosts and epochs, and
        are the same in two streams that are built alike.
      process_index, process_count: this host reads only its shard of the text.
      repeat: without end; else once through the text, the last batch filled up with empty rows
        (with parallel text: once through the running text, whole batches only).

    Raises:
      ValueError: settings that cannot work.
    """
    host = dict(process_index=process_index, process_count=process_count)
    if isinstance(task, BiLm):
        return word_streams.build(
            config, task=task, tokenizer=tokenizer, source=source, batch_size=batch_size, seed=seed,
            repeat=repeat, **host,
        )  # fmt: skip
    encoder = _encoder(tokenizer, dictionary)
    read = texts.open_all(source, tokenizer.languages, config.tfds_dir, config.shuffle_lines)
    rates = texts.rates(read, encoder, config.temperature)
    maker = _maker(config, encoder, tokenizer, task, source)
    block_lines = next(iter(read.values())).block_lines
    numbered = chunks.chunks(
        sources.mix(read, rates, seed=seed, repeat=repeat, **host),
        max(1, config.chunk_lines // block_lines),
        config.heldout_share,
    )
    rows = _rows(numbered, maker, draws.fold("rows", seed, process_index))
    pair_rows = 0
    if isinstance(task, Tlm):
        pair_rows = round(batch_size * task.parallel_share)
        pairs = _pair_rows(config, task, tokenizer, encoder, seed, **host)
    if pair_rows:
        dataset = _alternate(rows, pairs, batch_size, pair_rows)
    elif repeat:
        dataset = rows.rebatch(batch_size, drop_remainder=True)
    else:
        dataset = stream.fixed_size(rows, batch_size)
    settings = tf.data.Options()
    settings.deterministic = True
    settings.threading.max_intra_op_parallelism = 1
    # Lookup tables and tokenizers count as state; they never change, so the place can be saved.
    settings.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    shaping = [config[name] for name in _SHAPING]
    making = {**dataclasses.asdict(task), "parallel": None}
    fingerprint = draws.fold(
        "stream", shaping, type(task).__name__, making, tokenizer.languages, tokenizer.vocabulary.fingerprint(),
        batch_size, seed, process_index, process_count, repeat,
    )  # fmt: skip
    return stream.GraphSource(
        dataset.prefetch(2).with_options(settings), tokenizer.languages, f"{fingerprint:016x}"
    )


def heldout(
    config: ConfigDict,
    *,
    task: Mlm | BiLm,
    tokenizer: Tokenizer,
    dictionary: Dictionary | None,
    source: TextCorpus | str,
    batch_size: int,
    seed: int,
    batches_per_language: int,
    process_index: int = 0,
    process_count: int = 1,
) -> dict[str, list[Batch]]:
    """Batches of the held-out lines of each language, always with the same masks.

    Every host gets as many batches as the others; the last one may be filled up with empty rows.
    A language without held-out lines is left out, and named in the log.

    Args: as `build`; batches_per_language: at most so many.
    """
    if isinstance(task, BiLm):
        return word_streams.heldout(
            config, task=task, tokenizer=tokenizer, source=source, batch_size=batch_size,
            batches_per_language=batches_per_language, process_index=process_index,
            process_count=process_count,
        )  # fmt: skip
    encoder = _encoder(tokenizer, dictionary)
    wanted = batch_size * process_count * batches_per_language
    maker = _maker(config, encoder, tokenizer, task, source)
    masks = tf.constant(draws.fold("heldout", seed), tf.int64)
    result: dict[str, list[Batch]] = {}
    for language, text in texts.open_all(
        source, tokenizer.languages, config.tfds_dir, config.shuffle_lines
    ).items():
        index = tokenizer.languages.index(language)
        parts, count = [], 0
        for number, lines in enumerate(
            texts.heldout_lines(text, config.heldout_share, config.chunk_lines)
        ):
            lines, languages = chunks.cut_long_lines(lines, tf.fill([tf.size(lines)], index))
            # Chunks of different languages draw different numbers.
            made = maker.rows(masks, tf.constant(index << 32 | number, tf.int64), lines, languages)
            part = {name: value.numpy() for name, value in made.items()}
            parts.append(part)
            count += len(part["inputs"])
            if count >= wanted:
                break
        if not count:
            logging.warning(
                "%s has no held-out text: raise config.data.heldout_share (%g) or bring more text",
                language,
                config.heldout_share,
            )
            continue
        rows = {k: np.concatenate([part[k] for part in parts])[:wanted] for k in BATCH_DTYPES}
        result[language] = list(batches.deal(rows, batch_size, process_index, process_count))
    return result


def examples(
    config: ConfigDict,
    *,
    task: Mlm | BiLm,
    tokenizer: Tokenizer,
    dictionary: Dictionary | None,
    source: TextCorpus | str,
    seed: int,
    count: int,
) -> list[dict[str, list[Any]]]:
    """Sentences of the training text before and after code-switching (Fig. 1 of the paper).

    Returns:
      For each sentence its 'language' and its words: 'original' and 'transformed' (words), 'masked'
      (bool: its label is the transformed word) and 'languages' (codes, of the transformed words).
      Sentences with a switched word come first, the languages in turn. None of a task that switches
      no words.
    """
    if isinstance(task, BiLm):
        return []
    encoder = _encoder(tokenizer, dictionary)
    maker = _maker(config, encoder, tokenizer, task, source)
    masks = tf.constant(draws.fold("examples", seed), tf.int64)
    found: list[tuple[int, int, dict[str, list[Any]]]] = []
    for language, text in texts.open_all(
        source, tokenizer.languages, config.tfds_dir, config.shuffle_lines
    ).items():
        index = tokenizer.languages.index(language)
        lines = next(iter(text.lines(shuffle=False, seed=0).batch(_SHOWN * text.block_lines)))
        lines = tf.boolean_mask(lines, ~chunks.heldout(lines, config.heldout_share))
        lines, languages = chunks.cut_long_lines(lines, tf.fill([tf.size(lines)], index))
        words, after = maker.words(masks, tf.constant(index, tf.int64), lines, languages)
        begins = words.line.numpy()[1:] != words.line.numpy()[:-1]
        sentence = np.cumsum(np.append(False, begins | words.ends_sentence.numpy()[:-1]))
        place = 0
        for number in range(int(sentence[-1]) + 1):
            mine = np.flatnonzero(sentence == number)
            if not 5 <= len(mine) <= 30:
                continue
            original = [words.text.numpy()[i].decode() for i in mine]
            synonym = after.synonym.numpy()[mine]
            switched = synonym >= 0
            names = [tokenizer.languages[i] for i in after.language.numpy()[mine]]
            transformed = [
                encoder.synonyms.dictionary.word(int(s)) if s >= 0 else word
                for s, word in zip(synonym, original)
            ]
            example = dict(
                language=language,
                original=original,
                transformed=transformed,
                masked=after.masked.numpy()[mine].tolist(),
                languages=names,
            )
            place += bool(switched.any())
            found.append((0 if switched.any() else 1, place, example))
    found.sort(key=lambda item: item[:2])
    return [example for _, _, example in found[:count]]


# jax owns the accelerator; the graph runs on the host.
tf.config.set_visible_devices([], "GPU")


@functools.lru_cache(maxsize=1)
def _encoder(tokenizer: Tokenizer, dictionary: Dictionary | None) -> TextEncoder:
    # One for training, evaluation and examples: a large dictionary takes seconds and memory.
    return TextEncoder(tokenizer, dictionary)


def _maker(config, encoder, tokenizer, task, source, pairs=False) -> ExampleMaker:
    most = options.max_predictions(ConfigDict({"data": config}))
    context = None
    if getattr(task, "choice", "uniform") == "context" and encoder.synonyms is not None:
        context = _context(
            encoder, source, tokenizer.languages, config.tfds_dir, config.heldout_share
        )
    return _cached_maker(encoder, tokenizer, task, config.sequence_length, most, pairs, context)


@functools.lru_cache(maxsize=1)
def _context(encoder, source, languages, tfds_dir, heldout_share) -> ContextModel:
    """From a sample of each language's training text."""

    def sample() -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
        for index, text in enumerate(texts.open_all(source, languages, tfds_dir, 0).values()):
            read = 0
            for lines in text.lines(shuffle=True, seed=0).batch(texts.SCANNED_LINES):
                lines = tf.boolean_mask(lines, ~chunks.heldout(lines, heldout_share))
                lines, numbers = chunks.cut_long_lines(lines, tf.fill([tf.size(lines)], index))
                yield lines, numbers
                read += int(tf.reduce_sum(tf.strings.length(lines)))
                if read > _CONTEXT_BYTES:
                    break

    return ContextModel(encoder, sample())


@functools.lru_cache(maxsize=4)
def _cached_maker(
    encoder, tokenizer, task, length, max_predictions, pairs, context
) -> ExampleMaker:
    return ExampleMaker(
        encoder, tokenizer.vocabulary, task, length, max_predictions, pairs, context
    )


def _rows(numbered: tf.data.Dataset, maker: ExampleMaker, seed: int) -> tf.data.Dataset:
    return numbered.map(
        tf.autograph.experimental.do_not_convert(
            lambda number, chunk: maker.rows(tf.constant(seed, tf.int64), number, *chunk)
        ),
        num_parallel_calls=_calls(),
        deterministic=True,
    )


def _pair_rows(config, task, tokenizer, encoder, seed, **host) -> tf.data.Dataset:
    """Rows of sentence pairs (TLM), without end."""
    pairs = parallel.find(task.parallel, tokenizer.languages, config.shuffle_lines)
    rates = texts.rates(pairs, encoder, config.temperature)
    numbered = parallel.pair_chunks(
        sources.mix(pairs, rates, seed=seed, **host),
        max(1, config.chunk_lines // 16),
        [text.languages for text in pairs.values()],
    )
    maker = _maker(config, encoder, tokenizer, task, None, pairs=True)
    return _rows(numbered, maker, draws.fold("pairs", seed, host["process_index"]))


def _alternate(rows, pairs, batch_size: int, pair_rows: int) -> tf.data.Dataset:
    """Batches of rows of both kinds, spread evenly."""
    if pair_rows == batch_size:
        return pairs.rebatch(batch_size, drop_remainder=True)
    plain_rows = batch_size - pair_rows
    places = np.concatenate([(np.arange(n) + 0.5) / n for n in (plain_rows, pair_rows)])
    order = tf.constant(np.argsort(places, kind="stable"), tf.int32)

    @tf.autograph.experimental.do_not_convert
    def merge(one, other):
        return {name: tf.gather(tf.concat([one[name], other[name]], 0), order) for name in one}

    return tf.data.Dataset.zip(
        rows.rebatch(plain_rows, drop_remainder=True),
        pairs.rebatch(pair_rows, drop_remainder=True),
    ).map(merge)


def _calls() -> int:
    return min(os.cpu_count() or 1, _MOST_CALLS)
