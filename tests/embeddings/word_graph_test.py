"""Words that begin alike, and counted links beside the dictionary, against their formulas."""

import itertools
import os

import numpy as np
import pytest

from clwe_jax.embeddings import beginnings, word_rows
from clwe_jax.embeddings.word_graph import CountedLinks, WordGraph
from clwe_jax.text.dictionary.merged import Dictionary

_PAIRS = {
    ("de", "en"): [("haus", "house"), ("haus", "home"), ("hund", "dog"), ("wasser", "water")],
    ("fr", "en"): [("chien", "dog"), ("eau", "water")],
}
_COUNTS = {
    "en": {"home": 80, "dog": 15, "the": 90, "bark": 3},
    "de": {"haus": 40, "hund": 9, "bellen": 4, "hundes": 2, "der": 70},
    "fr": {"chien": 3, "aboyer": 5},
}


def _rows(links=None, dim=64):
    graph = WordGraph(Dictionary.from_pairs(_PAIRS), _COUNTS)
    made = word_rows.rows(graph, dim, 1, links)
    return {x: dict(zip(graph.words[x], made.of(x))) for x in graph.words}


def _links(*rows):
    source, target, counts = zip(*rows)
    return CountedLinks(source, target, np.array(counts, np.float32))


def _unit(x):
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("seed", range(3))
def test_the_compared_words_are_those_with_a_long_enough_beginning(seed):
    """Of all pairs of random words exactly those that share 0.6 of the longer word count."""
    rng = np.random.default_rng(seed)
    words = sorted({"".join(rng.choice(list("ab"), rng.integers(2, 9))) for _ in range(60)})
    known, others = words[::2], words[1::2]
    found = beginnings.alike(others, known, {}).toarray()
    for (i, a), (j, b) in itertools.product(enumerate(others), enumerate(known)):
        share = len(os.path.commonprefix((a, b))) / max(len(a), len(b))
        near = min(len(a), len(b)) >= 4 and share >= 0.6
        assert (found[i, j] > 0) == near, (a, b)


def test_links_add_to_an_entry_of_the_dictionary_that_weighs_three():
    links = {("de", "en"): _links(("haus", "the", 2.0), ("bellen", "bark", 1.5))}
    before, after = _rows(), _rows(links)
    weight = lambda word: (_COUNTS["en"].get(word, 0) + 1) ** 0.25
    entry = _unit(weight("house") * after["en"]["house"] + weight("home") * after["en"]["home"])
    np.testing.assert_allclose(
        after["de"]["haus"], _unit(3 * entry + 2 * after["en"]["the"]), atol=1e-5
    )
    assert not np.abs(before["de"]["bellen"]).any()
    np.testing.assert_allclose(after["de"]["bellen"], after["en"]["bark"], atol=1e-5)


def test_a_word_that_is_guessed_by_its_beginning_gives_way_to_links():
    found = _rows({("de", "en"): _links(("hundes", "the", 4.0))})
    guess = 0.7 * _rows()["de"]["hund"]
    expected = _unit(guess + 4 * found["en"]["the"])
    # The link moves the hub's words too, by synonyms; hund stays where its entry is.
    assert found["de"]["hundes"] @ expected > 0.98


def test_linked_words_of_the_hub_become_synonyms():
    links = {("de", "en"): _links(("der", "the", 5.0), ("der", "bark", 5.0))}
    assert _rows(links)["en"]["the"] @ _rows(links)["en"]["bark"] > 0.3


def test_links_between_two_other_languages_reach_both():
    links = {("de", "fr"): _links(("bellen", "chien", 2.0), ("hund", "aboyer", 1.0))}
    found = _rows(links)
    np.testing.assert_allclose(found["de"]["bellen"], found["fr"]["chien"], atol=1e-5)
    np.testing.assert_allclose(found["fr"]["aboyer"], found["de"]["hund"], atol=1e-5)


def test_links_change_no_word_that_they_do_not_reach():
    before, after = _rows(), _rows({("de", "en"): _links(("der", "the", 5.0))})
    for word in ("haus", "hund", "wasser"):
        np.testing.assert_allclose(before["de"][word], after["de"][word], atol=1e-6)
