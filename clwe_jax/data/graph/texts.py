"""The text of a run's languages, and the base class of the pipelines."""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
from typing import Any, Callable, ClassVar, Iterator, Mapping, Sequence

import tensorflow as tf
from absl import logging

from clwe_jax.data.graph import chunks, draws, sources
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.selection import select
from clwe_jax.data.graph.stream import GraphSource
from clwe_jax.options.tasks import Task
from clwe_jax.options.text import BatchesOptions
from clwe_jax.text import stamps
from clwe_jax.text.corpus.corpora import TextCorpus, temperature_shares
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Batch

SCANNED_LINES = 4_096  # at once
_HELDOUT_SCAN = 1 << 28  # bytes of a language that are searched for held-out lines
# Options that a saved place in the stream depends on; not the folders, which may move.
_SHAPING = (
    "sequence_length",
    "max_predictions",
    "temperature",
    "heldout_share",
    "chunk_lines",
    "shuffle_lines",
    "lower_case",
    "simplify_chinese",
)

# jax owns the accelerator; the graph runs on the host.
tf.config.set_visible_devices([], "GPU")


@dataclasses.dataclass(frozen=True, eq=False)
class Pipeline(abc.ABC):
    """Makes one host's batches from text. `pipeline.build` picks the class by the task.

    Attributes:
      tokenizer: tokenizer of the run; its languages are read.
      dictionary: merged dictionary; None means that no word has a synonym.
      text: text files, or 'tfds:NAME'.
      batch_size: rows of a batch of this host.
      seed: seed of shuffles, masks and synonyms, which differ between languages, hosts and epochs.
        Two pipelines with the same arguments yield the same batches.
      dictionaries: returns name -> stamp of the dictionary files; {} where they do not decide the training.
      process_index, process_count: number of this host, which reads only its shard of the text, and
        number of hosts.
      shards: numbers of this host's shards among those of a batch's rows; (): each host has one.
    """

    data: BatchesOptions
    task: Task
    tokenizer: Tokenizer
    dictionary: Dictionary | None
    text: TextCorpus | str
    batch_size: int
    seed: int
    process_index: int = 0
    process_count: int = 1
    dictionaries: Callable[[], Mapping[str, str]] = dict
    shards: tuple[int, ...] = ()

    _SHARED: ClassVar[tuple[str, ...]] = ("encoder", "texts", "rates")  # by the hosts of a process

    @abc.abstractmethod
    def source(self, repeat: bool = True) -> GraphSource:
        """The stream of training batches.

        Args:
          repeat: whether the stream is endless, with another order in every epoch, or reads the
            text once.

        Raises:
          ValueError, FileNotFoundError: the text is missing, or the settings do not fit it.
        """

    @abc.abstractmethod
    def examples(self, count: int) -> list[dict[str, list[Any]]]:
        """At most `count` sentences of the training text before and after code-switching.

        Returns:
          For each sentence its 'language' and its words: 'original' and 'transformed' (words),
          'masked' (bool, whether the transformed word is a label) and 'languages' (codes of the
          transformed words). The list is empty for a task that switches no words.
        """

    def labels(self) -> LabelTable | None:
        """The labels that the batches name by their entries; None for tasks with labels in the batches."""
        return None

    @abc.abstractmethod
    def _heldout(self, number: int, text: sources.TextSource, batches: int) -> list[Batch]:
        """Held-out batches of one language; `number` is its language id."""

    def heldout(self, batches: int) -> dict[str, list[Batch]]:
        """The same at most `batches` batches of held-out lines of each language in every call.

        All hosts get equally many batches, filled up with padding. The log names a language without
        held-out lines, and the result lacks it.
        """
        result = {}
        for number, (language, text) in enumerate(self.texts.items()):
            heldout = self._heldout(number, text, batches)
            if heldout:
                result[language] = heldout
            else:
                logging.warning(
                    "%s has no held-out text: raise config.data.heldout_share (%g) or bring more "
                    "text",
                    language,
                    self.data.heldout_share,
                )
        return result

    @functools.cached_property
    def encoder(self) -> TextEncoder:
        """The tokenizer and the dictionary in the graph."""
        return shared_encoder(self.tokenizer, self.dictionary)

    @functools.cached_property
    def texts(self) -> dict[str, sources.TextSource]:
        return self._open(self.data.shuffle_lines)

    @functools.cached_property
    def rates(self) -> dict[str, float]:
        """Language -> its share of the blocks."""
        return rates(self.texts, self.encoder, self.data.temperature)

    def for_host(self, index: int, count: int) -> Pipeline:
        """The pipeline of another host, which shares what takes long to make."""
        host_pipeline = dataclasses.replace(self, process_index=index, process_count=count)
        vars(host_pipeline).update({name: getattr(self, name) for name in self._SHARED})
        return host_pipeline

    @functools.cached_property
    def stamps(self) -> dict[str, dict[str, str]]:
        """'files' (of the text) and 'dictionaries' -> name -> stamp of each file that is read."""
        return {"files": self._file_stamps(), "dictionaries": dict(self.dictionaries())}

    @property
    def host(self) -> dict[str, int]:
        """'process_index' and 'process_count', as arguments."""
        return dict(process_index=self.process_index, process_count=self.process_count)

    def _file_stamps(self) -> dict[str, str]:
        if not isinstance(self.text, TextCorpus):
            return {}
        paths = itertools.chain(*self.text.files.values())
        return stamps.stamps(paths, self.text.directory)

    def _open(self, shuffle_lines: int) -> dict[str, sources.TextSource]:
        """The text of each language; their shuffle buffers have `shuffle_lines` lines in total."""
        languages = self.tokenizer.languages
        buffer = sources.shuffle_share(shuffle_lines, len(languages))
        return open_texts(self.text, languages, buffer, self.data.tfds_dir)

    def _chunks(self, repeat: bool) -> tf.data.Dataset:
        """Numbered chunks of this host's training text, the languages mixed."""
        block_lines = next(iter(self.texts.values())).block_lines
        blocks = sources.mix(self.texts, self.rates, seed=self.seed, repeat=repeat, **self.host)
        chunk_blocks = max(1, self.data.chunk_lines // block_lines)
        return chunks.chunks(blocks, chunk_blocks, self.data.heldout_share)

    def _heldout_chunks(self, number: int, text: sources.TextSource) -> Iterator[chunks.Chunk]:
        """Yields the held-out lines of a language, at most config.data.chunk_lines at a time."""
        share = self.data.heldout_share
        size = self.data.chunk_lines
        waiting: list[bytes] = []
        scanned = 0
        for lines in text.lines(shuffle=False, seed=0).batch(SCANNED_LINES) if share else ():
            scanned += int(tf.reduce_sum(tf.strings.length(lines)))
            waiting += select(lines, chunks.heldout(lines, share)).numpy().tolist()
            while len(waiting) >= size:
                yield chunks.of_language(tf.constant(waiting[:size]), number)
                del waiting[:size]
            if scanned > _HELDOUT_SCAN:
                break
        if waiting:
            yield chunks.of_language(tf.constant(waiting), number)

    def _fingerprint(self, *more: Any) -> str:
        """A hash of all settings that the stream depends on, and of `more`."""
        shaping = [getattr(self.data, name) for name in _SHAPING]
        making = {
            name: value
            for name, value in dataclasses.asdict(self.task).items()
            if name != "parallel"  # a folder
        }
        digest = draws.fold(
            shaping,
            type(self.task).__name__,
            making,
            self.tokenizer.languages,
            self.tokenizer.vocabulary.fingerprint(),
            self.batch_size,
            self.seed,
            self.process_index,
            self.process_count,
            *more,
        )
        return f"{digest:016x}"


@functools.lru_cache(maxsize=1)
def shared_encoder(tokenizer: Tokenizer, dictionary: Dictionary | None) -> TextEncoder:
    """The encoder that the pipelines of a run share: its tables and its graph take seconds."""
    return TextEncoder(tokenizer, dictionary)


def open_texts(
    text: TextCorpus | str, languages: Sequence[str], buffer: int, tfds_dir: str
) -> dict[str, sources.TextSource]:
    """The text of each language as lines."""
    if isinstance(text, TextCorpus):
        return {
            language: sources.LineSource(text.files[language], language, number, buffer)
            for number, language in enumerate(languages)
        }
    if not text.startswith("tfds:"):
        raise ValueError(f"config.data.source={text!r}: expected text files or tfds:NAME")
    # tfds:wikipedia/20230601 has one builder config per language; a version may follow a colon.
    name, _, version = text.removeprefix("tfds:").partition(":")
    return {
        language: sources.DocumentSource(
            f"{name}.{language}:{version or '1.*.*'}", tfds_dir, number, buffer
        )
        for number, language in enumerate(languages)
    }


def rates(
    texts: Mapping[str, sources.TextSource], encoder: TextEncoder, temperature: float
) -> dict[str, float]:
    """Language -> its share of the blocks, up to a common factor.

    The temperature applies to the numbers of words. Lines are longer in some languages than in
    others, so the blocks are weighed such that the pieces have the resulting shares.

    Raises:
      ValueError: a temperature that is not positive.
    """
    words = {}
    pieces_per_line = {}
    for language, text in texts.items():
        sample = text.sample()
        encoded = encoder.encode(
            tf.constant(sample.texts, tf.string), tf.constant(sample.languages, tf.int32)
        )
        word_count = len(encoded.size)
        piece_count = int(tf.reduce_sum(encoded.size))
        words[language] = max(word_count, 1) * sample.times
        pieces_per_line[language] = max(piece_count, 1) / max(len(sample.texts), 1)
    shares = temperature_shares(words, temperature)
    logging.info(
        "Shares of the languages at temperature %g: %s",
        temperature,
        ", ".join(f"{language} {share:.1%}" for language, share in shares.items()),
    )
    return {language: shares[language] / pieces_per_line[language] for language in texts}
