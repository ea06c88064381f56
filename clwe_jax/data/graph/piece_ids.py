"""Words to piece ids inside the graph: the twin of `text.vocab.base_vocab.Vocabulary.encode_word`."""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from clwe_jax.text.words import characters
from clwe_jax.text.vocab.base_vocab import LONGEST_WORD, Vocabulary
from clwe_jax.text.vocab.json_vocab import JsonVocabulary
from clwe_jax.text.vocab.subword_vocab import SentencePieceVocabulary, WordPieceVocabulary
from clwe_jax.text.vocab.word_vocab import WordVocabulary

_LONGEST_PIECE = 256  # bytes; the tokenizer's trie takes no longer piece


class PieceEncoder:
    """Encodes each word independently of the others."""

    def __init__(self, vocabulary: Vocabulary):
        """Raises:
        TypeError: the kind of the vocabulary is unknown here.
        """
        kinds = (WordPieceVocabulary, SentencePieceVocabulary, WordVocabulary, JsonVocabulary)
        if not isinstance(vocabulary, kinds):
            raise TypeError(
                f"{type(vocabulary).__name__} has no twin in the data graph: fastBPE's codes "
                "(config.vocab.path) serve translation, such as configs/laser.py"
            )
        self._unknown = vocabulary.unk_id
        self._unknown_text = vocabulary.pieces[vocabulary.unk_id]
        self._split_han = False
        if isinstance(vocabulary, WordPieceVocabulary):
            self._split_han = vocabulary.split_han
            self._han = tf.constant(characters.han_table())
            # A piece that is too long, or a duplicate, keeps its id but is never found.
            last_number = {piece: number for number, piece in enumerate(vocabulary.pieces)}
            pieces = []
            for number, piece in enumerate(vocabulary.pieces):
                usable = last_number[piece] == number and 0 < len(piece.encode()) <= _LONGEST_PIECE
                pieces.append(piece if usable else f"[unusable{number}]")
            self._tokenizer = tf_text.FastWordpieceTokenizer(
                pieces,
                unknown_token=self._unknown_text,
                no_pretokenization=True,
                token_out_type=tf.int32,
                # Beyond `LONGEST_WORD` characters of 4 bytes, so that `_encode` alone limits words.
                max_bytes_per_word=8 * LONGEST_WORD,
                support_detokenization=False,
            )
        elif isinstance(vocabulary, SentencePieceVocabulary):
            self._tokenizer = tf_text.SentencepieceTokenizer(vocabulary.model, out_type=tf.int32)
        self._by_library = vocabulary if isinstance(vocabulary, JsonVocabulary) else None
        self._wordpiece = isinstance(vocabulary, WordPieceVocabulary)
        self._table = None
        if isinstance(vocabulary, WordVocabulary):
            words = list(vocabulary.words)
            ids = list(vocabulary.words.values())
            self._table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(words, tf.string), tf.constant(ids, tf.int32)
                ),
                vocabulary.unk_id,
            )

    def __call__(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """[W] string -> int32, ids of all words in order, and [W] int32, ids per word (>= 1)."""
        if self._table is not None:
            return self._table.lookup(words), tf.ones_like(words, tf.int32)
        if self._split_han:
            parts, word_of_part = self._around_han(words)
            ids, sizes = self._encode(parts)
            sizes = tf.math.unsorted_segment_sum(sizes, word_of_part, tf.size(words))
        else:
            ids, sizes = self._encode(words)
        return tf.cond(
            tf.reduce_all(sizes > 0), lambda: (ids, sizes), lambda: self._fill(ids, sizes)
        )

    def _encode(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        if self._by_library is not None:
            # TensorFlow has no such tokenizer: Python encodes the distinct words of a chunk.
            ids, sizes = tf.numpy_function(self._encode_words, [words], [tf.int32, tf.int32])
            return tf.ensure_shape(ids, [None]), tf.ensure_shape(sizes, [None])
        if self._wordpiece:
            long = tf.strings.length(words, unit="UTF8_CHAR") > LONGEST_WORD
            words = tf.where(long, self._unknown_text, words)
        encoded = self._tokenizer.tokenize(words)
        return encoded.flat_values, tf.cast(encoded.row_lengths(), tf.int32)

    def _encode_words(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        encoded = [self._by_library.encode_word(word.decode("utf-8")) for word in words]
        sizes = np.array([len(ids) for ids in encoded], np.int32)
        return np.fromiter(itertools.chain.from_iterable(encoded), np.int32, sizes.sum()), sizes

    def _around_han(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The parts of words, Han characters and the text between them, and each part's word."""
        decoded = tf.strings.unicode_decode(words, "UTF-8")
        code = decoded.flat_values
        word = tf.cast(decoded.value_rowids(), tf.int32)
        han = tf.gather(self._han, code)
        begins = tf.concat([[True], (word[1:] != word[:-1]) | han[1:] | han[:-1]], 0)
        begins = begins[: tf.size(code)]
        place = tf.where(begins)[:, 0]
        splits = tf.concat([place, tf.size(code, tf.int64)[None]], 0)
        parts = tf.RaggedTensor.from_row_splits(code, splits, validate=False)
        return tf.strings.unicode_encode(parts, "UTF-8"), tf.gather(word, place)

    def _fill(self, ids: tf.Tensor, sizes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Encodes words that the vocabulary's own normalisation emptied as unknown."""
        filled = tf.maximum(sizes, 1)
        word = tf.repeat(tf.range(tf.size(sizes)), filled)
        within = tf.range(tf.size(word)) - tf.gather(tf.cumsum(filled, exclusive=True), word)
        place = tf.gather(tf.cumsum(sizes, exclusive=True), word) + within
        place = tf.where(tf.gather(sizes, word) > 0, place, tf.size(ids))
        return tf.gather(tf.concat([ids, [self._unknown]], 0), place), filled
