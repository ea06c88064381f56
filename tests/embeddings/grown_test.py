"""The file of mined pairs and links."""

import numpy as np

from clwe_jax.embeddings.grown import Grown, Pairs
from clwe_jax.embeddings.word_graph import Links


def test_what_is_saved_is_loaded(tmp_path):
    """Also of languages whose code has a hyphen."""
    pairs = Pairs(np.array([0, 2]), np.array([5, 3]), np.array([1.2, np.nan]))
    links = Links(["yes", "tea"], ["係", "茶"], np.array([2.0, 1.5]))
    files = {"en": [("en.txt", 0)], "zh": [("zh.txt", 3)], "zh-yue": [("zh-yue.txt", 5)]}
    grown = Grown(
        {("zh-yue", "en"): links}, {("zh-yue", "en"): pairs}, {("zh-yue", "zh"): pairs},
        [{"round": 1, "pair": "zh-yue-en"}], files,
    )  # fmt: skip
    path = str(tmp_path / "mined.npz")
    grown.save(path)
    found = Grown.load(path)
    assert found.rounds == grown.rounds and found.files == files
    assert found.pairs.keys() == grown.pairs.keys() and found.refused.keys() == grown.refused.keys()
    for x, y in zip(found.pairs["zh-yue", "en"], pairs):
        np.testing.assert_array_equal(x, y)
    assert list(found.links["zh-yue", "en"].target) == links.target
