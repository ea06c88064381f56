"""Vocabulary reallocation: splits a joint vocabulary into shared words and own words of languages.

Wang et al. 2020, Cross-lingual Alignment vs Joint Training (joint-align), section 3.2.
"""

from __future__ import annotations

import collections
import dataclasses
import fractions
import functools
import itertools
from typing import Iterable, Mapping, Sequence

import numpy as np

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.words.characters import has_letter

_ANCHORS = 5_000  # most frequent common words, among which neighbours are searched
_MIN_ANCHORS = 20  # common words below which two languages are not compared
_CHUNK = 1_024  # words compared at once
_MISMATCHES = 2_000  # pairs of different words that estimate the chance agreement

Counts = Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class Reallocation:
    """A partition of the joint vocabulary.

    Attributes:
      own_words: language -> its own words, most frequent first.
      sharers: shared word -> its languages, at least two; most frequent word first.
    """

    own_words: Mapping[str, list[str]]
    sharers: Mapping[str, tuple[str, ...]]

    @functools.cached_property
    def shared(self) -> list[str]:
        """Shared words, most frequent first."""
        return list(self.sharers)

    def vocabulary(self, language: str) -> list[str]:
        """The words that a language keeps: its own words, then the words that it shares."""
        return self.own_words.get(language, []) + self._shared_by.get(language, [])

    @functools.cached_property
    def _shared_by(self) -> dict[str, list[str]]:
        """Language -> the words that it shares, most frequent first."""
        words: dict[str, list[str]] = {}
        for word, languages in self.sharers.items():
            for language in languages:
                words.setdefault(language, []).append(word)
        return words

    def examples(self, max_words: int = 20) -> dict[str, list[str]]:
        """The most frequent words with a letter, of 'shared' and of each language."""
        by_name = {}
        for name, words in {"shared": self.shared, **self.own_words}.items():
            spelled = (word for word in words if has_letter(word))
            by_name[name] = [word for word, _ in zip(spelled, range(max_words))]
        return by_name


def reallocate(
    counts: Counts,
    gamma: float = 0.9,
    *,
    words: Iterable[str] | None = None,
    rule: str = "ratio",
    vectors: Mapping[str, Vectors] | None = None,
    neighbours: int = 10,
    chance: float = 0.95,
    seed: int = 0,
) -> Reallocation:
    """Splits a joint vocabulary into shared words and words of one language.

    rule='ratio': let f_i(w) = C_i(w) / T_i be the relative frequency of w in language i, and m the
    language of the highest one. Then w is shared by m and every language i with
    f_i / f_m >= (1-g)/g; if no other language reaches this ratio, w is m's own word. For two
    languages these are Eqs 5-6 of joint-align: r = f_1/f_2 lies in [(1-g)/g, g/(1-g)] exactly when
    min(r, 1/r) >= (1-g)/g. The comparison uses integers and treats g as a decimal fraction, so a
    word at exactly g is shared.

    rule='neighbours': w is shared by m and every language in which the neighbours of w agree with
    its neighbours in m more than neighbours of different words do. A word without
    a vector in other languages is m's own word.

    Args:
      counts: language -> word -> occurrences, of all words of the language's text.
      gamma: g in [0.5, 1), for 'ratio'; a larger g shares more words.
      words: joint vocabulary, without effect for words that do not occur; None: all of `counts`.
      rule: 'ratio' or 'neighbours'.
      vectors: language -> vectors trained on that language's text alone, for 'neighbours'.
      neighbours, chance, seed: arguments of `agreement` and `chance_level`, for 'neighbours'.

    Raises:
      ValueError: gamma out of range, an unknown rule, or 'neighbours' without vectors.
    """
    if not 0.5 <= gamma < 1:
        raise ValueError(f"gamma={gamma}: must be in [0.5, 1)")
    if rule not in ("ratio", "neighbours"):
        raise ValueError(f"rule={rule!r}: expected 'ratio' or 'neighbours'")
    languages = list(counts)
    totals = [sum(counts[language].values()) for language in languages]
    if rule == "neighbours":
        absent = [language for language in languages if language not in (vectors or {})]
        if absent:
            raise ValueError(
                "rule='neighbours' needs vectors trained on each language alone; none are given "
                f"for {', '.join(absent)}"
            )
    if words is None:
        words = itertools.chain.from_iterable(counts[language] for language in languages)
    # Most words occur in few languages: a row of all languages for each word would grow with the square.
    counts_of: dict[str, dict[int, int]] = {word: {} for word in words}
    for i, language in enumerate(languages):
        for word, n in counts[language].items():
            if n and word in counts_of:
                counts_of[word][i] = n
    occurring = [(word, occurrences) for word, occurrences in counts_of.items() if occurrences]
    frequency = {
        word: sum(n / totals[i] for i, n in occurrences.items()) for word, occurrences in occurring
    }
    order = sorted(frequency, key=lambda word: (-frequency[word], word))
    if rule == "ratio":
        decided = _by_ratio(occurring, totals, fractions.Fraction(str(gamma)))
    else:
        spaces = [vectors[language] for language in languages]
        decided = _by_neighbours(occurring, order, totals, spaces, neighbours, chance, seed)
    own_words: dict[str, list[str]] = {language: [] for language in languages}
    sharers = {}
    for word in order:
        owners = decided[word]
        if len(owners) == 1:
            own_words[languages[owners[0]]].append(word)
        else:
            sharers[word] = tuple(languages[owner] for owner in owners)
    return Reallocation(own_words, sharers)


