"""The labels of every dictionary word in all languages at once: DICT-MLM's draw as a table.

DICT-MLM labels a masked word with itself, or, with probability x, with a synonym: a language of the
entry is drawn uniformly, then one of its words. The table holds the probability of each
label, so that the loss can take the expectation over the draw at once.
"""

from __future__ import annotations

from typing import NamedTuple

from absl import logging
import numpy as np

from clwe_jax.text.dictionary.merged import Dictionary

_MAX_LABELS = 512  # of an entry; a row of a batch has room for as many at each of its positions


class LabelTable(NamedTuple):
    """The labels of entry e are those from splits[e] up to splits[e + 1].

    Attributes:
      splits: int32 [entries + 1].
      pieces: int32 [labels].
      languages: int32 [labels], ids of the labels' languages.
      weights: float32 [labels]. A word's weight is spread evenly over its pieces.
      members: bool [V, languages], whether a piece is in a dictionary word of the language; in a
        language without entries every piece is.
    """

    splits: np.ndarray
    pieces: np.ndarray
    languages: np.ndarray
    weights: np.ndarray
    members: np.ndarray

    @property
    def max_labels(self) -> int:
        """The largest number of labels of an entry."""
        return int(np.diff(self.splits).max(initial=1))


def make(
    dictionary: Dictionary,
    piece_splits: np.ndarray,
    pieces: np.ndarray,
    vocab_size: int,
    share: float,
    equal: bool = False,
) -> LabelTable:
    """The labels of the words of a dictionary.

    Args:
      piece_splits, pieces: the pieces of word w are pieces[piece_splits[w] : piece_splits[w + 1]].
      vocab_size: V.
      share: x, the probability of a synonym.
      equal: whether the word and the synonyms in each language weigh 1 instead.
    """
    count = len(dictionary)
    sizes = np.diff(piece_splits)
    language = dictionary.word_language
    languages_of = np.diff(dictionary.entry_splits)
    words_of = np.diff(dictionary.group_splits)
    group_weight = 1.0 / words_of
    if not equal:
        group_weight *= share / np.repeat(languages_of, languages_of)
    # The words themselves, then their synonyms.
    words = np.arange(count)
    entry = np.concatenate([words, np.repeat(words, dictionary.pairs_per_word())])
    word = np.concatenate([words, dictionary.target_ids])
    own_weight = np.full(count, 1.0 if equal else 1.0 - share)
    weight = np.concatenate([own_weight, np.repeat(group_weight, words_of)])
    # A synonym without pieces is no label, and the word keeps its own (`graph.examples`).
    is_empty = sizes[word] == 0
    weight[:count] += np.bincount(entry[is_empty], weight[is_empty], count)
    weight[is_empty] = 0.0
    is_label = weight > 0
    entry = entry[is_label]
    word = word[is_label]
    weight = weight[is_label]
    # One piece a label; a piece that several words of a language have counts once.
    owner = np.repeat(np.arange(len(word)), sizes[word])  # the place in `word` of each piece's word
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes[word]) - sizes[word], sizes[word])
    piece = pieces[piece_splits[word][owner] + within]
    # One number for (entry, language, piece), so that `unique` sorts numbers, by entry first.
    keys = (entry[owner] * len(dictionary.languages) + language[word][owner]) * vocab_size + piece
    keys, inverse = np.unique(keys, return_inverse=True)
    weights = np.bincount(inverse, (weight / np.maximum(sizes[word], 1))[owner], len(keys))
    of_entry = keys // vocab_size // len(dictionary.languages)
    heaviest = _heaviest(of_entry, weights)
    weights = weights[heaviest] * _rescale_factors(of_entry, weights, heaviest)
    keys = keys[heaviest]
    of_entry = of_entry[heaviest]
    members = np.zeros((vocab_size, len(dictionary.languages)), np.bool_)
    members[pieces, np.repeat(language, sizes)] = True
    members[:, ~members.any(0)] = True
    return LabelTable(
        splits=np.searchsorted(of_entry, np.arange(count + 1)).astype(np.int32),
        pieces=(keys % vocab_size).astype(np.int32),
        languages=(keys // vocab_size % len(dictionary.languages)).astype(np.int32),
        weights=weights.astype(np.float32),
        members=members,
    )


def example(vocab_size: int, languages: int) -> LabelTable:
    """A table of the usual size of an entry, for plans and forecasts, which know no dictionary."""
    labels = min(4 * languages, vocab_size)
    return LabelTable(
        splits=np.array([0, labels], np.int32),
        pieces=np.arange(labels, dtype=np.int32),
        languages=np.arange(labels, dtype=np.int32) % languages,
        weights=np.full(labels, 1 / labels, np.float32),
        members=np.arange(vocab_size)[:, None] % languages == np.arange(languages),
    )


def _heaviest(entry: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Ascending int [n], the places of the `_MAX_LABELS` heaviest labels of each entry, which ascend."""
    if np.bincount(entry).max(initial=0) <= _MAX_LABELS:
        return np.arange(len(entry))
    order = np.lexsort((-weights, entry))
    rank = np.arange(len(entry)) - np.searchsorted(entry, entry)
    places = np.sort(order[rank < _MAX_LABELS])
    logging.info(
        "%d labels of the entries with more than %d are left out",
        len(entry) - len(places),
        _MAX_LABELS,
    )
    return places


def _rescale_factors(entry: np.ndarray, weights: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The factors with which the chosen labels of each entry weigh as much as all."""
    totals = np.bincount(entry, weights)
    chosen_totals = np.bincount(entry[chosen], weights[chosen], len(totals))
    return (totals / np.maximum(chosen_totals, 1e-9))[entry[chosen]]
