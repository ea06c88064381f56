"""Synonym choice by context, beyond the paper: prefers translations that fit the sentence.

A word's context vector is the sum of the index vectors of the words around it in text of its own
language (random indexing). Index vectors are random vectors averaged along the dictionary, so that
translations have similar ones, and contexts of different languages can be compared without parallel
text. Among the words of the drawn language, one is drawn with a probability proportional to
exp(cosine(its context vector, the sentence) / temperature): in a sentence about rivers, 'bank'
becomes 'Ufer' more often than 'Bank'.
"""

from __future__ import annotations

from typing import Iterable

import numpy as np
import tensorflow as tf

from clwe_jax.data.graph import draws
from clwe_jax.data.graph.encoding import Encoded, TextEncoder
from clwe_jax.data.graph.synonyms import Drawn

_SIZE = 128
_TEMPERATURE = 0.05
_STEPS = 3  # steps of averaging along the dictionary


class ContextModel:
    """Index vectors and context vectors of the dictionary's words that occur in a sample of text.

    Each table has 128 float16 numbers per word. Words that do not occur have zeros, so they add
    nothing to a sentence, and every sentence fits them equally.
    """

    def __init__(
        self, encoder: TextEncoder, texts: Iterable[tuple[tf.Tensor, tf.Tensor]], seed: int = 0
    ):
        """Args:
        texts: sample of each language's text, in chunks of lines, [N] string, with their language
          ids, [N] int32.
        seed: seed of the random vectors.
        """
        self._synonyms = encoder.synonyms
        dictionary = self._synonyms.dictionary
        chunks = []
        found_in = np.zeros(len(dictionary), np.int64)
        lines_of = np.zeros(len(dictionary.languages), np.int64)
        for lines, languages in texts:
            words = encoder.encode(lines, languages)
            entry = words.entry.numpy()
            line = words.line.numpy().astype(np.int64)
            has_entry = entry >= 0
            # A word counts once per line.
            line, entry = np.divmod(
                np.unique(line[has_entry] * len(dictionary) + entry[has_entry]), len(dictionary)
            )
            found_in += np.bincount(entry, minlength=len(found_in))
            lines_of += np.bincount(languages.numpy(), minlength=len(lines_of))
            chunks.append((line, entry))
        ids = np.flatnonzero(found_in)
        slots = np.zeros(len(dictionary), np.int32)
        # Slot 0 has zeros, for the words that do not occur.
        slots[ids] = 1 + np.arange(len(ids))
        index = _index_vectors(dictionary, ids, slots, seed)
        # Inverse document frequency within each language, so that frequent words weigh little.
        total = lines_of[dictionary.word_language[ids]]
        index[1:] *= np.log((1 + total) / (1 + found_in[ids]))[:, None].astype(np.float32)

        context = np.zeros_like(index)
        for line, entry in chunks:
            _add_contexts(context, index, line, slots[entry])
        context = _unit(context)
        # Center each language, because its mean vector distinguishes no words.
        for number in range(len(dictionary.languages)):
            first, last = np.searchsorted(ids, dictionary.language_splits[number : number + 2]) + 1
            if last > first:
                context[first:last] -= context[first:last].mean(axis=0)
        self._slots = tf.constant(slots)
        self._index = tf.constant(index.astype(np.float16))
        self._context = tf.constant(_unit(context).astype(np.float16))

    def draw(self, words: Encoded, place: tf.Tensor, random: draws.Draws) -> Drawn:
        """Draws one synonym for each of some words of a chunk.

        Args:
          place: [M] int32, indices of words with entries.
        """
        entries = tf.gather(words.entry, place)
        group, first, count = self._synonyms.draw_group(entries, random)

        # The context of each word: the sum of its line without the word itself.
        vectors = self._look_up(self._index, words.entry)
        lines = tf.reduce_max(tf.concat([words.line, [-1]], 0)) + 1
        around = tf.math.unsorted_segment_sum(vectors, words.line, lines)
        around = tf.gather(around, tf.gather(words.line, place)) - tf.gather(vectors, place)
        around = tf.math.l2_normalize(around, axis=1)

        # The Gumbel trick draws one of the candidates of each word.
        owner = tf.repeat(tf.range(tf.size(place)), count)
        within = tf.range(tf.size(owner)) - tf.gather(tf.cumsum(count, exclusive=True), owner)
        target = tf.gather(first, owner) + within
        word = tf.gather(self._synonyms.targets, target)
        fit = tf.reduce_sum(self._look_up(self._context, word) * tf.gather(around, owner), axis=1)
        # A draw of 0 would make the score -inf.
        uniform = tf.maximum(random.uniform(tf.size(owner)), 1e-20)
        score = fit / _TEMPERATURE - tf.math.log(-tf.math.log(uniform))
        best = tf.gather(tf.math.segment_max(score, owner), owner)
        order = tf.where(tf.equal(score, best), tf.range(tf.size(owner)), tf.size(owner))
        chosen = tf.gather(target, tf.math.segment_min(order, owner))
        return self._synonyms.gather(group, chosen)

    def _look_up(self, table: tf.Tensor, entries: tf.Tensor) -> tf.Tensor:
        """[N] int32 entries, or -1 -> [N, 128] float32, zeros for words that do not occur."""
        slots = tf.where(entries >= 0, tf.gather(self._slots, tf.maximum(entries, 0)), 0)
        return tf.cast(tf.gather(table, slots), tf.float32)


def _index_vectors(dictionary, seen: np.ndarray, slots: np.ndarray, seed: int) -> np.ndarray:
    """Unit vectors [1 + seen, 128] float32, close for translations; row 0 is zeros."""
    # Keep the pairs of translations that both occur.
    splits = dictionary.group_splits[dictionary.entry_splits].astype(np.int64)
    sizes = splits[seen + 1] - splits[seen]
    source = np.repeat(1 + np.arange(len(seen)), sizes)
    within = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    target = slots[dictionary.target_ids[np.repeat(splits[seen], sizes) + within]]
    source = source[target > 0]
    target = target[target > 0]
    starts = np.flatnonzero(np.diff(source, prepend=0))

    vectors = np.random.default_rng(seed).standard_normal((len(seen) + 1, _SIZE), np.float32)
    vectors[0] = 0
    for _ in range(_STEPS if len(source) else 0):
        vectors = _unit(vectors)
        sums = np.add.reduceat(vectors[target], starts, axis=0)
        vectors[source[starts]] += _unit(sums)
    return _unit(vectors)


def _add_contexts(
    context: np.ndarray, index: np.ndarray, line: np.ndarray, slot: np.ndarray
) -> None:
    """Adds to each word of each line the unit sum of the line's other words."""
    if not len(line):
        return
    starts = np.flatnonzero(np.diff(line, prepend=-1))
    vectors = index[slot]
    sums = np.add.reduceat(vectors, starts, axis=0)
    other_sums = _unit(np.repeat(sums, np.diff(starts, append=len(line)), axis=0) - vectors)
    # Sorted by word and summed first, because `+=` adds only once at repeated indices.
    order = np.argsort(slot, kind="stable")
    slot = slot[order]
    starts = np.flatnonzero(np.diff(slot, prepend=0))
    context[slot[starts]] += np.add.reduceat(other_sums[order], starts, axis=0)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
