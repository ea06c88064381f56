"""How well assigned senses agree with the ones that were meant: purity, V-measure, translations.

All measures are of one word's occurrences at a time, and then means over the words, each word
weighing as many times as it occurs: a cluster is one sense slot of one word.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Collection, Hashable, Mapping, Sequence

import numpy as np

_SHUFFLES = 10  # of the senses that were meant, for the purity of chance


def contingency(assigned: Sequence[Hashable], gold: Sequence[Hashable]) -> np.ndarray:
    """int [clusters, classes]: how many observations are of each cluster and class."""
    if len(assigned) != len(gold):
        raise ValueError(f"{len(assigned)} assigned senses, but {len(gold)} that were meant")
    clusters = {x: row for row, x in enumerate(dict.fromkeys(assigned))}
    classes = {x: column for column, x in enumerate(dict.fromkeys(gold))}
    table = np.zeros((len(clusters), len(classes)), np.int64)
    for cluster, label in zip(assigned, gold, strict=True):
        table[clusters[cluster], classes[label]] += 1
    return table


def purity(table: np.ndarray) -> float:
    """The share of observations that are of their cluster's most frequent class.

    Args:
      table: [clusters, classes], counts or weights, as `contingency`.
    """
    return float(table.max(1).sum() / table.sum())


def balanced_purity(table: np.ndarray) -> float:
    """Purity where every class weighs the same: 1 / classes if all are in one cluster."""
    return purity(table / table.sum(0))


def v_measure(table: np.ndarray) -> tuple[float, float, float]:
    """Homogeneity, completeness and their harmonic mean (Rosenberg & Hirschberg 2007).

    Homogeneity is 1 - H(class | cluster) / H(class), 1 where H(class) is 0; completeness the same
    with the two exchanged.

    Args:
      table: [clusters, classes], as `contingency`.
    """

    def entropy(counts: np.ndarray) -> float:
        share = counts[counts > 0] / counts.sum()
        return float(-(share * np.log(share)).sum())

    clusters, classes, both = entropy(table.sum(1)), entropy(table.sum(0)), entropy(table.ravel())
    homogeneity = 1 - (both - clusters) / classes if classes > 0 else 1.0
    completeness = 1 - (both - classes) / clusters if clusters > 0 else 1.0
    total = homogeneity + completeness
    mean = 2 * homogeneity * completeness / total if total > 0 else 0.0
    return homogeneity, completeness, mean


@dataclasses.dataclass(frozen=True)
class SenseScores:
    """Agreement of assigned senses with the ones that were meant, means over ambiguous words.

    Attributes:
      purity: see `purity`.
      balanced_purity: see `balanced_purity`.
      homogeneity, completeness, v_measure: see `v_measure`.
      one_sense_purity: purity if every word had one sense: what there is to be better than.
      chance_purity: purity of the same clusters with the senses that were meant shuffled: many
        small clusters are pure by chance.
      senses_used: slots that a word's occurrences were assigned to.
      words, occurrences: how many that is over.
      by_word: each word's purity.
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
        """The figures by name, the single words' left out."""
        fields = (field.name for field in dataclasses.fields(self))
        return {name: float(getattr(self, name)) for name in fields if name != "by_word"}