Decisions = dict[str, list[int]]  # word -> indices of its languages


def _by_ratio(occurring, totals: Sequence[int], gamma: fractions.Fraction) -> Decisions:
    high = gamma.numerator
    low = gamma.denominator - gamma.numerator
    decided: Decisions = {}
    for word, occurrences in occurring:
        top = _most_frequent(occurrences, totals)
        count = occurrences[top]
        total = totals[top]
        decided[word] = []
        for i, n in occurrences.items():
            # f_i / f_m >= (1-g)/g without division.
            if n * total * high >= count * totals[i] * low:
                decided[word].append(i)
    return decided


def _most_frequent(occurrences: Mapping[int, int], totals: Sequence[int]) -> int:
    """The index of the language with the highest relative frequency; the first one in a tie."""
    top = next(iter(occurrences))
    for i, n in occurrences.items():
        if n * totals[top] > occurrences[top] * totals[i]:
            top = i
    return top


def _by_neighbours(
    occurring,
    order: Sequence[str],
    totals: Sequence[int],
    spaces: Sequence[Vectors],
    neighbours: int,
    chance: float,
    seed: int,
) -> Decisions:
    agreed: dict[str, list[tuple[int, int]]] = collections.defaultdict(list)
    for i in range(len(spaces)):
        for j in range(i + 1, len(spaces)):
            shared = [w for w in order if w in spaces[i].index and w in spaces[j].index]
            if len(shared) < _MIN_ANCHORS:
                continue
            level = chance_level(spaces[i], spaces[j], shared, neighbours, chance, seed)
            values = agreement(spaces[i], spaces[j], shared, neighbours=neighbours)
            for word in np.array(shared, object)[values > level]:
                agreed[word].append((i, j))
    decided: Decisions = {}
    for word, occurrences in occurring:
        top = _most_frequent(occurrences, totals)
        # The sum without `top` is the other language of the pair.
        others = [sum(pair) - top for pair in agreed.get(word, ()) if top in pair]
        decided[word] = sorted([top, *others])
    return decided


def agreement(
    source: Vectors,
    target: Vectors,
    words: Sequence[str],
    others: Sequence[str] | None = None,
    anchors: Sequence[str] | None = None,
    neighbours: int = 10,
) -> np.ndarray:
    """The share of a word's neighbours that two languages have in common: float64 [words].

    The neighbours of a word are the nearest common words by cosine in either space, so no map
    between the spaces is needed. Words of similar use in both languages, such as names, have the
    same neighbours; 'die' and 'gift' in German and English do not.

    Args:
      source, target: vectors of two languages, each trained on its own text.
      words: common words, most frequent first.
      others: word of the target to compare with each word; None: the word itself.
      anchors: common words, of which the first 5,000 are the possible neighbours; None: `words`.
      neighbours: number of neighbours.
    """
    anchors = list((words if anchors is None else anchors)[:_ANCHORS])
    places = {word: place for place, word in enumerate(anchors)}
    others = words if others is None else others
    result = np.zeros(len(words))
    units = [_unit(space.vectors[space.rows(anchors)]) for space in (source, target)]
    for first in range(0, len(words), _CHUNK):
        part = [words[first : first + _CHUNK], others[first : first + _CHUNK]]
        # The two compared words do not count as neighbours of each other.
        hidden = []
        for side_words in part:
            hidden += [(row, places[word]) for row, word in enumerate(side_words) if word in places]
        rows, columns = np.array(hidden, np.int64).reshape(-1, 2).T
        near = []
        for space, keys, side_words in zip((source, target), units, part):
            cosines = _unit(space.vectors[space.rows(side_words)]) @ keys.T
            cosines[rows, columns] = -np.inf
            # The two hidden words may be anchors, and must not count as neighbours.
            count = min(neighbours, len(anchors) - 2)
            near.append(np.argpartition(-cosines, count - 1, axis=1)[:, :count])
        shares = (near[0][:, :, None] == near[1][:, None, :]).any(2).mean(1)  # [n, k, k] to [n]
        result[first : first + len(shares)] = shares
    return result


def chance_level(
    source: Vectors,
    target: Vectors,
    words: Sequence[str],
    neighbours: int = 10,
    chance: float = 0.95,
    seed: int = 0,
) -> float:
    """The quantile `chance` of the agreement of pairs of DIFFERENT words.

    The pairs are random words of both spaces, so the level reflects their density and quality.
    """
    random = np.random.default_rng(seed)
    places = random.choice(len(words), min(len(words), _MISMATCHES), replace=False)
    # A shift of 1 or more pairs every word with another one.
    shift = 1 + random.integers(len(words) - 1, size=len(places))
    mine = [words[place] for place in places]
    others = [words[place] for place in (places + shift) % len(words)]
    return float(np.quantile(agreement(source, target, mine, others, words, neighbours), chance))


def _unit(x: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(lengths > 0, lengths, 1)
