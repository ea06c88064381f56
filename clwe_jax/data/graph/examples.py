"""Chunks of lines to rows of masked examples, in the way of each task."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from clwe_jax.data.graph import draws, masking
from clwe_jax.data.graph.context import ContextModel
from clwe_jax.data.graph.encoding import Encoded, TextEncoder
from clwe_jax.data.graph.rows import RowBuilder, Sequences, count_positions
from clwe_jax.data.graph.selection import places, select
from clwe_jax.options.tasks import Copies, DictMlm, DictTlm, Mlm
from clwe_jax.text.vocab.base_vocab import Vocabulary

# The counters of a chunk, in this order.
COUNTERS = (
    "lines",
    "empty_lines",
    "repaired_lines",
    "words",
    "words_with_entry",
    "masked_words",
    "switched_words",
    "unmasked_words",  # words with more pieces than `max_predictions`
    "cut_words",  # words with more pieces than a row holds
    "cut_pieces",  # pieces lost from these words, or from sentence pairs longer than a row
)

_CHUNK = [
    tf.TensorSpec([], tf.int64),
    tf.TensorSpec([], tf.int64),
    tf.TensorSpec([None], tf.string),
    tf.TensorSpec([None], tf.int32),
]


class Masked(NamedTuple):
    """The words of a chunk after masking and switching; all [W].

    Attributes:
      start, size, switched, masked, language, shown, shown_size, entry: as of `rows.Sequences`.
      synonym: int32, the synonym's number in the dictionary for a switched word, else -1.
    """

    start: tf.Tensor
    size: tf.Tensor
    switched: tf.Tensor
    masked: tf.Tensor
    language: tf.Tensor
    shown: tf.Tensor
    shown_size: tf.Tensor
    entry: tf.Tensor
    synonym: tf.Tensor

    @property
    def predictions(self) -> tf.Tensor:
        """[W] int32, the positions at which each word is predicted."""
        return tf.where(self.masked, count_positions(self.size, self.entry), 0)


class ExampleMaker:
    """Makes rows of one task from chunks of text.

    Attributes:
      rows: tf.function (seed, number, lines, languages) -> the features of rows.
      words: tf.function (seed, number, lines, languages) -> words before and after masking.
    """

    def __init__(
        self,
        encoder: TextEncoder,
        vocabulary: Vocabulary,
        task: Mlm,
        length: int,
        max_predictions: int,
        pairs: bool = False,
        context: ContextModel | None = None,
    ):
        """Args:
        task: `DictTlm` makes pairs of a text and its copy, the other tasks rows of running text.
        pairs: whether lines 2i and 2i + 1 translate each other; they share a segment, except
          in the task `Copies`.
        context: model that draws the synonyms for choice='context'; None for 'uniform'.
        """
        self._context = context
        self._encoder = encoder
        self._task = task
        self._pairs = pairs
        self._copies = isinstance(task, DictTlm)
        is_copies = isinstance(task, Copies)
        self._builder = RowBuilder(
            vocabulary,
            task,
            length,
            max_predictions,
            pairs=self._copies or pairs and not is_copies,
            packed=not is_copies,
        )
        self._max_predictions = min(max_predictions, self._builder.room)
        # Each function is traced once.
        self.rows = tf.function(self._make_rows, autograph=False, input_signature=_CHUNK)
        self.words = tf.function(self._make_words, autograph=False, input_signature=_CHUNK)
        self._synonyms = encoder.synonyms if isinstance(task, (Copies, DictMlm, DictTlm)) else None

    def _make_rows(
        self, seed: tf.Tensor, number: tf.Tensor, lines: tf.Tensor, languages: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The rows of a chunk.

        Args:
          seed, number: scalars int64, a seed of `draws.fold` and the number of the chunk, which
            together determine all random choices.
          lines: [N] string.
          languages: [N] int32.

        Returns:
          The arrays of `types.piece_shapes`, [rows, length], and 'counters', int64 [rows, COUNTERS],
          with the chunk's counts in the first row.
        """
        random = draws.Draws(seed, number)
        words = self._encoder.encode(lines, languages)
        if self._pairs:
            sequences, counts = self._pair_segments(words, random)
        elif self._copies:
            sequences, counts = self._copy_segments(words, random)
        else:
            sequences, counts = self._text_segments(words, random)
        features = self._builder(
            sequences, words.pieces, self._synonyms and self._synonyms.pieces, random
        )
        features["counters"] = self._counters(lines, words, sequences, counts, features)
        return features

    def _counters(
        self,
        lines: tf.Tensor,
        words: Encoded,
        changed: Sequences | Masked,
        counts: dict[str, tf.Tensor],
        features: dict[str, tf.Tensor],
    ) -> tf.Tensor:
        """`COUNTERS` of a chunk, int64 [rows, COUNTERS], all in the first row."""
        lines_with_words = tf.size(tf.unique(words.line)[0])
        counts = dict(
            counts,
            lines=tf.size(lines),
            empty_lines=tf.size(lines) - lines_with_words,
            repaired_lines=words.repaired,
            words=tf.size(words.line),
            words_with_entry=count_true(words.entry >= 0),
            masked_words=count_true(changed.masked),
            switched_words=count_true(changed.switched),
        )
        totals = tf.stack([tf.cast(counts.get(name, 0), tf.int64) for name in COUNTERS])
        in_first_row = tf.cast(tf.equal(tf.range(tf.shape(features["inputs"])[0]), 0), tf.int64)
        return in_first_row[:, None] * totals[None, :]

    def _make_words(
        self, seed: tf.Tensor, number: tf.Tensor, lines: tf.Tensor, languages: tf.Tensor
    ) -> tuple[Encoded, Masked]:
        """The words of a chunk before and after the masking of running text, or of its copy."""
        random = draws.Draws(seed, number)
        words = self._encoder.encode(lines, languages)
        # One draw of the labels, also where the loss is the expectation over all draws.
        changed = self._mask(words, random, self._builder.room, "drawn")[0]
        if self._copies:
            everywhere = tf.ones_like(changed.masked)
            copy = self._switch(words, everywhere, self._task.copy_switch_rate, random)
            changed = copy._replace(masked=changed.masked)
        return words, changed

    def _mask(
        self, words: Encoded, random: draws.Draws, room: int, labels: str
    ) -> tuple[Masked, dict]:
        """Chooses the words to predict, and their labels where these are drawn (D2, D3)."""
        mask = masking.choose(self._eligible(words), words.line, self._task.masking_rate, random)
        if labels == "expected":
            changed = self._switch(words, mask, 0.0, random)._replace(entry=words.entry)
        else:
            # Switched before the limit, because a label has the pieces of its synonym.
            changed = self._switch(words, mask, self._task.cross_lingual_share, random)
        return self._limit(changed._replace(masked=mask), words, room)

    def _eligible(self, words: Encoded) -> tf.Tensor:
        """[W] bool, the words that may be masked: all words, or the words with a dictionary entry.

        In a language without any entry, all words may be masked.
        """
        synonyms = self._encoder.synonyms
        if not self._task.only_words_with_entries or synonyms is None:
            return tf.ones_like(words.entry, tf.bool)
        without = tf.logical_not(tf.gather(synonyms.has_entries, words.language))
        return tf.logical_or(words.entry >= 0, without)

    def _switch(self, words: Encoded, where: tf.Tensor, rate: float, random: draws.Draws) -> Masked:
        """Replaces a share `rate` of the words of `where` that have an entry by synonyms."""
        unchanged = Masked(
            start=words.start,
            size=words.size,
            switched=tf.zeros_like(where),
            masked=tf.zeros_like(where),
            language=words.language,
            shown=words.start,
            shown_size=words.size,
            entry=tf.fill(tf.shape(words.entry), -1),
            synonym=tf.fill(tf.shape(words.entry), -1),
        )
        if self._synonyms is None or not rate:
            return unchanged
        # Few words are switched, so synonyms are drawn for these words only.
        switched = tf.logical_and(where, words.entry >= 0)
        switched = tf.logical_and(switched, random.uniform(tf.size(where)) < rate)
        place = places(switched)
        if self._context is None:
            synonyms = self._synonyms.draw(tf.gather(words.entry, place), random)
        else:
            synonyms = self._context.draw(words, place, random)
        usable = synonyms.size > 0
        place = select(place, usable)[:, None]
        put = lambda old, new: tf.tensor_scatter_nd_update(old, place, select(new, usable))
        return unchanged._replace(
            start=put(unchanged.start, synonyms.start),
            size=put(unchanged.size, synonyms.size),
            switched=put(unchanged.switched, usable),
            language=put(unchanged.language, synonyms.language),
            synonym=put(unchanged.synonym, synonyms.word),
        )

    def _limit(self, changed: Masked, words: Encoded, room: int) -> tuple[Masked, dict]:
        """Unmasks words with more pieces than a row can predict; cuts words longer than a row."""
        # A label with too many pieces becomes the word of the text again.
        too_many = changed.predictions > self._max_predictions
        restore = lambda old, new: tf.where(too_many, old, new)
        size = restore(words.size, changed.size)
        counts = dict(
            unmasked_words=count_true(too_many),
            cut_words=count_true(size > room),
            cut_pieces=tf.reduce_sum(tf.maximum(size - room, 0)),
        )
        return changed._replace(
            start=restore(words.start, changed.start),
            size=tf.minimum(size, room),
            shown_size=tf.minimum(words.size, room),
            switched=tf.logical_and(changed.switched, tf.logical_not(too_many)),
            masked=tf.logical_and(changed.masked, tf.logical_not(too_many)),
            language=restore(words.language, changed.language),
            synonym=restore(tf.fill(tf.shape(too_many), -1), changed.synonym),
        ), counts

    def _text_segments(self, words: Encoded, random: draws.Draws) -> tuple[Sequences, dict]:
        """Running text: MLM and DICT-MLM."""
        masked, counts = self._mask(words, random, self._builder.room, self._task.labels)
        segment = masking.segments(
            words.line,
            words.ends_sentence,
            masked.size,
            masked.predictions,
            self._builder.room,
            self._max_predictions,
        )
        return sequences_of(masked, segment, tf.zeros_like(masked.masked), words.language), counts

    def _copy_segments(self, words: Encoded, random: draws.Draws) -> tuple[Sequences, dict]:
        """The text and its code-switched copy, masked over both (DICT-TLM)."""
        everywhere = tf.ones_like(words.entry, tf.bool)
        plain = self._switch(words, everywhere, 0.0, random)
        copy = self._switch(words, everywhere, self._task.copy_switch_rate, random)
        eligible = self._eligible(words)
        mask = masking.choose(
            tf.concat([eligible, eligible], 0),
            # A text and its copy have one number, so that the masking rate holds over both.
            tf.concat([words.line, words.line], 0),
            self._task.masking_rate,
            random,
        )
        count = tf.size(words.line)
        # A word and its copy stand in one segment, so that each has half of the room.
        room = self._builder.room // 2
        plain, plain_counts = self._limit(plain._replace(masked=mask[:count]), words, room)
        copy, counts = self._limit(copy._replace(masked=mask[count:]), words, room)
        counts = {name: value + plain_counts[name] for name, value in counts.items()}
        # If both copies of a word exceed what a row can predict, only the first is predicted.
        exceeds = plain.predictions + copy.predictions > self._max_predictions
        counts["unmasked_words"] += count_true(exceeds)
        copy = copy._replace(masked=tf.logical_and(copy.masked, tf.logical_not(exceeds)))
        segment = masking.segments(
            words.line,
            words.ends_sentence,
            plain.size + copy.size,
            plain.predictions + copy.predictions,
            self._builder.room,
            self._max_predictions,
        )
        # Order: the words of each segment, then their copies.
        of_segment = tf.math.segment_sum(tf.ones_like(segment), segment)
        segment_start = tf.gather(tf.cumsum(of_segment, exclusive=True), segment)
        place = tf.range(count) + segment_start
        place = tf.concat([place, place + tf.gather(of_segment, segment)], 0)
        order = tf.scatter_nd(place[:, None], tf.range(2 * count), [2 * count])
        merge = lambda a, b: tf.gather(tf.concat([a, b], 0), order)
        return sequences_of(
            Masked(*(merge(a, b) for a, b in zip(plain, copy))),
            merge(segment, segment),
            merge(tf.zeros_like(everywhere), everywhere),
            merge(words.language, words.language),
        ), counts

    def _pair_segments(self, words: Encoded, random: draws.Draws) -> tuple[Sequences, dict]:
        """Sentence pairs with both sides masked (TLM); pairs with an empty side are left out."""
        pair = words.line // 2
        is_second = tf.equal(words.line % 2, 1)
        pairs = tf.reduce_max(tf.concat([pair, [-1]], 0)) + 1
        sides = tf.math.bincount(words.line, minlength=2 * pairs, dtype=tf.int32)[: 2 * pairs]
        is_complete = tf.reduce_all(tf.reshape(sides, [pairs, 2]) > 0, axis=1)
        mask = tf.gather(is_complete, pair)
        fields = {
            name: select(value, mask)
            for name, value in words._asdict().items()
            if name not in ("pieces", "repaired")
        }
        words = words._replace(**fields)
        pair = select(pair, mask)
        is_second = select(is_second, mask)
        segment = tf.gather(tf.cumsum(tf.cast(is_complete, tf.int32)) - 1, pair)
        # A pair is one text from here on, so that its masks are drawn over both sides.
        words = words._replace(line=segment)
        masked, counts = self._mask(words, random, self._builder.room // 2, self._task.labels)

        # A side may exceed half of the room if the other side is shorter; the rest is cut.
        count = tf.reduce_sum(tf.cast(is_complete, tf.int32))
        side = 2 * segment + tf.cast(is_second, tf.int32)
        lengths = tf.reshape(tf.math.segment_sum(masked.size, side), [count, 2])  # [pairs, 2]
        room = tf.maximum(self._builder.room // 2, self._builder.room - tf.reverse(lengths, [1]))
        end = running_sum(masked.size, side)
        in_room = end <= tf.gather(tf.reshape(room, [-1]), side)
        counts["cut_pieces"] += tf.reduce_sum(tf.where(in_room, 0, masked.size))
        short = Masked(*(select(value, in_room) for value in masked))
        segment = select(segment, in_room)
        is_second = select(is_second, in_room)
        # Masked words beyond `max_predictions` are unmasked.
        fits = running_sum(short.predictions, segment) <= self._max_predictions
        counts["unmasked_words"] += count_true(tf.logical_and(short.masked, tf.logical_not(fits)))
        short = short._replace(masked=tf.logical_and(short.masked, fits))
        return sequences_of(short, segment, is_second, select(words.language, in_room)), counts


def sequences_of(
    masked: Masked, segment: tf.Tensor, second: tf.Tensor, source: tf.Tensor
) -> Sequences:
    """The words of segments that are laid out as rows."""
    return Sequences(
        segment=segment,
        second=second,
        start=masked.start,
        size=masked.size,
        switched=masked.switched,
        masked=masked.masked,
        language=masked.language,
        source=source,
        shown=masked.shown,
        shown_size=masked.shown_size,
        entry=masked.entry,
    )


def running_sum(values: tf.Tensor, group: tf.Tensor) -> tf.Tensor:
    """[N] cumulative sums within groups, [N], which ascend from 0 without gaps."""
    total = tf.math.segment_sum(values, group)
    return tf.cumsum(values) - tf.gather(tf.cumsum(total, exclusive=True), group)


def count_true(mask: tf.Tensor) -> tf.Tensor:
    """How many entries are True, int32 []."""
    return tf.reduce_sum(tf.cast(mask, tf.int32))
