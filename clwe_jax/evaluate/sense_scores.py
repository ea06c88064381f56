"""Agreement of assigned senses with gold senses: purity, V-measure, accuracy of translations.

Purity and V-measure are computed for each word (a cluster is one sense slot of one word), then
averaged over words, weighted by their occurrences.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Collection, Hashable, Mapping, Sequence

import numpy as np

_SHUFFLES = 10  # shuffles of the gold senses for `chance_purity`


def contingency(assigned: Sequence[Hashable], gold: Sequence[Hashable]) -> np.ndarray:
    """The number of observations of each cluster and class, int [clusters, classes]."""
    if len(assigned) != len(gold):
        raise ValueError(f"{len(assigned)} assigned senses, but {len(gold)} gold senses")
    clusters = {x: row for row, x in enumerate(dict.fromkeys(assigned))}
    classes = {x: column for column, x in enumerate(dict.fromkeys(gold))}
    table = np.zeros((len(clusters), len(classes)), np.int64)
    for cluster, label in zip(assigned, gold, strict=True):
        table[clusters[cluster], classes[label]] += 1
    return table


def purity(table: np.ndarray) -> float:
    """The share of observations in their cluster's most frequent class.

    Args:
      table: counts or weights, [clusters, classes].
    """
    return float(table.max(1).sum() / table.sum())


def balanced_purity(table: np.ndarray) -> float:
    """Purity with every class weighted equally; 1 / classes where all are in one cluster."""
    return purity(table / table.sum(0))


def v_measure(table: np.ndarray) -> tuple[float, float, float]:
    """Homogeneity, completeness and their harmonic mean (Rosenberg & Hirschberg 2007).

    Homogeneity is 1 - H(class | cluster) / H(class), and 1 where H(class) is 0; completeness swaps
    classes and clusters.

    Args:
      table: counts, [clusters, classes].
    """

    def entropy(counts: np.ndarray) -> float:
        share = counts[counts > 0] / counts.sum()
        return float(-(share * np.log(share)).sum())

    clusters = entropy(table.sum(1))
    classes = entropy(table.sum(0))
    joint = entropy(table.ravel())
    homogeneity = 1 - (joint - clusters) / classes if classes > 0 else 1.0
    completeness = 1 - (joint - classes) / clusters if clusters > 0 else 1.0
    total = homogeneity + completeness
    mean = 2 * homogeneity * completeness / total if total > 0 else 0.0
    return homogeneity, completeness, mean


@dataclasses.dataclass(frozen=True)
class SenseScores:
    """Agreement of assigned senses with gold senses: means over ambiguous words.

    Attributes:
      purity, balanced_purity, homogeneity, completeness, v_measure: of the functions of these names.
      one_sense_purity: purity of the majority-sense baseline, one sense for every word.
      chance_purity: purity of the same clusters with shuffled gold senses; many small clusters are
        pure by chance.
      senses_used: number of slots that a word's occurrences were assigned to.
      words, occurrences: numbers of words and occurrences.
      by_word: word -> purity.
    """

    purity: float
    balanced_purity: float
    homogeneity: float
    completeness: float
    v_measure: float
    one_sense_purity: float
    chance_purity: float
    senses_used: float
    words: int
    occurrences: int
    by_word: dict[Hashable, float]

    def metrics(self) -> dict[str, float]:
        """All figures by name, except `by_word`."""
        fields = (field.name for field in dataclasses.fields(self))
        return {name: float(getattr(self, name)) for name in fields if name != "by_word"}


def score(
    words: Sequence[Hashable],
    assigned: Sequence[int],
    gold: Sequence[Hashable | None],
    min_uses: int = 2,
    seed: int = 0,
) -> SenseScores:
    """Scores of assigned senses.

    Args:
      words: word of each of N occurrences, with its language if there are several.
      assigned: slot of each occurrence.
      gold: gold sense of each occurrence; None: the occurrence is left out.
      min_uses: least occurrences of a word; words with a single gold sense are left out.
      seed: seed of the shuffles for `chance_purity`.

    Raises:
      ValueError: lists of different lengths, or no ambiguous word among the occurrences.
    """
    if not len(words) == len(assigned) == len(gold):
        raise ValueError(
            f"{len(words)} words, {len(assigned)} assigned senses, {len(gold)} gold senses: "
            "expected one of each for every occurrence"
        )
    uses: dict[Hashable, tuple[list[int], list[Hashable]]] = collections.defaultdict(
        lambda: ([], [])
    )
    for word, slot, sense in zip(words, assigned, gold, strict=True):
        if sense is not None:
            uses[word][0].append(int(slot))
            uses[word][1].append(sense)
    uses = {w: (a, g) for w, (a, g) in uses.items() if len(g) >= min_uses and len(set(g)) > 1}
    if not uses:
        raise ValueError(
            f"None of {len(set(words))} words occurs {min_uses} times and in two senses: measure more "
            "sentences or other domains"
        )
    draw = np.random.default_rng(seed)
    rows = []
    by_word = {}
    for word, (slots, meant) in uses.items():
        table = contingency(slots, meant)
        shuffled = [
            purity(contingency(slots, [meant[i] for i in draw.permutation(len(meant))]))
            for _ in range(_SHUFFLES)
        ]
        by_word[word] = purity(table)
        rows.append(
            [
                by_word[word],
                balanced_purity(table),
                *v_measure(table),
                table.sum(0).max() / table.sum(),
                np.mean(shuffled),
                len(table),
            ]
        )
    weights = np.array([len(meant) for _, meant in uses.values()])
    means = (weights @ np.array(rows)) / weights.sum()
    return SenseScores(*map(float, means), len(uses), int(weights.sum()), by_word)


def meanings(
    words: Sequence[Hashable], assigned: Sequence[int], gold: Sequence[Hashable | None]
) -> dict[tuple[Hashable, int], Hashable]:
    """(word, slot) -> the most frequent gold sense of its occurrences; the first one in a tie.

    The arguments are as for `score`.
    """
    counts: dict[tuple[Hashable, int], collections.Counter] = {}
    for word, slot, sense in zip(words, assigned, gold, strict=True):
        if sense is not None:
            counts.setdefault((word, int(slot)), collections.Counter())[sense] += 1
    return {key: counter.most_common(1)[0][0] for key, counter in counts.items()}


@dataclasses.dataclass(frozen=True)
class TranslationScores:
    """Accuracy of the translations chosen for occurrences.

    Attributes:
      accuracy: share of occurrences whose chosen sense of a translation has the gold concept.
      word_accuracy: share of occurrences whose chosen word has the gold concept in any sense.
      ambiguous_accuracy: `accuracy` over chosen words with several concepts; nan: none chosen.
      chance: word accuracy of random candidates, the mean share of right candidates.
      occurrences: number of occurrences.
    """

    accuracy: float
    word_accuracy: float
    ambiguous_accuracy: float
    chance: float
    occurrences: int


def score_translations(
    chosen: Sequence[tuple[Hashable, Hashable] | None],
    gold: Sequence[Hashable | None],
    concepts: Mapping[Hashable, Collection[Hashable]],
    only: Mapping[Hashable, Hashable],
    learned: Mapping[tuple[Hashable, Hashable], Hashable],
    candidates: Sequence[Sequence[Hashable]] | None = None,
) -> TranslationScores | None:
    """Scores of chosen translations (multi-sense cross-lingual alignment, section 3.2).

    Every sense of a word with one concept has that concept. A sense of another word has the most
    frequent concept of its occurrences (`learned`), or none if it does not occur.

    Args:
      chosen: translation and slot of each of N occurrences; None: no translation.
      gold: gold concept of each occurrence; None: the occurrence is left out.
      concepts: word of another language -> its concepts.
      only: word with a single concept in the domains -> that concept.
      learned: `meanings` of the other words.
      candidates: possible translations of each occurrence, for `chance`; an occurrence without a
        right candidate is left out. None: chance is nan, and such occurrences are kept.

    Returns:
      The scores; None where no occurrence has a translation and a gold concept.
    """
    hits = []
    words = []
    ambiguous = []
    chances = []
    for place, (choice, meant) in enumerate(zip(chosen, gold, strict=True)):
        if choice is None or meant is None:
            continue
        if candidates is not None:
            is_right = [meant in concepts.get(word, ()) for word in candidates[place]]
            if not any(is_right):
                continue
            chances.append(np.mean(is_right))
        word, slot = choice
        hits.append(meant == (only[word] if word in only else learned.get((word, slot))))
        words.append(meant in concepts.get(word, ()))
        if word not in only:
            ambiguous.append(hits[-1])
    if not hits:
        return None
    return TranslationScores(
        accuracy=float(np.mean(hits)),
        word_accuracy=float(np.mean(words)),
        ambiguous_accuracy=float(np.mean(ambiguous)) if ambiguous else float("nan"),
        chance=float(np.mean(chances)) if candidates is not None else float("nan"),
        occurrences=len(hits),
    )
