"""Text as a stream of blocks of lines: a thin seqio Task a language, one Mixture over them.

A block is a few lines of one language. Everything that costs time happens later, once, on large
chunks of blocks, so that a hundred languages start fast and seqio's work on every element is spread
over the lines of a block.
"""

from __future__ import annotations

import abc
import functools
import gzip
import os
import re
from typing import BinaryIO, Mapping, NamedTuple, Sequence

import numpy as np
import seqio
import tensorflow as tf

from clwe_jax.data.graph import draws

_BLOCK_LINES = 8
_OPEN_FILES = 4  # of a language, where they are read in turn
_MIXED_FILES = 8  # of a language: so many are read by their sizes, more in turn
_SAMPLE_BYTES = 1 << 17  # of a language's text
_SAMPLE_DOCUMENTS = 50
_PLACES = 16  # of a file that a sample is taken from
_LONGEST_SKIP = 1 << 16  # bytes
_DRAWS = 4096  # of the mixture, at once
_SEEDS = 2**31 - 1  # tf.data's seeds are below


class Sample(NamedTuple):
    """Some of a language's text.

    Attributes:
      texts: lines or documents.
      languages: the number of each text's language.
      times: how many times as much text there is; less than 1 where parts of it were read twice.
      lines: an estimate of how many lines each file has.
    """

    texts: list[bytes]
    languages: list[int]
    times: float
    lines: dict[str, float]


class BlockSource(seqio.DataSource):
    """Text in blocks, shuffled by itself, with any number of shards."""

    supports_arbitrary_sharding = True

    def __init__(self):
        super().__init__(
            splits=("train",), caching_permitted=False, performs_internal_shuffling=True
        )

    def get_dataset(
        self, split="train", shuffle=True, seed=None, shard_info=None, *, sequence_length=None,
        use_cached=False, num_epochs=1,
    ) -> tf.data.Dataset:  # fmt: skip
        """The shard's blocks."""
        del split, sequence_length, use_cached, num_epochs
        return self.blocks(shuffle, seed, shard_info)

    @abc.abstractmethod
    def blocks(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None
    ) -> tf.data.Dataset:
        """The shard's blocks, with an int32 'language'."""

    @abc.abstractmethod
    def sample(self) -> Sample:
        """Some of the text."""


class TextSource(BlockSource):
    """Lines or documents of one language in blocks of {'lines', 'language'}.

    Attributes:
      block_lines: lines of a block.
    """

    block_lines: int

    def __init__(self, name: str, language: int, buffer: int):
        """Args:
        name: of the text; no two texts are shuffled alike.
        language: number that the blocks bear.
        buffer: lines or documents of the shuffle buffer.
        """
        super().__init__()
        self._name, self._language, self._buffer = name, language, buffer

    @abc.abstractmethod
    def lines(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None = None
    ) -> tf.data.Dataset:
        """The shard's lines or documents, each one a string."""

    def blocks(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None
    ) -> tf.data.Dataset:
        """The shard's blocks."""
        # Zipped and not mapped: calling a function costs more than reading a block does.
        lines = self.lines(shuffle, seed, shard).batch(self.block_lines)
        return tf.data.Dataset.zip({"lines": lines, "language": numbered(self._language)})

    def _shuffled(self, lines: tf.data.Dataset, seed: int) -> tf.data.Dataset:
        return lines.shuffle(self._buffer, seed=seed) if self._buffer > 1 else lines


