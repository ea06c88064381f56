"""Text as a stream of blocks of lines: a seqio Task per language, and a Mixture of the tasks.

A block is a few lines of one language. All expensive work happens later, on large chunks of blocks.
So a hundred languages start fast, and seqio's cost per element is shared by the lines of a block.
"""

from __future__ import annotations

import abc
import functools
import gzip
import io
import itertools
import os
import re
from typing import BinaryIO, Mapping, NamedTuple, Sequence

import numpy as np
import seqio
import tensorflow as tf

from clwe_jax.data.graph import draws, tfds_sets
from clwe_jax.text.unpacking import unpacked_copy

_BLOCK_LINES = 8
_OPEN_FILES = 4  # files of a language that are read in turn
_MIXED_FILES = 8  # more files of a language are read in turn, fewer mixed by their sizes
_SAMPLE_BYTES = 1 << 17  # sample of a language's text
_SAMPLE_DOCUMENTS = 50
_PLACES = 16  # places in a file from which a sample is taken
_LONGEST_SKIP = 1 << 16  # bytes
_DRAWS = 4096  # draws of the mixture that are made together
_SEEDS = 2**31 - 1  # exclusive upper bound of tf.data's seeds


class Sample(NamedTuple):
    """A sample of a language's text.

    Attributes:
      times: size of the whole text / size of the sample; less than 1 where parts were read twice.
      lines: file -> estimated number of lines.
    """

    texts: list[bytes]
    languages: list[int]
    times: float
    lines: dict[str, float]


class BlockSource(seqio.DataSource):
    """Text in blocks, which shuffles itself and has any number of shards."""

    supports_arbitrary_sharding = True

    def __init__(self):
        super().__init__(
            splits=("train",), caching_permitted=False, performs_internal_shuffling=True
        )

    def get_dataset(
        self,
        split="train",
        shuffle=True,
        seed=None,
        shard_info=None,
        *,
        sequence_length=None,
        use_cached=False,
        num_epochs=1,
    ) -> tf.data.Dataset:
        del split, sequence_length, use_cached, num_epochs
        return self.blocks(shuffle, seed, shard_info)

    @abc.abstractmethod
    def blocks(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None
    ) -> tf.data.Dataset:
        """The shard's blocks: dicts with vectors of lines and an int32 'language'."""

    @abc.abstractmethod
    def sample(self) -> Sample:
        """A sample of the text."""


class TextSource(BlockSource):
    """Lines or documents of one language in blocks of {'lines', 'language'}."""

    block_lines: int

    def __init__(self, name: str, language: int, buffer: int):
        """Args:
        name: name of the text; each name is shuffled in its own order.
        buffer: size of the shuffle buffer in lines or documents.
        """
        super().__init__()
        self._name = name
        self._language = language
        self._buffer = buffer

    @abc.abstractmethod
    def lines(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None = None
    ) -> tf.data.Dataset:
        """The shard's lines or documents, scalar strings."""

    def blocks(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None
    ) -> tf.data.Dataset:
        # Zipped, because a call of a mapped function costs more than reading a block.
        lines = self.lines(shuffle, seed, shard).batch(self.block_lines)
        return tf.data.Dataset.zip({"lines": lines, "language": repeat_number(self._language)})

    def _shuffle_lines(self, lines: tf.data.Dataset, seed: int) -> tf.data.Dataset:
        return lines.shuffle(self._buffer, seed=seed) if self._buffer > 1 else lines


