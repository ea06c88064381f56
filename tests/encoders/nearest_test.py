"""The nearest words, without those that are left out."""

import numpy as np

from clwe_jax.align.retriever import Retriever
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import nearest


class CountingRetriever(Retriever):
    """Notes how many keys each search asks for."""

    def nearest(self, query, k):
        self.asked = [*getattr(self, "asked", ()), k]
        return super().nearest(query, k)


def find(rejected, words=200):
    keys = np.random.RandomState(0).randn(words, 8).astype(np.float32)
    searched = Vectors([f"w{n}" for n in range(words)], keys)
    retriever = CountingRetriever(keys, keys)
    ranked = nearest.rank(retriever, keys[0], 5, searched, "en", [], rejected, None)
    return retriever.asked, [neighbour.word for _, neighbour in ranked][:5]


def test_words_that_are_left_out_and_far_cost_nothing():
    asked, best = find([])
    assert asked == [5] and best[0] == "w0"
    far = [f"w{n}" for n in range(200) if f"w{n}" not in best]
    assert find(far) == ([5], best)


def test_words_that_are_left_out_and_near_give_way_to_the_next():
    _, ten = find([])
    asked, best = find(ten)
    assert asked == [5, 10] and not {*ten} & {*best} and len(best) == 5
    asked, best = find([f"w{n}" for n in range(1, 200)])
    assert best == ["w0"] and asked[-1] == 200
