"""The rank of the right answer among the nearest keys, for test words whose answers are known.

A key's score is its cosine, times a factor, less a number of the key (`bounded`): by CSLS its mean cosine
with its neighbours, by the inverted softmax its log mass. The number takes a product with the whole pool, a
lower bound of it does not. A list of nearest keys takes the exact number of each key in it, and of each key
that its bound does not exclude: for dictionary vectors of 150,000 words, 90,000 products for 1,500 test
words. A rank takes far fewer. A word whose answer is not among the k nearest is done when any k keys are
known to be nearer, whichever they are, and the same few keys are nearer for many words.

    rivals = the W keys of each query with the best scores by bounds
    until each query is decided (k exact rivals are nearer, or the answer and all that may be nearer are exact):
        compute the exact numbers of the rivals that most queries have in doubt
    queries that W rivals do not decide: again with 4 W rivals
"""

from __future__ import annotations

import itertools
from typing import NamedTuple, Sequence

import numpy as np

from clwe_jax.align import bounded, csls, search
from clwe_jax.types import Array

_AT_ONCE = 2  # rivals of a query whose numbers are computed before it is looked at again
# Rounds after which it is twice as many: queries that are left need most of their rivals.
_GROWTH = 4
_WIDTH = 64  # rivals of a query at first, beyond k