class LineSource(TextSource):
    """Lines of text files.

    Each of several hosts reads its own files, or its own lines where files are fewer than hosts.
    """

    block_lines = _BLOCK_LINES

    def __init__(self, files: Sequence[str], name: str, language: int, buffer: int):
        """Args:
        files: files in the order in which unshuffled text is read.
        name, language, buffer: the attributes of `TextSource`.
        """
        super().__init__(name, language, buffer)
        self._files = tuple(map(unpacked_copy, files))

    def list_shards(self, split: str) -> Sequence[str]:
        return self._files

    def lines(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None = None
    ) -> tf.data.Dataset:
        seed = shuffle_seed(seed, self._name)
        files = self._files
        by_line = False
        if shard is not None and shard.num_shards > 1:
            by_line = len(files) < shard.num_shards
            if not by_line:
                files = files[shard.index :: shard.num_shards]
        if shuffle and 1 < len(files) <= _MIXED_FILES:
            # All files end at about the same time, so that an epoch does not end with one file.
            weights = [self._take_sample.lines[name] for name in files]
            order = np.random.default_rng(seed).choice(
                len(files), _DRAWS, p=np.array(weights) / sum(weights)
            )
            # A file without a draw would never end, and with it the text.
            order = np.append(order, np.setdiff1d(np.arange(len(files)), order))
            dataset = tf.data.Dataset.choose_from_datasets(
                [read_lines(name) for name in files],
                tf.data.Dataset.from_tensor_slices(order.astype(np.int64)).repeat(),
                stop_on_empty_dataset=False,
            )
        else:
            names = tf.data.Dataset.from_tensor_slices(list(files))
            kinds = tf.data.Dataset.from_tensor_slices([_compression(name) for name in files])
            named_files = tf.data.Dataset.zip(names, kinds)
            if shuffle:
                named_files = named_files.shuffle(len(files), seed=seed)
            dataset = named_files.interleave(
                tf.data.TextLineDataset, cycle_length=_OPEN_FILES if shuffle else 1, block_length=16
            )
        if by_line:
            # The order before is the same on all hosts, so that their lines are disjoint.
            dataset = dataset.shard(shard.num_shards, shard.index)
        return self._shuffle_lines(dataset, seed) if shuffle else dataset

    def sample(self) -> Sample:
        return self._take_sample

    @functools.cached_property
    def _take_sample(self) -> Sample:
        # Plain files are sampled at several places, compressed ones at their beginning.
        sizes = [os.path.getsize(name) for name in self._files]
        sampled = []
        bytes_read = 0
        total = 0.0
        lines = {}
        for name, size in zip(self._files, sizes):
            part = max(_SAMPLE_BYTES * size // max(sum(sizes), 1), 512)
            if name.endswith(".gz"):
                with open(name, "rb") as raw, gzip.GzipFile(fileobj=_InBlocks(raw)) as file:
                    texts = [file.read(part) + file.readline(_LONGEST_SKIP)]
                    # The ratio is rough, because the reader's buffer holds more than was used.
                    size *= len(texts[0]) / max(min(raw.tell(), size), 1)
            else:
                with open(name, "rb") as file:
                    texts = [
                        _lines_at(file, k * size // _PLACES, part // _PLACES)
                        for k in range(_PLACES)
                    ]
            # With the empty lines, which the blocks have too.
            read = itertools.chain.from_iterable(map(io.BytesIO, texts))
            file_lines = [line.rstrip(b"\n") for line in read]
            part_bytes = sum(map(len, texts))
            lines[name] = max(len(file_lines) * size / max(part_bytes, 1), 1.0)
            sampled += file_lines
            bytes_read += part_bytes
            total += size
        languages = [self._language] * len(sampled)
        return Sample(sampled, languages, total / max(bytes_read, 1), lines)


class _InBlocks:
    """A file that is read in small blocks: Python 3.12's gzip asks for 128 kB, a whole small file."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, 8_192))


def read_lines(name: str) -> tf.data.Dataset:
    """The lines of a file, plain or `.gz`."""
    return tf.data.TextLineDataset(name, compression_type=_compression(name))


def _compression(name: str) -> str:
    return "GZIP" if name.endswith(".gz") else ""


def _lines_at(file: BinaryIO, place: int, size: int) -> bytes:
    """Whole lines after `place`: `size` bytes and the rest of the last line."""
    file.seek(place)
    if place:
        file.readline(_LONGEST_SKIP)
    return file.read(size) + file.readline(_LONGEST_SKIP)


class DocumentSource(TextSource):
    """The documents of a TFDS data set such as `wikipedia/20230601.de`, one document per block."""

    block_lines = 1

    def __init__(self, name: str, data_dir: str, language: int, buffer: int):
        """Args:
        data_dir: folder of TFDS data sets; '' for the default folder of TFDS.
        language, buffer: the attributes of `TextSource`.

        Raises:
          ValueError: the data set is unknown.
          FileNotFoundError: the data set is not prepared.
        """
        super().__init__(name, language, buffer)
        tfds_sets.open_prepared(name, data_dir, "config.data.source")
        self._source = seqio.TfdsDataSource(
            name, tfds_data_dir=data_dir or None, splits=("train",), caching_permitted=False
        )

    def list_shards(self, split: str) -> Sequence[str]:
        return self._source.list_shards(split)

    def sample(self) -> Sample:
        documents = self.lines(shuffle=False, seed=0).take(_SAMPLE_DOCUMENTS)
        texts = list(documents.as_numpy_iterator())
        times = self._source.num_input_examples("train") / max(len(texts), 1)
        return Sample(texts, [self._language] * len(texts), times, {})

    def lines(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None = None
    ) -> tf.data.Dataset:
        seed = shuffle_seed(seed, self._name)
        by_document = shard is not None and len(self.list_shards("train")) < shard.num_shards
        dataset = self._source.get_dataset(
            "train", shuffle=shuffle, seed=seed, shard_info=None if by_document else shard
        )
        if by_document:
            dataset = dataset.shard(shard.num_shards, shard.index)
        dataset = dataset.map(lambda example: example["text"])
        return self._shuffle_lines(dataset, seed) if shuffle else dataset


def repeat_number(number: int) -> tf.data.Dataset:
    """An endless dataset of one number, the id of a language or of a language pair."""
    return tf.data.Dataset.from_tensors(tf.constant(number, tf.int32)).repeat()


def shuffle_seed(seed: int | None, name: str) -> int:
    """The seed of the shuffles of the text `name`."""
    return draws.fold("shuffle", seed, name) % _SEEDS


def mix(
    sources: Mapping[str, BlockSource],
    rates: Mapping[str, float],
    *,
    seed: int,
    process_index: int = 0,
    process_count: int = 1,
    repeat: bool = True,
) -> tf.data.Dataset:
    """A stream of blocks of all languages.

    Args:
      sources: language (or language pair) -> its text.
      rates: language -> its share of the blocks, up to a common factor.
      seed: seed of the shuffles and of the order of languages.
      process_index, process_count: number of this host, which reads only its shard, and number of
        hosts.
      repeat: whether the stream is endless or reads each text once.
    """
    specs = next(iter(sources.values())).get_dataset(shuffle=False, seed=0).element_spec
    # seqio asks for a vocabulary of each feature; this one passes the text on as it is.
    features = {
        name: seqio.Feature(
            seqio.PassThroughVocabulary(1), dtype=spec.dtype, rank=spec.shape.rank, add_eos=False
        )
        for name, spec in specs.items()
    }
    tasks = []
    for language, source in sources.items():
        task = seqio.Task(
            "text_" + re.sub(r"\W", "_", language),
            source=source,
            preprocessors=[],
            output_features=features,
            shuffle_buffer_size=None,
        )
        tasks.append((task, rates[language]))
    # Each host has its own order of languages.
    order_seed = draws.fold("mixture", seed, process_index)
    mixture = seqio.Mixture(
        "text", tasks, sample_fn=lambda datasets, weights, _: _sample(datasets, weights, order_seed)
    )
    return mixture.get_dataset(
        sequence_length=None,
        split="train",
        shuffle=True,
        seed=seed,
        shard_info=seqio.ShardInfo(process_index, process_count),
        num_epochs=None if repeat else 1,
        trim_output_features=False,
    )


def _sample(datasets, weights, seed: int) -> tf.data.Dataset:
    """As `Dataset.sample_from_datasets`, with draws in bulk instead of a function call per draw."""
    bounds = tf.constant(np.cumsum(weights) / np.sum(weights), tf.float32)

    def draw(number):
        uniform = tf.random.stateless_uniform([_DRAWS], tf.stack([seed, number]), alg="philox")
        place = tf.searchsorted(bounds, uniform, side="right", out_type=tf.int64)
        # Rounding may leave the last bound below 1, and a draw above it.
        return tf.minimum(place, len(datasets) - 1)

    order = tf.data.Dataset.counter().map(draw).unbatch()
    # A shard may lack a small language; the other languages continue.
    return tf.data.Dataset.choose_from_datasets(datasets, order, stop_on_empty_dataset=False)


def shuffle_share(total: int, languages: int) -> int:
    """The lines of each language's shuffle buffer, `total` in all, at least 16; 0: no shuffling."""
    return max(total // max(languages, 1), 16) if total > 1 else 0
