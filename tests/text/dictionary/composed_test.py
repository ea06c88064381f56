"""Dictionaries of two languages, composed through a third one."""

import itertools

import numpy as np
import pytest

from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.dictionary import composed

FILES = {
    "de-en.txt": "katze cat\nkater cat\nhund dog\nbank bank\nbank bench\n",
    "ja-en.txt": "neko cat\ninu dog\nginko bank\n",
    "en-fr.txt": "cat chat\ndog chien\n",
    "de-fr.txt": "katze minou\n",
}
LANGUAGES = ("de", "en", "fr", "ja")


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def pairs(dictionary, source, target):
    return set(dictionary.pairs(source, target))


def test_pairs_are_composed_where_there_is_no_dictionary(folder):
    found = dictionaries.load(str(folder), LANGUAGES, pivot="en")
    expected = {("katze", "neko"), ("kater", "neko"), ("hund", "inu"), ("bank", "ginko")}
    assert pairs(found, "de", "ja") == expected
    assert pairs(found, "fr", "ja") == {("chat", "neko"), ("chien", "inu")}
    # German and French have a dictionary.
    assert pairs(found, "de", "fr") == {("katze", "minou")}
    assert not pairs(dictionaries.load(str(folder), LANGUAGES), "de", "ja")


def test_test_words_get_no_pairs(folder):
    """Those of either column; a word of the pivot that is tested with one language leads to another."""
    tests = folder / "tests"
    tests.mkdir()
    (tests / "ja-en.txt").write_text("inu dog\n")
    (tests / "en-de.txt").write_text("cat kater\n")
    found = dictionaries.load(str(folder), LANGUAGES, pivot="en", exclude=str(tests))
    assert pairs(found, "de", "ja") == {("katze", "neko"), ("bank", "ginko")}
    assert pairs(found, "en", "de") == {("dog", "hund"), ("bank", "bank"), ("bench", "bank")}


def test_the_cache_knows_the_pivot(folder):
    load = lambda pivot: dictionaries.load(
        str(folder), LANGUAGES, pivot=pivot, cache_dir=str(folder / "cache")
    )
    assert [len(pairs(load(pivot), "de", "ja")) for pivot in ("", "en", "", "en")] == [0, 4, 0, 4]


def test_a_join_equals_loops():
    r = np.random.RandomState(0)
    edges = [
        ("a", "p", r.randint(0, 9, 30), r.randint(0, 6, 30)),
        ("p", "b", r.randint(0, 6, 30), r.randint(0, 9, 30)),
    ]
    [(one, other, left, right)] = composed.compose(edges, "p", {"a": np.array([3])})
    expected = {
        (a, b)
        for (a, e), (f, b) in itertools.product(zip(*edges[0][2:]), zip(*edges[1][2:]))
        if e == f and a != 3
    }
    assert (one, other) == ("a", "b") and set(zip(left, right)) == expected
