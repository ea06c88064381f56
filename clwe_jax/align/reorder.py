"""Orders of words from scores: beam search, exhaustive search and measures (CLCR, section 3.3).

An order of n words is a permutation, int [n]: the word at each place. Predictions are costs. A
position cost [n, P] is the cost of word i at place k (Eq. 7; P >= n). A pair cost [n, n] is the cost
of word i anywhere before word j (Eq. 9). The cost of an order is the sum over its words or pairs:
with -log p as the cost of each, the order of lowest cost is the likeliest one.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple, Sequence

import numpy as np

MAX_EXHAUSTIVE = 7  # words, above which there are too many orders to try


class _State(NamedTuple):
    """A partial order: its words as the bits of a number, in their order, and its cost."""

    used: int
    done: tuple[int, ...]
    total: float


def by_positions(costs: np.ndarray, beam: int = 10) -> np.ndarray:
    """The order of lowest cost that a beam search finds from position costs (Eq. 7).

    Args:
      costs: cost of word i at place k, [n, P] with P >= n.
      beam: number of partial orders that are kept.

    Returns:
      int [n].
    """
    return _search(costs, beam, False)


def by_pairs(costs: np.ndarray, beam: int = 10) -> np.ndarray:
    """The order of lowest cost that a beam search finds from pair costs (Eq. 9).

    Args:
      costs: cost of word i before word j, [n, n]; the diagonal is not read.
      beam: number of partial orders that are kept.

    Returns:
      int [n].
    """
    # `_search` sums whole rows, to which the diagonal must add nothing.
    return _search(costs - np.diag(np.diag(costs)), beam, True)


def exhaustive(costs: np.ndarray, pairs: bool) -> np.ndarray:
    """The order of lowest cost among all, int [n].

    Args:
      costs: as of `by_pairs` or `by_positions`.
      pairs: whether they are pair costs.

    Raises:
      ValueError: more than `MAX_EXHAUSTIVE` words.
    """
    if len(costs) > MAX_EXHAUSTIVE:
        raise ValueError(f"{len(costs)} words: all orders are tried up to {MAX_EXHAUSTIVE} words")
    words = range(len(costs))
    orders = list(itertools.permutations(words))
    all_orders = np.array(orders, int).reshape(len(orders), len(costs))  # [n!, n]
    total = np.zeros(len(all_orders))
    if pairs:
        for first, second in itertools.combinations(words, 2):
            total += costs[all_orders[:, first], all_orders[:, second]]
    else:
        for place in words:
            total += costs[all_orders[:, place], place]
    return all_orders[total.argmin()]


def cost(costs: np.ndarray, order: Sequence[int], pairs: bool) -> float:
    """The cost of an order; arguments as of `exhaustive`."""
    if pairs:
        return float(sum(costs[i, j] for i, j in itertools.combinations(order, 2)))
    return float(sum(costs[word, place] for place, word in enumerate(order)))


def kendall_tau(order: Sequence[int], gold: Sequence[int]) -> float:
    """Kendall's tau of two orders, in [-1, 1]; 1 for fewer than two words."""
    if len(gold) < 2:
        return 1.0
    ranks = np.argsort(np.asarray(gold))[np.asarray(order)]
    # 1 for a pair in the gold order, -1 for one that is turned around.
    later = np.triu(np.sign(ranks[None, :] - ranks[:, None]), 1)
    return float(later.sum() / (len(ranks) * (len(ranks) - 1) / 2))


def _ngrams(order: Sequence[int], n: int) -> set[tuple[int, ...]]:
    words = list(map(int, order))
    return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}


def ngram_counts(order: Sequence[int], gold: Sequence[int], n: int) -> tuple[int, int]:
    """The number of n-grams of an order that the gold order has too, and their number (Table 3)."""
    # An order has no word twice, hence no n-gram twice: sets count them.
    order_ngrams = _ngrams(order, n)
    gold_ngrams = _ngrams(gold, n)
    return len(order_ngrams & gold_ngrams), len(order_ngrams)


def figures(orders: Sequence[np.ndarray], gold: Sequence[np.ndarray]) -> dict[str, float]:
    """'bleu2', 'bleu3' and 'bleu4', the n-gram precision over all orders, and the mean 'tau'.

    As in Table 3, BLEU-n counts the n-grams of one length n. Orders with fewer words have none.

    Args:
      orders, gold: orders of the same words, int [n] each.
    """
    values = {}
    for n in (2, 3, 4):
        matches, total = np.sum(
            [(0, 0), *(ngram_counts(a, b, n) for a, b in zip(orders, gold))], axis=0
        )
        values[f"bleu{n}"] = float(matches / total) if total else 0.0
    long = [kendall_tau(a, b) for a, b in zip(orders, gold) if len(b) > 1]
    return {**values, "tau": float(np.mean(long)) if long else 0.0}


def _search(costs: np.ndarray, beam: int, pairs: bool) -> np.ndarray:
    """The best order of all words; of partial orders of the same words the cheapest one is kept.

    Time grows with beam n^2: each state carries the costs of its next words.
    """
    count = len(costs)
    states = [_State(0, (), 0.0)]
    left_costs = costs.sum(1)[
        None
    ]  # of pairs, for each state: the cost of a word before all that are left
    for place in range(count):
        following = left_costs if pairs else costs[None, :, place]
        totals = np.array([[state.total] for state in states]) + following
        is_used = np.array(
            [[state.used >> word & 1 for word in range(count)] for state in states], bool
        )
        totals[is_used] = np.inf
        # What is left costs the same after any order of `used`: its cheapest one is enough.
        moves: dict[int, tuple[int, int]] = {}  # the words used -> the state, and the word added
        for flat in np.argsort(totals, axis=None, kind="stable"):
            state, word = divmod(int(flat), count)
            if len(moves) == beam or totals[state, word] == np.inf:
                break
            moves.setdefault(states[state].used | 1 << word, (state, word))
        sources, words = map(list, zip(*moves.values()))
        states = [
            _State(used, (*states[state].done, word), float(totals[state, word]))
            for used, (state, word) in moves.items()
        ]
        # The added word no longer comes after any of those that are left.
        left_costs = left_costs[sources] - costs[:, words].T if pairs else left_costs
    return np.array(states[0].done, int)
