"""Blocks of lines to numbered chunks of bounded size; held-out lines go, long lines are cut."""

from __future__ import annotations

import tensorflow as tf

from clwe_jax.data.graph.selection import select

_HASHES = 1 << 20
_LONG_LINE = 1 << 16  # bytes; longer lines are cut
_CHUNK_BYTES = 1 << 18  # approximate maximum of the text of a chunk
_WINDOW = 256  # bytes that are searched for a place to cut
PADDING = b"\x00\x00"  # no line with a word equals it

Chunk = tuple[tf.Tensor, tf.Tensor]  # lines, [N] string, and their languages, [N] int32


def heldout(lines: tf.Tensor, share: float) -> tf.Tensor:
    """String -> bool of the same shape: the lines kept for evaluation, by a hash of their bytes.

    Equal lines are all held out or all trained on, so duplicates do not leak.
    """
    return tf.strings.to_hash_bucket_fast(lines, _HASHES) < round(share * _HASHES)


def drop_heldout(lines: tf.Tensor, share: float) -> tf.Tensor:
    """[N] string -> [n] string: the lines that are not held out."""
    return select(lines, ~heldout(lines, share))


def of_language(lines: tf.Tensor, language: int) -> Chunk:
    """The chunk of lines of one language; long lines are cut."""
    return cut_long_lines(lines, tf.fill([tf.size(lines)], language))


def chunks(blocks: tf.data.Dataset, blocks_per_chunk: int, heldout_share: float) -> tf.data.Dataset:
    """Gathers the training lines of blocks into chunks that the graph handles at once.

    Args:
      blocks: {'lines': [n] string, 'language': scalar int32}.
      blocks_per_chunk: number of blocks of a chunk; fewer where lines are long.
      heldout_share: share of the lines that are held out and therefore left out.

    Returns:
      A dataset of (number int64, `Chunk`).
    """
    gathered = blocks.padded_batch(
        blocks_per_chunk,
        padded_shapes={"lines": [None], "language": []},
        # The last block of a text has fewer lines than the others.
        padding_values={"lines": PADDING, "language": tf.constant(0, tf.int32)},
    )

    @tf.autograph.experimental.do_not_convert
    def split(batch):
        lines = tf.reshape(batch["lines"], [-1])
        languages = tf.repeat(batch["language"], tf.shape(batch["lines"])[1])
        # Chosen before long lines are cut, so that no part of a held-out line is trained on.
        mask = ~heldout(lines, heldout_share) & tf.not_equal(lines, PADDING)
        lines = select(lines, mask)
        languages = select(languages, mask)
        lines, languages = cut_long_lines(lines, languages)
        size = tf.cast(tf.strings.length(lines), tf.int64)
        part = tf.cumsum(size, exclusive=True) // _CHUNK_BYTES
        # A batch yields at least one chunk, which may be empty. `unique` drops parts without a line.
        _, part = tf.unique(part)
        rows = tf.cast(part, tf.int64)
        count = tf.reduce_max(tf.concat([rows, [0]], 0)) + 1
        ragged = lambda x: tf.RaggedTensor.from_value_rowids(x, rows, nrows=count, validate=False)
        return tf.data.Dataset.from_tensor_slices((ragged(lines), ragged(languages)))

    # The number of a chunk goes into the seed of its masks and synonyms.
    return gathered.flat_map(split).enumerate()


def cut_long_lines(lines: tf.Tensor, languages: tf.Tensor) -> Chunk:
    """Cuts lines of more than 64 KiB at a space, or between two characters if no space is near.

    No text is lost; a cut may split a word of a script without spaces.
    """

    def cut():
        size = tf.strings.length(lines)
        parts = tf.maximum(-(-size // _LONG_LINE), 1)
        line = tf.repeat(tf.range(tf.size(lines)), parts)
        number = tf.range(tf.size(line)) - tf.gather(tf.cumsum(parts, exclusive=True), line)
        text = tf.gather(lines, line)
        begin = number * _LONG_LINE
        # The first part begins at 0, each other part up to `_WINDOW` bytes before its place.
        start = begin - _WINDOW
        window = tf.strings.substr(text, tf.maximum(start, 0), tf.fill(tf.shape(start), _WINDOW))
        # [parts, _WINDOW]
        letters = tf.cast(tf.io.decode_raw(window, tf.uint8, fixed_length=_WINDOW), tf.int32)
        place = tf.range(1, _WINDOW + 1)
        space = tf.reduce_max(tf.where(letters <= ord(" "), place, 0), axis=1)
        # UTF-8 continuation bytes begin with the bits 10.
        leading = tf.reduce_max(tf.where((letters & 0xC0) != 0x80, place, 1), axis=1) - 1
        begin = tf.where(number > 0, start + tf.where(space > 0, space, leading), 0)
        end = tf.concat([begin[1:], [0]], 0)
        is_last = tf.equal(number + 1, tf.gather(parts, line))
        end = tf.where(is_last, tf.gather(size, line), end)
        return tf.strings.substr(text, begin, end - begin), tf.gather(languages, line)

    long = tf.reduce_any(tf.strings.length(lines) > _LONG_LINE)
    return tf.cond(long, cut, lambda: (lines, languages))
