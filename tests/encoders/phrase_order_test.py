"""Words before the phrases that hold them, beside a search by hand."""

import numpy as np
import pytest

from clwe_jax.align import csls
from clwe_jax.align.retriever import Retriever
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import phrase_order
from clwe_jax.text.words.words import Phrases

PHRASES = Phrases([f"w0 w{n}" for n in range(1, 9)] + ["w9 w10"])


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def spaces():
    """Foreign words that are exactly one word each; phrases are means of their words."""
    r = np.random.default_rng(0)
    words = [f"w{n}" for n in range(40)]
    rows = unit(r.standard_normal((40, 24)).astype(np.float32))
    # The first word has many neighbours on the other side, which are farther from its phrases: CSLS
    # subtracts more from the word.
    near = unit(rows[0] - 0.25 * rows[1:9].sum(0) + 0.02 * r.standard_normal((12, 24)))
    foreign = np.concatenate([rows, near])
    phrases = [f"w0 w{n}" for n in range(1, 9)] + ["w9 w10"]
    parts = [[0, n] for n in range(1, 9)] + [[9, 10]]
    means = unit(np.stack([rows[a] + 0.2 * rows[b] for a, b in parts]))
    target = Vectors([*words, *phrases], np.concatenate([rows, means]).astype(np.float32))
    source = Vectors([f"f{n}" for n in range(len(foreign))], foreign.astype(np.float32))
    return source, target


@pytest.mark.parametrize("method", ["csls", "cosine", "inverted_softmax"])
def test_a_word_goes_before_its_phrases(method, spaces):
    source, target = spaces
    retriever = Retriever(target.vectors, source.vectors, method)
    plain = 0
    for row in range(40):
        query = source.vectors[row]
        places, scores = phrase_order.nearest(retriever, target, PHRASES, query, 5)
        assert target.words[places[0]] == f"w{row}"
        assert scores == sorted(scores, reverse=True) and len(set(places)) == 5
        plain += retriever.nearest(query, 1)[0][0] != row
    assert plain == (1 if method == "csls" else 0) or method == "inverted_softmax"


def test_scores_are_those_of_the_search(spaces):
    source, target = spaces
    retriever = Retriever(target.vectors, source.vectors, "csls")
    rows = list(range(len(target)))
    for row in (0, 7):
        places, scores = csls.nearest(
            source.vectors[[row]], target.vectors, len(target), "csls", pool=source.vectors
        )
        own = retriever.scores(source.vectors[row], rows)
        np.testing.assert_allclose(own[np.asarray(places)[0]], np.asarray(scores)[0], atol=1e-5)


def test_a_phrase_that_is_meant_stays_first(spaces):
    source, target = spaces
    retriever = Retriever(target.vectors, source.vectors, "csls")
    row = target.index["w9 w10"]
    places, _ = phrase_order.nearest(retriever, target, PHRASES, target.vectors[row], 3)
    assert places[0] == row


def test_induced_pairs_have_the_word(spaces):
    source, target = spaces
    phrase = target.index["w0 w1"]
    pairs = np.array([[0, phrase], [5, 5]])
    assert phrase_order.without_phrases_ahead(pairs, source, target) == [(0, 0), (5, 5)]
    meant = Vectors(["f"], target.vectors[[target.index["w9 w10"]]])
    own = [(0, target.index["w9 w10"])]
    assert phrase_order.without_phrases_ahead(np.array(own), meant, target) == own