def score(
    words: Sequence[Hashable],
    assigned: Sequence[int],
    gold: Sequence[Hashable | None],
    least: int = 2,
    seed: int = 0,
) -> SenseScores:
    """Scores of assigned senses.

    Args:
      words: of each of N occurrences the word, with its language where several are scored at once.
      assigned: the slots.
      gold: the senses that were meant; None: the occurrence is passed over.
      least: words that occur less often are passed over, and words with but one sense meant.
      seed: of the shuffles for `chance_purity`.

    Raises:
      ValueError: lists of different lengths, or no ambiguous word among the occurrences.
    """
    if not len(words) == len(assigned) == len(gold):
        raise ValueError(
            f"{len(words)} words, {len(assigned)} assigned senses, {len(gold)} meant: of each "
            "occurrence one of each is expected"
        )
    own: dict[Hashable, tuple[list[int], list[Hashable]]] = collections.defaultdict(
        lambda: ([], [])
    )
    for word, slot, sense in zip(words, assigned, gold, strict=True):
        if sense is not None:
            own[word][0].append(int(slot))
            own[word][1].append(sense)
    own = {w: (a, g) for w, (a, g) in own.items() if len(g) >= least and len(set(g)) > 1}
    if not own:
        raise ValueError(
            f"None of {len(set(words))} words occurs {least} times and in two senses: score more "
            "sentences, or of other domains"
        )
    draw = np.random.default_rng(seed)
    rows, by_word = [], {}
    for word, (slots, meant) in own.items():
        table = contingency(slots, meant)
        shuffled = [
            purity(contingency(slots, [meant[i] for i in draw.permutation(len(meant))]))
            for _ in range(_SHUFFLES)
        ]
        by_word[word] = purity(table)
        rows.append([
            by_word[word], balanced_purity(table), *v_measure(table),
            table.sum(0).max() / table.sum(), np.mean(shuffled), len(table),
        ])  # fmt: skip
    weights = np.array([len(meant) for _, meant in own.values()])
    means = (weights @ np.array(rows)) / weights.sum()
    return SenseScores(*map(float, means), len(own), int(weights.sum()), by_word)


def meanings(
    words: Sequence[Hashable], assigned: Sequence[int], gold: Sequence[Hashable | None]
) -> dict[tuple[Hashable, int], Hashable]:
    """(word, slot) -> the sense that was meant most often where the slot was assigned.

    Args:
      words, assigned, gold: as `score`. Of equally frequent senses the first met counts.
    """
    counts: dict[tuple[Hashable, int], collections.Counter] = {}
    for word, slot, sense in zip(words, assigned, gold, strict=True):
        if sense is not None:
            counts.setdefault((word, int(slot)), collections.Counter())[sense] += 1
    return {key: found.most_common(1)[0][0] for key, found in counts.items()}


@dataclasses.dataclass(frozen=True)
class TranslationScores:
    """How often the translation chosen for an occurrence has the sense that was meant.

    Attributes:
      accuracy: share of the occurrences whose chosen sense of a translation means what was meant.
      word_accuracy: share of those whose chosen word can mean it, in whatever sense.
      ambiguous_accuracy: as `accuracy`, of the chosen words with several senses; nan: none.
      chance: the share that are right when a candidate is drawn: the mean over occurrences of the
        share of right ones among the candidates.
      occurrences: how many that is over.
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
) -> TranslationScores:
    """Scores of chosen translations (multi-sense cross-lingual alignment, section 3.2).

    Every sense of a word with one concept means that; a sense of another word means what it was
    assigned to most often (`learned`), and nothing where it never was.

    Args:
      chosen: of each of N occurrences the translation and its slot; None: it has none.
      gold: the concepts that were meant; None: passed over.
      concepts: what each word of the other language can mean.
      only: what those of its words mean that have one concept, in the text that is about these
        domains.
      learned: as `meanings` of the other language's text: of the words of several concepts.
      candidates: of each occurrence the translations that were to choose from, for `chance` of the
        word alone; occurrences none of whose candidates can be right are passed over. None: chance
        is nan and all count.

    Raises:
      ValueError: no occurrence has a translation and a concept.
    """
    right, words, ambiguous, chances = [], [], [], []
    for place, (choice, meant) in enumerate(zip(chosen, gold, strict=True)):
        if choice is None or meant is None:
            continue
        if candidates is not None:
            fits = [meant in concepts.get(word, ()) for word in candidates[place]]
            if not any(fits):
                continue
            chances.append(np.mean(fits))
        word, slot = choice
        right.append(meant == (only[word] if word in only else learned.get((word, slot))))
        words.append(meant in concepts.get(word, ()))
        if word not in only:
            ambiguous.append(right[-1])
    if not right:
        raise ValueError(
            f"None of {len(gold)} occurrences has both a translation and a sense that was meant: "
            "take a dictionary that covers the ambiguous words"
        )
    return TranslationScores(
        accuracy=float(np.mean(right)),
        word_accuracy=float(np.mean(words)),
        ambiguous_accuracy=float(np.mean(ambiguous)) if ambiguous else float("nan"),
        chance=float(np.mean(chances)) if candidates is not None else float("nan"),
        occurrences=len(right),
    )
