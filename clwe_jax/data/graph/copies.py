"""Sentences and their code-switched copies, a row each: the input of the contrastive finish."""

from __future__ import annotations

import tensorflow as tf

from clwe_jax.data.graph import draws
from clwe_jax.data.graph.encoding import Encoded
from clwe_jax.data.graph.examples import (
    ExampleMaker, Masked, count_true, running_sum, sequences_of,
)  # fmt: skip
from clwe_jax.types import COPY

_FEWEST = 3  # words of a sentence; shorter ones ("Yes.") often mean the same as others


class CopyMaker(ExampleMaker):
    """Makes rows of the task `Copies`: row i holds one sentence, and its copy under other keys.

    Sentences in which no word is switched are left out: their copies would be equal to them.
    """

    def _make_rows(
        self, seed: tf.Tensor, number: tf.Tensor, lines: tf.Tensor, languages: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The rows of a chunk; see `ExampleMaker`.

        Returns:
          The arrays of `types.piece_batch` of the sentences, and under 'copy_{key}' those of the
          copies, [rows, length]; 'counters', [rows, COUNTERS] int64, all in the first row.
        """
        random = draws.Draws(seed, number)
        words = self._encoder(lines, languages)
        everywhere = tf.ones_like(words.entry, tf.bool)
        plain = self._switch(words, everywhere, 0.0, random)
        copy = self._switch(words, everywhere, self._task.copy_switch_rate, random)

        sentence = _sentences(words)
        enough = tf.math.segment_sum(tf.ones_like(sentence), sentence) >= _FEWEST
        switched = tf.math.segment_sum(tf.cast(copy.switched, tf.int32), sentence) > 0
        usable = tf.logical_and(enough, switched)
        kept = tf.gather(usable, sentence)
        number_of = tf.cumsum(tf.cast(usable, tf.int32), exclusive=True)
        segment = tf.boolean_mask(tf.gather(number_of, sentence), kept)
        source = tf.boolean_mask(words.language, kept)

        features, cut = {}, 0
        for prefix, side in (("", plain), (COPY, copy)):
            side = Masked(*(tf.boolean_mask(value, kept) for value in side))
            stays = self._stays(segment, random)
            side = Masked(*(tf.boolean_mask(value, stays) for value in side))
            own, text = tf.boolean_mask(segment, stays), tf.boolean_mask(source, stays)
            # A word longer than a row is cut; of a longer sentence the words beyond the row.
            size = tf.minimum(side.size, self._builder.room)
            fits = running_sum(size, own) <= self._builder.room
            cut += tf.reduce_sum(side.size - tf.where(fits, size, 0))
            side = Masked(*(tf.boolean_mask(x, fits) for x in side._replace(size=size)))
            own, text = tf.boolean_mask(own, fits), tf.boolean_mask(text, fits)
            laid_out = sequences_of(side, own, tf.zeros_like(side.masked), text)
            rows = self._builder(laid_out, words.pieces, self._synonyms.pieces, random)
            features |= {prefix + key: value for key, value in rows.items()}
        cut_words = count_true(tf.maximum(plain.size, copy.size) > self._builder.room)
        counts = dict(cut_words=cut_words, cut_pieces=cut)
        features["counters"] = self._counters(lines, words, copy, counts, features)
        return features

    def _stays(self, segment: tf.Tensor, random: draws.Draws) -> tf.Tensor:
        """Whether each word stays in its sentence, bool [W]; at least one word of each does.

        Args:
          segment: the number of each word's sentence, int32 [W], ascending without gaps.
          random: random numbers of the chunk.
        """
        if not self._task.drop:
            return tf.ones_like(segment, tf.bool)
        draw = random.uniform(tf.size(segment))
        highest = tf.math.segment_max(draw, segment)
        rate = self._task.drop * random.uniform(tf.size(highest))
        return draw >= tf.gather(tf.minimum(rate, highest), segment)


def _sentences(words: Encoded) -> tf.Tensor:
    """The number of each word's sentence in the chunk, int32 [W]; a line ends a sentence."""
    count = tf.size(words.line)
    first = tf.concat([[False], words.line[1:] != words.line[:-1]], 0)[:count]
    after = tf.concat([[False], words.ends_sentence[:-1]], 0)[:count]
    return tf.cumsum(tf.cast(tf.logical_or(first, after), tf.int32))
