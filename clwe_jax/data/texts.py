"""The text of a run's languages: opened, weighed against each other, its held-out lines."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

import tensorflow as tf
from absl import logging

from clwe_jax.data import chunks, sources
from clwe_jax.data.encoding import TextEncoder
from clwe_jax.text.corpora import TextCorpus, temperature_shares

SCANNED_LINES = 4_096  # at once
_HELDOUT_SCAN = 1 << 28  # bytes of a language that are searched for held-out lines

Source = sources.LineSource | sources.DocumentSource


def open_all(
    source: TextCorpus | str, languages: Sequence[str], tfds_dir: str, shuffle_lines: int
) -> dict[str, Source]:
    """The text of each language.

    Args:
      source: text files, or 'tfds:NAME'.
      languages: the run's.
      tfds_dir: where TFDS has its data sets; '' for its own place.
      shuffle_lines: of the shuffle buffers, over all languages together.

    Raises:
      ValueError, FileNotFoundError: the source is not there.
    """
    buffer = sources.shuffle_share(shuffle_lines, len(languages))
    if isinstance(source, TextCorpus):
        return {
            language: sources.LineSource(source.files[language], language, index, buffer)
            for index, language in enumerate(languages)
        }
    if not source.startswith("tfds:"):
        raise ValueError(f"config.data.source={source!r}: expected text files or tfds:NAME")
    # tfds:wikipedia/20230601, with one builder config a language; a version may follow a colon.
    name, _, version = source.removeprefix("tfds:").partition(":")
    version = version or "1.*.*"
    return {
        language: sources.DocumentSource(f"{name}.{language}:{version}", tfds_dir, index, buffer)
        for index, language in enumerate(languages)
    }


def rates(
    texts: Mapping[str, Source], encoder: TextEncoder, temperature: float
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


def heldout_lines(text: Source, share: float, chunk_lines: int) -> Iterator[tf.Tensor]:
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
