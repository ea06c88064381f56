"""Orders of words from scores: beam search, exhaustive search and measures (CLCR, section 3.3).

An order of n words is a permutation, int [n]: the word at each place. Predictions are costs. A
position cost [n, P] is the cost of word i at place k (Eq. 7; P >= n). A pair cost [n, n] is the cost
of word i anywhere before word j (Eq. 9). The cost of an order is the sum over its words or pairs.
"""

from __future__ import annotations

import itertools
from typing import Callable, Sequence

import numpy as np

MOST_EXHAUSTIVE = 7  # words, above which there are too many orders to try
_Step = Callable[[tuple[int, ...], np.ndarray], np.ndarray]  # (words so far, all words) -> costs


def by_positions(costs: np.ndarray, beam: int = 10) -> np.ndarray:
    """The order of lowest cost that a beam search finds from position costs (Eq. 7).

    Args:
      costs: cost of word i at place k, [n, P] with P >= n.
      beam: number of partial orders that are kept.

    Returns:
      int [n].
    """
    return _search(len(costs), beam, lambda done, words: costs[words, len(done)])


def by_pairs(costs: np.ndarray, beam: int = 10) -> np.ndarray:
    """The order of lowest cost that a beam search finds from pair costs (Eq. 9).

    Args:
      costs: cost of word i before word j, [n, n]; the diagonal is not read.
      beam: number of partial orders that are kept.

    Returns:
      int [n].
    """
    costs = costs - np.diag(np.diag(costs))

    def step(done: tuple[int, ...], words: np.ndarray) -> np.ndarray:
        left = np.ones(len(costs), bool)
        left[list(done)] = False
        return costs[words][:, left].sum(1)  # a word placed now stands before all that are left

    return _search(len(costs), beam, step)


def exhaustive(costs: np.ndarray, pairs: bool) -> np.ndarray:
    """The order of lowest cost among all, int [n].

    Args:
      costs: as of `by_pairs` or `by_positions`.
      pairs: whether they are pair costs.

    Raises:
      ValueError: more than `MOST_EXHAUSTIVE` words.
    """
    if len(costs) > MOST_EXHAUSTIVE:
        raise ValueError(f"{len(costs)} words: all orders are tried up to {MOST_EXHAUSTIVE} words")
    words = range(len(costs))
    orders = list(itertools.permutations(words))
    every = np.array(orders, int).reshape(len(orders), len(costs))
    total = np.zeros(len(every))
    if pairs:
        for first, second in itertools.combinations(words, 2):
            total += costs[every[:, first], every[:, second]]
    else:
        for place in words:
            total += costs[every[:, place], place]
    return every[total.argmin()]


def cost(costs: np.ndarray, order: Sequence[int], pairs: bool) -> float:
    """The cost of an order; arguments as of `exhaustive`."""
    if pairs:
        return float(sum(costs[i, j] for i, j in itertools.combinations(order, 2)))
    return float(sum(costs[word, place] for place, word in enumerate(order)))


def kendall_tau(found: Sequence[int], gold: Sequence[int]) -> float:
    """Kendall's tau of two orders, in [-1, 1]; 1 for fewer than two words."""
    if len(gold) < 2:
        return 1.0
    ranks = np.argsort(np.asarray(gold))[np.asarray(found)]
    later = np.triu(np.sign(ranks[None, :] - ranks[:, None]), 1)
    return float(later.sum() / (len(ranks) * (len(ranks) - 1) / 2))


def ngram_counts(found: Sequence[int], gold: Sequence[int], n: int) -> tuple[int, int]:
    """The number of n-grams of an order that the gold order has too, and their number (Table 3)."""
    mine, theirs = ({tuple(x[i : i + n]) for i in range(len(x) - n + 1)} for x in (
        list(map(int, found)), list(map(int, gold))
    ))  # fmt: skip
    return len(mine & theirs), len(mine)


def figures(found: Sequence[np.ndarray], gold: Sequence[np.ndarray]) -> dict[str, float]:
    """'bleu2', 'bleu3' and 'bleu4', the n-gram precision over all orders, and the mean 'tau'.

    As in Table 3, BLEU-n counts the n-grams of one length n. Orders with fewer words have none.

    Args:
      found, gold: orders of the same words, int [n] each.
    """
    values = {}
    for n in (2, 3, 4):
        right, total = np.sum([(0, 0), *(ngram_counts(a, b, n) for a, b in zip(found, gold))], axis=0)
        values[f"bleu{n}"] = float(right / total) if total else 0.0
    long = [kendall_tau(a, b) for a, b in zip(found, gold) if len(b) > 1]
    return {**values, "tau": float(np.mean(long)) if long else 0.0}


def _search(count: int, beam: int, step: _Step) -> np.ndarray:
    """The best order of `count` words; partial orders of the same words keep the cheapest one."""
    states: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {frozenset(): (0.0, ())}
    for _ in range(count):
        best: dict[frozenset[int], tuple[float, tuple[int, ...]]] = {}
        for used, (total, done) in states.items():
            words = np.array([x for x in range(count) if x not in used])
            for word, more in zip(words.tolist(), step(done, words)):
                key, candidate = used | {word}, (total + float(more), (*done, word))
                if key not in best or candidate < best[key]:
                    best[key] = candidate
        kept = sorted(best.items(), key=lambda item: item[1])[:beam]
        states = dict(kept)
    return np.array(min(states.values())[1], int)