class LineSource(TextSource):
    """Lines of text files, plain or `.gz`.

    With several hosts each reads its own files where there are at least as many, else its own
    lines.
    """

    block_lines = _BLOCK_LINES

    def __init__(self, files: Sequence[str], name: str, language: int, buffer: int):
        """Args:
        files: read in this order when nothing is shuffled.
        name, language, buffer: see `TextSource`.
        """
        super().__init__(name, language, buffer)
        self._files = tuple(files)

    def list_shards(self, split: str) -> Sequence[str]:
        return self._files

    def lines(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None = None
    ) -> tf.data.Dataset:
        """The shard's lines, one by one."""
        seed = shuffle_seed(seed, self._name)
        files, by_line = self._files, False
        if shard is not None and shard.num_shards > 1:
            by_line = len(files) < shard.num_shards
            if not by_line:
                files = files[shard.index :: shard.num_shards]
        if shuffle and 1 < len(files) <= _MIXED_FILES:
            # Files of different kinds last equally long, so that an epoch is alike throughout.
            weights = [self._sampled.lines[name] for name in files]
            order = np.random.default_rng(seed).choice(
                len(files), _DRAWS, p=np.array(weights) / sum(weights)
            )
            dataset = tf.data.Dataset.choose_from_datasets(
                [read_lines(name) for name in files],
                tf.data.Dataset.from_tensor_slices(order.astype(np.int64)).repeat(),
                stop_on_empty_dataset=False,
            )
        else:
            names = tf.data.Dataset.from_tensor_slices(list(files))
            kinds = tf.data.Dataset.from_tensor_slices([_compression(name) for name in files])
            named = tf.data.Dataset.zip(names, kinds)
            if shuffle:
                named = named.shuffle(len(files), seed=seed)
            dataset = named.interleave(
                tf.data.TextLineDataset, cycle_length=_OPEN_FILES if shuffle else 1, block_length=16
            )
        if by_line:
            dataset = dataset.shard(shard.num_shards, shard.index)
        return self._shuffled(dataset, seed) if shuffle else dataset

    def sample(self) -> Sample:
        """Lines from all files."""
        return self._sampled

    @functools.cached_property
    def _sampled(self) -> Sample:
        # Plain files are sampled at several places, compressed ones at their beginning.
        sizes = [os.path.getsize(name) for name in self._files]
        found, read, whole, lines = [], 0, 0.0, {}
        for name, size in zip(self._files, sizes):
            part = max(_SAMPLE_BYTES * size // max(sum(sizes), 1), 512)
            if name.endswith(".gz"):
                with open(name, "rb") as raw, gzip.GzipFile(fileobj=raw) as file:
                    texts = [file.read(part) + file.readline(_LONGEST_SKIP)]
                    # More was read than is used, by a buffer: the ratio is a rough one.
                    size *= len(texts[0]) / max(min(raw.tell(), size), 1)
            else:
                with open(name, "rb") as file:
                    texts = [_lines_at(file, k * size // _PLACES, part // _PLACES)
                             for k in range(_PLACES)]  # fmt: skip
            here = [line for text in texts for line in text.split(b"\n") if line]
            taken = sum(map(len, texts))
            lines[name] = max(len(here) * size / max(taken, 1), 1.0)
            found += here
            read += taken
            whole += size
        languages = [self._language] * len(found)
        return Sample(found, languages, whole / max(read, 1), lines)


def read_lines(name: str) -> tf.data.Dataset:
    """The lines of a file, plain or `.gz`."""
    return tf.data.TextLineDataset(name, compression_type=_compression(name))


def _compression(name: str) -> str:
    return "GZIP" if name.endswith(".gz") else ""


def _lines_at(file: BinaryIO, place: int, size: int) -> bytes:
    """Whole lines from `place` on, `size` bytes and the rest of the last line."""
    file.seek(place)
    if place:
        file.readline(_LONGEST_SKIP)
    return file.read(size) + file.readline(_LONGEST_SKIP)


class DocumentSource(TextSource):
    """The documents of a TFDS data set such as `wikipedia/20230601.de`, a document a block."""

    block_lines = 1

    def __init__(self, name: str, data_dir: str, language: int, buffer: int):
        """Args:
        name: of the data set.
        data_dir: where TFDS has its data sets; '' for its own place.
        language, buffer: see `TextSource`.

        Raises:
          ValueError: an unknown data set.
          FileNotFoundError: a data set that is not prepared.
        """
        super().__init__(name, language, buffer)
        _require_prepared(name, data_dir)
        self._source = seqio.TfdsDataSource(
            name, tfds_data_dir=data_dir or None, splits=("train",), caching_permitted=False
        )

    def list_shards(self, split: str) -> Sequence[str]:
        return self._source.list_shards(split)

    def sample(self) -> Sample:
        """The first documents."""
        documents = self.lines(shuffle=False, seed=0).take(_SAMPLE_DOCUMENTS)
        texts = list(documents.as_numpy_iterator())
        times = self._source.num_input_examples("train") / max(len(texts), 1)
        return Sample(texts, [self._language] * len(texts), times, {})

    def lines(
        self, shuffle: bool, seed: int | None, shard: seqio.ShardInfo | None = None
    ) -> tf.data.Dataset:
        """The shard's documents, each one a string."""
        seed = shuffle_seed(seed, self._name)
        by_document = shard is not None and len(self.list_shards("train")) < shard.num_shards
        dataset = self._source.get_dataset(
            "train", shuffle=shuffle, seed=seed, shard_info=None if by_document else shard
        )
        if by_document:
            dataset = dataset.shard(shard.num_shards, shard.index)
        dataset = dataset.map(lambda example: example["text"])
        return self._shuffled(dataset, seed) if shuffle else dataset


def _require_prepared(name: str, data_dir: str) -> None:
    """Raises ValueError for an unknown data set, FileNotFoundError for one that is not there."""
    import tensorflow_datasets as tfds  # seconds that text files need not wait for

    where = data_dir or "~/tensorflow_datasets"
    try:
        builder = tfds.builder(name, data_dir=data_dir or None)
        splits = builder.info.splits
    except Exception as error:
        # TFDS raises errors of many kinds; the first line says which name it does not know.
        first = str(error).strip().split("\n")[0][:300]
        raise ValueError(
            f"config.data.source=tfds: no data set {name} in {where}: {first}"
        ) from error
    if "train" not in splits:
        dataset, _, config = name.partition(":")[0].partition("/")
        raise FileNotFoundError(
            f"TFDS has not prepared {name} in {where}. Prepare it with `tfds build {dataset} "
            f"--config={config} --data_dir=DIR`, or copy it from gs://tfds-data/datasets/{dataset}/"
            f"{config}, and name the folder with --config.data.tfds_dir=DIR"
        )


def numbered(number: int) -> tf.data.Dataset:
    """The number of a language, or of a pair of languages, for every block."""
    return tf.data.Dataset.from_tensors(tf.constant(number, tf.int32)).repeat()


def shuffle_seed(seed: int | None, name: str) -> int:
    """The seed of the shuffles of a text."""
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
      sources: a language (or a pair of languages): its text, blocks with an int32 'language' (the
        number of the language or pair) and vectors of lines.
      rates: its share of the blocks.
      seed: of the shuffles and of the order of languages.
      process_index, process_count: this host reads only its shard.
      repeat: without end; else each language once.
    """
    specs = next(iter(sources.values())).get_dataset(shuffle=False, seed=0).element_spec
    features = {
        name: seqio.Feature(
            seqio.PassThroughVocabulary(1), dtype=spec.dtype, rank=spec.shape.rank, add_eos=False
        )
        for name, spec in specs.items()
    }
    tasks = [
        (
            seqio.Task(
                "text_" + re.sub(r"\W", "_", language),
                source=source,
                preprocessors=[],
                output_features=features,
                shuffle_buffer_size=None,
            ),
            rates[language],
        )
        for language, source in sources.items()
    ]
    # Hosts differ in the order of languages.
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
    """`Dataset.sample_from_datasets`, which calls a function for every draw, with draws in bulk."""
    bounds = tf.constant(np.cumsum(weights) / np.sum(weights), tf.float32)

    def draw(number):
        drawn = tf.random.stateless_uniform([_DRAWS], tf.stack([seed, number]), alg="philox")
        place = tf.searchsorted(bounds, drawn, side="right", out_type=tf.int64)
        return tf.minimum(place, len(datasets) - 1)

    order = tf.data.Dataset.counter().map(draw).unbatch()
    # A shard may lack a small language: the others go on.
    return tf.data.Dataset.choose_from_datasets(datasets, order, stop_on_empty_dataset=False)


def shuffle_share(total: int, languages: int) -> int:
    """Each language's part of a shuffle buffer of `total` lines; at least 16, unless it is off."""
    return max(total // max(languages, 1), 16) if total > 1 else 0
