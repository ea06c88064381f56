"""Dictionary entries and synonyms inside the graph (DICT-MLM, D1 and D3).

A word is looked up by a 64-bit fingerprint of its language and spelling. Its synonym is drawn
uniformly from a language that is drawn uniformly from the languages of the entry.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import numpy as np
import tensorflow as tf

from clwe_jax.data.graph import draws
from clwe_jax.data.graph.piece_ids import PieceEncoder
from clwe_jax.data.graph.segmentation import GraphSegmenter
from clwe_jax.text.dictionary import Dictionary

_BUCKETS = 2**63 - 1
_AT_ONCE = 1 << 16  # words that one call tokenises


class WordKeys:
    """Fingerprints of (language, word), the keys of the tables of a dictionary and of a chunk.

    With a million dictionary words, one other word in 10^13 is mistaken for one of them.
    """

    def __init__(self, languages: Sequence[str]):
        salts = [draws.fold("language", name) for name in languages]
        self._salts = tf.constant(salts, tf.int64)

    def __call__(self, words: tf.Tensor, languages: tf.Tensor) -> tf.Tensor:
        """[W] string, [W] int32 -> [W] int64."""
        fingerprints = tf.strings.to_hash_bucket_fast(words, _BUCKETS)
        # A word that two languages spell alike has a key in each.
        return tf.bitwise.bitwise_xor(fingerprints, tf.gather(self._salts, languages))


class Drawn(NamedTuple):
    """A synonym for each of W words; all [W] int32.

    Attributes:
      language: language id of the synonym.
      start, size: the synonym's pieces are `Synonyms.pieces[start : start + size]`.
      word: the synonym's number in the dictionary.
    """

    language: tf.Tensor
    start: tf.Tensor
    size: tf.Tensor
    word: tf.Tensor


class Synonyms:
    """The merged dictionary as tensors: word -> entry -> groups by language -> synonyms.

    Attributes:
      dictionary: dictionary between the run's languages, in their order.
      targets: [pairs] int32, `Dictionary.target_ids`.
      pieces, piece_splits: int32; the pieces of word w are pieces[piece_splits[w] : piece_splits[w + 1]].
      has_entries: [languages] bool, whether any word of the language has an entry.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        languages: Sequence[str],
        keys: WordKeys,
        segmenter: GraphSegmenter,
        encoder: PieceEncoder,
    ):
        """Args:
        dictionary: merged dictionary; words of other languages are left out.
        keys, segmenter, encoder: fingerprints, segmenter and piece encoder of the run.
        """
        if dictionary.languages != tuple(languages):
            dictionary = dictionary.restrict(languages)
        language = dictionary.word_language.astype(np.int32)
        self.dictionary = dictionary
        self.has_entries = tf.constant(np.diff(dictionary.language_splits) > 0)
        word_keys, splits, pieces = _encode_all(dictionary, language, keys, segmenter, encoder)
        # If two words share a fingerprint, the entry of the first serves both.
        unique, entries = np.unique(word_keys, return_index=True)
        self._entries = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                tf.constant(unique), tf.constant(entries, tf.int64)
            ),
            -1,
        )
        self._entry_splits = tf.constant(dictionary.entry_splits)
        self._group_language = tf.constant(dictionary.group_language.astype(np.int32))
        self._group_splits = tf.constant(dictionary.group_splits)
        self.targets = tf.constant(dictionary.target_ids)
        self.piece_splits = tf.constant(splits)
        self.pieces = tf.constant(pieces)

    def entries(self, keys: tf.Tensor) -> tf.Tensor:
        """[W] int64 keys -> [W] int32 entries; -1 for a word without an entry."""
        return tf.cast(self._entries.lookup(keys), tf.int32)

    def draw(self, entries: tf.Tensor, random: draws.Draws) -> Drawn:
        """One synonym for each entry: a language uniformly, then one of its words uniformly."""
        group, first, count = self.draw_group(entries, random)
        return self.gather(group, first + random.below(count))

    def draw_group(
        self, entries: tf.Tensor, random: draws.Draws
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Draws a language for each entry, uniformly.

        Returns:
          All [W] int32: the group of the language, the place of its first synonym in `targets`, and
          the number of its synonyms.
        """
        first = tf.gather(self._entry_splits, entries)
        group = first + random.below(tf.gather(self._entry_splits, entries + 1) - first)
        first = tf.gather(self._group_splits, group)
        return group, first, tf.gather(self._group_splits, group + 1) - first

    def gather(self, group: tf.Tensor, target: tf.Tensor) -> Drawn:
        """The synonyms at the places `target` of `targets`, in the groups `group`."""
        word = tf.gather(self.targets, target)
        start = tf.gather(self.piece_splits, word)
        return Drawn(
            language=tf.gather(self._group_language, group),
            start=start,
            size=tf.gather(self.piece_splits, word + 1) - start,
            word=word,
        )


def _encode_all(dictionary, language, keys, segmenter, encoder):
    """The keys, int64 [W], splits of pieces, int32 [W + 1], and pieces, int32, of all words."""

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32)],
        autograph=False,
    )
    def encode(words, languages):
        # A dictionary word may be several words of text, so it is segmented like a line of text.
        segmented = segmenter(words, languages)
        ids, sizes = encoder(segmented.text)
        sizes = tf.math.unsorted_segment_sum(sizes, segmented.line, tf.size(words))
        return keys(words, languages), ids, sizes

    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))]
    for first in range(0, len(dictionary), _AT_ONCE):
        last = min(first + _AT_ONCE, len(dictionary))
        begin = dictionary.offsets[first]
        end = dictionary.offsets[last]
        data = dictionary.blob[begin:end].tobytes()
        bounds = (dictionary.offsets[first : last + 1] - begin).tolist()
        words = [data[a:b] for a, b in zip(bounds[:-1], bounds[1:])]
        encoded = encode(tf.constant(words), tf.constant(language[first:last]))
        parts.append(tuple(x.numpy() for x in encoded))
    word_keys, pieces, sizes = (np.concatenate(part) for part in zip(*parts))
    splits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return word_keys, splits, pieces
