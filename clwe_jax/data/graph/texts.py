"""The text of a run's languages, and the base class of the pipelines."""

from __future__ import annotations

import abc
import dataclasses
import functools
from typing import Any, Iterator, Mapping

import tensorflow as tf
from absl import logging
from ml_collections import ConfigDict

from clwe_jax.data.graph import chunks, draws, sources
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.data.graph.stream import GraphSource
from clwe_jax.data.tasks import Task
from clwe_jax.text.corpora import TextCorpus, temperature_shares
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Batch

SCANNED_LINES = 4_096  # at once
_HELDOUT_SCAN = 1 << 28  # bytes of a language that are searched for held-out lines
# Options that a saved place in the stream depends on; not the folders, which may move.
_SHAPING = (
    "sequence_length", "max_predictions", "temperature", "heldout_share", "chunk_lines",
    "shuffle_lines", "lower_case", "simplify_chinese",
)  # fmt: skip

# jax owns the accelerator; the graph runs on the host.
tf.config.set_visible_devices([], "GPU")


@dataclasses.dataclass(frozen=True, eq=False)
class Pipeline(abc.ABC):
    """Text in, batches of one host out. `pipeline.build` picks the class by the task.

    Attributes:
      config: `config.data`.
      task: how examples are made.
      tokenizer: its languages are the run's.
      dictionary: None: no word has a synonym.
      text: text files, or 'tfds:NAME'.
      batch_size: rows of a batch of this host.
      seed: of shuffles, masks and synonyms. They differ between languages, hosts and epochs, and
        are the same in two pipelines that are built alike.
      process_index, process_count: this host reads only its shard of the text.
    """

    config: ConfigDict
    task: Task
    tokenizer: Tokenizer
    dictionary: Dictionary | None
    text: TextCorpus | str
    batch_size: int
    seed: int
    process_index: int = 0
    process_count: int = 1

    @abc.abstractmethod
    def source(self, repeat: bool = True) -> GraphSource:
        """The stream of training batches.

        Args:
          repeat: without end, shuffled again every epoch; else once through the text.

        Raises:
          ValueError, FileNotFoundError: no text where the config says, or settings that cannot
            work.
        """

    @abc.abstractmethod
    def examples(self, count: int) -> list[dict[str, list[Any]]]:
        """At most `count` sentences of the training text before and after code-switching.

        Returns:
          For each sentence its 'language' and its words: 'original' and 'transformed' (words),
          'masked' (bool: its label is the transformed word) and 'languages' (codes, of the
          transformed words). None for a task that switches no words.
        """

    @abc.abstractmethod
    def _heldout(self, number: int, text: sources.TextSource, batches: int) -> list[Batch]:
        """Held-out batches of one language, the number `number` of the run's."""

    def heldout(self, batches: int) -> dict[str, list[Batch]]:
        """At most `batches` batches of the held-out lines of each language, always the same.

        Every host gets as many batches as the others; padding fills what is missing. A language
        without held-out lines is left out, and named in the log.
        """
        result = {}
        for number, (language, text) in enumerate(self.texts.items()):
            found = self._heldout(number, text, batches)
            if found:
                result[language] = found
            else:
                logging.warning(
                    "%s has no held-out text: raise config.data.heldout_share (%g) or bring more "
                    "text", language, self.config.heldout_share,
                )  # fmt: skip
        return result

    @functools.cached_property
    def encoder(self) -> TextEncoder:
        """The tokenizer and the dictionary in the graph."""
        return TextEncoder(self.tokenizer, self.dictionary)

    @functools.cached_property
    def texts(self) -> dict[str, sources.TextSource]:
        """The text of each language."""
        return self._open(self.config.shuffle_lines)

    @functools.cached_property
    def rates(self) -> dict[str, float]:
        """The share of each language among the blocks."""
        return rates(self.texts, self.encoder, self.config.temperature)

    @property
    def host(self) -> dict[str, int]:
        """'process_index' and 'process_count', as arguments."""
        return dict(process_index=self.process_index, process_count=self.process_count)

    def _open(self, shuffle_lines: int) -> dict[str, sources.TextSource]:
        """The text of each language, with shuffle buffers of so many lines altogether."""
        languages = self.tokenizer.languages
        buffer = sources.shuffle_share(shuffle_lines, len(languages))
        if isinstance(self.text, TextCorpus):
            return {
                language: sources.LineSource(self.text.files[language], language, number, buffer)
                for number, language in enumerate(languages)
            }
        if not self.text.startswith("tfds:"):
            raise ValueError(f"config.data.source={self.text!r}: expected text files or tfds:NAME")
        # tfds:wikipedia/20230601, one builder config a language; a version may follow a colon.
        name, _, version = self.text.removeprefix("tfds:").partition(":")
        return {
            language: sources.DocumentSource(
                f"{name}.{language}:{version or '1.*.*'}", self.config.tfds_dir, number, buffer
            )
            for number, language in enumerate(languages)
        }

    def _chunks(self, repeat: bool) -> tf.data.Dataset:
        """Numbered chunks of this host's training text, the languages mixed."""
        block_lines = next(iter(self.texts.values())).block_lines
        blocks = sources.mix(self.texts, self.rates, seed=self.seed, repeat=repeat, **self.host)
        wanted = max(1, self.config.chunk_lines // block_lines)
        return chunks.chunks(blocks, wanted, self.config.heldout_share)

    def _heldout_chunks(self, number: int, text: sources.TextSource) -> Iterator[chunks.Chunk]:
        """The held-out lines of a language, at most config.data.chunk_lines at a time."""
        for lines in heldout_lines(text, self.config.heldout_share, self.config.chunk_lines):
            yield chunks.of_language(lines, number)

    def _fingerprint(self, *own: Any) -> str:
        """A hash of everything that the stream depends on, and of `own`."""
        shaping = [self.config[name] for name in _SHAPING]
        making = {
            name: value
            for name, value in dataclasses.asdict(self.task).items()
            if name != "parallel"  # a folder
        }
        found = draws.fold(
            shaping, type(self.task).__name__, making, self.tokenizer.languages,
            self.tokenizer.vocabulary.fingerprint(), self.batch_size, self.seed,
            self.process_index, self.process_count, *own,
        )  # fmt: skip
        return f"{found:016x}"


def rates(
    texts: Mapping[str, sources.TextSource], encoder: TextEncoder, temperature: float
) -> dict[str, float]:
    """The share of each language among the blocks.

    The temperature is applied to the languages' numbers of words; as lines of one language are
    longer than those of another, the blocks are weighed so that the pieces have those shares.

    Raises:
      ValueError: a temperature that is not positive.
    """
    if not temperature > 0:
        raise ValueError(f"config.data.temperature={temperature}: must be positive")
    words, pieces_per_line = {}, {}
    for language, text in texts.items():
        sample = text.sample()
        found = encoder.encode(
            tf.constant(sample.texts, tf.string), tf.constant(sample.languages, tf.int32)
        )
        found_words, found_pieces = len(found.size), int(tf.reduce_sum(found.size))
        words[language] = max(found_words, 1) * sample.times
        pieces_per_line[language] = max(found_pieces, 1) / max(len(sample.texts), 1)
    shares = temperature_shares(words, temperature)
    logging.info(
        "Shares of the languages at temperature %g: %s",
        temperature,
        ", ".join(f"{language} {share:.1%}" for language, share in shares.items()),
    )
    return {language: shares[language] / pieces_per_line[language] for language in texts}


def heldout_lines(text: sources.TextSource, share: float, chunk_lines: int) -> Iterator[tf.Tensor]:
    """The held-out lines of a language, [at most chunk_lines] string at a time."""
    if not share:
        return
    lines = text.lines(shuffle=False, seed=0).batch(SCANNED_LINES)
    waiting: list[bytes] = []
    scanned = 0
    for batch in lines:
        scanned += int(tf.reduce_sum(tf.strings.length(batch)))
        kept = tf.boolean_mask(batch, chunks.heldout(batch, share))
        waiting += kept.numpy().tolist()
        while len(waiting) >= chunk_lines:
            yield tf.constant(waiting[:chunk_lines])
            del waiting[:chunk_lines]
        if scanned > _HELDOUT_SCAN:
            break
    if waiting:
        yield tf.constant(waiting)
