"""Parallel text for translation language modelling (XLM): files of sentence pairs to chunks."""

from __future__ import annotations

import itertools
from typing import Sequence

import seqio
import tensorflow as tf

from clwe_jax.data.graph import chunks, sources
from clwe_jax.data.graph.selection import select
from clwe_jax.text.corpus import parallel
from clwe_jax.text import lines as text_lines
from clwe_jax.text.unpacking import unpacked_copy

_BLOCK_PAIRS = 8
_LONGEST = 1 << 14  # bytes of a sentence that are read; a row holds far less


class ParallelSource(sources.BlockSource):
    """The sentence pairs of two languages, in blocks of {'first', 'second', 'language'}.

    'language' is the number of the language pair. Each of several hosts reads its own lines.
    """

    def __init__(
        self, files: Sequence[str], name: str, languages: tuple[int, int], number: int, buffer: int
    ):
        """Args:
        files: the files of the two sides.
        name: name of the language pair; each name is shuffled in its own order.
        buffer: size of the shuffle buffer in sentence pairs.
        """
        super().__init__()
        self._given = tuple(files)
        self._files = tuple(map(unpacked_copy, files))
        self._name = name
        self._number = number
        self._buffer = buffer
        self.languages = languages

    def list_shards(self, split: str) -> Sequence[str]:
        return self._given  # a copy's name changes with the place and the time of the given file

    def blocks(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None
    ) -> tf.data.Dataset:
        lines = tf.data.Dataset.zip(*map(sources.read_lines, self._files))
        if shard is not None:
            lines = lines.shard(shard.num_shards, shard.index)
        if shuffle and self._buffer > 1:
            lines = lines.shuffle(self._buffer, seed=sources.shuffle_seed(seed, self._name))
        blocks = tf.data.Dataset.zip(lines.batch(_BLOCK_PAIRS), sources.repeat_number(self._number))
        name = lambda sides, number: dict(first=sides[0], second=sides[1], language=number)
        return blocks.map(tf.autograph.experimental.do_not_convert(name))

    def sample(self) -> sources.Sample:
        parts = [sources.LineSource([name], self._name, 0, 0).sample() for name in self._files]
        sides = [part.texts for part in parts]
        languages = ([x] * len(side) for side, x in zip(sides, self.languages))
        return sources.Sample(
            texts=list(itertools.chain.from_iterable(sides)),
            languages=list(itertools.chain.from_iterable(languages)),
            times=parts[0].times,
            lines={},
        )


def find(place: str, languages: Sequence[str], shuffle_lines: int) -> dict[str, ParallelSource]:
    """The language pairs at a place (`text.corpus.parallel.find`): name ('de-en') -> source.

    Raises:
      ValueError, FileNotFoundError: as of `text.corpus.parallel.find`; two sides differ in their numbers of
        lines, no line is a pair, or as of `lines.iterate_lines`.
    """
    reader = parallel.Reader()
    pairs = [
        parallel.as_lines(files, reader)
        for files in parallel.find(place, languages, "task.parallel")
    ]
    buffer = sources.shuffle_share(shuffle_lines, len({files.name for files in pairs}))
    result: dict[str, ParallelSource] = {}
    for files in pairs:
        _check(files.paths)
        number = sum(name.partition(".")[0] == files.name for name in result)
        name = f"{files.name}.{number}" if number else files.name
        pair = languages.index(files.source), languages.index(files.target)
        result[name] = ParallelSource(files.paths, name, pair, len(result), buffer)
    return result


def _check(paths: Sequence[str]) -> None:
    """Raises ValueError where two sides differ in their numbers of lines, or have none."""
    first, second = map(_count_lines, paths)
    if first != second:
        raise ValueError(
            f"{paths[0]} has {first:,} lines and {paths[1]} {second:,}: line n of one must "
            "translate line n of the other"
        )
    # Without a pair the endless stream of batches would search for ever.
    if not first:
        raise ValueError(f"{' and '.join(paths)}: no line has a sentence and its translation")


def _count_lines(path: str) -> int:
    """The number of lines; errors as of `lines.iterate_lines`."""
    counts = text_lines.LineCounts()
    for _ in text_lines.iterate_lines(path, counts):
        pass
    text_lines.warn_of_repairs(path, counts)
    return counts.lines


def pair_chunks(
    blocks: tf.data.Dataset,
    blocks_per_chunk: int,
    languages: Sequence[tuple[int, int]],
    heldout_share: float,
) -> tf.data.Dataset:
    """Gathers blocks of pairs into chunks in which lines 2i and 2i + 1 translate each other.

    Args:
      languages: the ids of the two languages, for each number of a language pair.
      heldout_share: as of `chunks.chunks`; a pair with a held-out side is left out.

    Returns:
      A dataset of (number int64, `chunks.Chunk` of 2N lines).
    """
    table = tf.constant(languages, tf.int32)
    gathered = blocks.padded_batch(
        blocks_per_chunk,
        padded_shapes={"first": [None], "second": [None], "language": []},
        padding_values={
            "first": chunks.PADDING,
            "second": chunks.PADDING,
            "language": tf.constant(0),
        },
    )

    @tf.autograph.experimental.do_not_convert
    def gather(batch):
        lines = tf.stack([tf.reshape(batch[side], [-1]) for side in ("first", "second")], axis=1)
        number = tf.repeat(batch["language"], tf.shape(batch["first"])[1])
        # Mined pairs are lines of the text; given ones may be.
        heldout = tf.reduce_any(chunks.heldout(lines, heldout_share), axis=1)
        mask = tf.not_equal(lines[:, 0], chunks.PADDING) & ~heldout
        lines = select(lines, mask)
        number = select(number, mask)
        lines = tf.strings.substr(tf.reshape(lines, [-1]), 0, _LONGEST)
        return lines, tf.reshape(tf.gather(table, number), [-1])

    return gathered.map(gather).enumerate()
