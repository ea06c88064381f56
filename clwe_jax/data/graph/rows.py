"""Lays words out as rows of a batch: special pieces, 80/10/10 replacement, packing, features."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from clwe_jax.data.graph import draws, packing
from clwe_jax.options.tasks import Mlm
from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.types import piece_shapes


class Sequences(NamedTuple):
    """The W words of segments; all [W].

    Attributes:
      segment: int32, the word's segment, ascending from 0 without gaps.
      second: bool, whether the word belongs to the second text of its segment (pairs only).
      start, size: int32; the word's pieces are `pieces[start : start + size]`.
      switched: bool, whether `pieces` are those of the synonyms instead of those of the chunk.
      masked: bool, whether the word is predicted.
      language: int32, language id of the word, or of the synonym that replaces it.
      source: int32, language id of the text that contains the word.
      shown, shown_size: int32; the pieces of the word of the text are those of the chunk from `shown` on.
      entry: int32, the dictionary's number of a word all of whose labels are predicted at once; -1: its
        pieces are predicted one by one.
    """

    segment: tf.Tensor
    second: tf.Tensor
    start: tf.Tensor
    size: tf.Tensor
    switched: tf.Tensor
    masked: tf.Tensor
    language: tf.Tensor
    source: tf.Tensor
    shown: tf.Tensor
    shown_size: tf.Tensor
    entry: tf.Tensor


def count_positions(size: tf.Tensor, entry: tf.Tensor) -> tf.Tensor:
    """[W] int32, the positions at which masked words are predicted: one alone where an entry has all labels."""
    return tf.where(entry >= 0, tf.minimum(size, 1), size)


class RowBuilder:
    """Lays segments out as rows of a fixed length.

    A segment is [CLS] text [SEP]. The segment of a pair is [CLS] text [SEP] text [SEP], and its
    positions restart at 0 in the second text (XLM). Special pieces have the language id of their
    text.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        task: Mlm,
        length: int,
        max_predictions: int,
        pairs: bool,
        packed: bool = True,
    ):
        """`packed`: whether a row holds several segments, in any order; else row i is segment i."""
        self._vocabulary = vocabulary
        self._task = task
        self._length = length
        self._max_predictions = max_predictions
        self._pairs = pairs
        self._packed = packed
        special = set(vocabulary.special_ids)
        self._ordinary = tf.constant(
            [number for number in range(len(vocabulary.pieces)) if number not in special], tf.int32
        )

    @property
    def room(self) -> int:
        """The maximum number of pieces of a segment without its special pieces."""
        return self._length - (3 if self._pairs else 2)

    def __call__(
        self,
        words: Sequences,
        pieces: tf.Tensor,
        synonym_pieces: tf.Tensor | None,
        random: draws.Draws,
    ) -> dict[str, tf.Tensor]:
        """The arrays of `types.piece_shapes`, each [rows, length].

        Args:
          words: words of segments with at most `room` pieces and `max_predictions` masked pieces.
          pieces: int32, pieces of the chunk's words.
          synonym_pieces: int32, pieces of the dictionary's words; None if no word is switched.
        """
        of_segment = tf.math.segment_sum(words.size, words.segment)
        sizes = of_segment + (self._length - self.room)
        row = tf.range(tf.size(sizes))
        rows = tf.size(sizes)
        if self._packed:
            masked = tf.where(words.masked, count_positions(words.size, words.entry), 0)
            row, rows = packing.pack(
                sizes,
                tf.math.segment_sum(masked, words.segment),
                self._length,
                self._max_predictions,
            )
            # Shuffle the rows, because packing puts those with long segments first.
            row = tf.gather(tf.argsort(random.uniform(rows)), row)
        offset, number = _places(row, rows, sizes)
        # The slot of each segment's [CLS] in all rows laid end to end.
        begin = row * self._length + offset

        # The pieces one by one.
        word = tf.repeat(tf.range(tf.size(words.size)), words.size)  # [P], the word of each piece
        count = tf.size(word)
        within = tf.range(count) - tf.gather(tf.cumsum(words.size, exclusive=True), word)
        index = tf.gather(words.start, word) + within  # [P], into chunk's or synonyms' pieces
        if synonym_pieces is None:
            target = tf.gather(pieces, index)
        else:
            switched = tf.gather(words.switched, word)
            # `tf.where` computes both sides, and an index into one table may be beyond the other.
            target = tf.where(
                switched,
                tf.gather(synonym_pieces, tf.where(switched, index, 0)),
                tf.gather(pieces, tf.where(switched, 0, index)),
            )
        is_masked = tf.gather(words.masked, word)
        kept_pieces = target
        if self._task.kept_piece == "text":
            # A label may have more pieces than the word of the text, whose last one is then repeated.
            place = tf.minimum(within, tf.gather(words.shown_size, word) - 1)
            kept_pieces = tf.gather(pieces, tf.gather(words.shown, word) + place)
        entry = tf.gather(words.entry, word)
        is_predicted = tf.logical_and(is_masked, tf.logical_or(entry < 0, tf.equal(within, 0)))
        segment = tf.gather(words.segment, word)
        # Place 0 of a segment is [CLS].
        place = 1 + tf.range(count) - tf.gather(tf.cumsum(of_segment, exclusive=True), segment)
        position = place
        last_position = sizes - 1
        if self._pairs:
            of_first = tf.math.segment_sum(tf.where(words.second, 0, words.size), words.segment)
            is_second = tf.gather(words.second, word)
            # The [SEP] of the first text stands between.
            place = place + tf.cast(is_second, tf.int32)
            # The second text's first position is the one after the first text's [SEP].
            start = of_first + 2
            position = place - tf.where(is_second, tf.gather(start, segment), 0)
            last_position = last_position - start

        words_of = tf.math.segment_sum(tf.ones_like(words.segment), words.segment)
        first_word = tf.cumsum(words_of, exclusive=True)
        opening = tf.gather(words.source, first_word)
        closing = tf.gather(words.source, first_word + words_of - 1)
        zero = tf.zeros_like(begin)

        def special(piece, special_slots, position, language):
            piece = tf.fill(tf.shape(begin), piece)
            return special_slots, (piece, piece, zero, position, number, language, language, zero)

        parts = [
            (
                tf.gather(begin, segment) + place,
                (
                    self._corrupt(target, kept_pieces, is_masked, random),
                    target,
                    tf.cast(is_predicted, tf.int32),
                    position,
                    tf.gather(number, segment),
                    tf.gather(words.language, word),
                    tf.gather(words.source, word),
                    tf.where(is_predicted, 1 + entry, 0),
                ),
            ),
            special(self._vocabulary.cls_id, begin, zero, opening),
            special(self._vocabulary.sep_id, begin + sizes - 1, last_position, closing),
        ]
        if self._pairs:
            middle = of_first + 1
            parts.append(special(self._vocabulary.sep_id, begin + middle, middle, opening))

        # Element 0 of the values is padding, for the slots that nothing else fills.
        slots = tf.concat([slot for slot, _ in parts], 0)
        source = tf.tensor_scatter_nd_update(
            tf.zeros([rows * self._length], tf.int32), slots[:, None], 1 + tf.range(tf.size(slots))
        )
        padding = (self._vocabulary.pad_id, self._vocabulary.pad_id, 0, 0, 0, 0, 0, 0)
        features = {}
        for place, name in enumerate(piece_shapes(1, 1, self._task.labels == "expected")):
            values = tf.concat([[padding[place]], *(values[place] for _, values in parts)], 0)
            features[name] = tf.reshape(tf.gather(values, source), [rows, self._length])
        features["loss_weights"] = tf.cast(features["loss_weights"], tf.float32)
        return features

    def _corrupt(self, target, kept, masked, random):
        """Masked pieces become the mask (80% in BERT), `kept` (10%) or random ordinary pieces (10%)."""
        fate = random.uniform(tf.size(target))
        ordinary = tf.size(self._ordinary)
        random_pieces = tf.gather(self._ordinary, random.below(tf.fill(tf.shape(target), ordinary)))
        corrupted = tf.where(
            fate < self._task.mask_share,
            self._vocabulary.mask_id,
            tf.where(fate < self._task.mask_share + self._task.random_share, random_pieces, kept),
        )
        return tf.where(masked, corrupted, target)


def _places(row: tf.Tensor, rows: tf.Tensor, sizes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The offset of each segment in its row, and its number there, from 1; both [S] int32."""
    # `segment_min` needs ascending rows.
    order = tf.argsort(row, stable=True)
    row = tf.gather(row, order)
    end = tf.cumsum(tf.gather(sizes, order), exclusive=True)
    index = tf.range(tf.size(row))
    offset = end - tf.gather(tf.math.segment_min(end, row), row)
    number = 1 + index - tf.gather(tf.math.segment_min(index, row), row)
    scatter = lambda x: tf.tensor_scatter_nd_update(tf.zeros_like(x), order[:, None], x)
    return scatter(offset), scatter(number)