class _Answers(NamedTuple):
    """The right keys of N queries.

    Attributes:
      keys: int [N, A], rising; filled up with -1.
      cosines: their cosines times the method's scale, float32 [N, A]; -inf where there is no key.
    """

    keys: np.ndarray
    cosines: np.ndarray

    def best(self, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best right key of each query, int [N], and its score, float [N], by the bounds of all keys."""
        scores = self.cosines - np.where(self.keys >= 0, bound[self.keys], 0)
        column = scores.argmax(1)[:, None]
        keys = np.take_along_axis(self.keys, column, 1)
        return keys[:, 0], np.take_along_axis(scores, column, 1)[:, 0]


class _Rivals(NamedTuple):
    """The W keys of N queries with the best scores by bounds.

    Attributes:
      keys: int [N, W].
      cosines: times the method's scale, float [N, W].
      are_wrong: bool [N, W]; a right key is no rival, whichever of several is the first.
      limit: the score that no key beyond the rivals exceeds, float [N]; -inf where all keys are rivals.
    """

    keys: np.ndarray
    cosines: np.ndarray
    are_wrong: np.ndarray
    limit: np.ndarray


def ranks_of_answers(
    queries: Array,
    keys: Array,
    right: Sequence[Sequence[int]],
    k: int,
    method: str,
    *,
    pool: Array,
    neighbourhood: int = 10,
    beta: float = 30.0,
    memory_bytes: int = search.MEMORY_BYTES,
    shared: csls.SharedProducts | None = None,
) -> np.ndarray:
    """The rank of each query's first right key.

    Args:
      queries, keys, method, pool, neighbourhood, beta, memory_bytes, shared: as of `csls.nearest`.
      right: rows of the right keys of each query; none: the rank is 0.
      k: last rank that is wanted.

    Returns:
      int [N], from 1; 0 for a query without a right key among its k nearest.

    Raises:
      ValueError: as of `csls.nearest`.
    """
    ranks = np.zeros(len(queries), int)
    with_answer = np.flatnonzero([len(answers) > 0 for answers in right])
    if not len(with_answer):
        return ranks
    queries = queries[with_answer]
    right = [right[i] for i in with_answer.tolist()]
    options = dict(neighbourhood=neighbourhood, beta=beta, memory_bytes=memory_bytes)
    if method == "cosine" or not bounded.is_worthwhile(len(queries), len(keys)):
        nearest, _ = csls.nearest(queries, keys, k, method, pool=pool, shared=shared, **options)
        ranks[with_answer] = first_ranks(nearest, right)
        return ranks
    csls.check_finite(queries)
    around = (shared or csls.SharedProducts((method,))).around(keys, pool, **options)
    ranks[with_answer] = _ranks_by_bounds(queries, around, right, k, method)
    return ranks


def first_ranks(nearest: np.ndarray, right: Sequence[Sequence[int]]) -> np.ndarray:
    """The rank (from 1) of the first right key in each line of `nearest`, int [N, k]; 0: none."""
    ranks = np.zeros(len(nearest), int)
    for query, (keys, answers) in enumerate(zip(nearest.tolist(), right)):
        ranks[query] = next((rank for rank, key in enumerate(keys, 1) if key in answers), 0)
    return ranks


def _ranks_by_bounds(
    queries: Array,
    around: bounded.Neighbourhoods,
    right: Sequence[Sequence[int]],
    k: int,
    method: str,
) -> np.ndarray:
    """The ranks, int [N], for which only the numbers that they depend on are computed."""
    ranks = np.zeros(len(queries), int)
    answers = _score_answers(queries, around, right, method)
    pool_keys = around.pool_keys()
    undecided = np.arange(len(queries))
    width = k + _WIDTH
    while len(undecided):
        width = min(width, len(around.keys))
        answers_left = _Answers(*(values[undecided] for values in answers))
        rivals = _find_rivals(queries[undecided], around, answers_left.keys, width, method)
        ranks[undecided], decided = _rank_among(
            rivals, answers_left, around, around.bounds[method], pool_keys, k
        )
        if width == len(around.keys):
            break  # all keys were seen; numbers that are no numbers decide nothing
        undecided = undecided[~decided]
        width = 4 * width
    return ranks


def _score_answers(
    queries: Array, around: bounded.Neighbourhoods, right: Sequence[Sequence[int]], method: str
) -> _Answers:
    """The right keys of each query with their cosines."""
    keys = np.full((len(queries), max(map(len, right))), -1)
    for line, answers in zip(keys, right):
        line[: len(answers)] = sorted(answers)
    cosines = np.full(keys.shape, -np.inf, np.float32)
    rows = search.rows_that_fit(keys.size, around.memory_bytes)
    for start in range(0, len(keys), rows):
        part = slice(start, start + rows)
        is_key = keys[part] >= 0
        distinct, columns = np.unique(keys[part][is_key], return_inverse=True)
        x = search.unit(queries[part])
        y = search.unit(around.keys[distinct])
        products = search.products(x, y, 0.0, around.scale(method))  # [rows, distinct keys]
        cosines[part][is_key] = products[np.nonzero(is_key)[0], columns]
    return _Answers(keys, cosines)


def _find_rivals(
    queries: Array, around: bounded.Neighbourhoods, right_keys: np.ndarray, width: int, method: str
) -> _Rivals:
    """The rivals of the right keys, int [N, A], of each query."""
    bound = around.bounds[method]
    keys = search.chunk_keys(around.keys, bound, width)
    rivals, limits = search.search(queries, keys, around.scale(method), width, around.memory_bytes)
    are_wrong = np.ones(rivals.shape, bool)
    for column in right_keys.T:
        are_wrong &= rivals != column[:, None]
    has_all = width == len(around.keys)
    limit = np.full(len(limits), -np.inf) if has_all else limits[:, -1].copy()
    return _Rivals(rivals, limits + bound[rivals], are_wrong, limit)


def _rank_among(
    rivals: _Rivals,
    answers: _Answers,
    around: bounded.Neighbourhoods,
    bound: np.ndarray,
    pool_keys: search.Keys,
    k: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The ranks as far as the rivals decide them; numbers are computed in `around` on the way.

    Args:
      bound: of `around`, by the method; an entry is exact once its number is computed.

    Returns:
      Ranks int [N], and bool [N]: whether they are decided.
    """
    ranks = np.zeros(len(rivals.keys), int)
    decided = np.zeros(len(rivals.keys), bool)
    # The queries that are not decided; `rivals` and `answers` are theirs.
    queries = np.arange(len(rivals.keys))
    for round_number in itertools.count():
        best, score = answers.best(bound)
        nearer = _may_be_nearer(rivals, best, score, around.first, bound)
        # The score is the answer's or more, so that an exact rival above it is surely nearer.
        is_exact = around.exact[rivals.keys]
        surely_nearer = (nearer & is_exact).sum(1)
        in_doubt = nearer & ~is_exact
        is_beyond_k = surely_nearer >= k
        is_answer_exact = around.exact[best]
        # The answer is exact, no rival is in doubt, and no key beyond the rivals can be nearer.
        has_rank = is_answer_exact & ~in_doubt.any(1) & (rivals.limit < score) & ~is_beyond_k
        ranks[queries[has_rank]] = surely_nearer[has_rank] + 1
        decided[queries[has_rank | is_beyond_k]] = True
        is_open = ~(has_rank | is_beyond_k)
        count = _AT_ONCE * 2 ** min(round_number // _GROWTH, 8)
        doubtful_keys = _most_shared(rivals.keys[is_open], in_doubt[is_open], count)
        # An answer waits until it may be among the k nearest.
        may_be_in_k = nearer.sum(1) < k
        inexact_keys = np.union1d(doubtful_keys, best[is_open & ~is_answer_exact & may_be_in_k])
        if not len(inexact_keys):
            return ranks, decided
        around.settle(inexact_keys, pool_keys)
        queries = queries[is_open]
        rivals = _Rivals(*(values[is_open] for values in rivals))
        answers = _Answers(*(values[is_open] for values in answers))


def _may_be_nearer(
    rivals: _Rivals, best: np.ndarray, score: np.ndarray, first: np.ndarray, bound: np.ndarray
) -> np.ndarray:
    """Whether each rival comes before the answer by what is known of its score: bool [N, W].

    Args:
      best, score: the best right key of each query, int [N], and its score, float [N].
      first: of `bounded.Neighbourhoods`.
    """
    scores = rivals.cosines - bound[rivals.keys]
    # Keys that are equal tie, whatever rounding says, and of a tie the lowest key comes first.
    equals_answer = first[rivals.keys] == first[best][:, None]
    ties = equals_answer | (scores == score[:, None])
    is_higher = (scores > score[:, None]) & ~equals_answer
    return rivals.are_wrong & (is_higher | (ties & (rivals.keys < best[:, None])))


def _most_shared(keys: np.ndarray, in_doubt: np.ndarray, count: int) -> np.ndarray:
    """At most `count` keys in doubt of each query, those first that most queries have in doubt.

    Args:
      keys: int [N, W].
      in_doubt: bool [N, W].
    """
    sharers = np.bincount(keys[in_doubt], minlength=keys.max(initial=0) + 1)
    order = np.argsort(-np.where(in_doubt, sharers[keys], 0), axis=1, kind="stable")[:, :count]
    chosen = np.take_along_axis(keys, order, 1)
    return chosen[np.take_along_axis(in_doubt, order, 1)]
