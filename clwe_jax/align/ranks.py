"""The rank of the right answer among the nearest keys, for test words whose answers are known.

By CSLS and the inverted softmax a list of nearest keys takes the exact number (`bounded`) of each key in
it, and of each key that its bound does not exclude: for dictionary vectors of 150,000 words, 90,000
products with the whole pool for 1,500 test words. A rank takes far fewer. A word whose answer is not
among the k nearest is done when any k keys are known to be nearer, whichever they are, and the same few
keys are nearer for many words.
"""

from __future__ import annotations

import itertools
from typing import Sequence

import numpy as np

from clwe_jax.align import bounded, csls, search
from clwe_jax.types import Array

_AT_ONCE = 2  # keys of a query whose numbers are computed before it is looked at again
# Rounds after which it is twice as many: queries that are left need most of their rivals.
_GROWTH = 4
_WIDTH = 64  # keys per query that are examined at first


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
    asked = np.flatnonzero([len(some) > 0 for some in right])
    if not len(asked):
        return ranks
    queries = queries[asked]
    right = [right[i] for i in asked.tolist()]
    options = dict(neighbourhood=neighbourhood, beta=beta, memory_bytes=memory_bytes)
    if method == "cosine" or not bounded.is_worthwhile(len(queries), len(keys)):
        found, _ = csls.nearest(queries, keys, k, method, pool=pool, shared=shared, **options)
        ranks[asked] = first_ranks(found, right)
        return ranks
    csls.check_finite(queries)
    around = (shared or csls.SharedProducts((method,))).around(keys, pool, **options)
    ranks[asked] = _ranks_by_bounds(queries, around, right, k, method)
    return ranks


def first_ranks(found: np.ndarray, right: Sequence[Sequence[int]]) -> np.ndarray:
    """The rank (from 1) of the first right key in each line of `found` [N, k]; 0: none."""
    ranks = np.zeros(len(found), int)
    for number, (line, some) in enumerate(zip(found.tolist(), right)):
        ranks[number] = next((rank for rank, key in enumerate(line, 1) if key in some), 0)
    return ranks


def _ranks_by_bounds(
    queries: Array,
    around: bounded.Neighbourhoods,
    right: Sequence[Sequence[int]],
    k: int,
    method: str,
) -> np.ndarray:
    """The ranks by bounds, whose keys are settled where the ranks depend on them."""
    ranks = np.zeros(len(queries), int)
    answers, of_answers = _score_answers(queries, around, right, method)
    whole = around.pool_keys()
    left = np.arange(len(queries))
    width = k + _WIDTH
    while len(left):
        width = min(width, len(around.keys))
        ranks[left], done = _settle_some(
            queries[left], around, whole, answers[left], of_answers[left], k, width, method
        )
        if width == len(around.keys):
            break  # all keys were seen; numbers that are no numbers decide nothing
        left = left[~done]
        width = 4 * width
    return ranks


def _score_answers(
    queries: Array, around: bounded.Neighbourhoods, right: Sequence[Sequence[int]], method: str
) -> tuple[np.ndarray, np.ndarray]:
    """The right keys of each query, int [N, most], filled up with -1, and their scaled cosines."""
    answers = np.full((len(queries), max(map(len, right))), -1)
    for line, some in zip(answers, right):
        line[: len(some)] = sorted(some)
    found = np.full(answers.shape, -np.inf, np.float32)
    rows = search.rows_that_fit(answers.size, around.memory_bytes)
    for start in range(0, len(answers), rows):
        part = slice(start, start + rows)
        there = answers[part] >= 0
        known, places = np.unique(answers[part][there], return_inverse=True)
        x = search.unit(queries[part])
        y = search.unit(around.keys[known])
        cosines = search.products(x, y, 0.0, around.scale(method))
        found[part][there] = cosines[np.nonzero(there)[0], places]
    return answers, found


def _settle_some(
    queries: Array,
    around: bounded.Neighbourhoods,
    whole: search.Keys,
    answers: np.ndarray,
    of_answers: np.ndarray,
    k: int,
    width: int,
    method: str,
) -> tuple[np.ndarray, np.ndarray]:
    """The ranks as far as the `width` keys with the best bounds decide them.

    Returns:
      Ranks int [N], and bool [N]: whether they are decided.
    """
    bound = around.bounds[method]
    scale = around.scale(method)
    keys = search.chunk_keys(around.keys, bound, width)
    rivals, limits = search.search(queries, keys, scale, width, around.memory_bytes)
    del keys
    cosines = limits + bound[rivals]  # times the scale
    # Keys that are not among the rivals score at most this.
    beyond = np.full(len(limits), -np.inf) if width == len(around.keys) else limits[:, -1].copy()
    # A right key is no rival, whichever of several is the first.
    other = np.ones(rivals.shape, bool)
    for column in answers.T:
        other &= rivals != column[:, None]
    ranks = np.zeros(len(queries), int)
    done = np.zeros(len(queries), bool)
    open_ = np.arange(len(queries))
    for number in itertools.count():
        best, score = _best(answers[open_], of_answers[open_], bound)
        some = rivals[open_]
        values = cosines[open_] - bound[some]
        # The score is the answer's or more, so that an exact rival above it is surely nearer.
        same = around.first[some] == around.first[best][:, None]  # whatever rounding says
        higher = (values > score[:, None]) & ~same
        nearer = higher | ((same | (values == score[:, None])) & (some < best[:, None]))
        nearer &= other[open_]
        exact = around.exact[some]
        sure = (nearer & exact).sum(1)
        unsure = nearer & ~exact
        out = sure >= k
        settled = around.exact[best]
        # The answer is exact, no rival is in doubt, and no key beyond the rivals can be nearer.
        sole = settled & ~unsure.any(1) & (beyond[open_] < score)
        ranks[open_[sole & ~out]] = sure[sole & ~out] + 1
        done[open_[out | sole]] = True
        go = ~(out | sole)
        # Keys that many queries ask for come first. An answer waits until it may be among the k nearest.
        asked = np.bincount(some[go][unsure[go]], minlength=len(bound))
        order = np.where(unsure, asked[some], 0)
        count = _AT_ONCE * 2 ** min(number // _GROWTH, 8)
        chosen = np.argsort(-order, axis=1, kind="stable")[:, :count]
        taken = np.take_along_axis(some, chosen, 1)[
            np.take_along_axis(unsure, chosen, 1) & go[:, None]
        ]
        wants = go & ~settled & (nearer.sum(1) < k)
        wanted = np.union1d(taken, best[wants])
        if not len(wanted):
            break
        around.settle(wanted, whole)
        open_ = open_[go]
    return ranks, done


def _best(
    answers: np.ndarray, of_answers: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best right key of each query by what is known now, and its score or a bound of it."""
    scores = of_answers - np.where(answers >= 0, bound[answers], 0)
    column = scores.argmax(1)[:, None]
    return np.take_along_axis(answers, column, 1)[:, 0], np.take_along_axis(scores, column, 1)[:, 0]
