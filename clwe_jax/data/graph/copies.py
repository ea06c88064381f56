"""Sentences and their code-switched copies or translations: the input of the contrastive finish."""

from __future__ import annotations

import tensorflow as tf

from clwe_jax.data.graph import draws
from clwe_jax.data.graph.encoding import Encoded
from clwe_jax.data.graph.examples import ExampleMaker, Masked, count_true, running_sum, sequences_of
from clwe_jax.data.graph.selection import places, select
from clwe_jax.types import COPY

_FEWEST = 3  # words of a sentence; shorter ones ("Yes.") often mean the same as others


class CopyMaker(ExampleMaker):
    """Makes rows of the task `Copies`: row i holds one sentence, and its copy under other keys.

    Sentences in which no word is switched are left out: their copies would be equal to them. Of
    sentence pairs, the second sentence takes the place of the copy.
    """

    def _make_rows(
        self, seed: tf.Tensor, number: tf.Tensor, lines: tf.Tensor, languages: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The rows of a chunk and of its code-switched copy.

        Returns:
          The arrays of `types.piece_shapes` of the sentences, and under 'copy_{key}' those of the
          copies, [rows, length]; 'counters', [rows, COUNTERS] int64, all in the first row.
        """
        random = draws.Draws(seed, number)
        words = self._encoder.encode(lines, languages)
        everywhere = tf.ones_like(words.entry, tf.bool)
        plain = self._switch(words, everywhere, 0.0, random)
        rate = 0.0 if self._pairs else self._task.copy_switch_rate
        copy = self._switch(words, everywhere, rate, random)
        wholes = _translations(words) if self._pairs else _find_switched(words, copy)

        features = {}
        cut_pieces = 0
        for prefix, side, (mask, segment) in zip(("", COPY), (plain, copy), wholes):
            # Each side loses other words: with copies too much like their sentences the loss falls
            # to zero, and retrieval falls with it.
            stays = self._stays(segment, random)
            place = select(places(mask), stays)
            side = Masked(*(tf.gather(value, place) for value in side))
            rows_of_words = select(segment, stays)
            text = tf.gather(words.language, place)
            # A word longer than a row is cut; of a longer sentence the words beyond the row.
            size = tf.minimum(side.size, self._builder.room)
            in_room = running_sum(size, rows_of_words) <= self._builder.room
            cut_pieces += tf.reduce_sum(side.size - tf.where(in_room, size, 0))
            side = Masked(*(select(x, in_room) for x in side._replace(size=size)))
            rows_of_words = select(rows_of_words, in_room)
            text = select(text, in_room)
            laid_out = sequences_of(side, rows_of_words, tf.zeros_like(side.masked), text)
            rows = self._builder(
                laid_out, words.pieces, self._synonyms and self._synonyms.pieces, random
            )
            features |= {prefix + key: value for key, value in rows.items()}
        cut_words = count_true(tf.maximum(plain.size, copy.size) > self._builder.room)
        counts = dict(cut_words=cut_words, cut_pieces=cut_pieces)
        features["counters"] = self._counters(lines, words, copy, counts, features)
        return features

    def _stays(self, segment: tf.Tensor, random: draws.Draws) -> tf.Tensor:
        """Whether each word stays in its sentence, bool [W]; at least one word of each does.

        Args:
          segment: the number of each word's sentence, int32 [W], ascending without gaps.
        """
        if not self._task.drop:
            return tf.ones_like(segment, tf.bool)
        draw = random.uniform(tf.size(segment))
        # The word with the highest draw stays at any rate, so that no sentence is empty.
        highest = tf.math.segment_max(draw, segment)
        rate = self._task.drop * random.uniform(tf.size(highest))
        return draw >= tf.gather(tf.minimum(rate, highest), segment)


_Whole = tuple[tf.Tensor, tf.Tensor]


def _find_switched(words: Encoded, copy: Masked) -> tuple[_Whole, _Whole]:
    """For the sentences and for their copies: the words that are used, bool [W], and the row of each
    of these, int32, ascending without gaps."""
    sentence = _sentences(words)
    enough = tf.math.segment_sum(tf.ones_like(sentence), sentence) >= _FEWEST
    switched = tf.math.segment_sum(tf.cast(copy.switched, tf.int32), sentence) > 0
    used_words = _rows_of(tf.logical_and(enough, switched), sentence, tf.ones_like(copy.switched))
    return used_words, used_words


def _translations(words: Encoded) -> tuple[_Whole, _Whole]:
    """As `_find_switched`, for the first and the second sentences of pairs, where both are long enough."""
    pair = words.line // 2
    is_second = tf.equal(words.line % 2, 1)
    pairs = tf.reduce_max(tf.concat([pair, [-1]], 0)) + 1
    lengths = tf.math.bincount(words.line, minlength=2 * pairs, dtype=tf.int32)[: 2 * pairs]
    usable = tf.reduce_all(tf.reshape(lengths, [pairs, 2]) >= _FEWEST, axis=1)
    return _rows_of(usable, pair, tf.logical_not(is_second)), _rows_of(usable, pair, is_second)


def _rows_of(usable: tf.Tensor, sentence: tf.Tensor, side: tf.Tensor) -> _Whole:
    """The words of a side whose sentences are usable, and their rows."""
    mask = tf.logical_and(tf.gather(usable, sentence), side)
    number_of = tf.cumsum(tf.cast(usable, tf.int32), exclusive=True)
    return mask, select(tf.gather(number_of, sentence), mask)


def _sentences(words: Encoded) -> tf.Tensor:
    """The number of each word's sentence in the chunk, int32 [W]; a line ends a sentence."""
    count = tf.size(words.line)
    is_first = tf.concat([[False], words.line[1:] != words.line[:-1]], 0)[:count]
    after_end = tf.concat([[False], words.ends_sentence[:-1]], 0)[:count]
    return tf.cumsum(tf.cast(tf.logical_or(is_first, after_end), tf.int32))
