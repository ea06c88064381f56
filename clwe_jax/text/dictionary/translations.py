"""The dictionary as a table over a joint word vocabulary: the translations of each id (A8)."""

from __future__ import annotations

import dataclasses
from typing import Sequence

from absl import logging
import numpy as np

from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.vocab.word_vocab import WordVocabulary

MAX_TRANSLATIONS = 4  # translations of a word into one language, as in the paper
_NEAR_ZERO = 0.02  # smallest share of running words that a fitting dictionary covers


@dataclasses.dataclass(frozen=True, eq=False)
class Translations:
    """The translations of each entry of a word vocabulary.

    Attributes:
      ids: int32 [V, languages, T]; translations into each language, most frequent first, then -1.
      languages: languages of the dictionary, in the order of the second axis.
      words: number of entries with a translation other than themselves.
      covered: share of those entries in the running words of the vocabulary's text, or in the
        entries where the vocabulary has no counts.
      crowded: number of pairs for which the table has no room.
      absent: number of pairs of the dictionary with a word outside the vocabulary.
    """

    ids: np.ndarray
    languages: tuple[str, ...]
    words: int
    covered: float
    pairs: int
    crowded: int
    absent: int


def table(
    dictionary: Dictionary,
    vocabulary: WordVocabulary,
    languages: Sequence[str] | None = None,
    *,
    max_translations: int = MAX_TRANSLATIONS,
) -> Translations:
    """The translations of each entry of the vocabulary into other languages.

    An entry that is a word of two languages has the translations of both, by target language. A
    word that translates to itself ("taxi") is among its own translations. Ids are in the order of
    frequency, so the translations with the lowest ids are the most frequent ones.

    Logs the coverage, as a warning where the dictionary covers almost nothing of the vocabulary.

    Args:
      dictionary: merged dictionary, with words normalised like those of the vocabulary.
      languages: languages between which pairs are taken, in this order; None means all.
      max_translations: T, of a word into one language; the most frequent ones are kept.

    Raises:
      ValueError: T is not positive, or there are fewer than two languages.
    """
    if max_translations < 1:
        raise ValueError(f"max_translations={max_translations}: must be at least 1")
    if languages is not None:
        dictionary = dictionary.restrict(languages)
    if len(dictionary.languages) < 2:
        raise ValueError(
            f"Translations need two languages or more, not {', '.join(dictionary.languages)}: set "
            "--config.data.languages"
        )
    count = len(vocabulary)
    groups = len(dictionary.languages)
    source, target, group = _pairs(dictionary, vocabulary)
    absent = len(source)
    has_ids = (source >= 0) & (target >= 0)
    absent -= int(has_ids.sum())
    # Sorted by source, target language and frequency, without duplicates.
    keys = np.unique((source[has_ids] * groups + group[has_ids]) * count + target[has_ids])
    cell = keys // count
    target = keys % count
    # The place of each translation among those of its word and language.
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    is_kept = rank < max_translations
    ids = np.full((count * groups, max_translations), -1, np.int32)
    ids[cell[is_kept], rank[is_kept]] = target[is_kept]
    ids = ids.reshape(count, groups, max_translations)
    # A word whose only translation is itself teaches nothing, and most names are such words.
    translated = ((ids >= 0) & (ids != np.arange(count)[:, None, None])).any((1, 2))
    result = Translations(
        ids=ids,
        languages=dictionary.languages,
        words=int(translated.sum()),
        covered=_share(vocabulary, translated),
        pairs=int(is_kept.sum()),
        crowded=int((~is_kept).sum()),
        absent=absent,
    )
    _report(result, vocabulary)
    return result


def _pairs(
    dictionary: Dictionary, vocabulary: WordVocabulary
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64 [pairs] each: source ids, target ids (-1 where unknown) and target languages."""
    words = vocabulary.words
    number = np.fromiter(
        (words.get(word, -1) for word in dictionary.words()), np.int64, len(dictionary)
    )
    source = np.repeat(number, dictionary.pairs_per_word())
    sizes = np.diff(dictionary.group_splits)
    language = np.repeat(dictionary.group_language.astype(np.int64), sizes)
    return source, number[dictionary.target_ids], language


def _share(vocabulary: WordVocabulary, chosen: np.ndarray) -> float:
    """The share of the chosen entries in the running words without special and unknown pieces."""
    weights = vocabulary.counts if vocabulary.counts.any() else np.ones(len(vocabulary))
    weights = weights.copy()
    weights[list(vocabulary.special_ids)] = 0.0
    return float(weights[chosen].sum() / max(weights.sum(), 1e-9))


def _report(translations: Translations, vocabulary: WordVocabulary) -> None:
    text = (
        f"The dictionary translates {translations.words:,} of the vocabulary's {len(vocabulary):,} "
        f"entries, {translations.covered:.2%} of the running words: {translations.pairs:,} pairs; "
        f"{translations.crowded:,} have no room in the table, {translations.absent:,} have a word "
        "that is not in the vocabulary"
    )
    if translations.covered >= _NEAR_ZERO:
        logging.info("%s", text)
        return
    logging.warning(
        "%s. Almost no sense will be matched across languages. Do the dictionaries "
        "(--config.data.dictionaries) have the languages (%s) and the case of the text?",
        text,
        ", ".join(translations.languages),
    )
