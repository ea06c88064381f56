"""Text whose words are replaced by translations, and the dictionary between word ids that this takes."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from absl import logging
import numpy as np

from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.text.dictionary.merged import Dictionary


class ReplacementTable(NamedTuple):
    """A dictionary between word ids; the translations of word w are at starts[w] : starts[w + 1].

    Attributes:
      starts: first link of each word, int64 [words + 1].
      targets: ids of translations, int32 [links].
      ends: w plus the cumulative probability of w's links up to this one, float64 [links].
    """

    starts: np.ndarray
    targets: np.ndarray
    ends: np.ndarray

    def draw(self, words: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Draws a translation of each word, int32; every word must have one.

        The draw is uniform over the languages that translate the word, then uniform over its
        translations in that language, as in `Dictionary`.
        """
        # The whole part of an end is its word, the rest a probability: one search draws for all.
        places = np.searchsorted(self.ends, words + random.random(len(words)), side="right")
        # The cumulative probability may end just below 1; the minimum then takes the last link.
        return self.targets[np.minimum(places, self.starts[words + 1] - 1)]


def links(
    dictionary: Dictionary,
    language: str,
    source: Mapping[str, int],
    targets: Mapping[str, Mapping[str, int]],
    size: int,
) -> ReplacementTable:
    """The translations of one language's words, by id.

    Args:
      dictionary: dictionary with the text's normalisation.
      source: word -> id.
      targets: language -> word -> id; translations without an id are left out.
      size: number of ids of `source`.
    """
    rows = []
    translations = []
    shares = []
    for word in dictionary.language_words(language):
        if word not in source:
            continue
        groups = []
        for target, synonyms in dictionary.synonyms(word, language).items():
            target_ids = targets.get(target)
            if target_ids is not None:
                groups.append([target_ids[other] for other in synonyms if other in target_ids])
        groups = [group for group in groups if group]
        for group in groups:
            rows += [source[word]] * len(group)
            translations += group
            shares += [1 / len(groups) / len(group)] * len(group)
    rows = np.array(rows, np.int64)
    translations = np.array(translations, np.int32)
    shares = np.array(shares)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    translations = translations[order]
    shares = shares[order]
    starts = np.searchsorted(rows, np.arange(size + 1))
    before = np.concatenate([[0.0], np.cumsum(shares)])
    return ReplacementTable(starts, translations, rows + before[1:] - before[starts[rows]])


def joint_replace(corpus: Corpus, dictionary: Dictionary, rate: float, seed: int = 0) -> Corpus:
    """Joint-Replace (joint-align, 4.1): replaces dictionary words at random by translations.

    Every running word with a translation into another language of the corpus is replaced with
    probability `rate`, by a random translation in a random one of these languages. Translations of
    several words are left out.

    Args:
      corpus: text; it is not changed.
      dictionary: dictionary with the text's normalisation.
      rate: probability in [0, 1].

    Raises:
      ValueError: a rate out of range, or a dictionary that translates no word of the text.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate={rate}: must be in [0, 1]")
    numbers = {word: number for number, word in enumerate(corpus.words)}
    # Translations that are missing from the text need ids too.
    for language in corpus.languages:
        for word in dictionary.language_words(language):
            if " " not in word:
                numbers.setdefault(word, len(numbers))
    ids = {}
    translated_count = 0
    for place, language in enumerate(corpus.languages):
        other_numbers = {other: numbers for other in corpus.languages if other != language}
        translations = links(dictionary, language, numbers, other_numbers, len(numbers))
        running = corpus.ids[language]
        random = np.random.default_rng([seed, place])
        has_entry = np.diff(translations.starts)[running] > 0
        replaced_places = np.flatnonzero(has_entry & (random.random(len(running)) < rate))
        replaced = running.copy()
        replaced[replaced_places] = translations.draw(running[replaced_places], random)
        ids[language] = replaced
        translated_count += int(has_entry.sum())
        logging.info(
            "%s: %.1f%% of the running words have a translation, %.1f%% are replaced",
            language,
            100 * has_entry.mean(),
            100 * len(replaced_places) / max(1, len(running)),
        )
    if not translated_count:
        raise ValueError(
            no_coverage_message(dictionary, {x: corpus.counts(x) for x in corpus.languages})
        )
    return Corpus(list(numbers), ids, corpus.splits)


def no_coverage_message(dictionary: Dictionary, words: Mapping[str, Mapping[str, int]]) -> str:
    """The error message for a dictionary without a word of the text, with examples of both.

    Args:
      words: language -> words of the text, most frequent first.
    """
    examples = []
    for language, counts in words.items():
        in_text = [word for word, _ in zip(filter(str.isalpha, counts), range(3))]
        entries = [word for word, _ in zip(dictionary.language_words(language), range(3))]
        examples.append(
            f"{language} has {', '.join(map(repr, in_text)) or 'no words'} in the text and "
            f"{', '.join(map(repr, entries)) or 'none'} in the dictionary"
        )
    return (
        "The dictionary translates 0% of the running words: " + "; ".join(examples) + ". Are both "
        "normalised alike (config.data.lower_case), and do the dictionaries "
        "(config.data.dictionaries) have the text's languages (config.data.languages)?"
    )
