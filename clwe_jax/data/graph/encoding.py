"""Lines of text to words with their pieces and dictionary entries, one chunk at a time."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from clwe_jax.data.graph.piece_ids import PieceEncoder
from clwe_jax.data.graph.segmentation import GraphSegmenter
from clwe_jax.data.graph.synonyms import Synonyms, WordKeys
from clwe_jax.text.dictionary import Dictionary
from clwe_jax.text.vocab.tokenizer import Tokenizer


class Encoded(NamedTuple):
    """The W words of a chunk.

    Attributes:
      text: [W] string, normalised.
      line: [W] int32, the word's line in the chunk.
      language: [W] int32, language id.
      ends_sentence: [W] bool, whether the word ends a sentence or a line.
      entry: [W] int32, the word's number in the dictionary; -1 for a word without synonyms.
      start, size: [W] int32; the word's pieces are `pieces[start : start + size]`.
      pieces: int32, pieces of the distinct words of the chunk.
      repaired: scalar int32, number of lines that were not UTF-8.
    """

    text: tf.Tensor
    line: tf.Tensor
    language: tf.Tensor
    ends_sentence: tf.Tensor
    entry: tf.Tensor
    start: tf.Tensor
    size: tf.Tensor
    pieces: tf.Tensor
    repaired: tf.Tensor


class TextEncoder:
    """A tokenizer and a dictionary in the graph.

    Attributes:
      synonyms: the dictionary in the graph; None without a dictionary.
      encode: tf.function (lines [N] string, languages [N] int32) -> `Encoded`. It is traced once, which takes
        half a second, also where the graphs of several makers of rows call it.
    """

    def __init__(self, tokenizer: Tokenizer, dictionary: Dictionary | None):
        languages = tokenizer.languages
        self._segmenter = GraphSegmenter(
            languages, tokenizer.normalizer, tokenizer.segmenter.lexicons
        )
        self._encoder = PieceEncoder(tokenizer.vocabulary)
        self._keys = WordKeys(languages)
        self.synonyms = None
        if dictionary is not None:
            self.synonyms = Synonyms(
                dictionary, languages, self._keys, self._segmenter, self._encoder
            )

        self.encode = tf.function(
            self._encode,
            autograph=False,
            input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32)],
        )

    def _encode(self, lines: tf.Tensor, languages: tf.Tensor) -> Encoded:
        """The words of lines, [N] string, in languages, [N] int32."""
        words = self._segmenter(lines, languages)
        language = tf.gather(languages, words.line)
        # Each distinct word of the chunk is tokenised and looked up once.
        keys, numbers = tf.unique(self._keys(words.text, language))
        first = tf.math.unsorted_segment_min(tf.range(tf.size(numbers)), numbers, tf.size(keys))
        pieces, sizes = self._encoder(tf.gather(words.text, first))
        starts = tf.cumsum(sizes, exclusive=True)
        entry = tf.fill([tf.size(numbers)], -1)
        if self.synonyms is not None:
            entry = tf.gather(self.synonyms.entries(keys), numbers)
        return Encoded(
            text=words.text,
            line=words.line,
            language=language,
            ends_sentence=words.ends_sentence,
            entry=entry,
            start=tf.gather(starts, numbers),
            size=tf.gather(sizes, numbers),
            pieces=pieces,
            repaired=words.repaired,
        )
