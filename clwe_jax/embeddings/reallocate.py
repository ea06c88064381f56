"""Vocabulary reallocation: which words of a joint vocabulary languages share (joint-align, 3.2)."""

from __future__ import annotations

import collections
import dataclasses
import fractions
import functools
from typing import Iterable, Mapping, Sequence

import numpy as np

from clwe_jax.embeddings.vectors import Vectors

_ANCHORS = 5_000  # most frequent words of two languages among which neighbours are looked for
_LEAST_ANCHORS = 20  # fewer make no neighbourhood
_CHUNK = 1_024  # words whose neighbours are looked for at once
_MISMATCHES = 2_000  # pairs of different words that tell how much agreement chance gives

Counts = Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class Reallocation:
    """Disjoint sets of words that together are the joint vocabulary.

    Attributes:
      own: language -> the words that it alone keeps, its most frequent first.
      sharers: shared word -> the languages that share it, at least two; most frequent words first.
      scores: word -> what decided: the ratio to the next language, or the agreement.
    """

    own: Mapping[str, list[str]]
    sharers: Mapping[str, tuple[str, ...]]
    scores: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def shared(self) -> list[str]:
        """The shared words, most frequent first."""
        return list(self.sharers)

    def vocabulary(self, language: str) -> list[str]:
        """What a language keeps: its own words, and the shared ones that it is a sharer of."""
        shared = [word for word, languages in self.sharers.items() if language in languages]
        return self.own.get(language, []) + shared

    def examples(self, most: int = 20) -> dict[str, list[str]]:
        """The most frequent words of each set that have a letter: 'shared' and each language."""
        found = {}
        for name, words in {"shared": self.shared, **self.own}.items():
            spelled = (word for word in words if any(map(str.isalpha, word)))
            found[name] = [word for word, _ in zip(spelled, range(most))]
        return found


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
    """Splits a joint vocabulary into words that languages share and words of one language.

    With f_i(w) = C_i(w) / T_i, the relative frequency of a word in language i, and m the language
    where it is highest, w is shared by m and every language i with f_i / f_m >= (1-g)/g; where no
    other one reaches that, the word is m's alone. For two languages this is joint-align's Eqs 5-6
    to the letter: r = f_1 / f_2 lies in [(1-g)/g, g/(1-g)] exactly when min(r, 1/r) >= (1-g)/g.
    The comparison is one of whole numbers, with g as the decimal fraction that it is written as:
    a word at exactly g is shared.

    rule='neighbours' decides from use instead: see `agreement`. Two languages share a word when its
    neighbourhoods in them agree more than those of two different words do; with more languages,
    language m and those that agree with it share. A word that is in the vectors of one language
    only is that language's (it is too rare in the others to be compared, or not there), and
    whatever is left over goes where it is most frequent.

    Args:
      counts: language -> word -> occurrences in that language's text, all its words.
      gamma: g, in [.5, 1); the larger, the more is shared. Only of rule='ratio'.
      words: the joint vocabulary; None: all words of `counts`. Words that do not occur are left
        out.
      rule: 'ratio' or 'neighbours'.
      vectors: language -> vectors trained on that language's text alone; for 'neighbours'.
      neighbours, chance, seed: see `agreement` and `chance_level`; for 'neighbours'.

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
                "rule='neighbours' compares vectors trained on each language alone; none are given "
                f"for {', '.join(absent)}"
            )
    if words is None:
        words = (word for language in languages for word in counts[language])
    found = [
        (word, occurrences)
        for word in dict.fromkeys(words)
        if any(occurrences := [counts[language].get(word, 0) for language in languages])
    ]
    if rule == "ratio":
        decided = _by_ratio(found, totals, fractions.Fraction(str(gamma)))
    else:
        spaces = [vectors[language] for language in languages]
        decided = _by_neighbours(found, totals, spaces, neighbours, chance, seed)
    frequency = {
        word: sum(n / total for n, total in zip(occurrences, totals) if n)
        for word, occurrences in found
    }
    own: dict[str, list[str]] = {language: [] for language in languages}
    sharers, scores = {}, {}
    for word, _ in sorted(found, key=lambda item: (-frequency[item[0]], item[0])):
        owners, scores[word] = decided[word]
        if len(owners) == 1:
            own[languages[owners[0]]].append(word)
        else:
            sharers[word] = tuple(languages[owner] for owner in owners)
    return Reallocation(own, sharers, scores)


Decisions = dict[str, tuple[list[int], float]]


def _by_ratio(found, totals: Sequence[int], gamma: fractions.Fraction) -> Decisions:
    """word -> (its languages, the second highest relative frequency over the highest)."""
    high, low = gamma.numerator, gamma.denominator - gamma.numerator
    decided: Decisions = {}
    for word, occurrences in found:
        top = _most_frequent(occurrences, totals)
        count, total = occurrences[top], totals[top]
        owners = [
            i
            for i, (n, size) in enumerate(zip(occurrences, totals))
            # f_i / f_m >= (1-g)/g without division.
            if n and n * total * high >= count * size * low
        ]
        second = max(
            (n * total / (count * size) for i, (n, size) in enumerate(zip(occurrences, totals))
             if i != top and n),
            default=0.0,
        )  # fmt: skip
        decided[word] = owners, second
    return decided


def _most_frequent(occurrences: Sequence[int], totals: Sequence[int]) -> int:
    """The language of the highest relative frequency; the first of equal ones."""
    top = max(range(len(totals)), key=lambda i: bool(occurrences[i]))
    for i, (n, size) in enumerate(zip(occurrences, totals)):
        if n * totals[top] > occurrences[top] * size:
            top = i
    return top


def _by_neighbours(
    found, totals: Sequence[int], spaces: Sequence[Vectors], neighbours: int, chance: float,
    seed: int,
) -> Decisions:  # fmt: skip
    """word -> (its languages, the highest agreement of the language where it is most frequent)."""
    order = {word: sum(n / t for n, t in zip(counted, totals) if n) for word, counted in found}
    agreed: dict[str, dict[tuple[int, int], tuple[bool, float]]] = collections.defaultdict(dict)
    for i in range(len(spaces)):
        for j in range(i + 1, len(spaces)):
            both = [w for w in order if w in spaces[i].index and w in spaces[j].index]
            both.sort(key=lambda word: (-order[word], word))
            if len(both) < _LEAST_ANCHORS:
                continue
            level = chance_level(spaces[i], spaces[j], both, neighbours, chance, seed)
            values = agreement(spaces[i], spaces[j], both, neighbours=neighbours)
            for word, value in zip(both, values.tolist()):
                agreed[word][i, j] = value > level, value
    decided: Decisions = {}
    for word, occurrences in found:
        top = _most_frequent(occurrences, totals)
        owners, best = [top], 0.0
        for pair, (agrees, value) in agreed.get(word, {}).items():
            if top in pair:
                best = max(best, value)
                if agrees:
                    owners.append(pair[0] + pair[1] - top)
        decided[word] = sorted(owners), best
    return decided


def agreement(
    source: Vectors,
    target: Vectors,
    words: Sequence[str],
    others: Sequence[str] | None = None,
    anchors: Sequence[str] | None = None,
    neighbours: int = 10,
) -> np.ndarray:
    """The share of a word's nearest words that two languages agree on: float64 [words].

    Both spaces are looked at by themselves, no map between them is needed: of the words that both
    have (the 5,000 most frequent), the nearest ones to the word by cosine are taken in each space,
    and those are compared. Words used alike in both languages, such as names, have the same
    neighbours; 'die' or 'gift' in German and English do not.

    Args:
      source, target: vectors of two languages, each trained on its own text.
      words: that both have, most frequent first.
      others: what stands for each word in the target; None: the word itself.
      anchors: words that both have, of which the first 5,000 are the possible neighbours; None:
        `words`.
      neighbours: how many are compared.
    """
    anchors = list((words if anchors is None else anchors)[:_ANCHORS])
    places = {word: place for place, word in enumerate(anchors)}
    others = words if others is None else others
    result = np.zeros(len(words))
    units = [_unit(space.vectors[space.rows(anchors)]) for space in (source, target)]
    for first in range(0, len(words), _CHUNK):
        part = [words[first : first + _CHUNK], others[first : first + _CHUNK]]
        # Neither a word nor its stand-in is a neighbour of either.
        hidden = [
            (row, places[word])
            for listed in part
            for row, word in enumerate(listed)
            if word in places
        ]
        rows, columns = np.array(hidden, np.int64).reshape(-1, 2).T
        near = []
        for space, keys, listed in zip((source, target), units, part):
            cosines = _unit(space.vectors[space.rows(listed)]) @ keys.T
            cosines[rows, columns] = -np.inf
            most = min(neighbours, len(anchors) - 2)
            near.append(np.argpartition(-cosines, most - 1, axis=1)[:, :most])
        same = (near[0][:, :, None] == near[1][:, None, :]).any(2).mean(1)
        result[first : first + len(same)] = same
    return result


def chance_level(
    source: Vectors,
    target: Vectors,
    words: Sequence[str],
    neighbours: int = 10,
    chance: float = 0.95,
    seed: int = 0,
) -> float:
    """The agreement that a share `chance` of pairs of DIFFERENT words does not exceed.

    Each word is compared with a random other one, so that the level is learned from the two spaces
    themselves: it takes in how dense they are and how well they are trained.
    """
    random = np.random.default_rng(seed)
    chosen = random.choice(len(words), min(len(words), _MISMATCHES), replace=False)
    shift = 1 + random.integers(len(words) - 1, size=len(chosen))
    mine = [words[place] for place in chosen]
    others = [words[place] for place in (chosen + shift) % len(words)]
    return float(np.quantile(agreement(source, target, mine, others, words, neighbours), chance))


def _unit(x: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(lengths > 0, lengths, 1)
